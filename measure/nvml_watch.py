"""What happens on a card during a window: power, clocks, heat, slowdowns, other processes. Decides nothing of them."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

from measure.nvml_driver import MEMORY_CLOCK, SM_CLOCK, Card, ClockReasons
from measure.sampled_power import PowerSample
from measure.ticks import Clock, DriverError

SAMPLE_PERIOD_S = 0.05
"""Power sensors renew their reading every 20 to 100 ms. Looking more often would cost the measured loop speed: each
look takes turns with it at Python's interpreter."""
STATE_EVERY = 2
"""Samples from one look at clocks and temperature to the next."""
PROCESSES_EVERY = 10
"""Samples from one look at the list of processes to the next: a slower question."""
SLOWED_SHARE = 0.01
"""Clocks held down for less than this share of a window, between two looks at them, are passed over."""


class Watch:
    """Looks at a card until stopped; what it saw is in its attributes."""

    def __init__(self, card: Card, clock: Clock, others: Callable[[], str | None]) -> None:
        """`others` says in words who else is on the card, or None."""
        self._card = card
        self._clock = clock
        self._others = others
        self._looks = 0
        self._last_joules = 0.0
        self._reasons: list[ClockReasons] = []
        self._sm_hz: list[float] = []
        self._memory_hz: list[float] = []
        self._celsius: list[float] = []
        self._began_s = clock.now()
        self._slowed_before = card.slowdown_seconds()
        self._slowed: frozenset[str] = frozenset()
        self.samples: list[PowerSample] = []
        self.company: str | None = None
        self.failure: str | None = None
        self.ran_backwards = False
        self._stop = clock.every(SAMPLE_PERIOD_S, self.look)

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

    def stop(self) -> None:
        """End the looking; asked again, does nothing more."""
        self._stop()

    def finish(self) -> None:
        """End the looking, and ask the driver what it counted meanwhile. Raises DriverError."""
        self.stop()
        watched_s = self._clock.now() - self._began_s
        self._slowed = frozenset(
            words
            for words, seconds in self._card.slowdown_seconds().items()
            if seconds - self._slowed_before.get(words, seconds) > SLOWED_SHARE * watched_s
        )

    def slowdowns(self) -> tuple[str, ...]:
        """Why the clocks were held down, beyond ordinary power management: as seen and as the driver counted."""
        return tuple(sorted(self._slowed.union(*(reasons.slowdowns for reasons in self._reasons))))

    def device_state(self, power_limit_watts: float | None) -> dict[str, Any]:
        """The `device_state` object of a sample."""
        limited = [reasons.at_power_limit for reasons in self._reasons]
        return {
            "sm_clock_hz": statistics.fmean(self._sm_hz) if self._sm_hz else None,
            "memory_clock_hz": statistics.fmean(self._memory_hz) if self._memory_hz else None,
            "temperature_celsius": max(self._celsius, default=None),
            "power_limit_watts": power_limit_watts,
            "at_power_limit_share": sum(limited) / len(limited) if limited else None,
            "slowdowns": list(self.slowdowns()),
        }

    def _sample(self) -> None:
        watts = self._card.watts()
        self.samples.append(PowerSample(self._clock.now(), watts))
        joules = self._card.energy_joules()
        self.ran_backwards |= joules < self._last_joules
        self._last_joules = joules
        if self._looks % STATE_EVERY == 0:
            self._look_at_state()
        if self._looks % PROCESSES_EVERY == 0:
            self.company = self.company or self._others()
        self._looks += 1

    def _look_at_state(self) -> None:
        self._reasons.append(self._card.clock_reasons())
        for seen, value in (
            (self._sm_hz, self._card.clock_hz(SM_CLOCK)),
            (self._memory_hz, self._card.clock_hz(MEMORY_CLOCK)),
            (self._celsius, self._card.temperature_celsius()),
        ):
            if value is not None:
                seen.append(value)
