"""One GPU as NVML shows it, typed and in SI units: the only place that calls pynvml. Judges nothing.

Numbers of fields, bits and kinds are those of nvml.h, written out here since older bindings lack newer names.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from measure.ticks import DriverError

POWER_INSTANT = 186
"""NVML_FI_DEV_POWER_INSTANT: milliwatts now, from driver 530 on."""
SLOWDOWN_TIMES = {269: "too hot (driver)", 270: "too hot (hardware)", 271: "power brake"}
"""NVML_FI_DEV_CLOCKS_EVENT_REASON_…: nanoseconds for which clocks were held down, since the driver was loaded. Older
drivers have other fields under these numbers, settings that stand still: only a rise means anything."""
AT_POWER_LIMIT = 0x4
SLOWDOWN_BITS = {
    0x8: "hardware slowdown",
    0x10: "clocks held to those of another GPU",
    0x20: "too hot (driver)",
    0x40: "too hot (hardware)",
    0x80: "power brake",
}
"""nvmlClocksEventReasons that are not ordinary power management."""
SM_CLOCK, MEMORY_CLOCK = 1, 2
GPU_SENSOR = 0
MIG_ENABLED = 1
VGPU, HOST_OF_VGPUS = 2, 3


@dataclass(frozen=True)
class GpuProcess:
    """A process that holds a compute context on the card, under the host's PID."""

    pid: int
    memory_bytes: int | None


@dataclass(frozen=True)
class ClockReasons:
    """Why the clocks are what they are now."""

    slowdowns: frozenset[str]
    """Reasons beyond the card's ordinary power management, in words."""
    at_power_limit: bool
    """Held by the power limit, which is how a card works under full load."""


class Card:
    """A GPU opened by UUID. Every method raises DriverError when NVML does not answer."""

    def __init__(self, uuid: str) -> None:
        """`uuid` with or without its prefix: torch gives none, and a MIG instance has one of its own."""
        self._nvml = _load()
        self._call("start NVML", self._nvml.nvmlInit)
        try:
            self._handle, self.uuid = self._find(uuid)
            self.power_is_instant = self._instant_watts() is not None
            """Whether `watts` is a reading of the moment; else it may be the mean of the second before."""
        except DriverError:
            self.close()
            raise

    def close(self) -> None:
        """Give NVML back; harmless when it is gone."""
        with contextlib.suppress(self._nvml.NVMLError):
            self._nvml.nvmlShutdown()

    def name(self) -> str | None:
        """What its maker calls it; None where NVML does not say."""
        name = self._asked(self._nvml.nvmlDeviceGetName)
        return None if name is None else str(name)

    def driver(self) -> str | None:
        """Version of the driver; None where NVML does not say."""
        try:
            return str(self._nvml.nvmlSystemGetDriverVersion())
        except self._nvml.NVMLError:
            return None

    def memory_bytes(self) -> int | None:
        """All its memory, bytes; None where NVML does not say."""
        memory = self._asked(self._nvml.nvmlDeviceGetMemoryInfo)
        return None if memory is None else int(memory.total)

    def compute_capability(self) -> tuple[int, int] | None:
        """CUDA's name of its generation, such as (9, 0); None where NVML does not say."""
        found = self._asked(self._nvml.nvmlDeviceGetCudaComputeCapability)
        return None if found is None else (int(found[0]), int(found[1]))

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
        milliwatts = self._told(self._nvml.nvmlDeviceGetEnforcedPowerLimit)
        return None if milliwatts is None else milliwatts / 1000

    def clock_hz(self, which: int) -> float | None:
        """SM_CLOCK or MEMORY_CLOCK now, hertz; None where NVML does not say."""
        megahertz = self._told(self._nvml.nvmlDeviceGetClockInfo, which)
        return None if megahertz is None else megahertz * 1e6

    def temperature_celsius(self) -> float | None:
        """Of the chip, degrees Celsius; None where NVML does not say."""
        current = getattr(self._nvml, "nvmlDeviceGetTemperatureV", None)  # the older name ends with CUDA 14
        celsius = self._told(current, GPU_SENSOR) if current else None
        former = getattr(self._nvml, "nvmlDeviceGetTemperature", None)
        if celsius is None and former:
            celsius = self._told(former, GPU_SENSOR)
        return None if celsius is None else float(celsius)

    def clock_reasons(self) -> ClockReasons:
        """Why the clocks are what they are now."""
        bits = self._read("why its clocks are held down", self._clock_reasons_query())
        slowdowns = frozenset(words for bit, words in SLOWDOWN_BITS.items() if bits & bit)
        return ClockReasons(slowdowns, bool(bits & AT_POWER_LIMIT))

    def slowdown_seconds(self) -> dict[str, float]:
        """For how long each reason has held the clocks down since the driver was loaded; empty where not counted."""
        values = self._fields(list(SLOWDOWN_TIMES))
        return {
            words: int(value.value.ullVal) / 1e9
            for words, value in zip(SLOWDOWN_TIMES.values(), values, strict=False)
            if value.nvmlReturn == self._nvml.NVML_SUCCESS
        }

    def processes(self) -> list[GpuProcess] | None:
        """Who computes on the card; None where NVML may not or cannot tell (WSL2, some containers)."""
        nvml = self._nvml
        try:
            found = nvml.nvmlDeviceGetComputeRunningProcesses(self._handle)
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
        except (AttributeError, self._nvml.NVMLError_FunctionNotFound, self._nvml.NVMLError_NotSupported):
            return int(self._call("read its memory", query, self._handle).used)
        except self._nvml.NVMLError as error:
            raise DriverError(f"NVML could not read the GPU's memory: {error}") from error

    def shared_out(self) -> str | None:
        """In words, how the card is divided (MIG, vGPU), so that its counter is not the energy of one user; or None."""
        if self.uuid.startswith("MIG-") or self._mig_enabled():
            return "the GPU is divided by MIG, and its energy counter covers all its instances together"
        mode = self._told(self._nvml.nvmlDeviceGetVirtualizationMode)  # not known to all drivers and cards
        if mode == VGPU:
            return "this is a vGPU, a share of a card; NVML meters whole cards"
        if mode == HOST_OF_VGPUS:
            return "the card serves vGPUs, and its energy counter covers all of them together"
        return None

    def _find(self, uuid: str) -> tuple[Any, str]:
        """(handle, UUID with the prefix under which NVML knows it)."""
        bare = uuid.removeprefix("GPU-").removeprefix("MIG-")
        named = [uuid] if uuid.startswith(("GPU-", "MIG-")) else []
        failure = None
        for name in dict.fromkeys([*named, f"GPU-{bare}", f"MIG-{bare}"]):
            try:
                return self._call(f"find the GPU {uuid}", self._nvml.nvmlDeviceGetHandleByUUID, name), name
            except DriverError as error:
                failure = failure or error
        assert failure is not None
        raise failure

    def _mig_enabled(self) -> bool:
        try:
            current, _pending = self._nvml.nvmlDeviceGetMigMode(self._handle)
        except self._nvml.NVMLError:  # a card without MIG does not support the question
            return False
        return bool(current == MIG_ENABLED)

    def _instant_watts(self) -> float | None:
        for field in self._fields([POWER_INSTANT]):
            if field.nvmlReturn == self._nvml.NVML_SUCCESS:
                return int(field.value.uiVal) / 1000
        return None

    def _fields(self, ids: list[int]) -> list[Any]:
        """NVML's answers to some field ids, each with a return code of its own; empty where it knows no fields."""
        nvml = self._nvml
        unknown = (
            nvml.NVMLError_FunctionNotFound,
            nvml.NVMLError_NotSupported,
            nvml.NVMLError_NoPermission,
            nvml.NVMLError_InvalidArgument,  # an older driver, asked for a newer field
        )
        try:
            return list(nvml.nvmlDeviceGetFieldValues(self._handle, ids))
        except unknown:
            return []
        except nvml.NVMLError as error:
            raise DriverError(f"NVML could not read the GPU's fields: {error}") from error

    def _clock_reasons_query(self) -> Callable[..., Any]:
        nvml = self._nvml
        former = nvml.nvmlDeviceGetCurrentClocksThrottleReasons  # the same bits, before driver 535
        current = getattr(nvml, "nvmlDeviceGetCurrentClocksEventReasons", former)

        def query(handle: Any) -> Any:
            try:
                return current(handle)
            except nvml.NVMLError_FunctionNotFound:
                return former(handle)

        return query

    def _asked(self, query: Callable[..., Any]) -> Any:
        """NVML's answer to a question that not every driver knows; None where it has none."""
        try:
            return query(self._handle)
        except self._nvml.NVMLError:
            return None

    def _told(self, query: Callable[..., Any], *arguments: Any) -> int | None:
        """What NVML answers to a question that not every card knows; None where it has no answer."""
        try:
            return int(query(self._handle, *arguments))
        except self._nvml.NVMLError:
            return None

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
