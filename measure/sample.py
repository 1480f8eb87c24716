"""A line of samples.jsonl from a worker's answer, judged by the gates. Writes no file."""

from __future__ import annotations

from measure import gates
from measure.clock import utc_now
from measure.plan import Cell
from measure.record import Json

NOTHING_SEEN = dict.fromkeys(gates.GATES, gates.NOT_CHECKED)


def sample_of(
    cell: Cell, answer: Json, *, steps: int, process: int, repetition: int, warm_up: bool, machine: Json
) -> Json:
    """The sample that `answer`, an event `sample` or `refused`, makes of `cell` on `machine`, that of run.json."""
    measured = answer if answer["event"] == "sample" else {}
    refusal = answer.get("refusal")
    energy = measured.get("energy") or {"joules": None, "error_joules": None, "refusal": refusal}
    verdict = gates.judge(facts_of(cell, measured, machine)) if measured else None
    energy_refusal = energy["refusal"] or (verdict and verdict.energy_refusal)
    duration_s = measured.get("duration_s")
    per_step = 0 if cell.experiment in ("ceilings", "idle") else cell.batch
    if cell.experiment in ("prefill", "kv_cache"):
        per_step *= cell.length
    return {
        **vars(cell),
        "process": process,
        "repetition": repetition,
        "warm_up": warm_up,
        "started_at": measured.get("started_at") or utc_now(),
        "steps": measured.get("steps", steps),
        "tokens": measured.get("tokens", per_step * steps),
        "duration_s": duration_s if duration_s is not None and duration_s > 0 else None,
        "energy_joules": None if energy_refusal else energy["joules"],
        "energy_error_joules": None if energy_refusal else energy["error_joules"],
        "energy_refusal": energy_refusal,
        "energy_budget": None if energy_refusal else energy.get("budget"),
        "energy_second_joules": energy.get("second_joules"),
        "device_state": energy.get("device_state"),
        "kv_cache_bytes": measured.get("kv_cache_bytes"),
        "peak_bytes": measured.get("peak_bytes"),
        "foreign_cpu_share": measured.get("foreign_cpu_share"),
        "work_bytes": measured.get("work_bytes"),
        "work_flop": measured.get("work_flop"),
        "ceiling_bytes_per_s": measured.get("ceiling_bytes_per_s"),
        "ceiling_flop_per_s": measured.get("ceiling_flop_per_s"),
        "gates": verdict.gates if verdict else NOTHING_SEEN,
        "refusal": refusal or (verdict and verdict.refusal),
    }


def facts_of(cell: Cell, measured: Json, machine: Json) -> gates.Facts:
    """What the gates need to know of a worker's measurement."""
    energy = measured["energy"]
    duration_s = measured["duration_s"]
    accelerator = machine["accelerator"] is not None
    seen = ("joules", "company", "agreement", "device_state")
    share = measured.get("foreign_cpu_share")
    if accelerator and cell.experiment == "idle":
        share = None  # what a card draws at rest does not depend on who has the CPU
    return gates.Facts(
        accelerator=accelerator,
        cpu_cores=machine["cpu_cores"],
        duration_s=duration_s,
        system_s=measured.get("system_s"),
        tokens_held=measured.get("tokens_held"),
        tokens_planned=cell.length or None,
        foreign_cpu_share=share,
        watched=accelerator and any(energy.get(fact) is not None for fact in seen),
        company=energy.get("company"),
        slowdowns=tuple(energy.get("slowdowns") or ()),
        second_reading=energy["joules"] is not None and energy.get("second_joules") is not None,
        disagreement=energy.get("agreement"),
        bytes_per_s=_rate(measured.get("work_bytes"), duration_s),
        flop_per_s=_rate(measured.get("work_flop"), duration_s),
        ceiling_bytes_per_s=measured.get("ceiling_bytes_per_s"),
        ceiling_flop_per_s=measured.get("ceiling_flop_per_s"),
    )


def _rate(amount: float | None, seconds: float | None) -> float | None:
    return amount / seconds if amount is not None and seconds else None
