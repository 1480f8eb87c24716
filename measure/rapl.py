"""The meter on a CPU's own energy counters (RAPL), read through Linux's powercap files. Knows no GPU.

What an energy from here is: gross joules of all processor packages from `begin` to `end`: cores, caches, memory
controllers, and a graphics unit on the same chip. Not the memory modules, disks, fans or the power supply.
Everything that runs on the machine is in it.

The counters only rise, so the energy at any moment lies between what stood before it and what came next, whatever the
power did. A window opens on a tick of each package, and closes within a tick whose whole energy bounds the error.
The error budget: `opening_edge`, the time from the ticks to the begin at the highest power supposed;
`closing_edge`, half the tick in which the window ends; `counter_step`, the hardware's unit at both ends. All are
bounds, summed over packages. No accuracy of the counters themselves is published.
"""

from __future__ import annotations

import contextlib
import platform
import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measure.counter import WIDEST_ERROR_SHARE, Change, Joules, too_short
from measure.meter import Energy, Meter, NoMeter
from measure.ticks import Clock, DriverError, WallClock, mean_watts, next_change, study
from measure.windows import Windows

ROOT = Path("/sys/class/powercap")
ZONE = re.compile(r"intel-rapl:(\d+)")
"""A zone at the top level; AMD's have the same names. Those of intel-rapl-mmio show the same packages again."""
PACKAGE_NAME = re.compile(r"package-\d+(-die-\d+)?")
"""`psys`, the other name at the top level, is the whole machine and holds the packages: it would count them twice."""
COUNTER_STEP_JOULES = 2**-14
"""The unit of the counter on Intel's servers and desktops, 61 microjoules; AMD's is smaller."""
MOST_WATTS = 2000.0
"""No package takes more: a leap of the counter that would mean more, or a fall that would, is an error of it."""
LOOK_S = 10.0
"""The counters are read at least this often, so that no wrap-around is missed."""
SUPPOSED_RATIO = 3.0
"""The highest power supposed at the opening, as a multiple of the window's mean."""
STUDY_S = 0.2
IDLE_S = 1.0


def open_rapl(root: Path = ROOT, clock: Clock | None = None) -> Meter:
    """The meter of this machine's packages, or a NoMeter with the reason. Takes about a second, mostly asleep."""
    clock = clock or WallClock()
    try:
        packages = find_packages(root, clock)
        tick_s = max(study(package, clock, STUDY_S).tick.period_s for package in packages)
        idle_watts = mean_watts(_Sum(packages), clock, IDLE_S)
    except DriverError as error:
        return NoMeter(str(error))
    except Exception as error:  # timing must go on whatever the meter meets
        return NoMeter(f"the meter failed: {error!r}")
    return RaplMeter(packages, clock, tick_s, idle_watts)


class Package:
    """One package's counter, unwrapped: it rises for ever. Any thread may ask it."""

    def __init__(self, zone: Path, name: str, clock: Clock) -> None:
        self.name = name
        self.leaps = 0
        """How often the counter moved as no power moves it: backwards, or too far."""
        self._file = zone / "energy_uj"
        self._clock = clock
        self._lock = threading.Lock()
        self._raw_joules = self._read()
        self._read_s = clock.now()
        self._wrapped_joules = 0.0
        self.range_joules = _read_number(zone / "max_energy_range_uj") / 1e6
        """The counter starts again at 0 after this much."""

    def energy_joules(self) -> float:
        """Energy since some time in the past, joules. Raises DriverError when it cannot be read or fell."""
        with self._lock:
            joules, now_s = self._read(), self._clock.now()
            gained, passed_s = joules - self._raw_joules, now_s - self._read_s
            self._raw_joules, self._read_s = joules, now_s
            fell = gained < 0
            if gained + fell * self.range_joules > MOST_WATTS * max(passed_s, 0.01):
                self.leaps += 1
                raise DriverError(
                    f"the energy counter of {self.name} "
                    + ("went backwards" if fell else f"leapt by {gained:.3g} J")
                )
            self._wrapped_joules += fell * self.range_joules
            return self._wrapped_joules + joules

    def _read(self) -> float:
        return _read_number(self._file) / 1e6


def find_packages(root: Path, clock: Clock) -> list[Package]:
    """The packages that `root` shows. Raises DriverError with the reason, and what would mend it, if there are none."""
    if not root.is_dir():
        if platform.system() != "Linux":
            raise DriverError(
                f"a CPU's energy is read through Linux's powercap, and this is {platform.system()}"
            )
        raise DriverError(
            "this system shows no energy counter of its CPU (there is no /sys/class/powercap), "
            "as is usual in virtual machines and containers"
        )
    zones = [(int(found[1]), path) for path in root.iterdir() if (found := ZONE.fullmatch(path.name))]
    named = [(_read_text(zone / "name"), zone) for _, zone in sorted(zones)]
    packages = [Package(zone, name, clock) for name, zone in named if PACKAGE_NAME.fullmatch(name)]
    if not packages:
        raise DriverError(
            "Linux's powercap shows no energy counter of a CPU package: virtual machines and containers hide it; "
            "elsewhere `sudo modprobe intel_rapl_msr` loads it, for AMD too, if the processor has one"
        )
    return packages


@dataclass(frozen=True)
class _Window:
    """An open window: each package's tick at its beginning."""

    openings: Sequence[Change]
    begun_s: float
    leaps: int
    stop_looking: Callable[[], None]


class RaplMeter(Windows[_Window]):
    """Measures windows on all packages together; see the module."""

    def __init__(self, packages: Sequence[Package], clock: Clock, tick_s: float, idle_watts: float) -> None:
        self._packages = packages
        super().__init__(clock)
        self._tick_s = tick_s
        self._idle_watts = idle_watts

    def describe(self) -> dict[str, Any]:
        """The `meter` object of run.json."""
        return {
            "kind": "rapl",
            "refusal": None,
            "tick_s": round(self._tick_s, 6),
            "idle_watts_before_context": None,
            "idle_watts_after_context": round(self._idle_watts, 3),
            "domains": [package.name for package in self._packages],
            "second_reading": None,
            "gain_error_share": None,
        }

    def _stop(self, window: _Window) -> None:
        window.stop_looking()

    def _opened(self) -> _Window:
        self._look()  # what happened to the counters before is no matter of this window
        openings = [next_change(package, self._clock) for package in self._packages]
        stop_looking = self._clock.every(self._look_period_s(), self._look)
        return _Window(openings, self._clock.now(), self._leaps(), stop_looking)

    def _leaps(self) -> int:
        return sum(package.leaps for package in self._packages)

    def _look_period_s(self) -> float:
        """Often enough that no counter can go half around in between."""
        return min(LOOK_S, *(package.range_joules / MOST_WATTS / 2 for package in self._packages))

    def _look(self) -> None:
        for package in self._packages:
            with contextlib.suppress(DriverError):  # a window that is open meets it at its end, too
                package.energy_joules()

    def _closed(self, window: _Window, closed_s: float) -> Energy:
        befores = [(package.energy_joules(), self._clock.now()) for package in self._packages]
        parts = []
        for package, opening, (before_joules, read_s) in zip(
            self._packages, window.openings, befores, strict=True
        ):
            change = next_change(package, self._clock, before_joules, closed_s)
            parts.append(package_energy(opening, window.begun_s, closed_s, read_s, before_joules, change))
        if self._leaps() > window.leaps:  # met by the looking in between
            raise DriverError("an energy counter went backwards, or leapt, in the middle of the window")
        energy = summed(parts)
        if energy.value <= 0 or energy.error > WIDEST_ERROR_SHARE * energy.value:
            return Energy.refused("unresolved", too_short(energy, closed_s - window.begun_s, self._tick_s))
        return Energy(energy.value, energy.error, None, dict(energy.budget))


def package_energy(
    opening: Change, begun_s: float, closed_s: float, read_s: float, before_joules: float, change: Change
) -> Joules:
    """One package's energy between two times, and its error budget; see the module.

    At `read_s`, just after `closed_s`, the counter stood at `before_joules`; `change` is its next tick.
    """
    seconds = max(closed_s - opening.earliest_s, 1e-9)
    most_watts = SUPPOSED_RATIO * max(change.joules - opening.joules, 0.0) / seconds
    low = before_joules - most_watts * (read_s - closed_s)  # a tick between the two counted what came after
    high = change.joules
    return Joules(
        (low + high) / 2 - opening.joules,
        {
            "opening_edge": most_watts * (begun_s - opening.earliest_s),
            "closing_edge": (high - low) / 2,
            "counter_step": 2 * COUNTER_STEP_JOULES,
        },
    )


def summed(parts: Sequence[Joules]) -> Joules:
    """Energies added up, their bounds too, source by source."""
    sources = {source: sum(part.budget[source] for part in parts) for source in parts[0].budget}
    return Joules(sum(part.value for part in parts), sources)


class _Sum:
    """Several packages as one counter."""

    def __init__(self, packages: Sequence[Package]) -> None:
        self._packages = packages

    def energy_joules(self) -> float:
        """Their energies added up, joules."""
        return sum(package.energy_joules() for package in self._packages)


def _read_number(file: Path) -> int:
    text = _read_text(file)
    try:
        return int(text)
    except ValueError:
        raise DriverError(f"{file} holds {text!r}, which is no number") from None


def _read_text(file: Path) -> str:
    try:
        return file.read_text(encoding="ascii").strip()
    except PermissionError:
        raise DriverError(
            "only root may read the energy counter of this CPU, since it can give secrets away (the PLATYPUS "
            f"advisory of 2020); to allow it until the next start: sudo chmod a+r {ROOT}/intel-rapl:*/energy_uj"
        ) from None
    except OSError as error:
        raise DriverError(f"{file} cannot be read: {error.strerror}") from error
