"""What a run has and lacks, and what fits into its time: counting, taking again, leaving out. No process is started."""

from __future__ import annotations

from typing import Any

import pytest

from measure.pace import CLOSING_S, Pace
from measure.plan import Cell, Plan, PlannedCell
from measure.tally import RETAKES, Tally

PREFILL = Cell("prefill", 1, 500, None, "float32")
DECODE = Cell("decode", 1, None, 500, "float32")
REST = Cell("idle", 1, None, None, "float32", "before_context")
CONTAMINATED = {"kind": "contaminated", "reason": "others had 50% of the CPU"}


def plan(*cells: Cell, rounds: int = 5, repetitions: int = 3, budget_s: float | None = None) -> Plan:
    planned = tuple(PlannedCell(cell, repetitions, 6) for cell in cells)
    return Plan("p", 20, rounds, planned, 0.2, budget_s)


class Run:
    """A tally that is filled by hand; process N belongs to round N unless said otherwise."""

    def __init__(self, plan: Plan, rounds_of: list[int] | None = None) -> None:
        rounds = rounds_of or list(range(plan.rounds))
        processes = [{"process": i, "round": r} for i, r in enumerate(rounds)]
        self.plan = plan
        self.tally = Tally(plan, {"processes": processes}, [])

    def take(
        self,
        cell: Cell,
        process: int = 0,
        refusal: dict[str, str] | None = None,
        *,
        warm_up: bool = False,
        duration_s: float | None = 2.0,
    ) -> None:
        round_ = self.tally._run["processes"][process]["round"]
        sample: dict[str, Any] = {
            **vars(cell),
            "process": process,
            "repetition": self.tally.next_repetition(cell, round_, process, warm_up=warm_up),
            "warm_up": warm_up,
            "duration_s": duration_s,
            "refusal": refusal,
        }
        self.tally.add(sample)

    def missing(self, cell: Cell, round_: int = 0) -> int:
        (planned,) = (p for p in self.plan.cells if p.cell == cell)
        return self.tally.missing(planned, round_)


def test_a_round_lacks_what_it_has_not_taken() -> None:
    run = Run(plan(PREFILL, DECODE))
    run.take(DECODE)
    run.take(DECODE, warm_up=True)  # does not count
    run.take(DECODE, process=1)  # belongs to another round
    assert [(p.cell, count) for p, count in run.tally.wanted(0)] == [(PREFILL, 3), (DECODE, 2)]


def test_a_resumed_round_counts_all_its_processes() -> None:
    run = Run(plan(DECODE, rounds=1), rounds_of=[0, 0])
    run.take(DECODE, process=0)
    run.take(DECODE, process=1)
    assert run.missing(DECODE) == 1
    assert [s["repetition"] for s in run.tally.of(DECODE)] == [0, 1]


def test_a_disturbed_sample_is_taken_again_a_few_times() -> None:
    run = Run(plan(DECODE))
    attempts = 0
    while run.missing(DECODE):
        run.take(DECODE, refusal=CONTAMINATED)
        attempts += 1
    assert attempts == 3 + RETAKES
    assert run.missing(DECODE, round_=1) == 3  # the next process tries anew
    assert run.tally.refusal(DECODE) is None


def test_one_disturbed_sample_costs_no_good_one() -> None:
    run = Run(plan(DECODE))
    for refusal in (None, CONTAMINATED, None, None):
        assert run.missing(DECODE)
        run.take(DECODE, refusal=refusal)
    assert run.missing(DECODE) == 0 and len(run.tally.good(DECODE)) == 3
    assert [s["repetition"] for s in run.tally.of(DECODE)] == [0, 1, 2, 3]


@pytest.mark.parametrize("kind", ["did_not_fit", "unavailable"])
def test_what_cannot_be_measured_is_settled_for_the_run(kind: str) -> None:
    run = Run(plan(DECODE))
    run.take(DECODE, refusal={"kind": kind, "reason": "no"}, warm_up=True, duration_s=None)
    assert run.missing(DECODE) == run.missing(DECODE, round_=4) == 0
    assert run.tally.left_out(None)[0]["reason"] == "no"


def test_the_machine_before_any_process_is_wanted_of_no_process() -> None:
    run = Run(plan(REST, DECODE, repetitions=1))
    assert [p.cell for p, _ in run.tally.wanted(0)] == [DECODE]
    run.take(REST)
    for process in range(5):
        run.take(DECODE, process)
    assert run.tally.left_out(None) == []


def left_out(run: Run, allowed: str | None = None) -> str:
    (item,) = run.tally.left_out(allowed)
    assert item["taken"] < item["planned"] == 15
    return str(item["reason"])


def test_why_a_cell_has_fewer_samples_than_planned() -> None:
    long = Run(plan(DECODE))
    for process in range(5):
        for _ in range(2):
            long.take(DECODE, process, duration_s=18.0)
    assert left_out(long) == "one window takes 18 s: 2 samples in each process"
    late = Run(plan(DECODE))
    late.take(DECODE)
    assert left_out(late, "8 min") == "the time allowed, 8 min, did not suffice"
    disturbed = Run(plan(DECODE))
    for process in range(5):
        for refusal in (None, None, CONTAMINATED, CONTAMINATED, CONTAMINATED):
            disturbed.take(DECODE, process, refusal)
    words = "15 samples were contaminated (such as: others had 50% of the CPU)"
    assert left_out(disturbed) == words
    spoiled = Run(plan(DECODE))
    for process in range(5):
        for _ in range(5):
            spoiled.take(DECODE, process, CONTAMINATED)
    assert left_out(spoiled).endswith("; too few stayed good for an interval")


# Time

NOW = 1000.0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time now, in a list so that a test can move it."""
    now = [NOW]
    monkeypatch.setattr("measure.pace.time.monotonic", lambda: now[0])
    return now


def pace(run: Run, build_s: float = 10.0) -> Pace:
    made = Pace(run.plan, run.tally, began=NOW)
    made.build_s = build_s
    return made


def test_the_first_three_rounds_share_the_time_and_the_rest_is_for_those_after(clock: list[float]) -> None:
    made = pace(Run(plan(DECODE, rounds=5, budget_s=300.0)))
    clock[0] = NOW + 10.0  # the first model stands
    usable_s = 300.0 - CLOSING_S
    assert made.deadline(0) - NOW == pytest.approx(usable_s / 3)
    clock[0] = NOW + 200.0
    assert made.deadline(2) - NOW == pytest.approx(usable_s)
    clock[0] = NOW + 150.0
    assert made.deadline(3) - NOW == pytest.approx(150.0 - 10.0 + (usable_s - 150.0 + 10.0) / 2)


def test_a_short_budget_makes_fewer_rounds_and_not_empty_ones(clock: list[float]) -> None:
    made = pace(Run(plan(DECODE, rounds=5, budget_s=12.0)), build_s=4.0)
    clock[0] = NOW + 4.0
    assert made.deadline(0) == pytest.approx(NOW + 12.0 - CLOSING_S)


def test_no_process_is_opened_for_less_than_it_could_use(clock: list[float]) -> None:
    run = Run(plan(DECODE, budget_s=60.0))
    made = pace(run)
    made.saw(DECODE, 4.0, warm_up=True)
    made.saw(DECODE, 2.0, warm_up=False)
    clock[0] = NOW + 60.0 - CLOSING_S - 16.5
    assert made.can_open_another()
    clock[0] += 1.0
    assert not made.can_open_another()
    assert pace(Run(plan(DECODE))).can_open_another()  # no budget, no end


def test_every_cell_gets_a_sample_before_any_gets_a_second() -> None:
    run = Run(plan(PREFILL, DECODE))
    made = pace(run)
    made.saw(PREFILL, 10.0, warm_up=False)
    made.saw(DECODE, 3.0, warm_up=False)
    prefill, decode = run.plan.cells
    fitting = made.fitting([(prefill, 3), (decode, 3)], room_s=20.0)
    assert fitting == [(prefill, 0), (decode, 0), (decode, 1), (decode, 2)][: len(fitting)]
    assert len(fitting) == 4


def test_a_cell_not_seen_yet_is_judged_by_one_like_it() -> None:
    longer = Cell("prefill", 8, 1000, None, "float32")
    made = pace(Run(plan(PREFILL, longer, DECODE)))
    assert not made.is_known(longer)
    made.saw(PREFILL, 2.0, warm_up=False)
    assert made.is_known(longer) and made.sample_s(longer) == pytest.approx(2.0 * 16)
    assert not made.is_known(DECODE)


def test_all_that_a_sample_takes_counts_and_not_its_window_alone() -> None:
    run = Run(plan(DECODE))
    made = pace(run)
    run.take(DECODE, duration_s=2.0)
    assert made.sample_s(DECODE) == 2.0  # of a run that is resumed, only windows are known
    made.saw(DECODE, 9.0, warm_up=False)
    assert made.sample_s(DECODE) == 9.0


def test_the_time_left_counts_building_and_warming_up() -> None:
    run = Run(plan(DECODE, rounds=3))
    made = pace(run)
    assert made.left_s(0) is None
    made.saw(DECODE, 4.0, warm_up=True)
    made.saw(DECODE, 2.0, warm_up=False)
    assert made.left_s(0) == pytest.approx(3 * 2.0 + 2 * (4.0 + 3 * 2.0 + 10.0))
