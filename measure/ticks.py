"""Looking at an energy counter as it ticks: the clock to do it by, its next change, its tick. Knows no device."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from measure.counter import Change, Tick, tick_of

STUCK_AFTER_S = 2.0
"""A counter that has not moved for this long is taken to be stuck; known ones move every 1 to 100 ms."""
STUDY_S = 1.0
"""How long a counter is studied at the start of a process, and"""
STUDY_TICKS = 10
"""how many ticks are seen at least."""


class DriverError(Exception):
    """What measures the energy cannot answer; the message is the reason, in words fit for a page."""


class Counter(Protocol):
    """Counts energy."""

    def energy_joules(self) -> float:
        """Energy since some time in the past, joules. Raises DriverError when there is no answer."""
        ...


class Clock(Protocol):
    """Time in seconds, and something that runs beside the measured work."""

    def now(self) -> float:
        """Seconds, on the clock that times the windows."""
        ...

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        ...

    def every(self, period_s: float, action: Callable[[], None]) -> Callable[[], None]:
        """Run `action` periodically until the function returned here is called."""
        ...


class WallClock:
    """The real one; periodic actions run in a thread."""

    def now(self) -> float:
        """Seconds of `time.perf_counter`."""
        return time.perf_counter()

    def sleep(self, seconds: float) -> None:
        """Sleep."""
        time.sleep(seconds)

    def every(self, period_s: float, action: Callable[[], None]) -> Callable[[], None]:
        """Run `action` in a thread; the function returned stops it and waits for it."""
        ended = threading.Event()

        def loop() -> None:
            while not ended.wait(period_s):
                action()

        thread = threading.Thread(target=loop, name="energy meter", daemon=True)
        thread.start()

        def stop() -> None:
            ended.set()
            thread.join()

        return stop


@dataclass(frozen=True)
class Study:
    """What was learned of a counter at the start: its tick, and the device's power meanwhile in watts."""

    tick: Tick
    watts: float


def study(counter: Counter, clock: Clock, seconds: float = STUDY_S) -> Study:
    """Watch the counter of an idle device for a while; DriverError where it does not count."""
    changes = [next_change(counter, clock)]
    while len(changes) <= STUDY_TICKS or changes[-1].latest_s - changes[0].latest_s < seconds:
        changes.append(next_change(counter, clock, changes[-1].joules, changes[-1].latest_s))
    return Study(tick_of(changes), watts_between(changes[0], changes[-1]))


def watts_between(first: Change, last: Change) -> float:
    """Mean power from one change to another, watts."""
    return (last.joules - first.joules) / (last.middle_s - first.middle_s)


def next_change(
    counter: Counter, clock: Clock, standing_joules: float | None = None, since_s: float | None = None
) -> Change:
    """Spin until the counter moves off `standing_joules`, known to have stood at `since_s` (default: now, as read).

    Spins, since a sleep would wake later than the tick by more than the error that is stated. Raises DriverError
    when it does not move or moves backwards.
    """
    started_s = clock.now()
    earliest_s = started_s if since_s is None else since_s
    standing = counter.energy_joules() if standing_joules is None else standing_joules
    while True:
        asked_s = clock.now()
        joules = counter.energy_joules()
        if joules < standing:
            raise DriverError("the energy counter went backwards")
        if joules > standing:
            return Change(earliest_s, clock.now(), joules)
        earliest_s = asked_s
        if asked_s - started_s > STUCK_AFTER_S:
            raise DriverError(f"the energy counter is stuck: it did not move for {STUCK_AFTER_S:g} s")


def mean_watts(counter: Counter, clock: Clock, seconds: float) -> float:
    """Mean power over about `seconds`, from tick to tick, watts; the process sleeps meanwhile."""
    first = next_change(counter, clock)
    clock.sleep(seconds)
    return watts_between(first, next_change(counter, clock))
