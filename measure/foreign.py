"""Results of another program as runs: what a reader of a format delivers, and how that becomes run folders.

Knows no format. Either all runs of an import are written or none, and a file is imported once.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measure import record
from measure.check import Checker
from measure.clock import utc_now
from measure.errors import MeasureError
from measure.plan import Cell, PlannedCell
from measure.record import Json

PLAN = "imported"


@dataclass(frozen=True)
class Result:
    """What a file says of one cell: the length of each window, all alike."""

    cell: Cell
    steps: int
    durations_s: tuple[float, ...]
    started_at: str


@dataclass(frozen=True)
class ForeignRun:
    """One setting of another program, with its results; becomes one run."""

    program: str
    version: str | None
    """As the file states it; None where it does not."""
    format: str
    dtype: str
    parameters: int
    weights_bytes: int
    weights_file: str
    machine: Json
    """The `machine` object of run.json."""
    software: dict[str, str | int | None]
    results: tuple[Result, ...]
    notes: tuple[str, ...]
    """Sentences fit for a page: what the file does not say, and how it was read."""
    no_energy: str
    """Why there is no energy, in words."""


@dataclass(frozen=True)
class Asked:
    """What the importing person says about a file."""

    site_data: Path
    model: str
    weights: str
    """random, hub, file or unknown."""
    argv: tuple[str, ...]


def write(asked: Asked, files: Sequence[tuple[Path, bytes, Sequence[ForeignRun]]]) -> list[Path]:
    """Write the runs of all files, or none of them; returns their folders.

    Raises MeasureError where a file was imported before, or a run is not as the contract has it.
    """
    imported = {digest: name for name, digest in _imported(asked.site_data)}
    made: list[tuple[Json, list[Json]]] = []
    for path, content, foreign_runs in files:
        digest = hashlib.sha256(content).hexdigest()
        if digest in imported:
            raise MeasureError(
                f"{path}: expected a file that is not here yet, found that {imported[digest]} was imported from it; "
                f"see it with: python -m measure show {imported[digest]}"
            )
        for index, foreign in enumerate(foreign_runs):
            made.append(_run(asked, foreign, path.name, digest, index, len(foreign_runs)))
            imported[digest] = made[-1][0]["run_id"]
    return record.write_complete(
        asked.site_data, made, lambda folder: _hold_to_contract(asked.site_data, folder)
    )


def machine(cpu: str, gpu: str, backends: str = "") -> Json:
    """The `machine` object of what another program calls the processor and, where it ran on one, the accelerator."""
    label = f"{gpu} ({cpu})" if gpu and cpu else gpu or cpu or "a machine that the file does not name"
    identity = hashlib.sha256(f"{cpu}/{gpu}/{backends}".encode()).hexdigest()[:8]
    accelerator = {"name": gpu, "uuid": None, "memory_bytes": None, "driver": None, "power_limit_watts": None}
    return {
        "id": f"imported-{identity}",
        "label": label,
        "cpu": cpu or None,
        "cpu_cores": None,
        "memory_bytes": None,
        "os": None,
        "accelerator": accelerator if gpu else None,
    }


def _imported(site_data: Path) -> Iterator[tuple[str, str]]:
    """(run id, digest of its file) of every imported run."""
    for folder in record.run_folders(site_data):
        run = load_json((folder / "run.json").read_text(encoding="utf-8"), str(folder / "run.json"))
        if run.get("origin"):
            yield folder.name, run["origin"]["sha256"]


def _run(
    asked: Asked, foreign: ForeignRun, file: str, digest: str, index: int, count: int
) -> tuple[Json, list[Json]]:
    samples = list(_samples(foreign))
    times = sorted(result.started_at for result in foreign.results)
    began = times[0].translate({ord(c): None for c in "-:TZ"})[:14]
    part = f"-{index + 1}" if count > 1 else ""
    cells: dict[Cell, PlannedCell] = {}
    for result in foreign.results:
        known = cells.get(result.cell)
        repetitions = len(result.durations_s) + (known.repetitions if known else 0)
        cells[result.cell] = PlannedCell(result.cell, repetitions, known.steps if known else result.steps)
    run: Json = {
        "schema_version": record.SCHEMA_VERSION,
        "run_id": f"{began[:8]}-{began[8:]}-{asked.model}-{foreign.program}-{digest[:8]}{part}",
        "status": "complete",
        "started_at": times[0],
        "finished_at": times[-1],
        "plan": {
            "name": PLAN,
            "seed": 0,
            "rounds": 1,
            "window_s": 0,
            "cells": [planned.as_json() for planned in cells.values()],
            "budget_s": None,
            "left_out": [],
        },
        "argv": list(asked.argv),
        "code": None,
        "model": {
            "name": asked.model,
            "parameters": foreign.parameters,
            "dtype": foreign.dtype,
            "weights_bytes": foreign.weights_bytes,
            "weights": _weights(asked.weights, foreign.weights_file),
        },
        "machine": foreign.machine,
        "software": foreign.software,
        "meter": {"kind": "none", "refusal": _unavailable(foreign.no_energy)},
        "processes": [{"process": 0, "round": 0, "started_at": times[0], "build_s": None}],
        "samples": len(samples),
        "origin": {
            "program": foreign.program,
            "version": foreign.version,
            "format": foreign.format,
            "file": file,
            "sha256": digest,
            "imported_at": utc_now(),
            "notes": list(foreign.notes),
        },
    }
    return run, samples


def _samples(foreign: ForeignRun) -> Iterator[Json]:
    repetitions: dict[Cell, int] = {}
    for result in foreign.results:
        cell = result.cell
        per_step = cell.batch * (1 if cell.experiment == "decode" else cell.length)
        for duration_s in result.durations_s:
            repetition = repetitions.get(cell, 0)
            repetitions[cell] = repetition + 1
            yield {
                **vars(cell),
                "process": 0,
                "repetition": repetition,
                "warm_up": False,
                "started_at": result.started_at,
                "steps": result.steps,
                "tokens": per_step * result.steps,
                "duration_s": duration_s,
                "energy_joules": None,
                "energy_error_joules": None,
                "energy_refusal": _unavailable(foreign.no_energy),
                "kv_cache_bytes": None,
                "peak_bytes": None,
                "foreign_cpu_share": None,
                "refusal": None,
            }


def _weights(kind: str, file: str) -> Json:
    labels = {
        "random": f"random weights, as stated at import ({file})",
        "hub": f"real weights, as stated at import ({file})",
        "file": f"weights of {file}, as stated at import",
        "unknown": f"weights of {file}; whether they are real is not stated",
    }
    return {"kind": kind, "label": labels[kind], "file": file}


def _unavailable(reason: str) -> Json:
    return {"kind": "unavailable", "reason": reason}


def _hold_to_contract(site_data: Path, folder: Path) -> None:
    problems = list(Checker(site_data).run_problems(folder))
    if problems:
        raise MeasureError(
            "import: the run that was made is not as schema.json says, so nothing was written:\n"
            + "\n".join(map(str, problems[:5]))
        )


def load_json(text: str, where: str) -> Any:
    """JSON as the contract allows it: no NaN, no key twice.

    Raises MeasureError with the line.
    """
    from measure.check import parse

    try:
        return parse(text)
    except json.JSONDecodeError as error:
        at = text[max(error.pos - 20, 0) : error.pos + 20]
        raise MeasureError(
            f"{where}:{error.lineno}: expected JSON to its end, found {error.msg} near {at!r}. "
            "A file that was cut short must be written again"
        ) from error
    except (ValueError, RecursionError) as error:
        raise MeasureError(f"{where}: expected JSON with finite numbers, found {error}") from error
