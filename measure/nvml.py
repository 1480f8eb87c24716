"""The meter on an NVIDIA GPU's own energy counter. Its arithmetic is in nvml_edges.py.

What an energy from here is: gross joules of the whole card (of the whole module on Grace) from `begin` to
`end`, with an error that covers the counter's ticks and steps. What the error leaves out: the sensor's gain, about
5 % a board and the same in every window, and any delay of the counter behind the power: late by d seconds, it
misses d seconds of the load and counts as many of the rest before it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch

from measure.machine import gpu_uuid
from measure.meter import Energy, Meter, NoMeter
from measure.nvml_company import Company
from measure.nvml_driver import Card, DriverError
from measure.nvml_edges import (
    Change,
    Closing,
    PowerRange,
    Tick,
    disagreement,
    lost_tick,
    tick_of,
    window_energy,
)
from measure.nvml_watch import Clock, WallClock, Watch

STUCK_AFTER_S = 2.0
"""A counter that has not moved for this long is taken to be stuck; known ones move every 20 to 100 ms."""
STUDY_S = 1.0
"""How long the counter is studied at the start of a process, and"""
STUDY_TICKS = 10
"""how many ticks are seen at least."""
PROMPT_SHARE = 0.1
"""A window opens on a tick that was seen within this share of its period; a reader that was held up tries again."""
WIDEST_ERROR_SHARE = 0.05
"""An energy whose stated error is a larger share of it is not resolved."""
AVERAGE_LAG_S = 1.0
"""Where NVML has no instant power, the reading may be the mean of the second before (Ampere and newer)."""


def open_meter(device: torch.device, idle_watts_before_context: float | None = None) -> Meter:
    """The meter of a CUDA device, or a NoMeter with the reason. Takes one to two seconds; the device should be idle.

    `idle_watts_before_context` comes from `idle_watts`, called when no process had a context on the card.
    """
    torch.cuda.synchronize(device)
    return open_gpu(
        gpu_uuid(device),
        own_bytes=lambda: torch.cuda.memory_reserved(device),
        idle_watts_before_context=idle_watts_before_context,
    )


def open_gpu(
    uuid: str,
    *,
    own_bytes: Callable[[], int],
    clock: Clock | None = None,
    idle_watts_before_context: float | None = None,
) -> Meter:
    """The meter of the GPU with that UUID; `own_bytes` tells how much of its memory PyTorch holds for us."""
    clock = clock or WallClock()
    try:
        card = Card(uuid)
    except DriverError as error:
        return NoMeter(str(error))
    try:
        shared = card.shared_out()
        if shared:
            raise DriverError(shared)
        study = _study(card, clock)
    except DriverError as error:
        card.close()
        return NoMeter(str(error))
    return NvmlMeter(card, clock, study, own_bytes, idle_watts_before_context)


def idle_watts(uuid: str, seconds: float, clock: Clock | None = None) -> float | None:
    """Mean power of the card over about `seconds`, watts, from its counter; None where nothing measures it.

    Creates no CUDA context. Call it before any process has one to learn what the card draws at rest.
    """
    clock = clock or WallClock()
    try:
        card = Card(uuid)
    except DriverError:
        return None
    try:
        if card.shared_out():
            return None
        first = _next_change(card, clock)
        clock.sleep(seconds)
        last = _next_change(card, clock)
    except DriverError:
        return None
    finally:
        card.close()
    return (last.joules - first.joules) / (last.middle_s - first.middle_s)


@dataclass(frozen=True)
class Study:
    """What was learned of a counter at the start: its tick, and the card's power meanwhile in watts."""

    tick: Tick
    watts: float


@dataclass
class _Window:
    """An open window."""

    opening: Change
    begun_s: float
    watch: Watch


class NvmlMeter:
    """Measures windows on one card's counter; see the module."""

    def __init__(
        self,
        card: Card,
        clock: Clock,
        study: Study,
        own_bytes: Callable[[], int],
        idle_watts_before_context: float | None,
    ) -> None:
        self._card = card
        self._clock = clock
        self._study = study
        self._company = Company(card, own_bytes)
        self._idle_watts_before_context = idle_watts_before_context
        self._sensor_lag_s = 0.0 if card.power_is_instant else AVERAGE_LAG_S
        self._power_limit_watts = card.power_limit_watts()
        self._seen = PowerRange.around([study.watts])
        self._window: _Window | None = None
        self._refusal = Energy.refused("unavailable", "no window was open")

    def describe(self) -> dict[str, Any]:
        """The `meter` object of run.json."""
        return {
            "kind": "nvml",
            "refusal": None,
            "tick_s": round(self._study.tick.period_s, 6),
            "idle_watts_before_context": self._idle_watts_before_context,
            "idle_watts_after_context": round(self._study.watts, 3),
        }

    def begin(self) -> None:
        """Open a window on the counter's next tick; takes up to about one tick."""
        self._drop_window()
        try:
            self._window = self._opened()
        except DriverError as error:
            self._refusal = Energy.refused("unavailable", str(error))
        except Exception as error:  # timing must go on whatever the meter meets
            self._refusal = Energy.refused("unavailable", f"the meter failed: {error!r}")

    def end(self) -> Energy:
        """Close the window here; returns on the counter's next tick, which bounds the energy up to here."""
        closed_s = self._clock.now()
        if self._window is None:
            return self._refusal
        try:
            return self._closed(self._window, closed_s)
        except DriverError as error:
            return Energy.refused("unavailable", str(error))
        except Exception as error:  # timing must go on whatever the meter meets
            return Energy.refused("unavailable", f"the meter failed: {error!r}")
        finally:
            self._drop_window()

    def _drop_window(self) -> None:
        if self._window is not None:
            self._window.watch.stop()
        self._window = None
        self._refusal = Energy.refused("unavailable", "no window was open")

    def _opened(self) -> _Window:
        watch = Watch(self._card, self._clock, self._company.processes)
        try:
            watch.company = self._company.any()
            opening = _next_change(self._card, self._clock)
            for _ in range(2):
                if opening.gap_s <= PROMPT_SHARE * self._study.tick.period_s:
                    break
                opening = _next_change(self._card, self._clock)
        except BaseException:
            watch.stop()
            raise
        return _Window(opening, self._clock.now(), watch)

    def _closed(self, window: _Window, closed_s: float) -> Energy:
        before_joules = self._card.energy_joules()
        read_s = self._clock.now()
        change = _next_change(self._card, self._clock, before_joules, closed_s)
        closing = Closing(closed_s, read_s, before_joules, change)
        watch = window.watch
        watch.stop()
        if watch.failure:
            raise DriverError(watch.failure)
        if watch.ran_backwards or before_joules < window.opening.joules:
            raise DriverError("the energy counter went backwards")
        company = watch.company or self._company.any()
        slowdowns = tuple(sorted(watch.slowdowns))
        if company:
            return Energy.refused("contaminated", company, company=company, slowdowns=slowdowns)
        return replace(self._resolved(window, closing), slowdowns=slowdowns)

    def _resolved(self, window: _Window, closing: Closing) -> Energy:
        begun_s, closed_s = window.begun_s, closing.closed_s
        during, after = self._power_ranges(window, closing)
        energy = window_energy(self._study.tick, window.opening, begun_s, closing, during, after)
        if energy.value <= 0 or energy.error > WIDEST_ERROR_SHARE * energy.value:
            return Energy.refused(
                "unresolved",
                f"{closed_s - begun_s:.2g} s are too short for a counter that moves every "
                f"{self._study.tick.period_s:.2g} s: {max(energy.value, 0.0):.3g} J, error {energy.error:.2g} J",
            )
        lost = lost_tick(self._study.tick, closing)
        if lost:
            return Energy.refused("unresolved", lost)
        doubt = disagreement(energy, window.watch.samples, begun_s, closed_s, self._sensor_lag_s)
        if doubt:
            return Energy.refused("unresolved", doubt, agreement=doubt)
        return Energy(energy.value, energy.error, None)

    def _power_ranges(self, window: _Window, closing: Closing) -> tuple[PowerRange, PowerRange]:
        """Bounds on the power (within the window, from its end to the next tick).

        The second half of the window speaks for its end: its first readings may be from before the work.
        """
        begun_s, closed_s = window.begun_s, closing.closed_s
        half_s = (begun_s + closed_s) / 2
        samples = window.watch.samples
        late = [s.watts for s in samples if half_s <= s.at_s <= closed_s]
        moved_s = closed_s - window.opening.middle_s
        mean_watts = (closing.before_joules - window.opening.joules) / moved_s
        self._seen = self._seen.joined(PowerRange.around([s.watts for s in samples] + [mean_watts]))
        anything = PowerRange(
            self._seen.low_watts, max(self._seen.high_watts, self._power_limit_watts or 0.0)
        )
        return (PowerRange.around([*late, mean_watts]) if late else anything), anything


def _study(card: Card, clock: Clock) -> Study:
    """Watch the counter of an idle card for a while; DriverError where it does not count."""
    changes = [_next_change(card, clock)]
    while len(changes) <= STUDY_TICKS or changes[-1].latest_s - changes[0].latest_s < STUDY_S:
        changes.append(_next_change(card, clock, changes[-1].joules, changes[-1].latest_s))
    first, last = changes[0], changes[-1]
    return Study(tick_of(changes), (last.joules - first.joules) / (last.middle_s - first.middle_s))


def _next_change(
    card: Card, clock: Clock, standing_joules: float | None = None, since_s: float | None = None
) -> Change:
    """Spin until the counter moves off `standing_joules`, known to have stood at `since_s` (default: now, as read).

    Spins, since a sleep would wake later than the tick by more than the error that is stated. Raises DriverError
    when it does not move or moves backwards.
    """
    started_s = clock.now()
    earliest_s = started_s if since_s is None else since_s
    standing = card.energy_joules() if standing_joules is None else standing_joules
    while True:
        asked_s = clock.now()
        joules = card.energy_joules()
        if joules < standing:
            raise DriverError("the energy counter went backwards")
        if joules > standing:
            return Change(earliest_s, clock.now(), joules)
        earliest_s = asked_s
        if asked_s - started_s > STUCK_AFTER_S:
            raise DriverError(f"the energy counter is stuck: it did not move for {STUCK_AFTER_S:g} s")
