"""FIXTURE runs for the tests of commands that read runs: made up by arithmetic, measured nowhere, never published."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

Json = dict[str, Any]

UNAVAILABLE = {"kind": "unavailable", "reason": "no energy meter on this fixture machine"}

RUN: Json = {
    "schema_version": 2,
    "status": "complete",
    "started_at": "2026-01-02T03:00:00Z",
    "finished_at": "2026-01-02T04:00:00Z",
    "argv": ["run", "--fixture"],
    "code": {"version": "0.0.0", "commit": None, "changed": None},
    "model": {
        "name": "tiny",
        "parameters": 107072,
        "dtype": "float32",
        "weights_bytes": 428288,
        "weights": {"kind": "random", "label": "fixture weights, never loaded", "seed": 20},
    },
    "machine": {
        "id": "fixture",
        "label": "fixture machine",
        "cpu": "fixture",
        "cpu_cores": 2,
        "memory_bytes": 16 * 10**9,
        "os": "fixture",
        "accelerator": None,
    },
    "software": {"python": "0", "torch": "0", "transformers": "0"},
    "meter": {"kind": "none", "refusal": UNAVAILABLE},
}

PREFILL: Json = {
    "experiment": "prefill",
    "batch": 1,
    "prompt_tokens": 64,
    "context_tokens": None,
    "dtype": "float32",
    "mode": "eager",
}
DECODE: Json = {**PREFILL, "experiment": "decode", "prompt_tokens": None, "context_tokens": 64}
CACHE: Json = {**DECODE, "experiment": "kv_cache"}
READ: Json = {**PREFILL, "experiment": "ceilings", "prompt_tokens": None, "mode": "read"}
IDLE: Json = {**READ, "experiment": "idle", "mode": "with_context"}


def samples(cell: Mapping[str, Any], seconds: Sequence[float | None], **fields: Any) -> list[Json]:
    """One sample a process, each with its own duration; `fields` may be sequences, one value a process."""
    lengths = {"prefill": cell["prompt_tokens"], "decode": 4, "kv_cache": cell["context_tokens"]}
    made = []
    for process, duration_s in enumerate(seconds):
        own = {k: v[process] if isinstance(v, list) else v for k, v in fields.items()}
        energy = own.get("energy_joules")
        made.append(
            {
                **cell,
                "process": process,
                "repetition": 0,
                "warm_up": False,
                "started_at": f"2026-01-02T03:{process:02d}:00Z",
                "steps": 4 if cell["experiment"] == "decode" else 1,
                "tokens": lengths.get(cell["experiment"], 0),
                "duration_s": duration_s,
                "energy_joules": None,
                "energy_refusal": None if energy is not None else UNAVAILABLE,
                "kv_cache_bytes": None,
                "peak_bytes": 10**9,
                "foreign_cpu_share": 0.0,
                "refusal": None,
                **own,
            }
        )
    return made


def write(site_data: Path, run_id: str, lines: Iterable[Json], **changes: Any) -> Path:
    """A complete run of these samples; `changes` replace parts of run.json, two underscores lead into a part."""
    lines = list(lines)
    cells = {json.dumps([line[k] for k in PREFILL]): {k: line[k] for k in PREFILL} for line in lines}
    processes = sorted({line["process"] for line in lines}) or [0]
    run = copy.deepcopy(RUN) | {
        "run_id": run_id,
        "plan": {
            "name": "fixture",
            "seed": 0,
            "rounds": len(processes),
            "window_s": 0.2,
            "cells": [{**cell, "repetitions": 1, "steps": 1} for cell in cells.values()],
            "budget_s": None,
            "left_out": [],
        },
        "processes": [
            {"process": n, "round": n, "started_at": "2026-01-02T03:00:00Z", "build_s": 1.0}
            for n in processes
        ],
        "samples": len(lines),
    }
    for path, value in changes.items():
        *parents, last = path.split("__")
        part = run
        for parent in parents:
            part = part[parent]
        part[last] = value
    folder = site_data / "runs" / run_id
    folder.mkdir(parents=True)
    (folder / "run.json").write_text(json.dumps(run, indent=2) + "\n", encoding="utf-8")
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / "samples.jsonl").write_text(text, encoding="utf-8")
    return folder
