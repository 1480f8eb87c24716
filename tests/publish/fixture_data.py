"""FIXTURE data for the publishing tests: made up by arithmetic, measured nowhere, never published.

Every label in it says so. Schema, models, cited values and tokenizer are the repository's own.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]

PROMPTS = (64, 128, 500, 1000)
DEPTHS = (64, 500, 1000)
PROCESSES = 5
REPETITIONS = 3

UNAVAILABLE = {"kind": "unavailable", "reason": "no energy meter on this fixture machine"}

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


def cells() -> list[Record]:
    """The cells of the fixture plan, without repetitions and steps."""
    common = {"batch": 1, "dtype": "float32", "mode": "eager"}
    prefill = [
        {"experiment": "prefill", "prompt_tokens": n, "context_tokens": None, **common} for n in PROMPTS
    ]
    decode = [{"experiment": "decode", "prompt_tokens": None, "context_tokens": n, **common} for n in DEPTHS]
    cache = {"experiment": "kv_cache", "prompt_tokens": None, "context_tokens": 500, **common}
    return [*prefill, *decode, cache]


def samples(
    time: Callable[[str, int, int], float] = seconds_per_token, *, energy: bool = False
) -> list[Record]:
    """All samples of the fixture run, warm-ups first in each process."""
    return [
        sample(cell, process, repetition, time, warm_up=repetition < 0, energy=energy)
        for process in range(PROCESSES)
        for cell in cells()
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
    cache = cell["experiment"] == "kv_cache"
    length = cell["prompt_tokens"] or cell["context_tokens"]
    tokens = length if cell["experiment"] != "decode" else 4
    duration = None if cache else time(cell["experiment"], length, process) * tokens * (3 if warm_up else 1)
    joules = duration * 60 if energy and duration is not None else None
    return {
        **cell,
        "process": process,
        "repetition": max(repetition, 0),
        "warm_up": warm_up,
        "started_at": f"2026-01-02T03:{process:02d}:00Z",
        "steps": 4 if cell["experiment"] == "decode" else 1,
        "tokens": tokens,
        "duration_s": duration,
        "energy_joules": joules,
        "energy_error_joules": None,
        "energy_refusal": None if joules is not None else UNAVAILABLE,
        "kv_cache_bytes": 500 * 57344 if cache else None,
        "peak_bytes": 7 * 10**9,
        "foreign_cpu_share": 0.0,
        "refusal": None,
    }


def run_record(run_id: str, count: int, **changes: Any) -> Record:
    """The fixture's run.json."""
    return {
        "schema_version": 1,
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
                {**cell, "repetitions": REPETITIONS, "steps": 4 if cell["experiment"] == "decode" else 1}
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
            record["kv_cache_bytes"] = 500 * 46080
    return write_run(folder, "fixture-small", records, model=model)
