"""FIXTURE data for the publishing tests: made up by arithmetic, measured nowhere, never published.

Every label in it says so. Schema, models, cited values and tokenizer are the repository's own.
"""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]

PROMPTS = (64, 128, 500, 1000)
DEPTHS = (64, 128, 500, 1000)
BATCHES = (8,)
PROCESSES = 5
REPETITIONS = 3
DECODE_STEPS = 4

PARAMETERS = 1543714304
KV_BYTES = 57344
"""Of one token, by the sizes of the fixture's model at 32 bits."""
READ_CEILING = 40e9
GEMM_CEILING = 150e9
COMPILED_OVER_EAGER = 0.65
IDLE_WATTS = {"before_context": 20.0, "with_context": 30.0}
BUSY_WATTS = 60.0
GPU_SPEED = 50
"""Made up, like everything here: how many times as fast as its CPU the fixture GPU is."""

UNAVAILABLE = {"kind": "unavailable", "reason": "no energy meter on this fixture machine"}
GATES = dict.fromkeys(("duration", "length", "clock", "company", "throttling", "ceiling"), "passed") | {
    "energy_agreement": "not_checked"
}

Record = dict[str, Any]


def site_data(folder: Path) -> Path:
    """A site_data/ with the repository's facts and no runs."""
    folder.mkdir(parents=True)
    shutil.copy(ROOT / "site_data/schema.json", folder)
    for part in ("models", "cited", "tokenizers"):
        shutil.copytree(ROOT / "site_data" / part, folder / part)
    (folder / "runs").mkdir()
    return folder


def seconds_per_token(experiment: str, tokens: int, process: int) -> float:
    """Made-up times: prefill near 26 ms a token, decode near 350 ms, processes a few per cent apart."""
    spread = 1 + 0.01 * (process - 2)
    base = 0.026 if experiment == "prefill" else 0.35 + tokens * 1e-5
    return base * spread


def cells(fast: str = "compiled", dtype: str = "float32") -> list[Record]:
    """The cells of the fixture plan, without repetitions and steps; `fast` is the faster mode of decode."""

    def cell(experiment: str, mode: str = "eager", batch: int = 1, **tokens: int) -> Record:
        none = {"prompt_tokens": None, "context_tokens": None}
        return {"experiment": experiment, "batch": batch, **none, **tokens, "dtype": dtype, "mode": mode}

    batched = ("eager",) if fast == "compiled" else ("eager", fast)
    return [
        *(cell("prefill", prompt_tokens=n) for n in PROMPTS),
        *(cell("decode", context_tokens=n) for n in DEPTHS),
        *(cell("kv_cache", context_tokens=n) for n in DEPTHS),
        *(cell("kv_cache", batch=n, context_tokens=500) for n in BATCHES),
        *(cell("decode", fast, context_tokens=n) for n in DEPTHS),
        *(cell("decode", mode, n, context_tokens=500) for n in BATCHES for mode in batched),
        *(cell("ceilings", mode) for mode in ("read", "gemm")),
        *(cell("idle", mode) for mode in IDLE_WATTS),
    ]


def samples(
    time: Callable[[str, int, int], float] = seconds_per_token,
    *,
    energy: bool = False,
    cells: Iterable[Record] = tuple(cells()),
) -> list[Record]:
    """All samples of the fixture run, warm-ups first in each process."""
    return [
        sample(cell, process, repetition, time, warm_up=repetition < 0, energy=energy)
        for process in range(PROCESSES)
        for cell in cells
        for repetition in range(-1, REPETITIONS)
    ]


def sample(
    cell: Record,
    process: int,
    repetition: int,
    time: Callable[[str, int, int], float],
    *,
    warm_up: bool,
    energy: bool,
) -> Record:
    """One sample of a cell."""
    experiment, batch = cell["experiment"], cell["batch"]
    length = cell["prompt_tokens"] or cell["context_tokens"] or 0
    steps = DECODE_STEPS if experiment == "decode" else 1
    tokens = batch * (steps if experiment == "decode" else length)
    watts = IDLE_WATTS.get(cell["mode"], BUSY_WATTS)
    work_bytes = work_flop = duration = None
    if experiment in ("prefill", "decode"):
        per_step = time(experiment, length, process) * (tokens // batch) / steps
        per_step *= 1 + 0.05 * (batch - 1)
        duration = steps * per_step * (COMPILED_OVER_EAGER if cell["mode"] in ("compiled", "graph") else 1)
        cached = batch * length * KV_BYTES if experiment == "decode" else 0
        work_bytes, work_flop = steps * (4.0 * PARAMETERS + cached), 2.0 * PARAMETERS * tokens
    elif experiment == "ceilings":
        duration = 0.5 * (1 + 0.01 * (process - 2))
        work_bytes = READ_CEILING * 0.5 if cell["mode"] == "read" else None
        work_flop = GEMM_CEILING * 0.5 if cell["mode"] == "gemm" else None
    elif experiment == "idle":
        duration = 1.0
    if duration is not None and warm_up:
        duration *= 3
    probed = experiment in ("prefill", "decode") and not warm_up
    joules = duration * watts if energy and duration is not None and experiment != "ceilings" else None
    return {
        **cell,
        "process": process,
        "repetition": max(repetition, 0),
        "warm_up": warm_up,
        "started_at": f"2026-01-02T03:{process:02d}:00Z",
        "steps": steps,
        "tokens": tokens,
        "duration_s": duration,
        "energy_joules": joules,
        "energy_error_joules": joules and joules * 0.01,
        "energy_budget": joules and {"edges": joules * 0.01},
        "energy_second_joules": joules and joules * 0.98,
        "energy_refusal": None if joules is not None else UNAVAILABLE,
        "kv_cache_bytes": tokens * KV_BYTES if experiment == "kv_cache" else None,
        "peak_bytes": 7 * 10**9,
        "foreign_cpu_share": 0.0,
        "device_state": None,
        "work_bytes": work_bytes,
        "work_flop": work_flop,
        "ceiling_bytes_per_s": READ_CEILING if probed else None,
        "ceiling_flop_per_s": GEMM_CEILING if probed else None,
        "gates": GATES,
        "refusal": None,
    }


def uneven(records: list[Record]) -> list[Record]:
    """The fixture's samples with some spread, ceilings that move, and a refused sample."""
    chance = random.Random(3)
    for record in records:
        if record["duration_s"]:
            record["duration_s"] *= 1 + chance.gauss(0, 0.01)
        if record["ceiling_bytes_per_s"]:
            record["ceiling_bytes_per_s"] *= chance.choice([1, 1.35]) * (1 + abs(chance.gauss(0, 0.02)))
            record["ceiling_flop_per_s"] *= 1.1 + abs(chance.gauss(0, 0.05))
        first = (record["experiment"], record["process"], record["repetition"]) == ("decode", 1, 2)
        if first and not record["warm_up"]:
            record["duration_s"] *= 1.06
            record["refusal"] = {"kind": "contaminated", "reason": "other processes used 12 % of the CPU"}
    return records


def run_record(run_id: str, count: int, **changes: Any) -> Record:
    """The fixture's run.json."""
    return {
        "schema_version": 2,
        "run_id": run_id,
        "status": "complete",
        "started_at": "2026-01-02T03:00:00Z",
        "finished_at": "2026-01-02T04:00:00Z",
        "plan": {
            "name": "standard",
            "seed": 0,
            "rounds": PROCESSES,
            "window_s": 0.2,
            "cells": [
                {
                    **cell,
                    "repetitions": REPETITIONS,
                    "steps": DECODE_STEPS if cell["experiment"] == "decode" else 1,
                }
                for cell in cells()
            ],
            "budget_s": None,
            "left_out": [],
        },
        "argv": ["run", "--fixture"],
        "code": {"version": "0.0.0", "commit": None, "changed": None},
        "model": {
            "name": "qwen2.5-1.5b",
            "parameters": 1543714304,
            "dtype": "float32",
            "weights_bytes": 1543714304 * 4,
            "weights": {"kind": "random", "label": "fixture weights, never loaded"},
        },
        "machine": {
            "id": "fixture",
            "label": "fixture machine (2 cores, nothing was measured)",
            "cpu": "fixture",
            "cpu_cores": 2,
            "memory_bytes": 16 * 10**9,
            "os": "fixture",
            "accelerator": None,
        },
        "software": {"python": "0", "torch": "0", "transformers": "0"},
        "meter": {"kind": "none", "refusal": UNAVAILABLE},
        "processes": [
            {"process": n, "round": n, "started_at": "2026-01-02T03:00:00Z", "build_s": 1.0}
            for n in range(PROCESSES)
        ],
        "samples": count,
        **changes,
    }


def write_run(
    folder: Path, run_id: str = "fixture-main", records: Iterable[Record] | None = None, **changes: Any
) -> Path:
    """Write a complete run into a site_data/ folder and return its folder."""
    records = list(samples() if records is None else records)
    run = folder / "runs" / run_id
    run.mkdir(parents=True, exist_ok=True)
    lines = "".join(json.dumps(record) + "\n" for record in records)
    (run / "samples.jsonl").write_text(lines, encoding="utf-8")
    (run / "run.json").write_text(json.dumps(run_record(run_id, len(records), **changes), indent=2) + "\n")
    return run


def small_run(folder: Path) -> Path:
    """A second run, as of the small model with real weights: about twenty times faster."""
    model = {
        "name": "smollm2-135m",
        "parameters": 134515008,
        "dtype": "float32",
        "weights_bytes": 134515008 * 4,
        "weights": {"kind": "file", "label": "fixture weights of the small model, never loaded"},
    }
    records = samples(lambda experiment, tokens, process: seconds_per_token(experiment, tokens, process) / 20)
    for record in records:
        if record["kv_cache_bytes"]:
            record["kv_cache_bytes"] = record["tokens"] * 46080
        if record["experiment"] in ("prefill", "decode"):
            record["work_bytes"] /= 20
            record["work_flop"] /= 20
    return write_run(folder, "fixture-small", records, model=model)


def gpu_run(folder: Path, **changes: Any) -> Path:
    """A run as of a GPU with an energy meter, in graph mode too. It is older than the fixture's main run."""
    gpu_cells = cells("graph", "bfloat16")
    records = samples(lambda *cell: seconds_per_token(*cell) / GPU_SPEED, energy=True, cells=gpu_cells)
    for record in records:
        for key in ("ceiling_bytes_per_s", "ceiling_flop_per_s"):
            record[key] = record[key] and record[key] * GPU_SPEED
        if record["experiment"] == "ceilings":
            record["duration_s"] /= GPU_SPEED
        elif record["work_bytes"]:
            record["work_bytes"] /= 2
        record["kv_cache_bytes"] = record["kv_cache_bytes"] and record["kv_cache_bytes"] // 2
        if record["experiment"] in ("prefill", "decode"):
            record["gates"] = GATES | {"energy_agreement": "passed"}
    plan = run_record("x", 0)["plan"]
    steps = {"decode": DECODE_STEPS}
    plan |= {
        "name": "gpu",
        "cells": [
            {**cell, "repetitions": REPETITIONS, "steps": steps.get(cell["experiment"], 1)}
            for cell in gpu_cells
        ],
    }
    machine = run_record("x", 0)["machine"] | {
        "id": "fixture-gpu",
        "label": "fixture machine with a GPU (nothing was measured)",
        "accelerator": {
            "name": "fixture GPU",
            "uuid": "GPU-00000000-0000-0000-0000-000000000000",
            "memory_bytes": 80 * 10**9,
            "driver": "0",
            "power_limit_watts": 300.0,
        },
    }
    model = run_record("x", 0)["model"] | {"dtype": "bfloat16", "weights_bytes": PARAMETERS * 2}
    meter = {
        "kind": "nvml",
        "refusal": None,
        "tick_s": 0.1,
        "gain_error_share": 0.05,
        "second_reading": "sampled power",
    }
    facts = {"plan": plan, "machine": machine, "model": model, "meter": meter}
    facts |= {"finished_at": "2025-12-31T04:00:00Z"}
    return write_run(folder, "fixture-gpu", records, **facts | changes)


def imported_run(folder: Path, **changes: Any) -> Path:
    """A run as imported from llama-bench: one process, no energy, and a machine of which little is known."""
    imported = [
        {**cell, "mode": "imported"}
        for cell in cells()
        if cell["experiment"] in ("prefill", "decode") and cell["batch"] == 1 and cell["mode"] == "eager"
    ]
    records = [
        sample(cell, 0, repetition, seconds_per_token, warm_up=False, energy=False)
        for cell in imported
        for repetition in range(REPETITIONS)
    ]
    reason = {"kind": "unavailable", "reason": "llama-bench measures no energy"}
    for record in records:
        for key in ("energy_budget", "device_state", "work_bytes", "work_flop", "gates"):
            del record[key]
        record |= {"energy_refusal": reason, "peak_bytes": None, "foreign_cpu_share": None}
        record |= {"ceiling_bytes_per_s": None, "ceiling_flop_per_s": None}
    base = run_record("x", 0)
    facts = {
        "plan": base["plan"]
        | {
            "name": "llama-bench",
            "cells": [{**cell, "repetitions": REPETITIONS, "steps": 1} for cell in imported],
        },
        "code": None,
        "model": base["model"]
        | {"weights": {"kind": "unknown", "label": "fixture weights that nobody knows"}},
        "machine": base["machine"]
        | {
            "id": "fixture-elsewhere",
            "label": "fixture machine elsewhere",
            "cpu_cores": None,
            "memory_bytes": None,
            "os": None,
        },
        "software": {},
        "meter": {"kind": "none", "refusal": reason},
        "processes": [{"process": 0, "round": 0, "started_at": "2025-12-30T03:00:00Z", "build_s": None}],
        "origin": {
            "program": "llama-bench",
            "version": "0c1e570 (1)",
            "format": "json",
            "file": "fixture.json",
            "sha256": "0" * 64,
            "imported_at": "2026-01-01T00:00:00Z",
            "notes": ["The file names no machine."],
        },
    }
    facts |= {"finished_at": "2025-12-30T04:00:00Z"}
    return write_run(folder, "fixture-llama-bench", records, **facts | changes)
