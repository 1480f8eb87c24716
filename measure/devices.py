"""The devices that a model could run on, and what can be measured on each. Makes no context on a GPU, times nothing.

Cards are asked through NVML. What torch can do is told by the caller, who asked it elsewhere (capability.py).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from measure import cards, host
from measure.plan import CPU, DECODE_MODES, GPU
from measure.record import Json

DTYPES = {CPU: "float32", GPU: "bfloat16"}
WHY_DTYPE = {
    CPU: "few CPUs are fast in 16 bits",
    GPU: "the type that models are published in, and that tensor cores are made for",
}

OLDEST_WITH_BFLOAT16 = (8, 0)
"""CUDA's generation that was the first to multiply in bfloat16: Ampere."""


@dataclass(frozen=True)
class Mode:
    """A way to run a decode step; `missing` says why it cannot be had, None: it can."""

    name: str
    missing: str | None


@dataclass(frozen=True)
class Device:
    """One device that a model could run on."""

    name: str
    """What `--device` takes."""
    kind: str
    label: str
    memory_bytes: int | None
    free_bytes: int | None
    driver: str | None
    dtype: str
    modes: tuple[Mode, ...]
    meter: Json
    """The `meter` object of a run."""
    unusable: str | None
    """Why nothing can be measured on it; None: it can."""
    machine_id: str
    company: str | None = None
    """Who else is on it, in words: samples taken beside them would be refused; None where nobody is seen."""


def cpu(told: dict[str, Any]) -> Device:
    """This computer's processor; `told` is what the probe said of torch."""
    from measure.rapl import open_rapl

    compiler = told.get("no_compiler")
    missing = {"compiled": compiler and f"it needs a C++ compiler, and torch found none: {compiler}"}
    return Device(
        name="cpu",
        kind=CPU,
        label=host.cpu_name(),
        memory_bytes=host.memory_bytes(),
        free_bytes=host.available_bytes(),
        driver=None,
        dtype=DTYPES[CPU],
        modes=tuple(Mode(mode, missing.get(mode)) for mode in DECODE_MODES[CPU]),
        meter=open_rapl().describe(),
        unusable=told.get("failed"),
        machine_id=host.identity(None),
    )


def gpus(told: dict[str, Any]) -> Iterator[Device]:
    """The cards that CUDA would use, in its order; `told` as for `cpu`."""
    for number, uuid in enumerate(cards.visible()):
        yield _gpu(f"cuda:{number}", uuid, told)


def _gpu(name: str, uuid: str, told: dict[str, Any]) -> Device:
    from measure.nvml import open_gpu
    from measure.nvml_company import Company
    from measure.nvml_driver import Card
    from measure.ticks import DriverError

    label, memory_bytes, free_bytes, driver, capability, company = uuid, None, None, None, None, None
    unusable = told.get("failed")
    try:
        card = Card(uuid)
    except DriverError:
        pass  # what can be told of it is its UUID; the meter says why
    else:
        with contextlib.closing(card):
            label, driver = card.name() or uuid, card.driver()
            memory_bytes, capability = card.memory_bytes(), card.compute_capability()
            with contextlib.suppress(DriverError):
                free_bytes = None if memory_bytes is None else memory_bytes - card.memory_used_bytes()
                company = Company(card, None).any()
    if unusable is None and told.get("cuda") is None:
        unusable = f"this torch, {told.get('torch')}, was built without CUDA; install one that was"
    if unusable is None and capability is not None and capability < OLDEST_WITH_BFLOAT16:
        unusable = f"it has no bfloat16 (compute capability {capability[0]}.{capability[1]}, 8.0 is the first with it)"
    return Device(
        name=name,
        kind=GPU,
        label=label,
        memory_bytes=memory_bytes,
        free_bytes=free_bytes,
        driver=driver,
        dtype=DTYPES[GPU],
        modes=tuple(Mode(mode, None) for mode in DECODE_MODES[GPU]),
        meter=open_gpu(uuid, own_bytes=None).describe(),
        unusable=unusable,
        machine_id=host.identity(uuid),
        company=company,
    )
