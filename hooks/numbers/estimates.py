"""Estimates from samples: medians, and intervals from the spread between processes. Reads no files.

The spread between fresh processes decides, since samples within one process agree far better with each
other than with the next process. The interval is a 95 % Student-t *prediction* interval over the process
medians: the range in which the median of one more process is expected.

An `Estimate` carries, beside its value, what each process alone would have given. A formula over
estimates is evaluated once for each process, so what the processes share (a slow hour, a warm room)
cancels where it should. Runs are independent: their half-widths add in quadrature.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

LEVEL = 0.95
"""Coverage of every interval that the site states."""

FEWEST_PROCESSES = 3
"""Fewer processes than this give no interval: two medians say next to nothing about a third."""

ByProcess = Mapping[int, float]


@dataclass(frozen=True)
class Interval:
    """Ends of a prediction interval, in the unit of the value that it belongs to."""

    low: float
    high: float


@dataclass(frozen=True)
class Estimate:
    """A value and what each process alone would have given.

    `by_run[run][process]` is the value with that process's medians in place of the run's, every other run
    held at its own. Empty for exact values (arithmetic on a model's sizes, cited numbers).
    """

    value: float
    by_run: Mapping[str, ByProcess] = field(default_factory=dict)

    @property
    def processes(self) -> int:
        """Processes behind the value, all runs together."""
        return sum(len(values) for values in self.by_run.values())

    @cached_property
    def interval(self) -> Interval | None:
        """The prediction interval; None for an exact value and where a run has too few processes."""
        if not self.by_run:
            return None
        squares = 0.0
        for values in self.by_run.values():
            half = half_width(list(values.values()))
            if half is None:
                return None
            squares += half * half
        half = math.sqrt(squares)
        return Interval(self.value - half, self.value + half)


def half_width(values: Sequence[float], level: float = LEVEL) -> float | None:
    """Half the width of the Student-t prediction interval for one more value, in the values' unit.

    Returns None for fewer than three values. Source: the prediction interval for a normal sample with
    unknown mean and variance, t · s · sqrt(1 + 1/n), with n - 1 degrees of freedom.
    """
    n = len(values)
    if n < FEWEST_PROCESSES:
        return None
    return _quantile(n - 1, (1 + level) / 2) * _deviation(values) * math.sqrt(1 + 1 / n)


def _deviation(values: Sequence[float]) -> float:
    """The sample's standard deviation, in the values' unit: that of `statistics`, without its fractions, which take
    most of the time of an interval."""
    mean = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))


QUANTILES: dict[str, float] = {}
"""Quantiles of Student's t distribution that were asked for, by degrees of freedom and share; a host may keep them."""


def _quantile(degrees: int, share: float) -> float:
    key = f"{degrees} {share}"
    if key not in QUANTILES:
        from scipy.special import (
            stdtrit,
        )  # a seventh of a second to import, for the few numbers that are wanted

        QUANTILES[key] = float(stdtrit(degrees, share))
    return QUANTILES[key]


def estimate(run: str, samples: Iterable[tuple[int, float]]) -> Estimate:
    """The median of the process medians, from `(process, value)` pairs of one cell of one run."""
    by_process: dict[int, list[float]] = {}
    for process, value in samples:
        by_process.setdefault(process, []).append(value)
    medians = {process: statistics.median(values) for process, values in sorted(by_process.items())}
    return Estimate(statistics.median(medians.values()), {run: medians})


def through(formula: Callable[[Mapping[str, float]], float], inputs: Mapping[str, Estimate]) -> Estimate:
    """A formula's value at its inputs' values, and once for each process that all its inputs share."""
    values = {name: item.value for name, item in inputs.items()}
    by_run: dict[str, ByProcess] = {}
    for run in dict.fromkeys(run for item in inputs.values() for run in item.by_run):
        measured = {name: item.by_run[run] for name, item in inputs.items() if run in item.by_run}
        shared = set.intersection(*(set(by_process) for by_process in measured.values()))
        by_run[run] = {
            process: formula(values | {name: item[process] for name, item in measured.items()})
            for process in sorted(shared)
        }
    return Estimate(formula(values), by_run)
