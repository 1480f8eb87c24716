"""What this machine is, and which software takes part. Times nothing."""

from __future__ import annotations

import hashlib
import os
import platform
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil
import torch

from measure.errors import UsageError

PACKAGES = ("torch", "transformers", "accelerate", "gguf", "nvidia-ml-py", "numpy")


def choose_device(asked: str) -> torch.device:
    """The torch device that `--device` means: auto, cpu, cuda:N or the UUID of a GPU.

    Raises UsageError when it is not there, naming what is.
    """
    gpus = [torch.device("cuda", i) for i in range(torch.cuda.device_count())]
    if asked == "cpu" or (asked == "auto" and not gpus):
        return torch.device("cpu")
    if asked in ("auto", "cuda"):
        asked = "cuda:0"
    for gpu in gpus:
        if asked == str(gpu) or asked == gpu_uuid(gpu):
            return gpu
    there = ", ".join(["cpu", *(f"{g} ({gpu_uuid(g)})" for g in gpus)])
    raise UsageError(f"--device: no device {asked!r}; this machine has {there}")


def gpu_uuid(device: torch.device) -> str:
    """The GPU's UUID as NVML writes it: the one name that CUDA_VISIBLE_DEVICES does not shift."""
    uuid = str(torch.cuda.get_device_properties(device).uuid)
    return uuid if uuid.startswith(("GPU-", "MIG-")) else f"GPU-{uuid}"


def dtype_for(device: torch.device) -> torch.dtype:
    """bfloat16 on a GPU, float32 on a CPU: few CPUs are fast in 16 bits."""
    return torch.bfloat16 if device.type == "cuda" else torch.float32


def available_bytes(device: torch.device) -> int:
    """Memory that a model may take now: the GPU's free bytes, or the machine's within its limits."""
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    return min(psutil.virtual_memory().available, _cgroup_spare_bytes())


def describe(device: torch.device, acted: str | None = None) -> dict[str, Any]:
    """The `machine` object of run.json; `acted` is the UUID of the card that a rehearsal acts with."""
    cpu, cores = _cpu_name(), _cores()
    memory = psutil.virtual_memory().total
    accelerator = _accelerator(device) if acted is None else _acted(acted)
    gibibytes = round(memory / 2**30)
    label = f"{cpu}, {cores} cores, {gibibytes} GiB"
    if accelerator:
        label = f"{accelerator['name']} ({label})"
    facts = "/".join(map(str, (cpu, cores, gibibytes, accelerator and accelerator["uuid"])))
    slug = "gpu" if accelerator else "cpu"
    return {
        "id": f"{slug}-{hashlib.sha256(facts.encode()).hexdigest()[:8]}",
        "label": label,
        "cpu": cpu,
        "cpu_cores": cores,
        "memory_bytes": memory,
        "os": f"{platform.system()} {platform.release()}",
        "accelerator": accelerator,
    }


def software() -> dict[str, str | int | None]:
    """The `software` object of run.json: versions, and the threads that torch uses."""
    versions: dict[str, str | int | None] = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            versions[package] = None
    versions["cuda"] = torch.version.cuda
    versions["blas"] = "MKL" if torch.backends.mkl.is_available() else "other"
    versions["threads"] = torch.get_num_threads()
    return versions


def _cpu_name() -> str:
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


def _cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _cgroup_spare_bytes() -> int:
    """Memory left under a container's limit; the whole address space where there is none."""
    root = Path("/sys/fs/cgroup")
    try:
        limit = (root / "memory.max").read_text().strip()
        used = int((root / "memory.current").read_text())
    except (OSError, ValueError):
        return 2**63
    return 2**63 if limit == "max" else max(int(limit) - used, 0)


def _accelerator(device: torch.device) -> dict[str, Any] | None:
    if device.type != "cuda":
        return None
    facts = torch.cuda.get_device_properties(device)
    uuid = gpu_uuid(device)
    driver, power_limit_watts = _driver_facts(uuid)
    return {
        "name": facts.name,
        "uuid": uuid,
        "memory_bytes": facts.total_memory,
        "driver": driver,
        "power_limit_watts": power_limit_watts,
    }


def _acted(uuid: str) -> dict[str, Any]:
    """As `_accelerator`, of a card that is not there."""
    driver, power_limit_watts = _driver_facts(uuid)
    return {
        "name": "a card that a rehearsal acts",
        "uuid": uuid,
        "memory_bytes": psutil.virtual_memory().total,
        "driver": driver,
        "power_limit_watts": power_limit_watts,
    }


def _driver_facts(uuid: str) -> tuple[str | None, float | None]:
    """(driver version, enforced power limit in watts) from NVML; None where it does not say."""
    try:
        import pynvml

        pynvml.nvmlInit()
    except Exception:  # no library, no driver, no permission: the facts are then unknown
        return None, None
    driver = power_limit_watts = None
    try:
        driver = pynvml.nvmlSystemGetDriverVersion()
        handle = pynvml.nvmlDeviceGetHandleByUUID(uuid)
        power_limit_watts = pynvml.nvmlDeviceGetEnforcedPowerLimit(handle) / 1000
    except pynvml.NVMLError:
        pass
    finally:
        pynvml.nvmlShutdown()
    return driver, power_limit_watts
