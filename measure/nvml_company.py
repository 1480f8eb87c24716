"""Who else is on the GPU: other processes, and memory that is not ours. Knows nothing of energy."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from measure.nvml_driver import Card, GpuProcess

CONTEXT_BYTES = 1 << 30
"""Memory that our CUDA context and kernels may take beyond PyTorch's own, where the driver does not list it."""
FOREIGN_BYTES = 512 << 20
"""More memory than this that is not ours is another's work, not the driver's bookkeeping."""


class Company:
    """Answers in words, or with None where nobody else is seen. Raises DriverError when NVML does not answer."""

    def __init__(self, card: Card, own_bytes: Callable[[], int] | None) -> None:
        """`own_bytes` tells how much of the card's memory PyTorch holds for us; None: we have no context there."""
        self._card = card
        self._own_bytes = own_bytes

    def any(self) -> str | None:
        """Other processes or, since NVML does not always list them, foreign memory."""
        return self.processes() or self.memory()

    def processes(self) -> str | None:
        """Other processes with a compute context."""
        there = self._card.processes() or []
        count = len(there) if self._own_bytes is None else others(there, os.getpid())
        if count:
            return f"{count} other process{'es' if count > 1 else ''} computed on the GPU"
        return None

    def memory(self) -> str | None:
        """Memory in use that is not ours."""
        own = 0
        if self._own_bytes is not None:
            own = own_memory(self._card.processes() or [], os.getpid(), self._own_bytes())
        foreign = self._card.memory_used_bytes() - own
        if foreign > FOREIGN_BYTES:
            return f"{foreign / 2**30:.1f} GiB of the GPU's memory were in use by others"
        return None


def others(processes: Sequence[GpuProcess], own_pid: int) -> int:
    """How many of the processes on the card are not this one, which has a context there.

    In a container they carry the host's PIDs, and ours is not among them: then one of them is taken to be ours.
    """
    if any(p.pid == own_pid for p in processes):
        return sum(p.pid != own_pid for p in processes)
    return max(len(processes) - 1, 0)


def own_memory(processes: Sequence[GpuProcess], own_pid: int, reserved_bytes: int) -> int:
    """Bytes on the card that are ours: as listed for our process, else PyTorch's and an allowance for the context."""
    ours = [p for p in processes if p.pid == own_pid] or list(processes)
    listed = ours[0].memory_bytes if len(ours) == 1 else None
    return listed if listed is not None else reserved_bytes + CONTEXT_BYTES
