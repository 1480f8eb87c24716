"""Wall-clock windows, and how much of the processor others used meanwhile. Knows nothing of models or of torch."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import psutil

SHORTEST_SHARE_S = 0.2
"""The kernel counts CPU time in ticks of 10 ms: a share over a shorter window than this would be noise."""


@dataclass
class Window:
    """One timed window; filled in when it closes."""

    started_at: str
    duration_s: float = 0.0
    system_s: float = 0.0
    """The same length by the system's clock, which runs on while a machine is paused and can be set."""
    foreign_cpu_share: float | None = None
    """Share of the CPU time of our cores that others had, 0 to 1; None where it cannot be told.

    Others are the other processes and, in a virtual machine, its host: time that it stole is in it.
    """


def utc_now() -> str:
    """The time now as RFC 3339 in UTC, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@contextmanager
def window(synchronize: Callable[[], None]) -> Iterator[Window]:
    """Time the body, from an idle device to an idle device; `synchronize` waits until the device is idle."""
    timed = Window(started_at=utc_now())
    cpu_before = _cpu_seconds()
    synchronize()
    begin, system_begin = time.perf_counter(), time.time()
    yield timed
    synchronize()
    timed.duration_s, timed.system_s = time.perf_counter() - begin, time.time() - system_begin
    timed.foreign_cpu_share = _foreign_share(cpu_before, _cpu_seconds(), timed.duration_s)


def _cpu_seconds() -> tuple[float, float]:
    """CPU seconds spent so far (by anybody on the cores that we may use, by this process)."""
    cores = psutil.cpu_times(percpu=True)
    if hasattr(os, "sched_getaffinity"):  # Linux numbers the cores as psutil lists them
        ours = os.sched_getaffinity(0)
        cores = [times for number, times in enumerate(cores) if number in ours] or cores
    return math.fsum(map(busy_seconds, cores)), time.process_time()


def busy_seconds(times: Any) -> float:
    """Seconds that a core was not idle, of psutil's `times` for it; time stolen by a host counts."""
    idle = times.idle + getattr(times, "iowait", 0.0)
    # guest time is already inside user time on Linux
    guest = getattr(times, "guest", 0.0) + getattr(times, "guest_nice", 0.0)
    return float(sum(times) - idle - guest)


def _foreign_share(
    before: tuple[float, float], after: tuple[float, float], duration_s: float
) -> float | None:
    if duration_s < SHORTEST_SHARE_S:
        return None
    everyone, own = after[0] - before[0], after[1] - before[1]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return round(min(max((everyone - own) / (duration_s * cores), 0.0), 1.0), 4)
