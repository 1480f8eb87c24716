"""The computer itself: its processor, cores and memory, and the name that follows from them. Knows no torch, no GPU."""

from __future__ import annotations

import hashlib
import os
import platform
from pathlib import Path

import psutil


def cpu_name() -> str:
    """The processor's own name, with family and model where a hypervisor hides the rest."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").split("\n\n")[0].splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    facts = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
    name = facts.get("model name") or platform.machine()
    if not any(c.isdigit() for c in name) and "cpu family" in facts:
        name += f" (family {facts['cpu family']}, model {facts.get('model', '?')})"
    return name


def cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def memory_bytes() -> int:
    """All memory of the machine, bytes."""
    return int(psutil.virtual_memory().total)


def available_bytes() -> int:
    """Memory that a process may take now, within the limits of a container, bytes."""
    return min(int(psutil.virtual_memory().available), _cgroup_spare_bytes())


def label() -> str:
    """The computer in one phrase."""
    return f"{cpu_name()}, {cores()} cores, {_gibibytes()} GiB"


def identity(accelerator_uuid: str | None) -> str:
    """Stable for one machine and the accelerator that it uses; made from its hardware, says nothing of its owner."""
    facts = "/".join(map(str, (cpu_name(), cores(), _gibibytes(), accelerator_uuid)))
    slug = "gpu" if accelerator_uuid else "cpu"
    return f"{slug}-{hashlib.sha256(facts.encode()).hexdigest()[:8]}"


def _gibibytes() -> int:
    return round(memory_bytes() / 2**30)


def _cgroup_spare_bytes() -> int:
    """Memory left under a container's limit; the whole address space where there is none."""
    root = Path("/sys/fs/cgroup")
    try:
        limit = (root / "memory.max").read_text().strip()
        used = int((root / "memory.current").read_text())
    except (OSError, ValueError):
        return 2**63
    return 2**63 if limit == "max" else max(int(limit) - used, 0)
