"""What site_data/ holds once it is read: samples, runs, refusals. Reads no files, computes no statistic."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from hooks.caching import traces

CELL_KEYS = ("experiment", "batch", "prompt_tokens", "context_tokens", "dtype", "mode")
"""What makes a cell, in the order of `Sample.cell`."""

Cell = tuple[str, int, int | None, int | None, str, str]
"""A cell: the values of `CELL_KEYS`."""


def keys_of(cell: Cell) -> dict[str, Any]:
    """A cell with the names of its values."""
    return dict(zip(CELL_KEYS, cell, strict=True))


Record = Mapping[str, Any]
"""A JSON object of site_data/, as schema.json describes it."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a number is not there: one of the contract's kinds, and the reason in words."""

    kind: str
    reason: str


@dataclass(frozen=True, slots=True)
class Sample:
    """One line of samples.jsonl. Units as in schema.json; `line` counts from 1.

    What version 2 of the contract added is None, or empty, in a run of version 1.
    """

    line: int
    experiment: str
    batch: int
    prompt_tokens: int | None
    context_tokens: int | None
    dtype: str
    mode: str
    process: int
    round: int
    repetition: int
    warm_up: bool
    started_at: str
    steps: int
    tokens: int
    duration_s: float | None
    energy_joules: float | None
    energy_error_joules: float | None
    energy_second_joules: float | None
    energy_refusal: Refusal | None
    kv_cache_bytes: int | None
    peak_bytes: int | None
    foreign_cpu_share: float | None
    work_bytes: float | None
    work_flop: float | None
    ceiling_bytes_per_s: float | None
    ceiling_flop_per_s: float | None
    refusal: Refusal | None
    gates: Mapping[str, str] = field(default_factory=dict)
    device_state: Record | None = None

    @property
    def cell(self) -> Cell:
        """The setting that it was taken in."""
        return self.experiment, self.batch, self.prompt_tokens, self.context_tokens, self.dtype, self.mode

    @property
    def counts(self) -> bool:
        """Whether statistics use it: no warm-up, and not refused."""
        return not self.warm_up and self.refusal is None


@dataclass(frozen=True)
class Run:
    """One complete run: its provenance as stored, and its samples, which are read when they are wanted.

    `content` is a hash of samples.jsonl. Whoever asks for samples or cells is traced (`hooks.caching.traces`).
    """

    id: str
    folder: Path
    record: Record
    content: str
    read: Callable[[], tuple[Sample, ...]] = field(compare=False, repr=False)

    @property
    def samples(self) -> tuple[Sample, ...]:
        """Its samples in file order, warm-ups and refused ones too."""
        traces.note(self.id)
        return self._samples

    @property
    def cells(self) -> Mapping[Cell, tuple[Sample, ...]]:
        """Its samples by cell, refused ones too, warm-ups left out."""
        traces.note(self.id)
        return self._cells

    @cached_property
    def _samples(self) -> tuple[Sample, ...]:
        return self.read()

    @cached_property
    def _cells(self) -> Mapping[Cell, tuple[Sample, ...]]:
        found: dict[Cell, list[Sample]] = {}
        for sample in self._samples:
            if not sample.warm_up:
                found.setdefault(sample.cell, []).append(sample)
        return {cell: tuple(samples) for cell, samples in found.items()}

    @cached_property
    def planned(self) -> tuple[Cell, ...]:
        """The cells of its plan, each once, in the plan's order."""
        cells = (tuple(cell[key] for key in CELL_KEYS) for cell in self.record["plan"]["cells"])
        return tuple(dict.fromkeys(cells))

    @property
    def model(self) -> str:
        """Name of the model, as in models/."""
        return str(self.record["model"]["name"])

    @property
    def plan(self) -> str:
        """Name of the plan."""
        return str(self.record["plan"]["name"])

    @property
    def finished_at(self) -> str:
        """UTC time at which the run was complete, RFC 3339."""
        return str(self.record["finished_at"])

    @property
    def date(self) -> str:
        """The day on which the run was complete, YYYY-MM-DD in UTC."""
        return self.finished_at[:10]

    @property
    def machine(self) -> str:
        """The machine in one phrase."""
        return str(self.record["machine"]["label"])

    @property
    def device(self) -> str:
        """gpu where the machine has an accelerator, else cpu."""
        return "gpu" if self.record["machine"]["accelerator"] else "cpu"

    @property
    def weights_kind(self) -> str:
        """random, hub, file or unknown."""
        return str(self.record["model"]["weights"]["kind"])

    @property
    def weights_in_short(self) -> str:
        """The kind of the weights as people say it."""
        words = {"hub": "real weights", "file": "real weights from a file"}
        return words.get(self.weights_kind, f"{self.weights_kind} weights")

    @property
    def weights(self) -> str:
        """The weights in one phrase."""
        return str(self.record["model"]["weights"]["label"])

    @property
    def origin(self) -> Record | None:
        """The program and the file that an imported run was read from; None for a run measured here."""
        origin: Record | None = self.record.get("origin")
        return origin

    @property
    def program(self) -> str | None:
        """Name of the program that an imported run comes from; None for a run measured here."""
        return str(self.origin["program"]) if self.origin else None
