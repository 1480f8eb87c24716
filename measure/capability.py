"""What this machine can and cannot measure, and why: devices, meters, modes, models, plans. Prints nothing.

Makes no context on a GPU: a context takes memory and power, which a run in another process would feel. Cards are
asked through NVML, torch in a process of its own that sees no card (probe.py). Nothing is timed while a run measures.
"""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from measure import devices, host, record, work
from measure.begin import SEED
from measure.devices import Device
from measure.errors import MeasureError
from measure.forecast import Forecast, forecast
from measure.plan import CPU, GPU, make_plan
from measure.record import Json
from measure.sizes import ELEMENT_BYTES, Sizes, known_models

MACHINE_VERSION = 1
"""Of `as_json`; raised when a key goes or changes its meaning."""

PLANS = {CPU: ("standard", "quick"), GPU: ("gpu",)}
"""The plans for a device, the fullest first."""

GPU_BUDGET = "8m"
PROBE_S = 120
"""A probe that takes longer has failed: importing torch takes seconds even from a slow disk."""


@dataclass(frozen=True)
class Fit:
    """Whether a model fits into a device. `longest_tokens` is the depth that fits beside its weights, at batch 1."""

    model: str
    device: str
    weights_bytes: int
    fits: bool
    longest_tokens: int


@dataclass(frozen=True)
class Course:
    """A plan for a model on a device, how long it takes, and the command; `forecast` is None where nothing tells."""

    model: str
    device: str
    plan: str
    forecast: Forecast | None
    command: str


@dataclass(frozen=True)
class Capability:
    """All of it."""

    label: str
    os: str
    torch: str | None
    busy: str | None
    """Why nothing was timed, in words; None where there was no reason."""
    read_bytes_per_s: float | None
    flop_per_s: float | None
    foreign_cpu_share: float | None
    """Share of the CPU that others have just now, 0 to 1."""
    devices: tuple[Device, ...]
    fits: tuple[Fit, ...]
    courses: tuple[Course, ...]
    """The recommended one first."""

    @property
    def commands(self) -> list[str]:
        """What to run next, in order; empty where nothing fits."""
        if not self.courses:
            return []
        return [self.courses[0].command, "python -m measure check", "make site"]

    def as_json(self) -> dict[str, Any]:
        """For programs; docs/reference/measuring.md explains every key."""
        return {
            "machine_version": MACHINE_VERSION,
            "label": self.label,
            "os": self.os,
            "torch": self.torch,
            "not_timed": self.busy,
            "read_bytes_per_s": self.read_bytes_per_s,
            "flop_per_s": self.flop_per_s,
            "foreign_cpu_share": self.foreign_cpu_share,
            "devices": [asdict(device) for device in self.devices],
            "models": [asdict(fit) for fit in self.fits],
            "plans": [asdict(course) for course in self.courses],
            "commands": self.commands,
        }


def look(site_data: Path, model: str, *, probe: bool = True) -> Capability:
    """Look at this machine; takes a few seconds. `model` is the one that plans are forecast for.

    Raises UsageError when there is no such model.
    """
    chosen = Sizes.load(site_data, model)
    told, busy = _probe(site_data, rates=probe)
    found = (*devices.gpus(told), devices.cpu(told))
    rates = (told["bytes_per_s"], told["flop_per_s"]) if told.get("bytes_per_s") else None
    fits = tuple(
        _fit(Sizes.load(site_data, name), device) for device in found for name in known_models(site_data)
    )
    courses = [
        course
        for device in found
        if device.unusable is None and _fit(chosen, device).fits
        for course in _courses(site_data, chosen, device, rates)
    ]
    return Capability(
        label=host.label(),
        os=f"{platform.system()} {platform.release()}",
        torch=told.get("torch"),
        busy=busy,
        read_bytes_per_s=told.get("bytes_per_s"),
        flop_per_s=told.get("flop_per_s"),
        foreign_cpu_share=told.get("foreign_cpu_share"),
        devices=found,
        fits=fits,
        courses=tuple(courses),
    )


def _probe(site_data: Path, *, rates: bool) -> tuple[dict[str, Any], str | None]:
    """(what the probe told, why it timed nothing). A run that measures would feel it, and is not disturbed."""
    if not rates:
        return _ask_torch(rates=False), "not asked for"
    try:
        with record.only_run(site_data):
            told = _ask_torch(rates=True)
            return told, told.get("failed")
    except MeasureError as error:
        return _ask_torch(rates=False), str(error)


def _ask_torch(*, rates: bool) -> dict[str, Any]:
    command = [sys.executable, "-m", "measure.probe", *([] if rates else ["--no-rates"])]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=PROBE_S,
            check=True,
            cwd=Path(__file__).parents[1],
        )
        told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return told
    except subprocess.CalledProcessError as error:
        lines = error.stderr.strip().splitlines() or [f"exit code {error.returncode}"]
        return {"failed": f"torch could not be asked: {lines[-1]}"}
    except (subprocess.SubprocessError, OSError, ValueError, IndexError) as error:
        return {"failed": f"torch could not be asked: {error}"}


def _fit(sizes: Sizes, device: Device) -> Fit:
    element = ELEMENT_BYTES[device.dtype]
    weights = work.parameters(sizes) * element
    spare = 0 if device.free_bytes is None else device.free_bytes - weights
    longest = max(spare, 0) // (work.cache_elements(sizes) * element)
    return Fit(sizes.name, device.name, weights, spare > 0, min(longest, sizes.max_positions))


def _courses(
    site_data: Path, sizes: Sizes, device: Device, rates: tuple[float, float] | None
) -> Iterator[Course]:
    run = _matching_run(site_data, sizes, device)
    for name in PLANS[device.kind]:
        plan = make_plan(
            name,
            device=device.kind,
            dtype=device.dtype,
            max_positions=sizes.max_positions,
            seed=SEED,
        )
        seen = forecast(
            plan,
            sizes,
            device=device.kind,
            dtype=device.dtype,
            metered=device.meter["refusal"] is None,
            run=run,
            rates=rates,
        )
        yield Course(sizes.name, device.name, name, seen, _command(site_data, sizes, device, name))


def _command(site_data: Path, sizes: Sizes, device: Device, plan: str) -> str:
    parts = [f"python -m measure run --model {sizes.name} --plan {plan} --device {device.name}"]
    if device.kind == GPU:
        parts.append(f"--budget {GPU_BUDGET}")
    if site_data != Path("site_data"):
        parts.append(f"--site-data {site_data}")
    return " ".join(parts)


def _matching_run(site_data: Path, sizes: Sizes, device: Device) -> tuple[Json, Sequence[Json], Sizes] | None:
    """The newest run of this machine and dtype, of this model if there is one; None where there is none."""
    found = []
    for folder in record.run_folders(site_data):
        if folder.parent != record.runs_folder(site_data):
            continue
        run, samples = record.load(site_data, folder.name)
        same = run["machine"]["id"] == device.machine_id and run["model"]["dtype"] == device.dtype
        if same and not run.get("origin") and run["model"]["name"] in known_models(site_data):
            found.append(
                (run["model"]["name"] == sizes.name, run["finished_at"], run["run_id"], run, samples)
            )
    if not found:
        return None
    *_, run, samples = max(found, key=lambda item: item[:3])
    return run, samples, Sizes.load(site_data, run["model"]["name"])
