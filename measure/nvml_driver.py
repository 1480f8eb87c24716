"""One GPU as NVML shows it, typed and in SI units: the only place that calls pynvml. Judges nothing."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


class DriverError(Exception):
    """NVML cannot answer; the message is the reason, in words fit for a page."""


@dataclass(frozen=True)
class GpuProcess:
    """A process that holds a compute context on the card, under the host's PID."""

    pid: int
    memory_bytes: int | None


class Card:
    """A GPU opened by UUID. Every method raises DriverError when NVML does not answer."""

    def __init__(self, uuid: str) -> None:
        self.uuid = uuid
        self._nvml = _load()
        self._call("start NVML", self._nvml.nvmlInit)
        try:
            self._handle = self._call(f"find the GPU {uuid}", self._nvml.nvmlDeviceGetHandleByUUID, uuid)
        except DriverError:
            self.close()
            raise
        self.power_is_instant = self._instant_watts() is not None
        """Whether `watts` is a reading of the moment; else it may be the mean of the second before."""

    def close(self) -> None:
        """Give NVML back; harmless when it is gone."""
        with contextlib.suppress(self._nvml.NVMLError):
            self._nvml.nvmlShutdown()

    def energy_joules(self) -> float:
        """Energy since the driver was loaded, joules, in steps of 1 mJ: the whole card's, or on Grace the module's."""
        return self._read("its energy counter", self._nvml.nvmlDeviceGetTotalEnergyConsumption) / 1000

    def watts(self) -> float:
        """Power now in watts; see `power_is_instant`."""
        watts = self._instant_watts() if self.power_is_instant else None
        if watts is not None:
            return watts
        return self._read("its power", self._nvml.nvmlDeviceGetPowerUsage) / 1000

    def power_limit_watts(self) -> float | None:
        """The enforced limit in watts; None where there is none."""
        try:
            return self._read("its power limit", self._nvml.nvmlDeviceGetEnforcedPowerLimit) / 1000
        except DriverError:
            return None

    def slowdowns(self) -> frozenset[str]:
        """Why the clocks are held down now, beyond the card's ordinary power management.

        Running at the power limit is not among them: it is how a card works under full load.
        """
        bits = self._read("why its clocks are held down", self._clock_reasons())
        return frozenset(words for bit, words in self._slowdown_words().items() if bits & bit)

    def processes(self) -> list[GpuProcess] | None:
        """Who computes on the card; None where NVML may not or cannot tell (WSL2, some containers)."""
        nvml = self._nvml
        try:
            found = nvml.nvmlDeviceGetComputeRunningProcesses_v3(self._handle)
        except (nvml.NVMLError_NotSupported, nvml.NVMLError_NoPermission, nvml.NVMLError_FunctionNotFound):
            return None
        except nvml.NVMLError as error:
            raise DriverError(f"NVML could not list the GPU's processes: {error}") from error
        return [GpuProcess(p.pid, p.usedGpuMemory) for p in found]

    def memory_used_bytes(self) -> int:
        """Memory in use on the card by everyone, bytes; the driver's own reserve is left out where it is told apart."""
        query = self._nvml.nvmlDeviceGetMemoryInfo
        try:
            return int(query(self._handle, version=self._nvml.nvmlMemory_v2).used)
        except (self._nvml.NVMLError_FunctionNotFound, self._nvml.NVMLError_NotSupported):
            return int(self._call("read its memory", query, self._handle).used)
        except self._nvml.NVMLError as error:
            raise DriverError(f"NVML could not read the GPU's memory: {error}") from error

    def shared_out(self) -> str | None:
        """In words, how the card is divided (MIG, vGPU), so that its counter is not the energy of one user; or None."""
        if self.uuid.startswith("MIG-") or self._mig_enabled():
            return "the GPU is divided by MIG, and its energy counter covers all its instances together"
        try:
            mode = self._nvml.nvmlDeviceGetVirtualizationMode(self._handle)
        except self._nvml.NVMLError:  # older drivers and desktop cards do not know the question
            return None
        if mode == self._nvml.NVML_GPU_VIRTUALIZATION_MODE_VGPU:
            return "this is a vGPU, a share of a card; NVML meters whole cards"
        if mode == self._nvml.NVML_GPU_VIRTUALIZATION_MODE_HOST_VGPU:
            return "the card serves vGPUs, and its energy counter covers all of them together"
        return None

    def _mig_enabled(self) -> bool:
        try:
            current, _pending = self._nvml.nvmlDeviceGetMigMode(self._handle)
        except self._nvml.NVMLError:  # a card without MIG does not support the question
            return False
        return bool(current == self._nvml.NVML_DEVICE_MIG_ENABLE)

    def _instant_watts(self) -> float | None:
        try:
            field = self._nvml.nvmlDeviceGetFieldValues(self._handle, [self._nvml.NVML_FI_DEV_POWER_INSTANT])[
                0
            ]
        except self._nvml.NVMLError_FunctionNotFound:
            return None
        except self._nvml.NVMLError as error:
            raise DriverError(f"NVML could not read the GPU's power: {error}") from error
        if field.nvmlReturn != self._nvml.NVML_SUCCESS:
            return None
        return int(field.value.uiVal) / 1000

    def _clock_reasons(self) -> Callable[..., Any]:
        nvml = self._nvml
        current = nvml.nvmlDeviceGetCurrentClocksEventReasons
        former = nvml.nvmlDeviceGetCurrentClocksThrottleReasons  # the same bits, before driver 535

        def query(handle: Any) -> Any:
            try:
                return current(handle)
            except nvml.NVMLError_FunctionNotFound:
                return former(handle)

        return query

    def _slowdown_words(self) -> dict[int, str]:
        nvml = self._nvml
        return {
            nvml.nvmlClocksEventReasonHwSlowdown: "hardware slowdown",
            nvml.nvmlClocksEventReasonSwThermalSlowdown: "too hot (driver)",
            nvml.nvmlClocksEventReasonHwThermalSlowdown: "too hot (hardware)",
            nvml.nvmlClocksEventReasonHwPowerBrakeSlowdown: "power brake",
            nvml.nvmlClocksEventReasonSyncBoost: "clocks held to those of another GPU",
        }

    def _read(self, what: str, query: Callable[..., Any]) -> int:
        return int(self._call(f"read {what}", query, self._handle))

    def _call(self, purpose: str, query: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return query(*arguments)
        except self._nvml.NVMLError as error:
            raise DriverError(f"NVML could not {purpose}: {error}") from error


def _load() -> Any:
    """pynvml, which has no types of its own; DriverError where it is not installed."""
    try:
        return importlib.import_module("pynvml")
    except ImportError as error:
        raise DriverError(
            "the package nvidia-ml-py is not installed, so the GPU's counter cannot be read"
        ) from error
