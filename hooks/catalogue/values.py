"""Numbers of one run, as tables, charts and files need them: small, without their samples. Reads no run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hooks.data.records import Cell, Refusal
from hooks.numbers.readings import Reading


@dataclass(frozen=True, slots=True)
class Value:
    """A number in one run.

    `value`, `low` and `high` are in the number's unit, to 12 digits: what differs beyond them is another version of a
    library. `low` and `high` are the ends of its interval, or those of a range, which has no `value`. `samples` are
    those that count.
    """

    text: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    interval: str | None = None
    processes: int = 0
    samples: int = 0
    refused: int = 0
    refusal: Refusal | None = None

    @classmethod
    def of(cls, reading: Reading, style: str | None = None) -> Value:
        """What a reading says; `style` overrides the number's own way to be shown."""
        return cls(
            text=reading.text(style),
            value=rounded(reading.value),
            low=rounded(reading.low),
            high=rounded(reading.high),
            interval=reading.interval_text(style),
            processes=reading.processes or max((source.processes for source in reading.sources), default=0),
            samples=reading.samples,
            refused=sum(source.refused for source in reading.sources),
            refusal=reading.refusal,
        )

    @classmethod
    def refused_for(cls, kind: str, reason: str) -> Value:
        """A number that is not there."""
        return cls(reason, refusal=Refusal(kind, reason))

    def row(self) -> list[Any]:
        """As JSON values."""
        kind, reason = (self.refusal.kind, self.refusal.reason) if self.refusal else (None, None)
        numbers = [self.value, self.low, self.high, self.interval, self.processes, self.samples, self.refused]
        return [self.text, *numbers, kind, reason]

    @classmethod
    def from_row(cls, row: list[Any]) -> Value:
        """What `row` gave."""
        text, value, low, high, interval, processes, samples, refused, kind, reason = row
        refusal = Refusal(kind, reason) if kind else None
        return cls(text, value, low, high, interval, processes, samples, refused, refusal)


@dataclass(frozen=True, slots=True)
class CellValues:
    """A cell of a run: how many samples it has, and what they say, by the names of fields.

    `planned` counts timed samples of all processes together; `left_out` is the plan's reason for fewer.
    """

    cell: Cell
    planned: int
    counted: int
    refused: int
    warm_ups: int
    values: Mapping[str, Value]
    left_out: str | None = None

    def row(self) -> list[Any]:
        """As JSON values."""
        values = {name: value.row() for name, value in self.values.items()}
        counts = [self.planned, self.counted, self.refused, self.warm_ups]
        return [list(self.cell), *counts, values, self.left_out]

    @classmethod
    def from_row(cls, row: list[Any]) -> CellValues:
        """What `row` gave."""
        cell, planned, counted, refused, warm_ups, values, left_out = row
        read = {name: Value.from_row(value) for name, value in values.items()}
        return cls(_cell(cell), planned, counted, refused, warm_ups, read, left_out)


@dataclass(frozen=True, slots=True)
class Refused:
    """A reason for refused samples of a run: how many it has, of which cells; `energy` where only their energy is."""

    kind: str
    reason: str
    energy: bool
    count: int
    cells: tuple[str, ...]


@dataclass(frozen=True)
class RunValues:
    """All that is known of a run: its cells in the plan's order, quantities by id, gates, refusals.

    `gates` counts samples that are no warm-ups: passed, failed and not checked. `disturbances` are clauses on why the
    machine was not quiet.
    """

    cells: tuple[CellValues, ...]
    quantities: Mapping[str, Value]
    gates: Mapping[str, tuple[int, int, int]]
    refusals: tuple[Refused, ...]
    disturbances: tuple[str, ...]
    samples: int
    warm_ups: int
    refused: int

    def row(self) -> list[Any]:
        """As JSON values."""
        return [
            [cell.row() for cell in self.cells],
            {id_: value.row() for id_, value in self.quantities.items()},
            {name: list(counts) for name, counts in self.gates.items()},
            [[each.kind, each.reason, each.energy, each.count, list(each.cells)] for each in self.refusals],
            list(self.disturbances),
            self.samples,
            self.warm_ups,
            self.refused,
        ]

    @classmethod
    def from_row(cls, row: list[Any]) -> RunValues:
        """What `row` gave."""
        cells, quantities, gates, refusals, disturbances, *counts = row
        return cls(
            tuple(map(CellValues.from_row, cells)),
            {id_: Value.from_row(value) for id_, value in quantities.items()},
            {name: (passed, failed, unchecked) for name, (passed, failed, unchecked) in gates.items()},
            tuple(Refused(kind, reason, energy, n, tuple(of)) for kind, reason, energy, n, of in refusals),
            tuple(disturbances),
            *counts,
        )


def _cell(values: list[Any]) -> Cell:
    experiment, batch, prompt_tokens, context_tokens, dtype, mode = values
    return experiment, batch, prompt_tokens, context_tokens, dtype, mode


def rounded(value: float | None) -> float | None:
    """To 12 significant digits."""
    return None if value is None else float(f"{value:.12g}")
