"""Medians and prediction intervals, checked against scipy and against what must hold for any numbers."""

from __future__ import annotations

import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from hooks.numbers.estimates import Estimate, estimate, half_width, through

positive = st.floats(0.001, 1000)


def test_the_value_is_the_median_of_the_process_medians() -> None:
    pairs = [(0, 1.0), (0, 2.0), (0, 90.0), (1, 5.0), (2, 6.0), (2, 8.0)]
    found = estimate("r", pairs)
    assert found.by_run == {"r": {0: 2.0, 1: 5.0, 2: 7.0}}
    assert found.value == 5.0 and found.processes == 3


@given(st.lists(positive, min_size=3, max_size=12))
def test_the_half_width_is_scipy_s_prediction_interval(values: list[float]) -> None:
    n = len(values)
    expected = stats.t.ppf(0.975, n - 1) * statistics.stdev(values) * math.sqrt(1 + 1 / n)
    assert half_width(values) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("values", [[], [1.0], [1.0, 2.0]])
def test_fewer_than_three_processes_give_no_interval(values: list[float]) -> None:
    assert half_width(values) is None
    if values:
        assert estimate("r", list(enumerate(values))).interval is None


def test_95_of_100_intervals_hold_the_next_process() -> None:
    # Means and medians of these draws come from a seeded generator, so the count is always the same.
    draws = stats.norm.rvs(10, 1, size=(4000, 6), random_state=0)
    held = 0
    for *five, sixth in draws:
        interval = Estimate(statistics.mean(five), {"r": dict(enumerate(five))}).interval
        assert interval is not None
        held += interval.low <= sixth <= interval.high
    assert 0.94 < held / len(draws) < 0.96


def test_what_two_inputs_share_within_a_process_cancels() -> None:
    slow = {process: 1 + process / 10 for process in range(5)}
    a = Estimate(1.2, {"r": slow})
    b = Estimate(0.6, {"r": {process: value / 2 for process, value in slow.items()}})
    ratio = through(lambda v: v["a"] / v["b"], {"a": a, "b": b})
    assert ratio.value == 2.0
    assert ratio.interval is not None
    assert ratio.interval.high - ratio.interval.low == pytest.approx(0, abs=1e-12)


def test_runs_are_independent_and_add_in_quadrature() -> None:
    a = Estimate(3.0, {"r": {0: 2.0, 1: 3.0, 2: 4.0}})
    b = Estimate(30.0, {"s": {0: 20.0, 1: 30.0, 2: 40.0}})
    total = through(lambda v: v["a"] + v["b"], {"a": a, "b": b})
    assert total.interval is not None
    half = (total.interval.high - total.interval.low) / 2
    first, second = half_width([2.0, 3.0, 4.0]), half_width([20.0, 30.0, 40.0])
    assert first is not None and second is not None
    assert half == pytest.approx(math.hypot(first, second))
    assert total.processes == 6


def test_only_shared_processes_count() -> None:
    a = Estimate(1.0, {"r": {0: 1.0, 1: 1.1, 2: 0.9, 3: 1.0}})
    b = Estimate(1.0, {"r": {1: 1.0, 2: 1.0, 3: 1.0, 4: 1.0}})
    assert through(lambda v: v["a"] / v["b"], {"a": a, "b": b}).by_run["r"].keys() == {1, 2, 3}


def test_a_run_with_too_few_processes_takes_the_interval_away() -> None:
    a = Estimate(1.0, {"r": {0: 1.0, 1: 1.1, 2: 0.9}})
    b = Estimate(1.0, {"s": {0: 1.0, 1: 1.0}})
    assert through(lambda v: v["a"] + v["b"], {"a": a, "b": b}).interval is None


@given(st.lists(positive, min_size=3, max_size=8), st.floats(0.01, 100))
def test_an_exact_factor_scales_value_and_interval(values: list[float], factor: float) -> None:
    a = estimate("r", list(enumerate(values)))
    scaled = through(lambda v: v["a"] * v["f"], {"a": a, "f": Estimate(factor)})
    assert scaled.value == pytest.approx(a.value * factor)
    assert a.interval is not None and scaled.interval is not None
    width = scaled.interval.high - scaled.interval.low
    assert width == pytest.approx((a.interval.high - a.interval.low) * factor, rel=1e-6, abs=1e-9)
