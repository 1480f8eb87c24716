"""How long a plan takes, from a few figures of the machine. Pure arithmetic: measures nothing, decides nothing."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from measure.idle import REST_S
from measure.plan import (
    BEFORE_CONTEXT,
    ITS_OWN_WARM_UP_S,
    WARM_UPS_LEAST,
    Plan,
    PlannedCell,
    repetitions_for,
    steps_for,
    warm_up_steps,
)


@dataclass(frozen=True)
class Speed:
    """How fast a machine runs a model."""

    build_s: float
    """From the start of a process to its first sample: imports, model, meter, checks of modes."""
    prefill_s_per_token: float
    decode_step_s: Mapping[str, float]
    """Seconds of one decode step, by mode."""
    beside_s: float
    """What a timed window takes besides: probes of the ceilings right before and after it, ticks of a meter."""
    metered: bool
    """Whether there is a meter, so that the machine at rest is measured."""


def plan_s(plan: Plan, speed: Speed) -> float:
    """Seconds that the whole plan takes on a quiet machine, its budget apart."""
    a_process_s = math.fsum(cell_s(planned, plan.window_s, speed) for planned in plan.cells)
    before_s = REST_S if speed.metered else 0.0
    return before_s + plan.rounds * (speed.build_s + a_process_s)


def cell_s(planned: PlannedCell, window_s: float, speed: Speed) -> float:
    """Seconds that each process gives to one cell, warm-ups and filling of the cache counted."""
    cell = planned.cell
    if cell.experiment == "kv_cache" or cell.mode == BEFORE_CONTEXT:
        return 0.0
    if cell.experiment == "idle":
        return REST_S if speed.metered else 0.0
    if cell.experiment == "ceilings":
        step_s = speed.beside_s / planned.steps
    elif cell.experiment == "prefill":
        step_s = speed.prefill_s_per_token * cell.batch * cell.length
    else:
        step_s = speed.decode_step_s[cell.mode]
    timed_s = steps_for(planned, step_s, window_s) * step_s
    first_s = planned.steps * step_s
    warm_ups_s = first_s
    if first_s < ITS_OWN_WARM_UP_S:
        warm_ups_s += (WARM_UPS_LEAST - 1) * warm_up_steps(planned, step_s, window_s) * step_s
    return warm_ups_s + repetitions_for(planned, first_s) * (timed_s + speed.beside_s)
