"""The arithmetic of a window on an energy counter that moves in ticks: its energy and error budget. Reads nothing.

The counter holds the energy up to its last tick. A window opens just after a tick, so its first edge is
known to the time between two reads. It closes anywhere within a tick: the counter then tells what the whole
tick took, and the window's part of it lies between bounds that the tick's energy and the range of power
before and after the closing leave open. The estimate lies within those bounds; the error reaches to the
farther one.

The error budget, in joules by source:

- `opening_edge`: the time between the tick and the window's begin, at the highest power supposed;
- `closing_edge`: from the estimate of the last tick's part to the farther of its bounds;
- `counter_step`: the counter's unit, once at each end;
- `lag`: late by d seconds, a counter misses d seconds of the window's end and counts as many from before it. Half of
  the longest lag seen is corrected for; this is what zero or all of it would have meant. Absent where unknown.

Each is a bound and not a standard deviation, so they add up linearly: the error is their sum. The sensor's gain is
in none of them: it is the same in every window of one board.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

COUNTER_STEP_JOULES = 0.001
"""NVML counts in millijoules."""
WIDEST_ERROR_SHARE = 0.05
"""An energy whose stated error is a larger share of it is not resolved."""
RANGE_MARGIN = 0.25
"""Power may lie this share outside of the range seen: readings are means over time, and some moments go unseen."""
LONG_LOOK_S = 2.0
"""Readings over this long are taken to have seen the range of a varying power: 20 or more of any known sensor."""
LEAST_JITTER = 0.01
"""Share of the period by which a tick may be early or late, however regular the few were that were studied."""
SENSOR_MEAN_S = 0.025
"""A power reading is a mean over at least this long (A100 and H100: 25 ms); a burst within it goes unseen."""
STEADY_RATIO = 2.5
"""Power whose bounds, margins included, are closer than this ratio is steady: bounds around one value are 1.7 apart."""


@dataclass(frozen=True)
class Change:
    """The counter was seen to move: after `earliest_s`, by `latest_s`, to `joules`."""

    earliest_s: float
    latest_s: float
    joules: float

    @property
    def middle_s(self) -> float:
        """The best guess of when it moved."""
        return (self.earliest_s + self.latest_s) / 2

    @property
    def gap_s(self) -> float:
        """How long nobody looked."""
        return self.latest_s - self.earliest_s


@dataclass(frozen=True)
class Tick:
    """How the counter moves: `period_s` apart, each interval within `jitter_s` of it."""

    period_s: float
    jitter_s: float

    def joined(self, other: Tick) -> Tick:
        """The tick that is as either of the two."""
        low = min(self.period_s - self.jitter_s, other.period_s - other.jitter_s)
        high = max(self.period_s + self.jitter_s, other.period_s + other.jitter_s)
        return Tick((low + high) / 2, (high - low) / 2)


@dataclass(frozen=True)
class PowerRange:
    """Bounds on the power, watts, and on its mean over any stretch."""

    low_watts: float
    high_watts: float

    @classmethod
    def around(cls, seen_watts: Sequence[float]) -> PowerRange:
        """What was seen, with the margin on both sides."""
        return cls(min(seen_watts) * (1 - RANGE_MARGIN), max(seen_watts) * (1 + RANGE_MARGIN))

    @classmethod
    def of_readings(cls, watts: Sequence[float], seconds: float) -> PowerRange:
        """Bounds on the power from readings over some seconds; over few of them a varying power has not shown all.

        Below LONG_LOOK_S the range grows by a part of its width on both sides, by all of it at half as long. Power that
        does not vary is not widened.
        """
        unseen = min(max(2 - 2 * seconds / LONG_LOOK_S, 0.0), 1.0) * (max(watts) - min(watts))
        return cls.around([max(min(watts) - unseen, 0.0), max(watts) + unseen])

    def joined(self, other: PowerRange) -> PowerRange:
        """The range that holds both."""
        return PowerRange(min(self.low_watts, other.low_watts), max(self.high_watts, other.high_watts))


@dataclass(frozen=True)
class Lag:
    """A counter follows the power by up to `longest_s`; `before` bounds the power for as long before the window."""

    longest_s: float
    before: PowerRange


@dataclass(frozen=True)
class Closing:
    """How a window closed: at `closed_s`; the counter, read by `read_s`, stood at `before_joules`; then it moved."""

    closed_s: float
    read_s: float
    before_joules: float
    change: Change


@dataclass(frozen=True)
class Joules:
    """An amount of energy and what its error is made of, all in joules."""

    value: float
    budget: Mapping[str, float] = field(default_factory=dict)

    @property
    def error(self) -> float:
        """One side: the sum of the budget."""
        return sum(self.budget.values())


def tick_of(changes: Sequence[Change]) -> Tick:
    """The tick, from at least three changes of the counter in a row.

    A reader that was held up sees a change late; intervals with such an end are set aside while four are left.
    """
    typical_s = statistics.median(c.gap_s for c in changes)
    pairs = list(itertools.pairwise(changes))
    prompt = [p for p in pairs if max(p[0].gap_s, p[1].gap_s) <= 4 * typical_s]
    intervals = [b.middle_s - a.middle_s for a, b in (prompt if len(prompt) >= 4 else pairs)]
    period_s = statistics.median(intervals)
    seen_s = max(abs(i - period_s) for i in intervals)
    return Tick(period_s, max(seen_s, LEAST_JITTER * period_s) + typical_s)


def window_energy(
    tick: Tick,
    opening: Change,
    begun_s: float,
    closing: Closing,
    during: PowerRange,
    after: PowerRange,
    lag: Lag | None = None,
) -> Joules:
    """Energy from `begun_s` to the closing, with the budget of its error.

    `during` bounds the power within the window, `after` the power from then to the tick that followed.
    """
    whole = closing.before_joules - opening.joules
    to_last_tick_s = closing.change.middle_s - tick.period_s - opening.middle_s
    mean_watts = whole / to_last_tick_s if whole > 0 and to_last_tick_s > 0 else during.low_watts
    last_joules, closing_edge = closing_part(tick, closing, during, after, mean_watts)
    budget = {
        "opening_edge": during.joined(after).high_watts * (begun_s - opening.earliest_s),
        "closing_edge": closing_edge,
        "counter_step": 2 * COUNTER_STEP_JOULES,
    }
    late_joules = 0.0
    if lag is not None:
        late_joules, budget["lag"] = lag_part(lag, during)
    return Joules(whole + last_joules + late_joules, budget)


def too_short(energy: Joules, seconds: float, tick_s: float) -> str:
    """In words, why an energy with so large an error is not resolved."""
    largest = max(energy.budget, key=lambda source: energy.budget[source]).replace("_", " ")
    return (
        f"{seconds:.2g} s are too short for a counter that moves every {tick_s:.2g} s: "
        f"{max(energy.value, 0.0):.3g} J, error {energy.error:.2g} J, most of it the {largest}"
    )


def lag_part(lag: Lag, during: PowerRange) -> tuple[float, float]:
    """(what a counter that is late by half of the longest lag misses, the error of that), joules."""
    supposed = (during.low_watts + during.high_watts - lag.before.low_watts - lag.before.high_watts) / 2
    part = lag.longest_s / 2 * supposed
    least = lag.longest_s * min(during.low_watts - lag.before.high_watts, 0.0)
    most = lag.longest_s * max(during.high_watts - lag.before.low_watts, 0.0)
    return part, max(most - part, part - least)


def closing_part(
    tick: Tick, closing: Closing, during: PowerRange, after: PowerRange, mean_watts: float
) -> tuple[float, float]:
    """(energy between the last tick before the closing and the closing itself, its error), joules.

    With `a` seconds of the tick before the closing and `b` after it, the tick's energy E leaves the part x
    between low·a and high·a of the window's power, and between E - high·b and E - low·b of the power after it.
    Stretches shorter than a reading's own mean may hold as much energy as that mean: a burst may lie in them. A tick
    that stood longer than it should says nothing of `a`; the second pair of bounds holds for it all the same.
    The estimate: a steady window is taken to have gone on to its end; of another, the middle of the bounds.
    """
    tick_joules = closing.change.joules - closing.before_joules
    b_min = max(closing.change.earliest_s - closing.closed_s, 0.0)
    b_max = max(closing.change.latest_s - closing.closed_s, b_min)
    low, high = _window_side(tick, closing, b_min, b_max, during, after, tick_joules)
    low = max(low, tick_joules - after.high_watts * max(b_max, SENSOR_MEAN_S))
    high = min(high, tick_joules - after.low_watts * b_min)
    if low > high:  # the power left its supposed range: only the tick's own energy is sure
        low, high = min(0.0, high), max(tick_joules, low)
    if during.high_watts <= STEADY_RATIO * during.low_watts:
        value = min(max(mean_watts * (tick.period_s - (b_min + b_max) / 2), low), high)
    else:
        value = (low + high) / 2
    return value, max(high - value, value - low)


def _window_side(
    tick: Tick,
    closing: Closing,
    b_min: float,
    b_max: float,
    during: PowerRange,
    after: PowerRange,
    tick_joules: float,
) -> tuple[float, float]:
    """Bounds on the part before the closing from how long it can have lasted and the power then, joules."""
    stood_s = closing.change.earliest_s - closing.read_s
    if stood_s > tick.period_s + 2 * tick.jitter_s:
        return 0.0, tick_joules
    a_min = tick.period_s - tick.jitter_s - b_max
    a_max = tick.period_s + tick.jitter_s - b_min
    if a_min >= 0:
        low = a_min * (during.low_watts if a_min >= SENSOR_MEAN_S else after.low_watts)
    else:  # the tick fell between the closing and the first read after it: power of the time after
        low = after.high_watts * a_min
    high = during.high_watts * max(a_max, SENSOR_MEAN_S) if a_max >= 0 else after.low_watts * a_max
    return low, high
