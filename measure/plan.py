"""Which cells a run measures, how often and in which order. Pure: no clock, no files, no torch."""

from __future__ import annotations

import itertools
import math
import random
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from measure.errors import UsageError

WARM_UPS_LEAST = 2
WARM_UPS_MOST = 6
STEADY_WITHIN = 0.10
"""A cell is warm when two windows in a row agree to this share."""

ITS_OWN_WARM_UP_S = 8.0
"""A window at least this long needs one warm-up only: it is hundreds of times longer than what warm-ups absorb."""

WARM_UP_WINDOW_S = 0.5
"""Long enough a window for a warm-up, where a timed one is longer for the sake of an energy counter."""

LONG_WINDOW_S = 15.0
"""A cell whose windows are longer than this is sampled `LONG_REPETITIONS` times in a process, not as planned."""

LONG_REPETITIONS = 2

FEWEST_PROCESSES = 3
"""Fewer give no interval: until then a process of every cell is worth more than another of a few."""

CPU, GPU = "cpu", "gpu"
BEFORE_CONTEXT, WITH_CONTEXT = "before_context", "with_context"
DECODE_MODES = {CPU: ("eager", "compiled"), GPU: ("eager", "graph")}
"""How a decode step runs: as plain transformers does it, and in the fastest honest way."""
PREFILL_MODES = {CPU: ("eager", "compiled"), GPU: ("eager",)}
"""The same for a prompt. On a GPU plain kernels leave nothing to a graph: their launches hide behind the arithmetic."""
IDLE_MODES = (BEFORE_CONTEXT, WITH_CONTEXT)
CEILING_MODES = ("read", "gemm")


@dataclass(frozen=True)
class Cell:
    """One setting of an experiment; the key that groups samples."""

    experiment: str
    batch: int
    prompt_tokens: int | None
    context_tokens: int | None
    dtype: str
    mode: str = "eager"

    @property
    def length(self) -> int:
        """Tokens of each sequence: those prefilled, or those already cached."""
        return self.prompt_tokens or self.context_tokens or 0

    def label(self) -> str:
        """How people are told about the cell."""
        if self.experiment in ("ceilings", "idle"):
            return f"{self.experiment} {self.mode.replace('_', ' ')}"
        where = {"prefill": "prompt", "decode": "depth", "kv_cache": "length"}[self.experiment]
        batch = f", batch {self.batch}" if self.batch > 1 else ""
        mode = f", {self.mode}" if self.mode != "eager" else ""
        return f"{self.experiment} {where} {self.length}{batch}{mode}"


@dataclass(frozen=True)
class PlannedCell:
    """A cell with the samples that each process takes of it."""

    cell: Cell
    repetitions: int
    steps: int

    def as_json(self) -> dict[str, Any]:
        """The `planned_cell` object of schema.json."""
        return {**asdict(self.cell), "repetitions": self.repetitions, "steps": self.steps}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> PlannedCell:
        """Inverse of `as_json`."""
        fields = dict(data)
        repetitions, steps = fields.pop("repetitions"), fields.pop("steps")
        return cls(Cell(**fields), repetitions, steps)


@dataclass(frozen=True)
class Plan:
    """A whole run: cells in order of importance, rounds of fresh processes, time allowed."""

    name: str
    seed: int
    rounds: int
    cells: tuple[PlannedCell, ...]
    window_s: float
    """Shortest window worth timing, seconds: steps are added until it is reached."""
    budget_s: float | None

    def samples_of(self, planned: PlannedCell, repetitions: int) -> int:
        """Timed samples of a cell in the whole run, with `repetitions` in each process."""
        once = planned.cell.mode == BEFORE_CONTEXT  # between processes a card has not come to rest
        return repetitions * (1 if once else self.rounds)

    def with_budget(self, budget_s: float | None) -> Plan:
        """The same plan, held to `budget_s` seconds where one is given."""
        return self if budget_s is None else replace(self, budget_s=budget_s)


@dataclass(frozen=True)
class _Sizes:
    """Prompts and depths at one batch, each in order of importance."""

    batch: int
    prompts: tuple[int, ...]
    depths: tuple[int, ...]


@dataclass(frozen=True)
class _Sweep:
    """What is behind a named plan; its sizes in order of importance."""

    sizes: tuple[_Sizes, ...]
    rounds: int
    repetitions: int
    decode_steps: int
    window_s: float
    budget_s: float | None
    fast_prefill: bool = True
    """Whether the first prompt is measured in the faster mode, too."""


# 500 stands first everywhere: note 1 asks its question at a prompt and a depth of 500 tokens. The sizes of "standard"
# come early in "gpu", so that a run cut short by its budget still has what the pages state. One sample in each process
# suffices there: processes differ by more than the samples of one, and windows are long for the energy counter's sake.
_SWEEPS = {
    "quick": _Sweep(
        (_Sizes(1, (500, 64), (500, 64)),),
        rounds=3,
        repetitions=1,
        decode_steps=4,
        window_s=0.0,
        budget_s=165.0,
        fast_prefill=False,
    ),
    "standard": _Sweep(
        (_Sizes(1, (500,), (500,)), _Sizes(8, (), (500,)), _Sizes(1, (64, 1000, 128), (64, 1000, 128))),
        rounds=5,
        repetitions=3,
        decode_steps=6,
        window_s=0.2,
        budget_s=None,
    ),
    "gpu": _Sweep(
        (
            _Sizes(1, (500,), (500,)),
            _Sizes(8, (), (500,)),
            _Sizes(32, (), (500,)),
            _Sizes(1, (64, 1000, 128, 2048, 8192), (64, 1000, 128, 2048, 8192, 32768)),
            _Sizes(8, (500, 2048, 8192), (2048, 8192, 32768)),
            _Sizes(32, (500, 2048, 8192), (2048, 8192)),  # at 32,768 the cache alone would take 30 GB
        ),
        rounds=5,
        repetitions=1,
        decode_steps=8,
        window_s=2.0,
        budget_s=None,
    ),
}

PLAN_NAMES = tuple(_SWEEPS)


def make_plan(name: str, *, device: str, dtype: str, max_positions: int, seed: int) -> Plan:
    """The plan called `name` on `device` (CPU or GPU) for a model that takes `max_positions` tokens at most.

    Cells longer than the model can take are not planned: they could never be measured.
    """
    sweep = _SWEEPS[name]
    cells: list[PlannedCell] = []
    for sizes in sweep.sizes:
        # the compiled step on a CPU is made for one row: batch 1
        modes = DECODE_MODES[device] if device == GPU or sizes.batch == 1 else DECODE_MODES[device][:1]
        # one prompt shows what a faster prefill gains; at every length it would take half a run's time
        both = sweep.fast_prefill and sizes is sweep.sizes[0]
        prefill_modes = PREFILL_MODES[device][: None if both else 1]
        cells += _cells(sizes, sweep, prefill_modes, modes, dtype, max_positions)
    if not cells:
        shortest = min(min(sizes.prompts, default=math.inf) for sizes in sweep.sizes)
        raise UsageError(
            f"plan {name!r} has no cell that a model of {max_positions} positions can take; "
            f"its shortest prompt is {shortest}"
        )
    rests = [Cell("idle", 1, None, None, dtype, mode) for mode in IDLE_MODES]
    ceilings = [Cell("ceilings", 1, None, None, dtype, mode) for mode in CEILING_MODES]
    planned = [PlannedCell(cell, 1, 1) for cell in rests]
    planned += [PlannedCell(cell, sweep.repetitions, sweep.decode_steps) for cell in ceilings]
    return Plan(name, seed, sweep.rounds, (*planned, *cells), sweep.window_s, sweep.budget_s)


def _cells(
    sizes: _Sizes,
    sweep: _Sweep,
    prefill_modes: Sequence[str],
    decode_modes: Sequence[str],
    dtype: str,
    max_positions: int,
) -> Iterator[PlannedCell]:
    for prompt, depth in itertools.zip_longest(sizes.prompts, sizes.depths):
        if prompt is not None and prompt <= max_positions:
            first = prompt == sizes.prompts[0]
            for mode in prefill_modes if first else prefill_modes[:1]:
                cell = Cell("prefill", sizes.batch, prompt, None, dtype, mode)
                yield PlannedCell(cell, sweep.repetitions, 1)
        if depth is not None and depth < max_positions:
            for mode in decode_modes:
                decode = Cell("decode", sizes.batch, None, depth, dtype, mode)
                yield PlannedCell(decode, sweep.repetitions, sweep.decode_steps)
            yield PlannedCell(Cell("kv_cache", sizes.batch, None, depth, dtype), 1, 1)


def interleaved(
    samples: Iterable[tuple[PlannedCell, int]], *, seed: int, process: int
) -> list[tuple[PlannedCell, int]]:
    """All (cell, repetition) pairs of a process in seeded random order, so that drift lands on no single cell."""
    order = list(samples)
    random.Random(f"{seed}/{process}").shuffle(order)
    return order


def is_warm(step_s: Sequence[float], window_s: float) -> bool:
    """Whether a cell may be measured: seconds a step in each warm-up window so far, and the last window's length."""
    if not step_s:
        return False
    if window_s >= ITS_OWN_WARM_UP_S or len(step_s) >= WARM_UPS_MOST:
        return True
    if len(step_s) < WARM_UPS_LEAST:
        return False
    before, last = step_s[-2:]
    return abs(last - before) <= STEADY_WITHIN * max(last, before)


def steps_for(planned: PlannedCell, step_s: float, window_s: float) -> int:
    """Forward passes in one window: as planned, and as many more as make the window `window_s` seconds long."""
    return max(planned.steps, math.ceil(window_s / step_s)) if step_s > 0 else planned.steps


def warm_up_steps(planned: PlannedCell, step_s: float, window_s: float) -> int:
    """Forward passes in the next warm-up window, after one in which a pass took `step_s` seconds."""
    return steps_for(planned, step_s, min(window_s, WARM_UP_WINDOW_S))


def repetitions_for(planned: PlannedCell, first_window_s: float | None) -> int:
    """Repetitions of a cell in each process, fewer where the run's first window of it took long."""
    if first_window_s is not None and first_window_s > LONG_WINDOW_S:
        return min(planned.repetitions, LONG_REPETITIONS)
    return planned.repetitions


_BUDGET = re.compile(r"^(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m)?(?:(\d+(?:\.\d+)?)s?)?$")


def parse_budget(text: str) -> float:
    """Seconds in a duration such as `8m`, `90s`, `1h30m` or `120`."""
    match = _BUDGET.match(text.strip())
    if not match or not any(match.groups()):
        raise UsageError(f"--budget: expected a duration such as 8m, 90s or 1h30m, found {text!r}")
    hours, minutes, seconds = (float(part or 0) for part in match.groups())
    total_s = hours * 3600 + minutes * 60 + seconds
    if total_s <= 0:
        raise UsageError(f"--budget: expected more than no time at all, found {text!r}")
    return total_s
