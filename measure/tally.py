"""What a run has and what it still lacks, cell by cell. Takes no samples and knows no clock."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable

from measure.plan import BEFORE_CONTEXT, FEWEST_PROCESSES, Cell, Plan, PlannedCell, repetitions_for
from measure.record import Json, cell_of

RETAKES = 2
"""Samples that a process takes again of one cell, where one was disturbed; then its fewer good ones must do."""

SETTLING_KINDS = ("did_not_fit", "unavailable")
"""A cell refused for one of these is refused for the whole run: trying again would change nothing."""


class Tally:
    """The samples of one run, against its plan."""

    def __init__(self, plan: Plan, run: Json, samples: Iterable[Json]) -> None:
        self.plan = plan
        self._run = run
        self._by_cell: dict[Cell, list[Json]] = {}
        for sample in samples:
            self.add(sample)

    def add(self, sample: Json) -> None:
        """Count a new sample. By cell: to search all samples for each cell after each sample takes too long."""
        self._by_cell.setdefault(cell_of(sample), []).append(sample)

    def of(self, cell: Cell) -> list[Json]:
        """All samples of `cell` in the order of time, warm-ups and refused ones too."""
        return self._by_cell.get(cell, [])

    def good(self, cell: Cell) -> list[Json]:
        """The samples of `cell` that count."""
        return [s for s in self.of(cell) if not s["warm_up"] and s["refusal"] is None]

    def refusal(self, cell: Cell) -> Json | None:
        """Why there will be no more samples of `cell` in this run; None while there may be."""
        found = (s["refusal"] for s in self.of(cell) if s["refusal"])
        return next((r for r in found if r["kind"] in SETTLING_KINDS), None)

    def repetitions(self, planned: PlannedCell) -> int:
        """Samples that each process takes of a cell, decided by the run's first window of it."""
        first = next((s["duration_s"] for s in self.of(planned.cell) if s["duration_s"]), None)
        return repetitions_for(planned, first)

    def wanted(self, round_: int) -> list[tuple[PlannedCell, int]]:
        """Each cell that `round_` still lacks samples of, and how many; what is taken outside of processes apart."""
        every = [(planned, self.missing(planned, round_)) for planned in self.plan.cells]
        return [(planned, count) for planned, count in every if count and planned.cell.mode != BEFORE_CONTEXT]

    def missing(self, planned: PlannedCell, round_: int) -> int:
        """Samples of one cell that `round_` lacks and may still take."""
        if self.refusal(planned.cell):
            return 0
        timed = self._timed(planned.cell, round_)
        good = sum(s["refusal"] is None for s in timed)
        repetitions = self.repetitions(planned)
        return max(min(repetitions - good, repetitions + RETAKES - len(timed)), 0)

    def next_repetition(self, cell: Cell, round_: int, process: int, *, warm_up: bool) -> int:
        """The number of the next sample: in its round, or of warm-ups in its process."""
        if not warm_up:
            return len(self._timed(cell, round_))
        return sum(s["warm_up"] and s["process"] == process for s in self.of(cell))

    def window_s(self, cell: Cell) -> float | None:
        """Median length of the cell's latest windows, seconds; None before the first."""
        windows = [s["duration_s"] for s in self.of(cell)[-3:] if s["duration_s"]]
        return statistics.median(windows) if windows else None

    def progress(self) -> tuple[int, int]:
        """(good samples taken, samples that the run will have if none is disturbed)."""
        open_ = [p for p in self.plan.cells if not self.refusal(p.cell)]
        wanted = sum(self.plan.samples_of(p, self.repetitions(p)) for p in open_)
        return sum(len(self.good(p.cell)) for p in open_), wanted

    def left_out(self, allowed: str | None) -> list[Json]:
        """Cells with fewer good samples than planned, each with the reason; `allowed` is the budget in words."""
        left_out = []
        for planned in self.plan.cells:
            taken = len(self.good(planned.cell))
            count = self.plan.samples_of(planned, planned.repetitions)
            if taken < count:
                reason = self._reason(planned, taken, allowed)
                cell = dict(vars(planned.cell))
                left_out.append({"cell": cell, "planned": count, "taken": taken, "reason": reason})
        return left_out

    def _reason(self, planned: PlannedCell, taken: int, allowed: str | None) -> str:
        cell = planned.cell
        refusal = self.refusal(cell)
        if refusal:
            return str(refusal["reason"])
        spoiled = [s["refusal"] for s in self.of(cell) if s["refusal"] and not s["warm_up"]]
        in_full = self.repetitions(planned)
        if taken >= self.plan.samples_of(planned, in_full):
            return f"one window takes {self.window_s(cell):.0f} s: {in_full} samples in each process"
        if not spoiled:
            return f"the time allowed, {allowed or 'none'}, did not suffice"
        (kind, reason), _ = Counter((r["kind"], r["reason"]) for r in spoiled).most_common(1)[0]
        words = f"{len(spoiled)} samples were {kind} (such as: {reason})"
        few = len({s["process"] for s in self.good(cell)}) < min(FEWEST_PROCESSES, self.plan.rounds)
        return words + ("; too few stayed good for an interval" if few else "")

    def _timed(self, cell: Cell, round_: int) -> list[Json]:
        processes = {p["process"] for p in self._run["processes"] if p["round"] == round_}
        return [s for s in self.of(cell) if not s["warm_up"] and s["process"] in processes]
