"""Time: what a run may take, and what its windows will take. Decides what still fits; measures nothing."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Sequence

from measure.plan import FEWEST_PROCESSES, Cell, Plan, PlannedCell
from measure.tally import Tally

CLOSING_S = 1.5
"""Kept from a budget for ending the last process, moving the run to its place and printing it."""


class Pace:
    """The pace of one run. Seconds are of the wall clock and count all that a sample takes, not its window alone."""

    def __init__(self, plan: Plan, tally: Tally, began: float) -> None:
        """`began` is when the command started, as a monotonic time."""
        self.build_s = 0.0
        self._plan = plan
        self._tally = tally
        self._began = began
        self._entry_s: dict[Cell, float] = {}
        self._sample_s: dict[Cell, float] = {}

    def saw(self, cell: Cell, seconds: float, *, warm_up: bool) -> None:
        """A process took `seconds` to make `cell` ready (all its warm-ups), or to take one timed sample."""
        (self._entry_s if warm_up else self._sample_s)[cell] = seconds

    def entry_s(self, cell: Cell) -> float:
        """What making the cell ready in a fresh process will take; 0 where nothing is known yet."""
        if cell.experiment in ("kv_cache", "idle"):
            return 0.0
        if cell in self._entry_s:
            return self._entry_s[cell]
        warm_ups = [s for s in self._tally.of(cell) if s["warm_up"] and s["duration_s"]]
        if warm_ups:
            last = warm_ups[-1]["process"]
            return math.fsum(s["duration_s"] for s in warm_ups if s["process"] == last)
        known = self._like(cell, self._entry_s)
        return 2 * self.sample_s(cell) if known is None else known

    def sample_s(self, cell: Cell) -> float:
        """What one timed sample of the cell will take; 0 where nothing is known yet."""
        if cell in self._sample_s:
            return self._sample_s[cell]
        if cell.experiment == "kv_cache":
            return 0.0
        window_s = self._tally.window_s(cell)
        if window_s is not None:
            return window_s
        known = self._like(cell, self._sample_s)
        return self._plan.window_s if known is None else max(known, self._plan.window_s)

    def is_known(self, cell: Cell) -> bool:
        """Whether the cell, or one that it can be judged by, was seen."""
        untimed = cell.experiment in ("kv_cache", "idle")
        return untimed or bool(self._tally.of(cell)) or self._like(cell, self._sample_s) is not None

    def room_until(self, deadline: float) -> float:
        """Seconds left until `deadline`, a monotonic time."""
        return deadline - time.monotonic()

    def deadline(self, round_: int) -> float:
        """When `round_` must end so that the rounds after it get their share, as a monotonic time.

        The first `FEWEST_PROCESSES` rounds share all the time among them, since a cell in fewer processes has no
        interval; what they leave is for the rounds after. In a share that building alone would take nothing could be
        measured: then fewer rounds get longer ones.
        """
        if self._plan.budget_s is None:
            return math.inf
        end = self._end()
        rounds = min(FEWEST_PROCESSES, self._plan.rounds) if round_ < FEWEST_PROCESSES else self._plan.rounds
        worth_it = int((self.room_until(end) + self.build_s) / (2 * self.build_s)) if self.build_s else rounds
        rounds_left = max(min(rounds - round_, worth_it), 1)
        # This round's model is built already; each later one is built within its own share.
        share_s = (self.room_until(end) + self.build_s) / rounds_left - self.build_s
        return time.monotonic() + share_s

    def can_open_another(self) -> bool:
        """Whether a process built now could still measure something within the budget."""
        if self._plan.budget_s is None:
            return True
        cells = [p.cell for p in self._timed_cells() if not self._tally.refusal(p.cell)]
        shortest_s = min((self.entry_s(c) + self.sample_s(c) for c in cells), default=0.0)
        return self.room_until(self._end()) > self.build_s + shortest_s

    def fitting(
        self, warm: Sequence[tuple[PlannedCell, int]], room_s: float
    ) -> list[tuple[PlannedCell, int]]:
        """The (cell, repetition) pairs that fit into `room_s` seconds: one of every cell before the second of any."""
        fitting: list[tuple[PlannedCell, int]] = []
        for turn in range(max((count for _, count in warm), default=0)):
            for planned, count in warm:
                needed_s = self.sample_s(planned.cell)
                if turn < count and needed_s <= room_s:
                    fitting.append((planned, turn))
                    room_s -= needed_s
        return fitting

    def left_s(self, round_: int) -> float | None:
        """Seconds until the run is complete; None before each kind of cell was seen once."""
        cells = [p for p in self._timed_cells() if not self._tally.refusal(p.cell)]
        if not all(self.is_known(p.cell) for p in cells):
            return None
        a_round_s = math.fsum(
            self.entry_s(p.cell) + self._tally.repetitions(p) * self.sample_s(p.cell) for p in cells
        )
        this_round_s = math.fsum(
            count * self.sample_s(planned.cell) for planned, count in self._tally.wanted(round_)
        )
        left_s = this_round_s + (self._plan.rounds - round_ - 1) * (a_round_s + self.build_s)
        return left_s if self._plan.budget_s is None else min(left_s, max(self.room_until(self._end()), 0.0))

    def _end(self) -> float:
        return self._began + (self._plan.budget_s or math.inf) - CLOSING_S

    def _timed_cells(self) -> list[PlannedCell]:
        return [p for p in self._plan.cells if p.cell.experiment in ("prefill", "decode", "ceilings")]

    def _like(self, cell: Cell, seen: dict[Cell, float]) -> float | None:
        """Seconds as of the cell that is most like `cell`, scaled to its size; None where no such was seen."""
        alike = [c for c in seen if c.experiment == cell.experiment]
        if not alike:
            return None
        same_mode = [c for c in alike if c.mode == cell.mode] or alike
        if cell.experiment != "prefill":  # a decode step reads the weights once at any batch
            return statistics.median(seen[c] for c in same_mode)
        size = cell.batch * cell.length
        nearest = min(same_mode, key=lambda c: abs(math.log(size / (c.batch * c.length))))
        return seen[nearest] * max(size / (nearest.batch * nearest.length), 1.0)
