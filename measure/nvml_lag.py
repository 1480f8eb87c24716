"""What a loaded card tells of its counter: how late it follows the power, and its tick meanwhile. Meters no window.

Under load the counter climbs along one line, at rest along another. The two cross when the counter learns that
the load has ended; the time from the real end to that crossing is the lag. Power that really falls late, as clocks
come down, counts as lag too, so what is found is a bound from above. Nor need a counter tick under load as it does
at rest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from measure.counter import Change, Tick, tick_of
from measure.ticks import Clock, Counter, DriverError, watts_between

LOAD_TICKS, REST_TICKS = 6, 8
"""How many ticks the card is loaded and left alone."""
LEAST_S = 0.6
"""The least time for each: clocks and power take half of that to settle."""
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
        return cls(last.middle_s, last.joules, watts_between(first, last))


@dataclass(frozen=True)
class Loaded:
    """What was learned of a counter by loading the card."""

    lag_s: float | None
    """The longest lag that the counter showed, seconds; None where the load did not show clearly."""
    tick: Tick
    """The tick at rest; where it is another under load, one that is as either of the two."""


def study_loaded(counter: Counter, clock: Clock, at_rest: Tick, load: Callable[[float], None]) -> Loaded:
    """Load the card a few times. DriverError where the counter cannot be read.

    `load` keeps the device busy for some seconds and returns when it has nothing left to do.
    """
    rounds = [_one_round(counter, clock, at_rest, load) for _ in range(ROUNDS)]
    lags = [lag for lag in (crossing_s(changes, ended_s) for changes, ended_s in rounds) if lag is not None]
    lag_s = max(*lags, 0.0) + max(lags) - min(lags) + LOOK_PERIOD_S if len(lags) == ROUNDS else None
    tick = at_rest
    for changes, ended_s in rounds:
        under_load = [c for c in changes if c.latest_s <= ended_s][1:]
        if len(under_load) >= 3:
            seen = tick_of(under_load)
            if abs(seen.period_s - tick.period_s) > seen.jitter_s + tick.jitter_s:
                tick = tick.joined(seen)
    return Loaded(lag_s, tick)


def _one_round(
    counter: Counter, clock: Clock, tick: Tick, load: Callable[[float], None]
) -> tuple[list[Change], float]:
    """(changes of the counter under load and afterwards, when the load ended)."""
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
    return looks.changes, ended_s


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
