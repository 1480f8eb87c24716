"""Which cells, how often, in which order: the pure part of measuring."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from measure.errors import UsageError
from measure.estimate import Speed, cell_s, plan_s
from measure.idle import REST_S
from measure.plan import (
    CPU,
    DECODE_MODES,
    GPU,
    LONG_REPETITIONS,
    LONG_WINDOW_S,
    PLAN_NAMES,
    WARM_UP_WINDOW_S,
    WARM_UPS_MOST,
    Cell,
    Plan,
    PlannedCell,
    interleaved,
    is_warm,
    make_plan,
    parse_budget,
    repetitions_for,
    steps_for,
    warm_up_steps,
)


def plan_of(name: str, device: str = CPU, max_positions: int = 131072) -> Plan:
    return make_plan(name, device=device, dtype="float32", max_positions=max_positions, seed=20)


def cells_of(name: str) -> set[tuple[str, int, str]]:
    """(experiment, length, mode) of the cells with one sequence."""
    return {(p.cell.experiment, p.cell.length, p.cell.mode) for p in plan_of(name).cells if p.cell.batch == 1}


@pytest.mark.parametrize("name", PLAN_NAMES)
@pytest.mark.parametrize("device", [CPU, GPU])
def test_every_plan_has_all_experiments_and_the_question_of_note_1(name: str, device: str) -> None:
    plan = plan_of(name, device)
    cells = [p.cell for p in plan.cells]
    eager, fast = DECODE_MODES[device]
    for wanted in (
        Cell("idle", 1, None, None, "float32", "before_context"),
        Cell("idle", 1, None, None, "float32", "with_context"),
        Cell("ceilings", 1, None, None, "float32", "read"),
        Cell("ceilings", 1, None, None, "float32", "gemm"),
        Cell("prefill", 1, 500, None, "float32"),
        Cell("decode", 1, None, 500, "float32", eager),
        Cell("decode", 1, None, 500, "float32", fast),
        Cell("kv_cache", 1, None, 500, "float32"),
    ):
        assert wanted in cells, wanted.label()
    assert len(set(cells)) == len(cells)


def test_the_standard_plan_has_what_the_pages_use() -> None:
    plan = plan_of("standard")
    lengths = {(experiment, n) for experiment, n, _ in cells_of("standard")}
    assert {("prefill", n) for n in (64, 128, 500, 1000)} <= lengths
    assert {("decode", n) for n in (64, 128, 500, 1000)} <= lengths
    batched = [p.cell for p in plan.cells if p.cell.experiment == "decode" and p.cell.batch > 1]
    assert [(c.batch, c.length, c.mode) for c in batched] == [(8, 500, "eager")]
    assert plan.rounds >= 5
    assert all(p.repetitions >= 3 for p in plan.cells if p.cell.experiment in ("prefill", "decode"))
    assert plan.budget_s is None


def test_the_gpu_plan_reaches_long_prompts_and_batches() -> None:
    plan = plan_of("gpu", GPU)
    assert {p.cell.batch for p in plan.cells} == {1, 8, 32}
    prompts = {p.cell.prompt_tokens for p in plan.cells if p.cell.experiment == "prefill"}
    depths = {p.cell.context_tokens for p in plan.cells if p.cell.experiment == "decode"}
    assert {128, 500, 8192} <= prompts and {500, 32768} <= depths
    assert {p.cell.mode for p in plan.cells if p.cell.experiment == "decode"} == {"eager", "graph"}
    assert plan.window_s >= 2  # many ticks of an energy counter


def test_whatever_the_pages_use_is_in_the_gpu_plan_too() -> None:
    assert cells_of("standard") <= cells_of("gpu")


SPEED = Speed(
    build_s=40.0,
    prefill_s_per_token=8.9 / 500,
    decode_step_s={"eager": 0.42, "compiled": 0.25},
    beside_s=1.0,
    metered=False,
)
"""As seen for the shape of Qwen2.5-1.5B in float32 on two cores."""


def test_the_standard_plan_takes_about_half_an_hour_on_two_cores() -> None:
    assert plan_s(plan_of("standard"), SPEED) < 28 * 60


def test_an_estimate_counts_warm_ups_repetitions_and_processes() -> None:
    decode = PlannedCell(Cell("decode", 1, None, 64, "float32"), 3, 6)
    assert cell_s(decode, 0.2, SPEED) == pytest.approx(2 * 6 * 0.42 + 3 * (6 * 0.42 + 1.0))
    long = PlannedCell(Cell("prefill", 1, 1000, None, "float32"), 3, 1)
    assert cell_s(long, 0.2, SPEED) == pytest.approx(17.8 + LONG_REPETITIONS * (17.8 + 1.0))
    plan = Plan("p", 20, 5, (decode, long), 0.2, None)
    assert plan_s(plan, SPEED) == pytest.approx(
        5 * (40.0 + cell_s(decode, 0.2, SPEED) + cell_s(long, 0.2, SPEED))
    )


def test_a_meter_adds_the_machine_at_rest() -> None:
    plan = plan_of("gpu", GPU)
    speed = Speed(15.0, 1e-5, {"eager": 0.02, "graph": 0.001}, 0.4, metered=False)
    metered = Speed(15.0, 1e-5, {"eager": 0.02, "graph": 0.001}, 0.4, metered=True)
    assert plan_s(plan, metered) - plan_s(plan, speed) == pytest.approx((1 + plan.rounds) * REST_S)


def test_cells_that_the_model_cannot_take_are_not_planned() -> None:
    plan = plan_of("standard", max_positions=512)
    assert max(p.cell.length for p in plan.cells) == 500
    with pytest.raises(UsageError, match="no cell that a model of 32 positions"):
        plan_of("standard", max_positions=32)


def test_the_most_important_cells_come_first() -> None:
    cells = [p.cell for p in plan_of("standard").cells]
    assert [c.experiment for c in cells[:4]] == ["idle", "idle", "ceilings", "ceilings"]
    assert [(c.experiment, c.length, c.mode) for c in cells[4:8]] == [
        ("prefill", 500, "eager"),
        ("prefill", 500, "compiled"),
        ("decode", 500, "eager"),
        ("decode", 500, "compiled"),
    ]


@pytest.mark.parametrize(
    ("name", "device", "planned"), [("standard", CPU, [500]), ("quick", CPU, []), ("gpu", GPU, [])]
)
def test_one_prompt_is_prefilled_in_the_faster_mode_of_a_cpu_too(
    name: str, device: str, planned: list[int]
) -> None:
    cells = [p.cell for p in plan_of(name, device).cells if p.cell.experiment == "prefill"]
    assert [c.length for c in cells if c.mode != "eager"] == planned


def test_the_machine_before_any_process_is_measured_once() -> None:
    plan = plan_of("gpu", GPU)
    before, with_context = plan.cells[:2]
    assert plan.samples_of(before, 1) == 1
    assert plan.samples_of(with_context, 1) == plan.rounds


@given(seed=st.integers(0, 10**6), process=st.integers(0, 50), count=st.integers(0, 60))
def test_interleaving_keeps_every_sample_and_repeats_itself(seed: int, process: int, count: int) -> None:
    samples = [(PlannedCell(Cell("decode", 1, None, n, "float32"), 5, 8), n % 5) for n in range(1, count + 1)]
    order = interleaved(samples, seed=seed, process=process)
    assert Counter(order) == Counter(samples)
    assert order == interleaved(samples, seed=seed, process=process)


def test_each_process_has_an_order_of_its_own() -> None:
    samples = [(PlannedCell(Cell("decode", 1, None, n, "float32"), 5, 8), 0) for n in range(1, 20)]
    assert interleaved(samples, seed=20, process=0) != interleaved(samples, seed=20, process=1)


@pytest.mark.parametrize(
    ("step_s", "window_s", "warm"),
    [
        ([], 0.0, False),
        ([0.1], 0.1, False),  # one window says nothing of steadiness
        ([0.2, 0.1], 0.1, False),
        ([0.2, 0.1, 0.101], 0.101, True),
        ([12.0], 12.0, True),  # so long that it was its own warm-up
        ([0.1 * 2**n for n in range(WARM_UPS_MOST)], 3.2, True),  # never steady: measured all the same
    ],
)
def test_when_a_cell_is_warm(step_s: list[float], window_s: float, warm: bool) -> None:
    assert is_warm(step_s, window_s) is warm


@given(step_s=st.floats(1e-6, 100), window_s=st.floats(0, 10))
def test_a_window_is_as_long_as_asked(step_s: float, window_s: float) -> None:
    planned = PlannedCell(Cell("decode", 1, None, 64, "float32"), 5, 8)
    steps = steps_for(planned, step_s, window_s)
    assert steps >= planned.steps
    assert steps * step_s >= window_s or math.isclose(steps * step_s, window_s)


def test_a_warm_up_need_not_be_as_long_as_an_energy_counter_asks() -> None:
    planned = PlannedCell(Cell("decode", 1, None, 64, "float32"), 5, 8)
    assert warm_up_steps(planned, 0.001, 2.0) * 0.001 == pytest.approx(WARM_UP_WINDOW_S)
    assert warm_up_steps(planned, 0.001, 0.2) == steps_for(planned, 0.001, 0.2)


def test_long_windows_are_repeated_less() -> None:
    planned = PlannedCell(Cell("prefill", 1, 1000, None, "float32"), 5, 1)
    assert repetitions_for(planned, LONG_WINDOW_S) == 5
    assert repetitions_for(planned, LONG_WINDOW_S + 0.1) == LONG_REPETITIONS


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("8m", 480), ("90s", 90), ("1h30m", 5400), ("120", 120), ("1.5m", 90), ("2m5s", 125)],
)
def test_budgets(text: str, seconds: float) -> None:
    assert parse_budget(text) == seconds


@pytest.mark.parametrize("text", ["", "soon", "8 minutes", "-3m", "0s", "m", "8d"])
def test_budgets_that_are_none(text: str) -> None:
    with pytest.raises(UsageError, match="--budget: expected"):
        parse_budget(text)


def test_a_planned_cell_survives_json() -> None:
    planned = PlannedCell(Cell("decode", 8, None, 500, "bfloat16", "graph"), 3, 40)
    assert PlannedCell.from_json(planned.as_json()) == planned
