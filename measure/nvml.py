"""The meter on an NVIDIA GPU's own energy counter. Its arithmetic is in counter.py and sampled_power.py.

What an energy from here is: gross joules of the whole card (of the whole module on Grace) from `begin` to
`end`, with an error that covers the counter's ticks, steps and lag; counter.py says of what it is made. What the
error leaves out is the sensor's gain, the same in every window of one board.

An energy is refused where the joules themselves are in doubt: NVML failed, the counter went backwards or stood still,
another process was on the card, the error is too large a share, or sampled power does not bear the counter out.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from measure.counter import (
    LONG_LOOK_S,
    WIDEST_ERROR_SHARE,
    Change,
    Closing,
    Lag,
    PowerRange,
    too_short,
    window_energy,
)
from measure.meter import Energy, Meter, NoMeter
from measure.nvml_company import Company
from measure.nvml_driver import Card
from measure.nvml_lag import study_loaded
from measure.nvml_watch import Watch
from measure.sampled_power import second_reading
from measure.ticks import Clock, DriverError, Study, WallClock, mean_watts, next_change, study, watts_between
from measure.windows import Windows

if TYPE_CHECKING:
    import torch

PROMPT_SHARE = 0.1
"""A window opens on a tick that was seen within this share of its period; a reader that was held up tries again."""
SETTLED_S = 0.15
"""A sensor that renews its reading every 100 ms shows by then what began."""
SHORT_LAG_S = 0.005
"""A shorter lag is not worth waiting for the card to be at rest."""
AVERAGE_S = 1.0
"""Where NVML has no instant power, the reading may be the mean of the second before (Ampere and newer)."""
GAIN_ERROR_SHARE = 0.05
"""Share by which all energies of one board may be off together. NVML's reference (nvmlDeviceGetPowerUsage) states 5 %
of the power for the oldest boards and nothing for newer ones; Yang, Adamek and Armour (arXiv:2312.02741) held boards
of twelve architectures against an external meter and found about as much."""


def open_meter(device: torch.device, idle_watts_before_context: float | None = None) -> Meter:
    """The meter of a CUDA device, or a NoMeter with the reason. Takes about five seconds; the device should be idle.

    `idle_watts_before_context` comes from `idle_watts`, called when no process had a context on the card.
    """
    import torch

    from measure.machine import gpu_uuid

    torch.cuda.synchronize(device)
    meter = open_gpu(
        gpu_uuid(device),
        own_bytes=lambda: torch.cuda.memory_reserved(device),
        load=lambda seconds: _multiply_for(seconds, device),
        idle_watts_before_context=idle_watts_before_context,
    )
    torch.cuda.empty_cache()  # what the load took is the model's to have
    return meter


def open_gpu(
    uuid: str,
    *,
    own_bytes: Callable[[], int] | None,
    load: Callable[[float], None] | None = None,
    clock: Clock | None = None,
    idle_watts_before_context: float | None = None,
) -> Meter:
    """The meter of the GPU with that UUID.

    `own_bytes` tells how much of its memory PyTorch holds for us; None: this process has no context on the card, so all
    that is there is another's. `load` keeps the card busy for some seconds: with it the counter's lag is measured, and
    its share stands in each error; without it the lag stays unknown.
    """
    clock = clock or WallClock()
    try:
        card = Card(uuid)
    except DriverError as error:
        return NoMeter(str(error))
    try:
        shared = card.shared_out()
        if shared:
            raise DriverError(shared)
        learned, lag_s = study(card, clock), None
        if load:
            loaded = study_loaded(card, clock, learned.tick, load)
            lag_s, learned = loaded.lag_s, replace(learned, tick=loaded.tick)
        return NvmlMeter(card, clock, learned, lag_s, own_bytes, idle_watts_before_context)
    except DriverError as error:
        reason = str(error)
    except Exception as error:  # timing must go on whatever the meter meets
        reason = f"the meter failed: {error!r}"
    card.close()
    return NoMeter(reason)


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
        return None if card.shared_out() else mean_watts(card, clock, seconds)
    except DriverError:
        return None
    finally:
        card.close()


@dataclass
class _Window:
    """An open window."""

    opening: Change
    begun_s: float
    before: PowerRange | None
    """The power before it; None where not asked for."""
    watch: Watch


class NvmlMeter(Windows[_Window]):
    """Measures windows on one card's counter; see the module."""

    def __init__(
        self,
        card: Card,
        clock: Clock,
        learned: Study,
        lag_s: float | None,
        own_bytes: Callable[[], int] | None,
        idle_watts_before_context: float | None,
    ) -> None:
        self._card = card
        super().__init__(clock)
        self._study = learned
        self._lag_s = lag_s
        self._company = Company(card, own_bytes)
        self._idle_watts_before_context = idle_watts_before_context
        self._sensor_mean_s = 0.0 if card.power_is_instant else AVERAGE_S
        self._power_limit_watts = card.power_limit_watts()
        self._seen = PowerRange.around([learned.watts])

    def describe(self) -> dict[str, Any]:
        """The `meter` object of run.json."""
        sensor = "instant power" if self._card.power_is_instant else "power averaged over the second before"
        return {
            "kind": "nvml",
            "refusal": None,
            "tick_s": round(self._study.tick.period_s, 6),
            "idle_watts_before_context": self._idle_watts_before_context,
            "idle_watts_after_context": round(self._study.watts, 3),
            "domains": ["GPU with its memory and circuits"],
            "second_reading": f"{sensor} by NVML, sampled and integrated",
            "gain_error_share": GAIN_ERROR_SHARE,
        }

    def _stop(self, window: _Window) -> None:
        window.watch.stop()

    def _opened(self) -> _Window:
        watch = Watch(self._card, self._clock, self._company.processes)
        try:
            watch.company = self._company.any()
            previous = self._change_at_rest() if (self._lag_s or 0.0) > SHORT_LAG_S else None
            opening = next_change(self._card, self._clock)
            for _ in range(2):
                if opening.gap_s <= PROMPT_SHARE * self._study.tick.period_s:
                    break
                opening = next_change(self._card, self._clock)
        except BaseException:
            watch.stop()
            raise
        before = PowerRange.around([watts_between(previous, opening)]) if previous else None
        return _Window(opening, self._clock.now(), before, watch)

    def _change_at_rest(self) -> Change:
        """The first change that owes nothing to what ran before: a lagging counter still tells of that for a while."""
        self._clock.sleep(self._lag_s or 0.0)
        return next_change(self._card, self._clock)

    def _closed(self, window: _Window, closed_s: float) -> Energy:
        before_joules = self._card.energy_joules()
        read_s = self._clock.now()
        change = next_change(self._card, self._clock, before_joules, closed_s)
        watch = window.watch
        watch.finish()
        if watch.failure:
            raise DriverError(watch.failure)
        if watch.ran_backwards or before_joules < window.opening.joules:
            raise DriverError("the energy counter went backwards")
        seen: dict[str, Any] = {
            "company": watch.company or self._company.any(),
            "slowdowns": watch.slowdowns(),
            "device_state": watch.device_state(self._power_limit_watts),
        }
        return self._weighed(window, Closing(closed_s, read_s, before_joules, change), seen)

    def _weighed(self, window: _Window, closing: Closing, seen: dict[str, Any]) -> Energy:
        """The window's energy, or why there is none; `seen` goes with either."""
        begun_s, closed_s, tick = window.begun_s, closing.closed_s, self._study.tick
        during, after = self._power_ranges(window, closing)
        lag = None if self._lag_s is None else Lag(self._lag_s, window.before or self._seen)
        energy = window_energy(tick, window.opening, begun_s, closing, during, after, lag)
        second = second_reading(energy, window.watch.samples, begun_s, closed_s, self._sensor_mean_s)
        seen |= {"second_joules": second.joules, "agreement": second.disagreement}
        if seen["company"]:
            return Energy.refused("contaminated", seen["company"], **seen)
        if energy.value <= 0 or energy.error > WIDEST_ERROR_SHARE * energy.value:
            reason = too_short(energy, closed_s - begun_s, tick.period_s)
            return Energy.refused("unresolved", reason, **seen)
        if second.disagreement:
            return Energy.refused("unresolved", second.disagreement, **seen)
        return Energy(energy.value, energy.error, None, dict(energy.budget), **seen)

    def _power_ranges(self, window: _Window, closing: Closing) -> tuple[PowerRange, PowerRange]:
        """Bounds on the power (within the window, from its end to the next tick).

        The window's second half speaks for its end, or its last seconds if they are longer, but no reading that may be
        from before the work.
        """
        begun_s, closed_s = window.begun_s, closing.closed_s
        settled_s = begun_s + SETTLED_S + self._sensor_mean_s
        speaks_s = max(settled_s, closed_s - max((closed_s - begun_s) / 2, LONG_LOOK_S))
        samples = window.watch.samples
        late = [s.watts for s in samples if speaks_s <= s.at_s <= closed_s]
        moved_s = closed_s - window.opening.middle_s
        mean = (closing.before_joules - window.opening.joules) / moved_s
        self._seen = self._seen.joined(PowerRange.around([s.watts for s in samples] + [mean]))
        anything = PowerRange(
            self._seen.low_watts, max(self._seen.high_watts, self._power_limit_watts or 0.0)
        )
        return (PowerRange.of_readings([*late, mean], closed_s - speaks_s) if late else anything), anything


def _multiply_for(seconds: float, device: torch.device) -> None:
    """Keep the GPU busy with matrix products, and return when the last one is done; at once where they do not fit."""
    import time

    import torch

    generator = torch.Generator(device).manual_seed(0)  # the run's own stays untouched
    with contextlib.suppress(torch.OutOfMemoryError):
        side = torch.randn(8192, 8192, device=device, dtype=torch.float16, generator=generator)
        product = torch.mm(side, side)
        torch.cuda.synchronize(device)
        until_s = time.perf_counter() + seconds
        while time.perf_counter() < until_s:
            torch.mm(side, side, out=product)
            torch.cuda.synchronize(device)
