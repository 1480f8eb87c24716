"""How a run begins: what was asked for, the job of a process, the record of a new run. Measures nothing."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from measure.errors import UsageError
from measure.plan import CPU, GPU, Plan, PlannedCell, make_plan
from measure.process import WorkerProcess
from measure.record import SCHEMA_VERSION, Json

SEED = 20
"""Seeds weights, prompts and order of every run: the same on every machine, so that runs can be compared."""


@dataclass(frozen=True)
class Request:
    """What the command line asked for."""

    site_data: Path
    model: str
    plan: str
    device: str
    weights: str
    budget_s: float | None
    argv: tuple[str, ...]


def job_of(request: Request, process: int, rest_watts: float | None) -> Json:
    """The first message to the process with that number; `rest_watts` is the power before any had a context."""
    return {
        "site_data": str(request.site_data),
        "model": request.model,
        "device": request.device,
        "weights": request.weights,
        "seed": SEED,
        "prompt_seed": SEED * 1000 + process,
        "idle_watts_before_context": rest_watts,
    }


def new_run(request: Request, process: WorkerProcess) -> Json:
    """The run.json of a new run, made from what its first process saw."""
    started, built = process.started, process.built
    device = GPU if started["machine"]["accelerator"] else CPU
    chosen = make_plan(
        request.plan,
        device=device,
        dtype=started["dtype"],
        max_positions=started["max_positions"],
        seed=SEED,
    ).with_budget(request.budget_s)
    kind = "rehearsal" if started["rehearsal"] else device
    run = {
        "schema_version": SCHEMA_VERSION,
        "run_id": f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{request.model}-{kind}",
        "status": "unfinished",
        "started_at": process.started_at,
        "finished_at": None,
        "plan": {
            "name": chosen.name,
            "seed": chosen.seed,
            "rounds": chosen.rounds,
            "window_s": chosen.window_s,
            "cells": [planned.as_json() for planned in chosen.cells],
            "budget_s": chosen.budget_s,
            "left_out": [],
        },
        "argv": list(request.argv),
        "code": started["code"],
        "model": built["model"],
        "machine": started["machine"],
        "software": started["software"],
        "meter": built["meter"],
        "mode_checks": [],
        "processes": [],
        "samples": 0,
    }
    return {**run, "rehearsal": True} if started["rehearsal"] else run


def plan_of(run: Json) -> Plan:
    """The plan that a run began with."""
    stored = run["plan"]
    cells = tuple(PlannedCell.from_json(cell) for cell in stored["cells"])
    return Plan(
        stored["name"], stored["seed"], stored["rounds"], cells, stored["window_s"], stored["budget_s"]
    )


def check_same_run(run: Json, started: Json) -> None:
    """A run is one machine and one program: raise UsageError where another process is of others."""
    code = (
        ("code", "tree", "measuring code")
        if run["code"].get("tree")
        else ("code", "commit", "measuring code")
    )
    differ = [
        f"{what}: expected {run[part][key]}, found {started[part][key]}"
        for part, key, what in (
            ("machine", "id", "machine"),
            code,
            ("software", "torch", "torch"),
            ("software", "transformers", "transformers"),
        )
        if run[part][key] != started[part][key]
    ]
    if differ:
        raise UsageError(
            f"{run['run_id']}: a run is measured on one machine by one program, and this process differs from those "
            f"before it. {'; '.join(differ)}. Resume the run where it began and as it was, or start a new one"
        )
