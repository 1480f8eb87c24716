"""A powercap tree as Linux shows RAPL, whose counters follow a known power. A fixture: it measures nothing."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

SERVER = {"intel-rapl:0": "package-0", "intel-rapl:1": "package-1"}
RANGE_JOULES = 262_143.328850
"""max_energy_range_uj of an Intel server, in joules."""


class FakePowercap:
    """Zones of known power; the counters show it up to the last multiple of tick_s, in units of 61 microjoules."""

    def __init__(
        self,
        root: Path,
        joules: Callable[[float], float],
        *,
        zones: Mapping[str, str] = SERVER,
        tick_s: float = 0.001,
        range_joules: float = RANGE_JOULES,
        start_joules: float = 1000.0,
    ) -> None:
        """`joules` is the energy of one zone up to a time; each takes as much as the first."""
        self.root = root
        self.joules = joules
        self.zones = dict(zones)
        self.tick_s = tick_s
        self.range_joules = range_joules
        self.start_joules = start_joules
        self.fallen_joules = 0.0
        self.stuck = False
        self._ticked = -1
        for zone, name in self.zones.items():
            folder = root / zone
            folder.mkdir(parents=True)
            (folder / "name").write_text(name + "\n")
            (folder / "max_energy_range_uj").write_text(f"{round(range_joules * 1e6)}\n")
        self.show(0.0)

    def show(self, now_s: float) -> None:
        """Write the counters as they stand at that time."""
        ticked = int(now_s / self.tick_s)
        if ticked == self._ticked or self.stuck:
            return
        self._ticked = ticked
        counted = self.start_joules + self.joules(ticked * self.tick_s) - self.fallen_joules
        unit = 2.0**-14
        microjoules = int(counted % self.range_joules / unit) * unit * 1e6
        for zone in self.zones:
            fresh = self.root / zone / "energy_uj.new"
            fresh.write_text(f"{microjoules:.0f}\n")
            fresh.replace(self.root / zone / "energy_uj")


class ScaledClock:
    """Time that passes when it is asked for, or slept; the tree follows it. Periodic actions run as time passes."""

    CALL_S = 2e-5
    """What asking takes: about a read of such a file."""

    def __init__(self) -> None:
        self.tree: FakePowercap | None = None
        self._now_s = 0.0
        self._actions: dict[int, list[float]] = {}
        self._calls: dict[int, Callable[[], None]] = {}

    def now(self) -> float:
        self._now_s += self.CALL_S
        if self.tree:
            self.tree.show(self._now_s)
        return self._now_s

    def sleep(self, seconds: float) -> None:
        until_s = self._now_s + seconds
        while self._actions:
            key, (due_s, period_s) = min(self._actions.items(), key=lambda item: item[1][0])
            if due_s > until_s:
                break
            self._now_s = max(due_s, self._now_s)
            self.now()
            self._calls[key]()
            self._actions[key] = [self._now_s + period_s, period_s]
        self._now_s = max(until_s, self._now_s)
        self.now()

    def every(self, period_s: float, action: Callable[[], None]) -> Callable[[], None]:
        key = len(self._calls)
        self._calls[key] = action
        self._actions[key] = [self._now_s + period_s, period_s]

        def stop() -> None:
            self._actions.pop(key, None)

        return stop


class RealTime:
    """Keeps a tree up to date with the wall clock, in a thread, while in its context."""

    def __init__(self, tree: FakePowercap) -> None:
        self._tree = tree
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> None:
        self._tree.show(time.perf_counter())
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ended.is_set():
            self._tree.show(time.perf_counter())
            time.sleep(self._tree.tick_s / 20)
