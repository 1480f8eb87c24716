"""What `machine` tells people: the machine, its devices, the models, the plans, the next commands. Decides nothing."""

from __future__ import annotations

from collections.abc import Iterator

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table
from rich.text import Text

from measure.capability import Capability
from measure.comparison_view import quantity_text
from measure.devices import WHY_DTYPE, Device
from measure.gates import FOREIGN_CPU_SHARE_MOST
from measure.progress import duration


def print_capability(console: Console, capability: Capability) -> None:
    """All of it."""
    for line in _head(capability):
        console.print(Text(line), soft_wrap=True)
    for device in capability.devices:
        for line in _device(device):
            console.print(Text(line), soft_wrap=True)
    console.print(_models(capability))
    for line in _plans(capability):
        console.print(Text(line), soft_wrap=True)


def _head(capability: Capability) -> Iterator[str]:
    yield f"{capability.label}, {capability.os}"
    yield f"torch {capability.torch}" if capability.torch else "torch: not there"
    if capability.read_bytes_per_s and capability.flop_per_s:
        yield (
            f"the CPU reads {quantity_text(capability.read_bytes_per_s, 'bytes/s')} and multiplies "
            f"{quantity_text(capability.flop_per_s, 'flop/s')} in float32 just now"
        )
    elif capability.busy:
        yield f"nothing was timed: {capability.busy}"
    share = capability.foreign_cpu_share
    if share is not None:
        most = FOREIGN_CPU_SHARE_MOST
        told = "few enough" if share <= most else "samples on the CPU would be refused as contaminated"
        yield f"others have {share:.1%} of the CPU just now, and {most:.0%} is allowed: {told}"


def _device(device: Device) -> Iterator[str]:
    memory = "memory unknown"
    if device.memory_bytes is not None:
        free = "" if device.free_bytes is None else f", {quantity_text(device.free_bytes, 'bytes')} free"
        memory = f"{quantity_text(device.memory_bytes, 'bytes')} of memory{free}"
    driver = f", driver {device.driver}" if device.driver else ""
    yield f"\n{device.name}: {device.label}, {memory}{driver}"
    if device.unusable:
        yield f"  cannot be measured: {device.unusable}"
    else:
        why = WHY_DTYPE[device.kind]
        yield f"  time: prefill, decode, ceilings and the size of the cache, in {device.dtype} ({why})"
        for mode in device.modes:
            yield f"  decode {mode.name}: " + (f"no, {mode.missing}" if mode.missing else "yes")
    if device.company:
        yield f"  not alone: {device.company}; samples taken meanwhile would be refused as contaminated"
    refusal = device.meter["refusal"]
    if refusal:
        yield f"  energy: {refusal['kind']}, {refusal['reason']}"
    else:
        domains = ", ".join(device.meter.get("domains", ())) or device.meter["kind"]
        yield f"  energy: yes, {device.meter['kind']} ({domains})" + _tick(device)


def _tick(device: Device) -> str:
    tick_s = device.meter.get("tick_s")
    return f", which moves every {quantity_text(tick_s, 's')}" if tick_s else ""


def _models(capability: Capability) -> Table:
    table = Table(box=SIMPLE, title="models", title_justify="left")
    for heading in ("model", "device"):
        table.add_column(heading, no_wrap=True)
    for heading in ("weights", "fits", "longest context"):
        table.add_column(heading, justify="right")
    for fit in capability.fits:
        longest = f"{fit.longest_tokens:,} tokens" if fit.fits else "–"
        weights = quantity_text(fit.weights_bytes, "bytes")
        table.add_row(fit.model, fit.device, weights, "yes" if fit.fits else "no", longest)
    return table


def _plans(capability: Capability) -> Iterator[str]:
    if not capability.courses:
        yield "No plan fits this machine: see above why. A smaller model may, with --model."
        return
    yield "plans that fit:"
    for course in capability.courses:
        took = course.forecast
        time = f"about {duration(took.seconds)}, {took.basis}" if took else "as long as its budget allows"
        yield f"  {course.plan} for {course.model} on {course.device}: {time}"
    yield "\nnext:"
    for command in capability.commands:
        yield f"  {command}"
