"""What happens on the card during a window: power samples, slowdowns, other processes. Decides nothing about them.

Also the clock that all of it runs on, so that a test can put a faster one in its place.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Protocol

from measure.nvml_driver import Card, DriverError
from measure.nvml_edges import PowerSample

SAMPLE_PERIOD_S = 0.025
"""Power sensors renew their reading every 20 to 100 ms; a thread that wakes 40 times a second costs no speed."""
SLOWDOWNS_EVERY = 4
"""Samples from one look at the clocks to the next."""
PROCESSES_EVERY = 20
"""Samples from one look at the list of processes to the next: a slower question."""


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


class Watch:
    """Looks at a card until stopped; what it saw is in its attributes."""

    def __init__(self, card: Card, clock: Clock, others: Callable[[], str | None]) -> None:
        """`others` says in words who else is on the card, or None."""
        self._card = card
        self._clock = clock
        self._others = others
        self._looks = 0
        self._last_joules = 0.0
        self.samples: list[PowerSample] = []
        self.slowdowns: set[str] = set()
        self.company: str | None = None
        self.failure: str | None = None
        self.ran_backwards = False
        self.stop = clock.every(SAMPLE_PERIOD_S, self.look)

    def look(self) -> None:
        """Take one sample. Never raises: the first failure is kept, and ends the looking."""
        if self.failure:
            return
        try:
            self._sample()
        except DriverError as error:
            self.failure = str(error)
        except Exception as error:  # in a thread of its own it would be lost
            self.failure = f"the meter failed while sampling: {error!r}"

    def _sample(self) -> None:
        watts = self._card.watts()
        self.samples.append(PowerSample(self._clock.now(), watts))
        joules = self._card.energy_joules()
        self.ran_backwards |= joules < self._last_joules
        self._last_joules = joules
        if self._looks % SLOWDOWNS_EVERY == 0:
            self.slowdowns |= self._card.slowdowns()
        if self._looks % PROCESSES_EVERY == 0:
            self.company = self.company or self._others()
        self._looks += 1
