"""The ratio of two runs' values with its interval, from their process medians. Pure; knows no runs and no words.

Each run gives one median for each fresh process, and the run's value is the median of those. The ratio of two such
values is taken on the log scale, where what multiplies a time (a slower clock, a busier memory) adds up, and where the
ratio and its inverse have the same interval. The interval is a confidence interval for the ratio of what the two runs
would give with ever more processes. It is not the prediction interval that pages state for one run, which asks where
one more process would fall: the question of a comparison is whether the runs differ.

It is the smallest that holds two others, both after Welch, since nothing makes the two spreads equal:

    of the medians   log of their ratio ± t(0.975, v) * sqrt(c(n)² s² / n + c(m)² u² / m)
    of the means     difference of the means of logs ± t(0.975, w) * sqrt(s² / n + u² / m)

with n and m processes, s and u their standard deviations of logs, and c the standard error of a normal sample's median
over that of its mean. The medians alone fail where processes come in two moods (as on shared machines, where memory has
one speed in one process and another in the next), the means alone where a few are slow. Both together cost 1 to 6 % of
width. `python -m tests.bench.intervals` prints how often each holds the true ratio.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

LEVEL = 0.95
"""Coverage of the interval."""

FEWEST_PROCESSES = 3
"""With fewer in either run there is no interval: two medians say next to nothing about a third."""

MEDIAN_ERROR = {3: 1.1602, 4: 1.0922, 5: 1.1976, 6: 1.1351, 7: 1.2137, 8: 1.1599, 9: 1.2227, 10: 1.1761}
"""Standard error of the median of so many normal values, over that of their mean: the integrals over the densities of
their middle order statistics, which the tests do again."""

MEDIAN_ERROR_MOST = math.sqrt(math.pi / 2)
"""The same for ever more values, and more than for any number of them: used above ten."""


@dataclass(frozen=True)
class Ratio:
    """The second value over the first; `low` and `high` are None where no interval can be given."""

    value: float
    low: float | None
    high: float | None

    @property
    def resolved(self) -> bool:
        """Whether the interval leaves out 1: the runs differ, one time in twenty by chance alone."""
        return self.low is not None and self.high is not None and not self.low <= 1 <= self.high


def ratio_of(first: Sequence[float], second: Sequence[float], gain_errors: Sequence[float] = ()) -> Ratio:
    """The ratio of the medians of `second` and `first`, both in one unit.

    Args:
        first: One positive value a process.
        second: Likewise.
        gain_errors: Shares by which all values of a run may be off together, independently, at the same level; they
            widen the interval.

    Raises ValueError for an empty or a non-positive sample.
    """
    if not first or not second or min(*first, *second) <= 0:
        raise ValueError("a ratio needs positive values of both runs")
    value = statistics.median(second) / statistics.median(first)
    if min(len(first), len(second)) < FEWEST_PROCESSES:
        return Ratio(value, None, None)
    logs = [[math.log(x) for x in values] for values in (first, second)]
    variances = [statistics.variance(values) / len(values) for values in logs]
    # spreads below what a double resolves are none, and Welch's quotient of their squares would be 0 / 0
    if sum(variances) < 1e-28:
        half = math.hypot(*gain_errors)
        return Ratio(value, value * math.exp(-half), value * math.exp(half))
    freedoms = [len(values) - 1 for values in logs]
    factors = [MEDIAN_ERROR.get(len(values), MEDIAN_ERROR_MOST) ** 2 for values in logs]
    of_medians = math.log(value)
    of_means = statistics.fmean(logs[1]) - statistics.fmean(logs[0])
    wide = [variance * factor for variance, factor in zip(variances, factors, strict=True)]
    half_of_medians = math.hypot(_half_width(wide, freedoms), *gain_errors)
    half_of_means = math.hypot(_half_width(variances, freedoms), *gain_errors)
    low = min(of_medians - half_of_medians, of_means - half_of_means)
    high = max(of_medians + half_of_medians, of_means + half_of_means)
    return Ratio(value, math.exp(low), math.exp(high))


def prediction_ends(values: Sequence[float]) -> tuple[float, float] | None:
    """The ends between which one more process is expected, as pages state them; None for fewer than three values."""
    n = len(values)
    if n < FEWEST_PROCESSES:
        return None
    half = _t_quantile(n - 1) * statistics.stdev(values) * math.sqrt(1 + 1 / n)
    middle = statistics.median(values)
    return middle - half, middle + half


def _half_width(variances: Sequence[float], freedoms: Sequence[int]) -> float:
    """Half the width of an interval of a difference, from the squared errors of its two sides, after Welch."""
    total = sum(variances)
    freedom = total**2 / sum(v**2 / f for v, f in zip(variances, freedoms, strict=True))
    return _t_quantile(freedom) * math.sqrt(total)


def _t_quantile(freedom: float) -> float:
    from scipy.special import stdtrit  # the one use of scipy here: other commands work without it

    return float(stdtrit(freedom, (1 + LEVEL) / 2))
