"""The GPUs that CUDA would use, by UUID, found without a context on any of them. Knows nothing of torch or NVML."""

from __future__ import annotations

import ctypes
import re
import uuid

REHEARSAL = "rehearsal:"
"""`--device rehearsal:GPU-UUID`: the model runs on the CPU beside that card's meter; see the rehearsal in tests/."""


def rehearsed(device: str) -> str | None:
    """The UUID of the card that a rehearsal acts with; None where `device` asks for no rehearsal."""
    return device.removeprefix(REHEARSAL) if device.startswith(REHEARSAL) else None


def chosen(device: str) -> str | None:
    """The UUID of the card that `--device` means; None where it means none, or none that is there."""
    acted = rehearsed(device)
    if acted or device.startswith(("GPU-", "MIG-")):
        return acted or device
    numbered = re.fullmatch(r"(?:auto|cuda)(?::(\d+))?", device)
    if not numbered:
        return None
    there = visible()
    number = int(numbered[1] or 0)
    return there[number] if number < len(there) else None


def visible() -> list[str]:
    """UUIDs in CUDA's own order, with CUDA_VISIBLE_DEVICES honoured; none where there is no CUDA.

    The driver's cuInit and its questions make no context (CUDA driver API, "Device Management").
    """
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return []
    count = ctypes.c_int()
    if cuda.cuInit(0) or cuda.cuDeviceGetCount(ctypes.byref(count)):
        return []
    found = []
    for number in range(count.value):
        device, raw = ctypes.c_int(), (ctypes.c_ubyte * 16)()
        if cuda.cuDeviceGet(ctypes.byref(device), number) or cuda.cuDeviceGetUuid(raw, device):
            return []
        found.append(f"GPU-{uuid.UUID(bytes=bytes(raw))}")
    return found
