"""Which cells, how often, in which order: the pure part of measuring."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from measure.errors import UsageError
from measure.plan import (
    LONG_REPETITIONS,
    LONG_WINDOW_S,
    PLAN_NAMES,
    WARM_UPS_MOST,
    Cell,
    PlannedCell,
    interleaved,
    is_warm,
    make_plan,
    parse_budget,
    repetitions_for,
    steps_for,
)


def cells_of(name: str) -> set[tuple[str, int]]:
    plan = make_plan(name, dtype="float32", max_positions=131072, seed=20)
    return {(p.cell.experiment, p.cell.length) for p in plan.cells}


@pytest.mark.parametrize("name", PLAN_NAMES)
def test_every_plan_asks_the_question_of_note_1(name: str) -> None:
    assert {("prefill", 500), ("decode", 500), ("kv_cache", 500)} <= cells_of(name)


def test_the_standard_plan_has_what_the_pages_use() -> None:
    plan = make_plan("standard", dtype="float32", max_positions=131072, seed=20)
    cells = cells_of("standard")
    assert {("prefill", n) for n in (64, 128, 500, 1000)} <= cells
    assert {("decode", n) for n in (64, 500, 1000)} <= cells
    assert plan.rounds >= 5
    assert all(p.repetitions >= 5 for p in plan.cells if p.cell.experiment != "kv_cache")
    assert plan.budget_s is None


def test_the_gpu_plan_reaches_long_prompts_and_batches() -> None:
    plan = make_plan("gpu", dtype="bfloat16", max_positions=131072, seed=20)
    assert {p.cell.batch for p in plan.cells} == {1, 8, 32}
    assert max(p.cell.length for p in plan.cells) == 32768
    assert plan.window_s >= 5  # an energy counter needs windows of seconds


def test_whatever_the_pages_use_is_in_the_gpu_plan_too() -> None:
    assert cells_of("standard") <= cells_of("gpu")


def test_cells_that_the_model_cannot_take_are_not_planned() -> None:
    plan = make_plan("standard", dtype="float32", max_positions=512, seed=20)
    assert max(p.cell.length for p in plan.cells) == 500
    with pytest.raises(UsageError, match="no cell that a model of 32 positions"):
        make_plan("standard", dtype="float32", max_positions=32, seed=20)


def test_the_most_important_cells_come_first() -> None:
    first = make_plan("standard", dtype="float32", max_positions=131072, seed=20).cells[:2]
    assert [(p.cell.experiment, p.cell.length) for p in first] == [("prefill", 500), ("decode", 500)]


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
