"""What the machine draws while it waits: with a context on the accelerator, and before any process has one."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import TYPE_CHECKING

from measure import clock
from measure.record import Json

if TYPE_CHECKING:  # the session asks for this module, and goes without torch
    from measure.meter import Meter

REST_S = 3.0
"""Length of a window at rest, seconds: 30 to 150 ticks of an energy counter."""


def at_rest(meter: Meter) -> Json:
    """A worker's answer: the energy of a window in which nothing is done, or why there is none."""
    refusal = meter.describe()["refusal"]
    if refusal:
        return {"event": "refused", "refusal": refusal}
    meter.begin()
    with clock.window(lambda: None) as window:
        time.sleep(REST_S)
    energy = meter.end()
    return {
        "event": "sample",
        "started_at": window.started_at,
        "steps": 1,
        "tokens": 0,
        "duration_s": window.duration_s,
        "system_s": window.system_s,
        "foreign_cpu_share": window.foreign_cpu_share,
        "energy": asdict(energy),
        "refusal": energy.refusal,  # a rest is its energy, and nothing without it
    }


def before_context(card: str | None) -> Json:
    """The same before any process of the run is there: of the GPU with the UUID `card`, or of the CPU where it is None.

    Reads a card through NVML, which makes no context on it.
    """
    if card is None:
        from measure.rapl import open_rapl

        return at_rest(open_rapl())
    from measure.nvml import open_gpu

    return at_rest(open_gpu(card, own_bytes=None))


def watts(answer: Json | None) -> float | None:
    """Mean power of an answer from here; None where nothing measured it."""
    if answer is None or answer["event"] != "sample" or answer["energy"]["joules"] is None:
        return None
    return float(answer["energy"]["joules"] / answer["duration_s"])
