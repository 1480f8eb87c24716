"""The second reading of a window: sampled power, integrated, and whether it bears the counter out. Reads nothing.

A sensor tells the power of the moment, or the mean of some time before. A mean over `mean_s` seconds that was read at t
stands for the time around t - mean_s / 2, and only those that began within the window speak of it.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from measure.counter import Joules

SAMPLING_SHARE = 0.10
"""Share by which integrated power may differ at any rate: sensors see a part of the time (25 % on an H100)."""
WIDEST_BUDGET_SHARE = 0.25
"""No scatter of the samples excuses a larger disagreement than this."""
FEWEST_SAMPLES = 5
"""Power samples that a reading takes."""


@dataclass(frozen=True)
class PowerSample:
    """One reading of the power sensor."""

    at_s: float
    watts: float


@dataclass(frozen=True)
class SecondReading:
    """Energy by sampled power, joules (None: too few samples), and how it disagrees with the counter, in words."""

    joules: float | None
    disagreement: str | None


def integrate(samples: Sequence[PowerSample], begin_s: float, end_s: float) -> float:
    """Joules of the readings between two times, each joined to the next by a line, the outermost held to the ends."""
    inside = [s for s in samples if begin_s <= s.at_s <= end_s]
    path = [PowerSample(begin_s, inside[0].watts), *inside, PowerSample(end_s, inside[-1].watts)]
    return math.fsum((b.at_s - a.at_s) * (a.watts + b.watts) / 2 for a, b in itertools.pairwise(path))


def second_reading(
    counter: Joules, samples: Sequence[PowerSample], begin_s: float, end_s: float, mean_s: float
) -> SecondReading:
    """Sampled power over the window, held against the counter.

    The budget of the difference: the counter's own error, a share for the time that the sensor does not see,
    three standard errors of the mean of distinct readings, and for readings that are means the two half means at
    the ends, which no reading speaks of; the last three together at most a stated share.
    """
    inside = [
        PowerSample(s.at_s - mean_s / 2, s.watts) for s in samples if begin_s + mean_s <= s.at_s <= end_s
    ]
    if len(inside) < FEWEST_SAMPLES:
        return SecondReading(None, None)
    watts = [s.watts for s in inside]
    sampled = integrate(inside, begin_s, end_s)
    distinct = 1 + sum(a != b for a, b in itertools.pairwise(watts))
    scatter = 3 * statistics.pstdev(watts) * (end_s - begin_s) / math.sqrt(distinct)
    unseen = (max(watts) - min(watts)) * mean_s
    size = max(counter.value, sampled)
    budget = counter.error + min(SAMPLING_SHARE * size + scatter + unseen, WIDEST_BUDGET_SHARE * size)
    if abs(counter.value - sampled) <= budget:
        return SecondReading(sampled, None)
    return SecondReading(
        sampled,
        f"two readings disagree: the energy counter says {counter.value:.4g} J, power sampled "
        f"{len(inside)} times {sampled:.4g} J, and {budget:.2g} J were allowed",
    )
