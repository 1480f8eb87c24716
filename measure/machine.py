"""What this machine is, and which software takes part. Times nothing."""

from __future__ import annotations

import platform
from contextlib import closing
from importlib import metadata
from typing import Any

import torch

from measure import host
from measure.errors import UsageError
from measure.nvml_driver import Card
from measure.ticks import DriverError

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
    return host.available_bytes()


def describe(device: torch.device, acted: str | None = None) -> dict[str, Any]:
    """The `machine` object of run.json; `acted` is the UUID of the card that a rehearsal acts with."""
    accelerator = _accelerator(device) if acted is None else _acted(acted)
    label = host.label()
    if accelerator:
        label = f"{accelerator['name']} ({label})"
    return {
        "id": host.identity(accelerator["uuid"] if accelerator else None),
        "label": label,
        "cpu": host.cpu_name(),
        "cpu_cores": host.cores(),
        "memory_bytes": host.memory_bytes(),
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
        "memory_bytes": host.memory_bytes(),
        "driver": driver,
        "power_limit_watts": power_limit_watts,
    }


def _driver_facts(uuid: str) -> tuple[str | None, float | None]:
    """(driver version, enforced power limit in watts) from NVML; None where it does not say."""
    try:
        card = Card(uuid)
    except DriverError:  # no library, no driver, no permission: the facts are then unknown
        return None, None
    with closing(card):
        return card.driver(), card.power_limit_watts()
