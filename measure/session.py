"""One run from start to end: rounds of fresh processes, and what each takes. Times nothing itself.

What the run has and lacks is in tally.py, what still fits into its time in pace.py, the run's own description in
begin.py.
"""

from __future__ import annotations

import time
from collections import deque
from contextlib import closing
from pathlib import Path

from measure import idle
from measure.begin import Request, check_same_run, job_of, new_run, plan_of
from measure.cards import chosen
from measure.clock import utc_now
from measure.errors import MeasureError
from measure.pace import Pace
from measure.plan import (
    BEFORE_CONTEXT,
    WITH_CONTEXT,
    Cell,
    Plan,
    PlannedCell,
    interleaved,
    is_warm,
    steps_for,
    warm_up_steps,
)
from measure.process import ProcessDied, WorkerProcess
from measure.progress import ProgressReport, duration
from measure.record import Json, RunRecord
from measure.sample import sample_of
from measure.tally import Tally


class Session:
    """Measures one run. `record` is None for a new run, and the run's record for one that is resumed."""

    def __init__(self, request: Request, record: RunRecord | None, report: ProgressReport) -> None:
        self._request = request
        self._report = report
        self._began = time.monotonic()
        self._title = request.model
        self._at_rest: Json | None = None
        self._said: set[tuple[Cell, str]] = set()
        self.record = record
        if record is not None:
            self._plan_for(record)

    def run(self) -> Path:
        """Take what is missing and complete the run; returns its folder.

        Raises MeasureError, or KeyboardInterrupt when stopped; the record is then resumable.
        """
        if self.record is None or self._lacks_rest():
            self._at_rest = idle.before_context(chosen(self._request.device))
        first = None
        if self.record is None:
            first = self._open_process(0)
            self.record = RunRecord.begin(self._request.site_data, new_run(self._request, first))
            self._plan_for(self.record)
        for round_ in range(self._plan.rounds):
            while self._tally.wanted(round_) and (first or self._pace.can_open_another()):
                process, first = first or self._open_process(round_), None
                try:
                    with closing(process):
                        self._take_round(process, round_)
                except ProcessDied as death:
                    self._settle_death(death)
                    continue
                break
        return self._finish()

    def _plan_for(self, record: RunRecord) -> None:
        self._plan: Plan = plan_of(record.run).with_budget(self._request.budget_s)
        self._tally = Tally(self._plan, record.run, record.samples)
        self._pace = Pace(self._plan, self._tally, self._began)

    def _finish(self) -> Path:
        assert self.record is not None
        allowed = duration(self._plan.budget_s) if self._plan.budget_s else None
        cells = [p.cell for p in self._plan.cells if p.cell.experiment != "idle"]
        if not any(self._tally.good(cell) or self._tally.refusal(cell) for cell in cells):
            raise MeasureError(
                f"the time allowed, {allowed}, ended before the first sample: {self._title} took "
                f"{self._pace.build_s:.0f} s to build. Allow more with --budget"
            )
        return self.record.finish(utc_now(), self._tally.left_out(allowed))

    # One round

    def _take_round(self, process: WorkerProcess, round_: int) -> None:
        """Rest, warm every cell up, then take the missing samples in seeded random order."""
        self._enter(process, round_)
        deadline = self._pace.deadline(round_)
        self._take_rests(process, round_)
        self._check_modes(process, round_)
        steps: dict[Cell, int] = {}
        warm: list[tuple[PlannedCell, int]] = []
        for planned, missing in self._tally.wanted(round_):
            cell = planned.cell
            # room to make this cell ready, and for one sample of it and of each before it
            needed_s = sum(self._pace.sample_s(p.cell) for p, _ in warm)
            needed_s += self._pace.entry_s(cell) + self._pace.sample_s(cell)
            if cell.experiment == "idle" or needed_s > self._pace.room_until(deadline):
                continue
            steps[cell] = self._warm_up(process, planned, round_)
            if not self._tally.refusal(cell):
                warm.append((planned, min(missing, self._tally.repetitions(planned))))
        fitting = self._pace.fitting(warm, self._pace.room_until(deadline))
        queue = deque(interleaved(fitting, seed=self._plan.seed, process=process.number))
        while queue:
            planned, turn = queue.popleft()
            late = self._pace.sample_s(planned.cell) > self._pace.room_until(deadline)
            if late or not self._tally.missing(planned, round_):
                continue
            sample = self._timed(process, planned.cell, steps[planned.cell], round_)
            if sample["refusal"]:
                queue.append((planned, turn))  # again, later, unless it may not be

    def _enter(self, process: WorkerProcess, round_: int) -> None:
        """Give the process its number, and record it."""
        assert self.record is not None
        process.number = len(self.record.run["processes"])
        facts = {"started_at": process.started_at, "build_s": process.built["build_s"]}
        self.record.run["processes"].append({"process": process.number, "round": round_, **facts})
        self.record.save()
        self._pace.build_s = time.monotonic() - process.opened_s

    def _take_rests(self, process: WorkerProcess, round_: int) -> None:
        """What the machine draws at rest: as measured before the process was there, and in it before it works."""
        for planned in self._plan.cells:
            if planned.cell.mode == BEFORE_CONTEXT and self._at_rest is not None:
                self._keep(process, planned.cell, self._at_rest, 1, round_, warm_up=False)
                self._at_rest = None
            elif planned.cell.mode == WITH_CONTEXT:
                while self._tally.missing(planned, round_):
                    self._timed(process, planned.cell, 1, round_)

    def _check_modes(self, process: WorkerProcess, round_: int) -> None:
        """Once a run: whether each faster mode computes what eager does. One that does not is not measured."""
        assert self.record is not None
        checks: dict[str, Json] = {c["mode"]: c for c in self.record.run.get("mode_checks", [])}
        modes = dict.fromkeys(
            p.cell.mode for p in self._plan.cells if p.cell.experiment in ("prefill", "decode")
        )
        for mode in modes:
            cells = self._open_cells(mode)
            if mode == "eager" or not cells:
                continue
            if mode not in checks:
                self._show(round_, f"checking that {mode} computes what eager does")
                answer = process.check_mode(cells[0])
                if answer["event"] == "mode_check":
                    checks[mode] = answer["check"]
                    self.record.run["mode_checks"] = list(checks.values())
                    self.record.save()
            if mode in checks:
                answer = _refusal_of(checks[mode])
            if answer["event"] == "refused":
                self._report.say(f"{mode}: {answer['refusal']['reason']}")
                for cell in cells:
                    self._keep(process, cell, answer, 1, round_, warm_up=True)

    def _open_cells(self, mode: str) -> list[Cell]:
        """The cells of prefill and decode in `mode` that nothing has refused."""
        cells = [p.cell for p in self._plan.cells if p.cell.experiment in ("prefill", "decode")]
        return [c for c in cells if c.mode == mode and not self._tally.refusal(c)]

    def _warm_up(self, process: WorkerProcess, planned: PlannedCell, round_: int) -> int:
        """Take windows until the cell is steady; returns the steps that a timed window needs."""
        if planned.cell.experiment == "kv_cache":
            return 1  # a size, not a time: nothing to warm
        began = time.monotonic()
        steps, window_s = planned.steps, 0.0
        step_s: list[float] = []
        while not is_warm(step_s, window_s):
            sample = self._ask(process, planned.cell, steps, round_, warm_up=True)
            if sample["duration_s"] is None:
                break
            window_s = sample["duration_s"]
            step_s.append(window_s / sample["steps"])
            steps = warm_up_steps(planned, step_s[-1], self._plan.window_s)
        self._pace.saw(planned.cell, time.monotonic() - began, warm_up=True)
        return steps_for(planned, step_s[-1], self._plan.window_s) if step_s else steps

    def _timed(self, process: WorkerProcess, cell: Cell, steps: int, round_: int) -> Json:
        began = time.monotonic()
        sample = self._ask(process, cell, steps, round_, warm_up=False)
        self._pace.saw(cell, time.monotonic() - began, warm_up=False)
        return sample

    def _ask(self, process: WorkerProcess, cell: Cell, steps: int, round_: int, *, warm_up: bool) -> Json:
        """Ask for one sample and record it."""
        self._show(round_, ("warming up " if warm_up else "") + cell.label())
        probe = not warm_up and cell.experiment in ("prefill", "decode")
        answer = process.measure(cell, steps, probe=probe)
        sample = self._keep(process, cell, answer, steps, round_, warm_up=warm_up)
        if sample["refusal"] and not (warm_up and sample["duration_s"]):
            self._say_refusal(cell, sample["refusal"])
        return sample

    def _say_refusal(self, cell: Cell, refusal: Json) -> None:
        """Say why a cell has no result, once for each kind of reason: the end of the run counts them."""
        if (cell, refusal["kind"]) not in self._said:
            self._said.add((cell, refusal["kind"]))
            self._report.say(f"{cell.label()}: {refusal['reason']}")

    def _keep(
        self, process: WorkerProcess, cell: Cell, answer: Json, steps: int, round_: int, *, warm_up: bool
    ) -> Json:
        """Judge an answer and record it as a sample."""
        assert self.record is not None
        number = process.number
        sample = sample_of(
            cell,
            answer,
            steps=steps,
            process=number,
            repetition=self._tally.next_repetition(cell, round_, number, warm_up=warm_up),
            warm_up=warm_up,
            machine=self.record.run["machine"],
        )
        self.record.append(sample)
        self._tally.add(sample)
        return sample

    # Processes

    def _open_process(self, round_: int) -> WorkerProcess:
        """Start a fresh process and wait until its model stands."""
        self._show(round_, f"building {self._title}")
        number = 0 if self.record is None else len(self.record.run["processes"])
        process = WorkerProcess(job_of(self._request, number, self._rest_watts()))
        try:
            self._title = process.wait_started()["title"]
            if self.record is not None:
                check_same_run(self.record.run, process.started)
            process.wait_built()
        except ProcessDied as death:
            process.close()
            why = " It was killed, most likely because memory ran out." if death.killed else ""
            raise MeasureError(f"{self._title} could not be built: {death}.{why}") from death
        except BaseException:
            process.close()
            raise
        return process

    def _settle_death(self, death: ProcessDied) -> None:
        """A process that was killed while it measured a cell most likely ran out of memory: record that.

        One that was killed while it checked a mode settles all cells of it: each would be met by the same check.
        """
        if not death.killed or death.cell is None:
            raise MeasureError(str(death)) from death
        assert self.record is not None
        mode = death.cell.mode
        unchecked = mode != "eager" and mode not in {
            c["mode"] for c in self.record.run.get("mode_checks", [])
        }
        cells = (self._open_cells(mode) if unchecked else []) or [death.cell]
        work = f"checked the mode {mode}" if len(cells) > 1 else f"measured {death.cell.label()}"
        reason = f"the process was killed while it {work}, which is what the system does when memory runs out"
        answer = {"event": "refused", "refusal": {"kind": "did_not_fit", "reason": reason}}
        for cell in cells:
            self._keep(death.process, cell, answer, 1, 0, warm_up=True)
        self._report.say(reason)

    def _lacks_rest(self) -> bool:
        """Whether the machine at rest, with no process on it, is not measured yet."""
        rests = [p.cell for p in self._plan.cells if p.cell.mode == BEFORE_CONTEXT]
        return any(not self._tally.of(cell) for cell in rests)

    def _rest_watts(self) -> float | None:
        """Power at rest before any process was there, as measured in this run; None where nothing measured it."""
        if self.record is None:
            return idle.watts(self._at_rest)
        return self.record.run["meter"].get("idle_watts_before_context")  # type: ignore[no-any-return]

    def _show(self, round_: int, detail: str) -> None:
        """Report what `round_` does now, how far the run is, and how long it still takes."""
        if self.record is None:
            self._report.update("round 1", detail, 0, 0, None)
            return
        stage = f"round {round_ + 1} of {self._plan.rounds}"
        self._report.update(stage, detail, *self._tally.progress(), self._pace.left_s(round_))


def _refusal_of(check: Json) -> Json:
    """An answer that refuses the cells of a mode that does not compute eager's logits."""
    if check["passed"]:
        return {"event": "passed"}
    found = check["max_difference"]
    differ = (
        "there are no logits to compare" if found is None else f"logits differ by {found:.2g} of the largest"
    )
    reason = (
        f"{check['mode']} does not compute what eager does: {differ}, {check['tolerance']:.2g} is allowed"
    )
    return {"event": "refused", "refusal": {"kind": "unavailable", "reason": reason}}
