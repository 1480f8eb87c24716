"""How long a plan will take on this machine: from a run that it made, or from a short probe. Times nothing itself."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from measure import work
from measure.estimate import Speed, plan_s
from measure.plan import CPU, DECODE_MODES, Cell, Plan
from measure.quantities import SECONDS, Readings
from measure.record import Json
from measure.sizes import ELEMENT_BYTES, Sizes

NEAR_TOKENS = 500
"""The prompt and the depth that stand for all: in the middle of the plans, and in each of them."""

SHARES = {"prefill": 0.75, "eager": 0.4, "compiled": 0.8}
"""Shares of the ceilings supposed where this machine has no run: about what the shape of Qwen2.5-1.5B reached
in float32 on a 2-core AMD EPYC, of arithmetic in prefill and of bandwidth in decode."""

BUILD_S, BUILD_BYTES_PER_S = 5.0, 1.2e9
"""Imports, and the rate at which random weights are drawn, as seen there."""

COMPILE_S = 30.0
"""What a process of that shape spends on compiling kernels, as seen there; a run tells its own."""

BESIDE_S = {"cpu": 1.0, "gpu": 0.4}
"""What a timed window takes besides, as seen there; on a GPU, supposed."""


@dataclass(frozen=True)
class Forecast:
    """Seconds that a plan takes, and where that comes from in words."""

    seconds: float
    basis: str


def forecast(
    plan: Plan,
    sizes: Sizes,
    *,
    device: str,
    dtype: str,
    metered: bool,
    run: tuple[Json, Sequence[Json], Sizes] | None,
    rates: tuple[float, float] | None,
) -> Forecast | None:
    """How long `plan` takes for the model `sizes` on `device` (cpu or gpu); None where nothing tells.

    Args:
        plan: All cells; its budget ends it earlier.
        sizes: The model.
        device: CPU or GPU.
        dtype: Of weights, activations and cache.
        metered: Whether there is an energy meter, so that the machine at rest is measured, too.
        run: A run of this machine and dtype with its samples and the sizes of its model.
        rates: Bytes and floating-point operations a second that the CPU reached in a probe.
    """
    speed = basis = None
    if run is not None:
        speed = _from_run(sizes, device, dtype, metered, *run)
        basis = f"by the times of {run[0]['run_id']} on this machine"
    if speed is None and rates is not None and device == CPU:
        speed = _from_rates(sizes, dtype, metered, *rates)
        basis = "roughly, by a probe of a few seconds"
    if speed is None or basis is None:
        return None
    whole_s = plan_s(plan, speed)
    return Forecast(whole_s if plan.budget_s is None else min(whole_s, plan.budget_s), basis)


def _from_rates(sizes: Sizes, dtype: str, metered: bool, bytes_per_s: float, flop_per_s: float) -> Speed:
    prefill, decode = _work(sizes, dtype)
    return Speed(
        build_s=BUILD_S + COMPILE_S + work.parameters(sizes) * ELEMENT_BYTES[dtype] / BUILD_BYTES_PER_S,
        prefill_s_per_token=prefill.flop / NEAR_TOKENS / (flop_per_s * SHARES["prefill"]),
        decode_step_s={mode: decode.bytes / (bytes_per_s * SHARES[mode]) for mode in DECODE_MODES[CPU]},
        beside_s=BESIDE_S["cpu"],
        metered=metered,
    )


def _from_run(
    sizes: Sizes,
    device: str,
    dtype: str,
    metered: bool,
    run: Json,
    samples: Sequence[Json],
    measured: Sizes,
) -> Speed | None:
    """The run's own times, in proportion to the work where it measured another model; None where it has none."""
    readings = Readings(samples)
    prefill_s = _nearest_s(readings, "prefill", "eager")
    steps_s = {mode: _nearest_s(readings, "decode", mode) for mode in DECODE_MODES[device]}
    eager_s = steps_s["eager"]
    built_s = [p["build_s"] for p in run["processes"] if p["build_s"] is not None]
    if prefill_s is None or eager_s is None or not built_s:
        return None
    (prefill, decode), (own_prefill, own_decode) = _work(sizes, dtype), _work(measured, dtype)
    built = statistics.median(built_s) * work.parameters(sizes) / work.parameters(measured)
    scale = decode.bytes / own_decode.bytes
    return Speed(
        build_s=max(built, BUILD_S) + _untold_s(run, samples, BESIDE_S[device]),
        prefill_s_per_token=prefill_s * prefill.flop / own_prefill.flop,
        # a mode that the run did not measure takes no longer than eager
        decode_step_s={mode: (seconds or eager_s) * scale for mode, seconds in steps_s.items()},
        beside_s=BESIDE_S[device],
        metered=metered,
    )


def _untold_s(run: Json, samples: Sequence[Json], beside_s: float) -> float:
    """Seconds that a process of the run gave to what it does not record, such as compiling; the median process."""
    starts = [datetime.fromisoformat(p["started_at"]) for p in run["processes"]]
    ends = [*starts[1:], datetime.fromisoformat(run["finished_at"])]
    untold = []
    for process, start, end in zip(run["processes"], starts, ends, strict=True):
        windows = [
            s["duration_s"]
            for s in samples
            if s["process"] == process["process"] and s["duration_s"] is not None
        ]
        told_s = (process["build_s"] or 0.0) + math.fsum(windows) + beside_s * len(windows)
        untold.append(max((end - start).total_seconds() - told_s, 0.0))
    return statistics.median(untold)


def _nearest_s(readings: Readings, experiment: str, mode: str) -> float | None:
    """Seconds a token, of the cell of batch 1 whose length is nearest to `NEAR_TOKENS`."""
    cells = [
        cell
        for cell in readings.cells
        if cell.experiment == experiment and cell.batch == 1 and cell.mode == mode
    ]
    for cell in sorted(cells, key=lambda cell: abs(cell.length - NEAR_TOKENS)):
        value = readings.values(SECONDS, cell).value
        if value is not None:
            return value
    return None


def _work(sizes: Sizes, dtype: str) -> tuple[work.Work, work.Work]:
    """Of a prefill and of a decode step, both at `NEAR_TOKENS`."""
    cells = (
        Cell("prefill", 1, NEAR_TOKENS, None, dtype),
        Cell("decode", 1, None, NEAR_TOKENS, dtype),
    )
    prefill, decode = (work.work_of(sizes, cell, 1, ELEMENT_BYTES[dtype]) for cell in cells)
    assert prefill is not None and decode is not None
    return prefill, decode
