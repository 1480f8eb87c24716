"""Wall-clock windows, and how much of the processor others used meanwhile. Knows nothing of models or of torch."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

import psutil

SHORTEST_SHARE_S = 0.2
"""The kernel counts CPU time in ticks of 10 ms: a share over a shorter window than this would be noise."""


@dataclass
class Window:
    """One timed window; filled in when it closes."""

    started_at: str
    duration_s: float = 0.0
    foreign_cpu_share: float | None = None
    """Share of the machine's CPU time that went to other processes, 0 to 1; None where it cannot be told."""


def utc_now() -> str:
    """The time now as RFC 3339 in UTC, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@contextmanager
def window(synchronize: Callable[[], None]) -> Iterator[Window]:
    """Time the body, from an idle device to an idle device; `synchronize` waits until the device is idle."""
    timed = Window(started_at=utc_now())
    cpu_before = _cpu_seconds()
    synchronize()
    begin = time.perf_counter()
    yield timed
    synchronize()
    timed.duration_s = time.perf_counter() - begin
    timed.foreign_cpu_share = _foreign_share(cpu_before, _cpu_seconds(), timed.duration_s)


def _cpu_seconds() -> tuple[float, float]:
    """CPU seconds spent so far by (all processes of the machine, this process)."""
    everyone = psutil.cpu_times()
    idle = everyone.idle + getattr(everyone, "iowait", 0.0)
    # guest time is already inside user time on Linux
    guest = getattr(everyone, "guest", 0.0) + getattr(everyone, "guest_nice", 0.0)
    return sum(everyone) - idle - guest, time.process_time()


def _foreign_share(
    before: tuple[float, float], after: tuple[float, float], duration_s: float
) -> float | None:
    if duration_s < SHORTEST_SHARE_S:
        return None
    everyone, own = after[0] - before[0], after[1] - before[1]
    share = (everyone - own) / (duration_s * (os.cpu_count() or 1))
    return round(min(max(share, 0.0), 1.0), 4)
