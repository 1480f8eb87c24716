"""How late an NVIDIA counter follows the card's power, found by loading the card and letting go. Meters no window.

Under load the counter climbs along one line, at rest along another. The two cross when the counter learns that
the load has ended; the time from the real end to that crossing is the lag. Power that really falls late, as clocks
come down, counts as lag too, so what is found is a bound from above.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from measure.counter import Change, Tick
from measure.ticks import Clock, Counter, DriverError

LOAD_TICKS, REST_TICKS = 6, 8
"""How many ticks the card is loaded and left alone."""
LEAST_S = 0.3
"""The least time for each: clocks and power take that long to settle."""
LOOK_PERIOD_S = 0.001
ROUNDS = 2
CLEAR_RATIO = 1.5
"""Power under load must be this many times the power at rest, or the crossing is too blurred."""


@dataclass(frozen=True)
class _Line:
    """Joules over time."""

    at_s: float
    joules: float
    watts: float

    @classmethod
    def through(cls, first: Change, last: Change) -> _Line:
        """The line through two changes."""
        watts = (last.joules - first.joules) / (last.middle_s - first.middle_s)
        return cls(last.middle_s, last.joules, watts)


def lag_bound_s(counter: Counter, clock: Clock, tick: Tick, load: Callable[[float], None]) -> float | None:
    """The longest lag that the counter showed, seconds; None where the load did not show clearly.

    `load` keeps the device busy for some seconds and returns when it has nothing left to do.
    """
    lags = [_one_lag_s(counter, clock, tick, load) for _ in range(ROUNDS)]
    known = [lag for lag in lags if lag is not None]
    if len(known) < ROUNDS:
        return None
    return max(*known, 0.0) + max(known) - min(known) + LOOK_PERIOD_S


def _one_lag_s(counter: Counter, clock: Clock, tick: Tick, load: Callable[[float], None]) -> float | None:
    looks = _Looks(counter, clock)
    stop = clock.every(LOOK_PERIOD_S, looks.look)
    try:
        load(max(LEAST_S, LOAD_TICKS * tick.period_s))
        ended_s = clock.now()
        clock.sleep(max(LEAST_S, REST_TICKS * tick.period_s))
    finally:
        stop()
    if looks.failure:
        raise looks.failure
    return crossing_s(looks.changes, ended_s)


def crossing_s(changes: list[Change], ended_s: float) -> float | None:
    """How long after `ended_s` the line of the loaded counter crosses that of the resting one; None: not clear.

    The second half of each speaks: power needs time to settle, and the counter to learn of it.
    """
    before = [c for c in changes if c.latest_s <= ended_s]
    after = [c for c in changes if c.earliest_s > ended_s]
    loaded, resting = before[len(before) // 2 :], after[len(after) // 2 :]
    if len(loaded) < 2 or len(resting) < 2:
        return None
    busy, idle = _Line.through(loaded[0], loaded[-1]), _Line.through(resting[0], resting[-1])
    if busy.watts < CLEAR_RATIO * idle.watts:
        return None
    busy_now = busy.joules + busy.watts * (ended_s - busy.at_s)
    idle_now = idle.joules + idle.watts * (ended_s - idle.at_s)
    return (idle_now - busy_now) / (busy.watts - idle.watts)


class _Looks:
    """Changes of a counter, seen by looking at it again and again."""

    def __init__(self, counter: Counter, clock: Clock) -> None:
        self._counter = counter
        self._clock = clock
        self._standing: float | None = None
        self._stood_s = 0.0
        self.changes: list[Change] = []
        self.failure: DriverError | None = None

    def look(self) -> None:
        """Look once; the first failure is kept."""
        if self.failure:
            return
        asked_s = self._clock.now()
        try:
            joules = self._counter.energy_joules()
        except DriverError as error:
            self.failure = error
            return
        if self._standing is not None and joules > self._standing:
            self.changes.append(Change(self._stood_s, self._clock.now(), joules))
        self._standing, self._stood_s = joules, asked_s
