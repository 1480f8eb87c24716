"""Energy over a window: what a meter must do, and the meter that refuses. The NVIDIA meter is in nvml.py."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import torch


@dataclass(frozen=True)
class Energy:
    """Gross energy of one window in joules with its error, or the refusal that stands in its place."""

    joules: float | None
    error_joules: float | None
    refusal: dict[str, str] | None

    @classmethod
    def refused(cls, kind: str, reason: str) -> Energy:
        """No energy, for a reason; `kind` is one of schema.json's refusal kinds."""
        return cls(None, None, {"kind": kind, "reason": reason})


class Meter(Protocol):
    """Measures the energy between `begin` and `end`. Never raises for a failing device: it refuses."""

    def describe(self) -> dict[str, Any]:
        """The `meter` object of run.json."""
        ...

    def begin(self) -> None:
        """Open a window."""
        ...

    def end(self) -> Energy:
        """Close the window."""
        ...


class NoMeter:
    """Stands where nothing measures energy, and says why."""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def describe(self) -> dict[str, Any]:
        """The `meter` object of run.json."""
        return {"kind": "none", "refusal": {"kind": "unavailable", "reason": self._reason}}

    def begin(self) -> None:
        """Nothing to open."""

    def end(self) -> Energy:
        """The refusal."""
        return Energy.refused("unavailable", self._reason)


def open_meter(device: torch.device) -> Meter:
    """The meter for what runs on `device`."""
    if device.type == "cuda":
        from measure.nvml import (
            open_meter as open_nvml_meter,
        )  # pynvml is looked for only where there is a GPU

        return open_nvml_meter(device)
    return NoMeter("this run used the CPU, and nothing here meters a CPU's energy")
