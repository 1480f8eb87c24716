"""The ceilings that a run measured: how fast its machine reads and computes, whatever it runs. Draws none."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass

from hooks.data.records import Run
from hooks.numbers import formatting


@dataclass(frozen=True)
class Ceiling:
    """All measurements of one ceiling in a run: its ends are those of the middle nine tenths."""

    name: str
    unit: str
    values: tuple[float, ...]

    @property
    def ends(self) -> tuple[float, float]:
        """From where to where it moved, in `unit`."""
        if len(self.values) < 20:
            return min(self.values), max(self.values)
        twentieths = statistics.quantiles(self.values, n=20)
        return twentieths[0], twentieths[-1]

    def text(self) -> str:
        """The ends in words."""
        return formatting.span(*self.ends, self.unit, digits=2)


def measured(run: Run) -> Iterable[Ceiling]:
    """What the run measured of each ceiling: in windows of their own, and right beside its samples."""
    kinds = (
        ("read bandwidth", "read", "work_bytes", "ceiling_bytes_per_s", "bytes/s"),
        ("arithmetic", "gemm", "work_flop", "ceiling_flop_per_s", "flop/s"),
    )
    good = [sample for sample in run.samples if sample.counts]
    for name, mode, work, beside, unit in kinds:
        values = [getattr(sample, beside) for sample in good if getattr(sample, beside)]
        values += [
            getattr(sample, work) / sample.duration_s
            for sample in good
            if (sample.experiment, sample.mode) == ("ceilings", mode)
            and getattr(sample, work)
            and sample.duration_s
        ]
        if values:
            yield Ceiling(name, unit, tuple(values))
