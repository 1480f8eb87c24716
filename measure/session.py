"""One run from start to end: rounds of fresh processes, what each takes, budget, resume. Times nothing itself."""

from __future__ import annotations

import math
import statistics
import time
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from measure.clock import utc_now
from measure.errors import MeasureError, UsageError
from measure.plan import (
    Cell,
    Plan,
    PlannedCell,
    interleaved,
    is_warm,
    make_plan,
    repetitions_for,
    steps_for,
)
from measure.process import ProcessDied, WorkerProcess
from measure.progress import ProgressReport, duration
from measure.record import SCHEMA_VERSION, Json, RunRecord, cell_of

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


class Session:
    """Measures one run. `record` is None for a new run, and the run's record for one that is resumed."""

    def __init__(self, request: Request, record: RunRecord | None, report: ProgressReport) -> None:
        self._request = request
        self._report = report
        self._began = time.monotonic()
        self._build_s = 0.0
        self._title = request.model
        self.record = record
        self._by_cell: dict[Cell, list[Json]] = {}
        for sample in record.samples if record else ():
            self._index(sample)

    def run(self) -> Path:
        """Take what is missing and complete the run; returns its folder.

        Raises MeasureError, or KeyboardInterrupt when stopped; the record is then resumable.
        """
        first = None
        if self.record is None:
            first = self._open_process(0)
            self.record = self._begin(first)
        self._plan = _plan_of(self.record.run).with_budget(self._request.budget_s)
        for round_ in range(self._plan.rounds):
            while self._wanted(round_) and (first or self._can_open_another()):
                process, first = first or self._open_process(round_), None
                try:
                    with closing(process):
                        self._take_round(process, round_)
                except ProcessDied as death:
                    self._settle_death(death)
                    continue
                break
        return self.record.finish(utc_now(), self._left_out())

    # What there is to do

    def _wanted(self, round_: int) -> list[tuple[PlannedCell, list[int]]]:
        """Each cell with the repetitions that `round_` still lacks. Refused cells are settled for the run."""
        wanted = []
        for planned in self._plan.cells:
            samples = self._samples(planned.cell)
            if any(s["refusal"] for s in samples):
                continue
            processes = self._processes_of(round_)
            taken = {s["repetition"] for s in _timed(samples) if s["process"] in processes}
            missing = [i for i in range(self._repetitions(planned)) if i not in taken]
            if missing:
                wanted.append((planned, missing))
        return wanted

    def _left_out(self) -> list[Json]:
        """Cells with fewer samples than planned, each with the reason."""
        left_out = []
        for planned in self._plan.cells:
            samples = self._samples(planned.cell)
            taken, count = len(_timed(samples)), planned.repetitions * self._plan.rounds
            if taken >= count:
                continue
            refusal = next((s["refusal"] for s in samples if s["refusal"]), None)
            in_full = self._repetitions(planned)
            if refusal:
                reason = refusal["reason"]
            elif taken >= in_full * self._plan.rounds or self._plan.budget_s is None:
                reason = f"one window takes {self._window_s(planned.cell):.0f} s: {in_full} samples in each process"
            else:
                reason = f"the time allowed, {duration(self._plan.budget_s)}, did not suffice"
            left_out.append(
                {"cell": dict(vars(planned.cell)), "planned": count, "taken": taken, "reason": reason}
            )
        return left_out

    # One round

    def _take_round(self, process: WorkerProcess, round_: int) -> None:
        """Warm every cell up, then take the missing repetitions in seeded random order."""
        assert self.record is not None
        number = len(self.record.run["processes"])
        self.record.run["processes"].append(
            {
                "process": number,
                "round": round_,
                "started_at": process.started_at,
                "build_s": process.built["build_s"],
            }
        )
        self.record.save()
        self._build_s = process.built["build_s"]
        deadline = self._deadline(round_)
        steps: dict[Cell, int] = {}
        warm: list[tuple[PlannedCell, list[int]]] = []
        for planned, missing in self._wanted(round_):
            # room for two warm-ups and one sample of this cell, and for one sample of each before it
            needed_s = sum(self._expected_s(p.cell) or 0.0 for p, _ in warm)
            needed_s += 3 * (self._expected_s(planned.cell) or 0.0)
            if time.monotonic() + needed_s > deadline:
                continue
            steps[planned.cell] = self._warm_up(process, planned, number, round_)
            if not self._is_refused(planned.cell):
                warm.append((planned, [i for i in missing if i < self._repetitions(planned)]))
        admitted = self._admit(warm, deadline - time.monotonic())
        for planned, repetition in interleaved(admitted, seed=self._plan.seed, process=number):
            late = time.monotonic() + (self._window_s(planned.cell) or 0.0) > deadline
            if not late and not self._is_refused(planned.cell):
                self._take(process, planned, steps[planned.cell], number, round_, repetition, warm_up=False)

    def _admit(
        self, warm: list[tuple[PlannedCell, list[int]]], room_s: float
    ) -> list[tuple[PlannedCell, int]]:
        """The repetitions that fit into `room_s` seconds: one of every cell before the second of any."""
        admitted: list[tuple[PlannedCell, int]] = []
        turns = max((len(missing) for _, missing in warm), default=0)
        for turn in range(turns):
            for planned, missing in warm:
                window_s = self._window_s(planned.cell) or 0.0
                if turn < len(missing) and window_s <= room_s:
                    admitted.append((planned, missing[turn]))
                    room_s -= window_s
        return admitted

    def _warm_up(self, process: WorkerProcess, planned: PlannedCell, number: int, round_: int) -> int:
        """Take windows until the cell is steady; returns the steps that a timed window needs."""
        if planned.cell.experiment == "kv_cache":
            return 1  # a size, not a time: nothing to warm
        steps, window_s = planned.steps, 0.0
        step_s: list[float] = []
        while not is_warm(step_s, window_s):
            sample = self._take(process, planned, steps, number, round_, len(step_s), warm_up=True)
            if sample["refusal"]:
                break
            window_s = sample["duration_s"]
            step_s.append(window_s / sample["steps"])
            steps = steps_for(planned, step_s[-1], self._plan.window_s)
        return steps

    def _take(
        self,
        process: WorkerProcess,
        planned: PlannedCell,
        steps: int,
        number: int,
        round_: int,
        repetition: int,
        *,
        warm_up: bool,
    ) -> Json:
        """Ask for one sample and record it."""
        self._show(round_, ("warming up " if warm_up else "") + planned.cell.label())
        answer = process.measure(planned.cell, steps)
        sample = _sample(planned.cell, answer, steps, number, repetition, warm_up=warm_up)
        self._keep(sample)
        if sample["refusal"]:
            self._report.say(f"{planned.cell.label()}: {sample['refusal']['reason']}")
        return sample

    def _settle_death(self, death: ProcessDied) -> None:
        """A process that was killed while it measured a cell most likely ran out of memory: record that."""
        assert self.record is not None
        if not death.killed or death.cell is None:
            raise MeasureError(str(death)) from death
        reason = (
            f"the process was killed while it measured {death.cell.label()}, which is what the system does "
            "to a process when memory runs out"
        )
        refusal = {"event": "refused", "refusal": {"kind": "did_not_fit", "reason": reason}}
        number = self.record.run["processes"][-1]["process"]
        self._keep(_sample(death.cell, refusal, 1, number, 0, warm_up=True))
        self._report.say(reason)

    # Processes and records

    def _open_process(self, round_: int) -> WorkerProcess:
        """Start a fresh process and wait until its model stands."""
        number = 0 if self.record is None else len(self.record.run["processes"])
        self._show(round_, f"building {self._title}")
        request = self._request
        job = {
            "site_data": str(request.site_data),
            "model": request.model,
            "device": request.device,
            "weights": request.weights,
            "seed": SEED,
            "prompt_seed": SEED * 1000 + number,
        }
        process = WorkerProcess(job)
        try:
            self._title = process.wait_started()["title"]
            if self.record is not None:
                _check_same_run(self.record.run, process.started)
            process.wait_built()
        except ProcessDied as death:
            process.close()
            why = " It was killed, most likely because memory ran out." if death.killed else ""
            raise MeasureError(f"{self._title} could not be built: {death}.{why}") from death
        except BaseException:
            process.close()
            raise
        return process

    def _begin(self, process: WorkerProcess) -> RunRecord:
        """A new record, made from what the first process saw."""
        request, started, built = self._request, process.started, process.built
        chosen = make_plan(
            request.plan, dtype=started["dtype"], max_positions=started["max_positions"], seed=SEED
        ).with_budget(request.budget_s)
        device = "gpu" if started["machine"]["accelerator"] else "cpu"
        now = datetime.now(UTC)
        return RunRecord.begin(
            request.site_data,
            {
                "schema_version": SCHEMA_VERSION,
                "run_id": f"{now:%Y%m%d-%H%M%S}-{request.model}-{device}",
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
                "processes": [],
                "samples": 0,
            },
        )

    # What is known so far

    def _samples(self, cell: Cell) -> list[Json]:
        return self._by_cell.get(cell, [])

    def _keep(self, sample: Json) -> None:
        """Record a new sample."""
        assert self.record is not None
        self.record.append(sample)
        self._index(sample)

    def _index(self, sample: Json) -> None:
        """Keep samples by cell: searching all of them for each cell after each sample would take longer than it."""
        self._by_cell.setdefault(cell_of(sample), []).append(sample)

    def _is_refused(self, cell: Cell) -> bool:
        return any(s["refusal"] for s in self._samples(cell))

    def _processes_of(self, round_: int) -> set[int]:
        assert self.record is not None
        return {p["process"] for p in self.record.run["processes"] if p["round"] == round_}

    def _repetitions(self, planned: PlannedCell) -> int:
        """Samples that each process takes of a cell, decided by the run's first window of it."""
        first = next((s["duration_s"] for s in self._samples(planned.cell) if s["duration_s"]), None)
        return repetitions_for(planned, first)

    def _window_s(self, cell: Cell) -> float | None:
        """Median length of the cell's latest windows, seconds; None before the first."""
        windows = [s["duration_s"] for s in self._samples(cell)[-3:] if s["duration_s"]]
        return statistics.median(windows) if windows else None

    def _expected_s(self, cell: Cell) -> float | None:
        """Seconds that one window of `cell` will take: as seen, or scaled from a cell of the same experiment."""
        if cell.experiment == "kv_cache":
            return 0.0
        seen = self._window_s(cell)
        if seen is not None:
            return seen
        for planned in self._plan.cells:
            other = planned.cell
            known = self._window_s(other) if other.experiment == cell.experiment else None
            if known is not None:
                scale = cell.length / other.length if cell.experiment == "prefill" else 1.0
                return known * scale * cell.batch / other.batch
        return None

    def _can_open_another(self) -> bool:
        """Whether a process built now could still measure something within the budget."""
        budget_s = self._plan.budget_s
        return budget_s is None or time.monotonic() + self._build_s < self._began + budget_s

    def _deadline(self, round_: int) -> float:
        """When `round_` must end so that the rounds after it get their share, as a monotonic time."""
        budget_s = self._plan.budget_s
        if budget_s is None:
            return math.inf
        end = self._began + budget_s
        rounds_left = self._plan.rounds - round_
        if rounds_left == 1:
            return end
        # This round's model is built already; each later one is built within its own share.
        share = (end - time.monotonic() + self._build_s) / rounds_left - self._build_s
        return time.monotonic() + share

    def _show(self, round_: int, detail: str) -> None:
        """Report what `round_` does now, how far the run is, and how long it still takes."""
        if self.record is None:
            self._report.update("round 1", detail, 0, 0, None)
            return
        done = sum(len(_timed(self._samples(p.cell))) for p in self._plan.cells)
        counts = {p.cell: self._repetitions(p) for p in self._plan.cells if not self._is_refused(p.cell)}
        stage = f"round {round_ + 1} of {self._plan.rounds}"
        self._report.update(
            stage, detail, done, sum(counts.values()) * self._plan.rounds, self._left_s(round_, counts)
        )

    def _left_s(self, round_: int, counts: dict[Cell, int]) -> float | None:
        """Seconds until the run is complete; None before each experiment was seen once."""
        expected = {cell: self._expected_s(cell) for cell in counts}
        if any(seconds is None for seconds in expected.values()):
            return None
        rounds_after = self._plan.rounds - round_ - 1
        a_round_s = sum((count + 1) * (expected[cell] or 0.0) for cell, count in counts.items())
        this_round_s = sum(len(missing) * (expected[p.cell] or 0.0) for p, missing in self._wanted(round_))
        left_s = this_round_s + rounds_after * (a_round_s + self._build_s)
        if self._plan.budget_s is not None:
            left_s = min(left_s, max(self._began + self._plan.budget_s - time.monotonic(), 0.0))
        return left_s


def _timed(samples: list[Json]) -> list[Json]:
    """The samples that count: no warm-ups, no refusals."""
    return [s for s in samples if not s["warm_up"] and s["refusal"] is None]


def _sample(cell: Cell, answer: Json, steps: int, process: int, repetition: int, *, warm_up: bool) -> Json:
    """A line of samples.jsonl from a worker's answer."""
    measured = answer if answer["event"] == "sample" else {}
    refusal = answer.get("refusal")
    energy = measured.get("energy") or {"joules": None, "error_joules": None, "refusal": refusal}
    per_step = cell.batch * (cell.length if cell.experiment != "decode" else 1)
    return {
        **vars(cell),
        "process": process,
        "repetition": repetition,
        "warm_up": warm_up,
        "started_at": measured.get("started_at") or utc_now(),
        "steps": measured.get("steps", steps),
        "tokens": measured.get("tokens", per_step * steps),
        "duration_s": measured.get("duration_s"),
        "energy_joules": energy["joules"],
        "energy_error_joules": energy["error_joules"],
        "energy_refusal": energy["refusal"],
        "kv_cache_bytes": measured.get("kv_cache_bytes"),
        "peak_bytes": measured.get("peak_bytes"),
        "foreign_cpu_share": measured.get("foreign_cpu_share"),
        "refusal": refusal,
    }


def _plan_of(run: Json) -> Plan:
    stored = run["plan"]
    cells = tuple(PlannedCell.from_json(cell) for cell in stored["cells"])
    return Plan(
        stored["name"], stored["seed"], stored["rounds"], cells, stored["window_s"], stored["budget_s"]
    )


def _check_same_run(run: Json, started: Json) -> None:
    """A run is one machine and one program: refuse to resume it elsewhere or with other code."""
    differ = [
        f"{what}: expected {run[part][key]}, found {started[part][key]}"
        for part, key, what in (
            ("machine", "id", "machine"),
            ("code", "commit", "commit of the measuring code"),
            ("software", "torch", "torch"),
            ("software", "transformers", "transformers"),
        )
        if run[part][key] != started[part][key]
    ]
    if differ:
        raise UsageError(
            f"--resume {run['run_id']}: a run is measured on one machine by one program; "
            + "; ".join(differ)
            + ". Resume it where it began, or start a new run"
        )
