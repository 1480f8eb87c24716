"""The arithmetic of a window, of sampled power, of the lag, and of who is on a card."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from measure.counter import Change, Closing, Joules, Lag, PowerRange, Tick, closing_part, lag_part, tick_of
from measure.nvml_company import CONTEXT_BYTES, others, own_memory
from measure.nvml_driver import GpuProcess
from measure.nvml_lag import crossing_s
from measure.sampled_power import PowerSample, integrate, second_reading

TICK = Tick(0.1, 0.0)


@given(
    before=st.floats(100, 600),
    after=st.floats(60, 600),
    phase=st.floats(0, 1),
    mean=st.floats(60, 700),
    gap_s=st.floats(0, 0.01),
)
def test_the_closing_part_holds_the_truth(
    before: float, after: float, phase: float, mean: float, gap_s: float
) -> None:
    """Power changes at the closing, anywhere in the tick: the part before it lies within the error."""
    a, b = 0.1 * phase, 0.1 * (1 - phase)
    closing = Closing(a, a, 0.0, Change(max(0.1 - gap_s, a), 0.1, before * a + after * b))
    part, error = closing_part(TICK, closing, PowerRange(100, 600), PowerRange(60, 600), mean)
    assert abs(part - before * a) <= error + 1e-9


def test_power_beyond_its_range_leaves_the_ticks_own_energy() -> None:
    closing = Closing(0.05, 0.05, 0.0, Change(0.1, 0.1, 70.0))  # 700 W, where 100 to 110 W were seen
    seen = PowerRange(100, 110)
    part, error = closing_part(TICK, closing, seen, seen, 105)
    assert part - error <= 0.0 + 1e-9 and part + error >= 70.0 - 1e-9


def test_a_tick_between_the_closing_and_the_read_is_taken_off() -> None:
    """The counter moved 1 ms after the closing, before it was read: that millisecond's energy is not ours."""
    closing = Closing(0.0, 0.002, 50.0, Change(0.101, 0.101, 80.0))
    part, error = closing_part(TICK, closing, PowerRange(299, 301), PowerRange(290, 310), 300)
    assert part == pytest.approx(-0.3) and error < 0.02


def test_a_held_up_reader_does_not_change_the_tick() -> None:
    times = [0.1 * i for i in range(12)]
    changes = [Change(t - 0.0001, t, t) for t in times]
    changes[5] = Change(0.5, 0.53, 0.5)  # seen 30 ms late
    tick = tick_of(changes)
    assert tick.period_s == pytest.approx(0.1) and tick.jitter_s == pytest.approx(0.0011)


@given(
    before=st.floats(100, 600), after=st.floats(60, 600), phase=st.floats(0, 1), period_s=st.floats(0.13, 1)
)
def test_a_tick_longer_than_any_before_leaves_what_the_power_after_it_leaves(
    before: float, after: float, phase: float, period_s: float
) -> None:
    """The counter ticked every 0.1 s when studied, and now stands longer: its old period is no bound any more."""
    a, b = period_s * phase, period_s * (1 - phase)
    closing = Closing(a, a, 0.0, Change(max(period_s - 0.001, a), period_s, before * a + after * b))
    part, error = closing_part(TICK, closing, PowerRange(100, 600), PowerRange(60, 600), 300)
    assert b < 0.102 or abs(part - before * a) <= error + 1e-9


@given(lag_s=st.floats(0, 0.2), share=st.floats(0, 1), end=st.floats(100, 600), start=st.floats(60, 400))
def test_any_lag_up_to_the_longest_is_held(lag_s: float, share: float, end: float, start: float) -> None:
    part, error = lag_part(Lag(lag_s, PowerRange(60, 400)), PowerRange(100, 600))
    assert abs(share * lag_s * (end - start) - part) <= error + 1e-9


def test_two_ticks_make_one_that_is_as_either() -> None:
    joined = Tick(0.1, 0.001).joined(Tick(0.02, 0.002))
    assert joined.period_s - joined.jitter_s == pytest.approx(0.018)
    assert joined.period_s + joined.jitter_s == pytest.approx(0.101)


@given(slope=st.floats(-50, 50), count=st.integers(2, 50))
def test_a_line_is_integrated_exactly(slope: float, count: int) -> None:
    samples = [PowerSample(i / (count - 1), 100 + slope * i / (count - 1)) for i in range(count)]
    assert integrate(samples, 0.0, 1.0) == pytest.approx(100 + slope / 2)


@pytest.mark.parametrize(
    ("gain", "agrees"), [(1.0, True), (1.09, True), (0.92, True), (1.13, False), (0.87, False)]
)
def test_agreement_has_a_budget(gain: float, agrees: bool) -> None:
    samples = [PowerSample(i * 0.025, 300.0 * gain) for i in range(201)]
    doubt = second_reading(Joules(1500.0, {"all": 5.0}), samples, 0.0, 5.0, 0.0).disagreement
    assert (doubt is None) is agrees, doubt


def test_scatter_does_not_excuse_everything() -> None:
    samples = [PowerSample(i * 0.5, 100.0 if i % 2 else 900.0) for i in range(11)]
    reading = second_reading(Joules(800.0, {"all": 5.0}), samples, 0.0, 5.0, 0.0)
    assert reading.disagreement is not None


def test_too_few_samples_are_no_reading() -> None:
    reading = second_reading(Joules(10.0, {"all": 0.1}), [PowerSample(0.1, 10)], 0.0, 1.0, 0.0)
    assert reading.joules is None and reading.disagreement is None


def test_a_mean_stands_for_the_time_before_it() -> None:
    """Power rises from 100 to 300 W at 2 s; a sensor that tells the mean of the second before shows a slope."""
    samples = [PowerSample(t / 20, 100 + 200 * min(max(t / 20 - 2, 0.0), 1.0)) for t in range(81)]
    reading = second_reading(Joules(800.0, {"all": 5.0}), samples, 0.0, 4.0, 1.0)
    assert reading.joules == pytest.approx(800, rel=0.01)
    late = second_reading(Joules(800.0, {"all": 5.0}), samples, 0.0, 4.0, 0.0)
    assert late.joules == pytest.approx(700, rel=0.01)  # what the same samples say when taken for the moment


@given(lag_s=st.floats(0, 0.1), tick_s=st.sampled_from([0.02, 0.05, 0.1]), busy=st.floats(200, 700))
def test_two_lines_cross_where_the_counter_learns_of_the_end(
    lag_s: float, tick_s: float, busy: float
) -> None:
    idle, ended_s = 90.0, 0.613

    def joules(at_s: float) -> float:
        return busy * min(at_s, ended_s) + idle * max(at_s - ended_s, 0.0)

    ticks = [0.007 + tick_s * i for i in range(round(1.6 / tick_s))]
    changes = [Change(t - 0.001, t, joules(t - 0.0005 - lag_s)) for t in ticks]
    assert crossing_s(changes, ended_s) == pytest.approx(lag_s, abs=0.002)


def test_a_faint_load_crosses_nowhere() -> None:
    changes = [Change(t / 20, t / 20, 100.0 * t / 20) for t in range(1, 30)]
    assert crossing_s(changes, 0.6) is None
    assert crossing_s(changes[:2], 0.6) is None


def test_who_is_on_the_card() -> None:
    ours, theirs = GpuProcess(7, 100), GpuProcess(8, 200)
    assert others([], 7) == 0
    assert others([ours], 7) == 0 and others([ours, theirs], 7) == 1
    assert others([theirs], 7) == 0 and others([theirs, GpuProcess(9, None)], 7) == 1
    assert own_memory([ours, theirs], 7, 1) == 100
    assert own_memory([theirs], 7, 1) == 200
    assert own_memory([GpuProcess(7, None)], 7, 1) == 1 + CONTEXT_BYTES
