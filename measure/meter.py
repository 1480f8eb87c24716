"""Energy over a window: what a meter must do, the meter that refuses, and which meter a device has.

The meters themselves are in nvml.py (NVIDIA GPUs) and rapl.py (CPUs).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Energy:
    """Gross energy of one window with its error, or the refusal in its place, and what was seen meanwhile.

    A meter refuses where the joules themselves are in doubt: nothing measured them, they are below what it
    resolves, its two readings disagree, or another's work is among them. Whether the window's *time* counts is
    decided in gates.py from the facts; joules of a window whose clocks were held down are right for it, and stand.
    """

    joules: float | None
    error_joules: float | None
    """One side; the sum of `budget`."""
    refusal: dict[str, str] | None
    budget: dict[str, float] | None = None
    """What the error is made of, joules by source; None without an energy."""
    second_joules: float | None = None
    """The same window by a second, independent reading; kept also where the energy was refused."""
    company: str | None = None
    """Who else was on the accelerator, in words; None where nobody was seen."""
    slowdowns: tuple[str, ...] = ()
    """Why its clocks were held down, beyond its ordinary power management."""
    agreement: str | None = None
    """How the two readings disagree, in words; None where they agree or where there is no second one."""
    device_state: dict[str, Any] | None = None
    """The `device_state` object of a sample; None where the device does not say."""

    @classmethod
    def refused(cls, kind: str, reason: str, **seen: Any) -> Energy:
        """No energy, for a reason; `kind` is one of schema.json's refusal kinds, `seen` the facts that are known."""
        return cls(None, None, {"kind": kind, "reason": reason}, **seen)


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


def open_meter(device: torch.device, idle_watts_before_context: float | None = None) -> Meter:
    """The meter for what runs on `device`: the GPU's counter, or the CPU packages' (RAPL); else a NoMeter.

    `idle_watts_before_context` is a GPU's power when no process had a context on it.
    """
    if device.type == "cuda":
        from measure.nvml import open_meter as open_nvml_meter  # pynvml only where there is a GPU

        return open_nvml_meter(device, idle_watts_before_context)
    from measure.rapl import open_rapl

    return open_rapl()
