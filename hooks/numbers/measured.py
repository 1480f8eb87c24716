"""A measured number: from the samples of one cell of one run to a value, or to why there is none. Finds no run.

A cell without samples is refused where something says why: the run left it out, its machine cannot run it, it
has no meter, or the program that took the run did not measure it. Where nothing does, samples were lost.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from hooks.data.records import CELL_KEYS, Cell, Refusal, Run, Sample, keys_of
from hooks.errors import Place, PublishError
from hooks.numbers import formatting
from hooks.numbers.definitions import Alias, Definition, Measured
from hooks.numbers.estimates import estimate
from hooks.numbers.fields import FIELDS, Idle
from hooks.numbers.readings import Reading, Source, cell_words, described, with_interval

_MODES_OF = {"graph": "gpu", "compiled": "cpu"}
"""Modes that one kind of machine has, by that kind."""

_ELSEWHERE = {
    "graph": "CUDA graphs need a GPU, and this run is of a CPU",
    "compiled": "decode steps are compiled on CPUs only, and this run is of a GPU",
}
_ONE_AT_A_TIME = ("compiled",)
"""Modes that take one sequence only."""

_SINCE_VERSION_2 = {"ceilings": "ceilings", "idle": "idle power"}


def read(definition: Definition, alias: Alias, run: Run, idle: Idle, *, lenient: bool = False) -> Reading:
    """The number that `definition` makes of the run's samples; `lenient` refuses what the run's plan never had.

    Raises:
        PublishError: Its keys choose several cells, or none has samples and nothing says why.
    """
    assert definition.measured is not None
    wanted = definition.measured
    where = chosen(run, wanted.where)
    cells = _fitting(tuple(run.cells), tuple(where.items()))
    if len(cells) > 1:
        raise _several(definition, cells)
    made = described(definition, "measured", alias)
    if not cells:
        return made.but(
            refusal=_absent(definition, run, where, lenient), sources=(Source(run, where, 0, 0, 0),)
        )
    return _of_cell(made.but(sources=()), wanted, run, cells[0], idle, definition)


def series(
    definition: Definition, alias: Alias, run: Run, idle: Idle, *, lenient: bool = False
) -> list[Reading] | Refusal:
    """One reading for each planned cell that `definition` allows, in the order of `over`; or why there is none.

    Raises:
        PublishError: As `read` does.
    """
    assert definition.measured is not None and definition.measured.over is not None
    wanted, over = definition.measured, definition.measured.over
    where = chosen(run, wanted.where)
    found: dict[int, Reading] = {}
    for cell in planned(run, where):
        size = keys_of(cell)[over]
        if size in found:
            raise _several(definition, [cell, *(c for c in planned(run, where) if c != cell)])
        one = replace(
            definition,
            title=_WORDS_OF[over].format(size),
            measured=Measured(wanted.field, keys_of(cell)),
        )
        found[size] = read(one, alias, run, idle)
    return [found[size] for size in sorted(found)] or _absent(definition, run, where, lenient)


_WORDS_OF = {
    "batch": "batch {:,}",
    "prompt_tokens": "prompt of {:,} tokens",
    "context_tokens": "{:,} tokens deep",
}


def planned(run: Run, where: Mapping[str, Any]) -> list[Cell]:
    """The cells of the run's plan that `where` allows, in the plan's order."""
    return list(_fitting(run.planned, tuple(where.items())))


def has(run: Run, where: Mapping[str, Any]) -> bool:
    """Whether the run has samples of a cell that `where` allows, refused ones counted."""
    return bool(_fitting(tuple(run.cells), tuple(where.items())))


def chosen(run: Run, where: Mapping[str, Any]) -> dict[str, Any]:
    """`where` with one mode: of several, the first that the run planned, or else that its machine can run."""
    return {**where, "mode": _mode(run, where)} if "mode" in where else {**where}


def _absent(definition: Definition, run: Run, where: Mapping[str, Any], lenient: bool) -> Refusal:
    assert definition.measured is not None
    refusal = absent(run, where, definition.measured.field)
    if refusal is None and lenient and not planned(run, where):
        return Refusal("unavailable", "not measured in this run")
    if refusal is None:
        raise _missing(definition, run, where)
    return refusal


def absent(run: Run, where: Mapping[str, Any], field: str) -> Refusal | None:
    """Why the run has no samples of a cell; None where nothing says so."""
    left_out = [item for item in run.record["plan"]["left_out"] if _matches(_cell(item["cell"]), where)]
    meter = run.record["meter"]["refusal"]
    if meter and FIELDS[field].energy and not run.program:
        return Refusal(meter["kind"], meter["reason"])  # no more time would have given an energy
    if left_out:
        return Refusal("unavailable", f"left out of this run: {left_out[0]['reason']}")
    if run.program:
        return Refusal("unavailable", f"{run.program}, which this run was imported from, did not measure it")
    mode, experiment = where.get("mode"), where.get("experiment")
    if mode in _MODES_OF and _MODES_OF[mode] != run.device:
        return Refusal("unavailable", _ELSEWHERE[mode])
    if mode in _ONE_AT_A_TIME and where.get("batch", 1) > 1:
        return Refusal("unavailable", f"{mode} steps are made for one sequence at a time")
    if run.record["schema_version"] == 1 and (experiment in _SINCE_VERSION_2 or mode in _MODES_OF):
        what = _SINCE_VERSION_2.get(str(experiment), f"the mode {mode}")
        return Refusal("unavailable", f"this run is older than the measuring of {what}")
    return None


def _of_cell(
    made: Reading, wanted: Measured, run: Run, cell: Cell, idle: Idle, definition: Definition
) -> Reading:
    field = FIELDS[wanted.field]
    values: list[tuple[int, float]] = []
    counted: list[Sample] = []
    refusals: list[Refusal | None] = []
    for sample in run.cells[cell]:
        value, refusal = field.read(sample, idle)
        if value is None:
            refusals.append(refusal)
        else:
            values.append((sample.round, value))
            counted.append(sample)
    keys = keys_of(cell)
    if not values:
        reason = _most_common(refusals)
        if reason is None:
            raise _missing(definition, run, keys)
        return made.but(refusal=reason, sources=(Source(run, keys, 0, 0, len(refusals)),))
    found = estimate(run.id, values)
    source = Source(run, keys, found.processes, len(values), len(refusals))
    remarks = _remarks(wanted.field, counted, run, idle)
    reading = with_interval(made.but(estimate=found, sources=(source,), remarks=remarks))
    if field.ceiling and reading.high is not None:
        return reading.but(high=min(reading.high, 1.0))  # no machine does more than it can
    return reading


def _most_common(refusals: Iterable[Refusal | None]) -> Refusal | None:
    counts = Counter(filter(None, refusals))
    return counts.most_common(1)[0][0] if counts else None


def _remarks(name: str, samples: list[Sample], run: Run, idle: Idle) -> tuple[tuple[str, str], ...]:
    """What belongs to a number beside its interval: the meter's own error, what was subtracted, the ceiling."""
    field = FIELDS[name]
    found: list[tuple[str, str]] = []
    if field.energy:
        found.append(("Meter", _meter(samples, run)))
    if name == "net_joules_per_token" and idle.median is not None:
        watts = formatting.number(idle.median, "W")
        found.append(("Subtracted", f"{watts}, what the machine drew while it waited, times each duration"))
    if field.ceiling:
        ceilings = [getattr(sample, field.ceiling) for sample in samples]
        unit = "bytes/s" if "bytes" in field.ceiling else "flop/s"
        between = formatting.span(min(ceilings), max(ceilings), unit, digits=2)
        found.append(("Ceiling", f"{between}, measured right before and right after each sample"))
    return tuple(found)


def _meter(samples: list[Sample], run: Run) -> str:
    meter = run.record["meter"]
    words = {"nvml": "the GPU’s own energy counter", "rapl": "the CPU package’s own energy counter"}
    text = words.get(meter["kind"], str(meter["kind"]))
    errors = [
        sample.energy_error_joules / sample.energy_joules
        for sample in samples
        if sample.energy_error_joules is not None and sample.energy_joules
    ]
    if errors:
        share = formatting.number(statistics.median(errors), "1", digits=2, style="percent")
        text += f"; stated error of a window {share}"
    if meter.get("gain_error_share"):
        share = formatting.number(meter["gain_error_share"], "1", digits=1, style="percent")
        text += f"; the meter as a whole may be off by {share}, which ratios do not carry"
    return text


def _mode(run: Run, where: Mapping[str, Any]) -> str:
    modes: tuple[str, ...] = (where["mode"],) if isinstance(where["mode"], str) else where["mode"]
    for mode in modes:
        if planned(run, {**where, "mode": mode}):
            return mode
    fitting = [mode for mode in modes if _MODES_OF.get(mode, run.device) == run.device]
    return (fitting or list(modes))[0]


def _cell(record: Mapping[str, Any]) -> Cell:
    experiment, batch, prompt_tokens, context_tokens, dtype, mode = (record[key] for key in CELL_KEYS)
    return experiment, batch, prompt_tokens, context_tokens, dtype, mode


@lru_cache(maxsize=4096)
def _fitting(cells: tuple[Cell, ...], where: tuple[tuple[str, Any], ...]) -> tuple[Cell, ...]:
    """The cells that `where` allows. Runs of one plan have the same cells, so that few are looked through anew."""
    wanted = dict(where)
    return tuple(cell for cell in cells if _matches(cell, wanted))


def _matches(cell: Cell, where: Mapping[str, Any]) -> bool:
    return all(where.get(key, value) == value for key, value in zip(CELL_KEYS, cell, strict=True))


def _several(definition: Definition, cells: Iterable[Cell]) -> PublishError:
    words = [cell_words(keys_of(cell)) for cell in sorted(cells, key=str)]
    return PublishError(
        f"{definition.id} takes in {len(words)} cells",
        place=definition.place,
        expected="keys that choose one cell",
        found="; ".join(words),
        mend=f"add more of {', '.join(CELL_KEYS)} to `measured`",
    )


def _missing(definition: Definition, run: Run, where: Mapping[str, Any]) -> PublishError:
    assert definition.measured is not None
    there = sorted({cell_words(keys_of(cell)) for cell in run.cells if cell[0] == where.get("experiment")})
    lost = bool(planned(run, where))
    found = "none, and no refusal that says why" if lost else "none: the run's plan has no such cell"
    if there:
        found += f"; samples there are of {'; '.join(there)}"
    again = f"`python -m measure run --model {run.model} --plan {run.plan}`"
    return PublishError(
        f"{definition.id} has no samples",
        place=Place(str(run.folder / "samples.jsonl")),
        expected=f"samples of {cell_words(where)} with {definition.measured.field}",
        found=found,
        mend=f"restore the file if lines were lost; else {again} measures again"
        if lost
        else f"{again} measures with today's plan, or mend the cell in docs/quantities.toml",
    )
