"""The NVIDIA meter's joules against the fake driver's known power: errors, budgets, the second reading, the device."""

from __future__ import annotations

import random
from typing import Any

import pytest

from measure import nvml
from tests.fake_nvml import fake_driver as fake
from tests.measure.nvml_rig import OWN_BYTES, TICKS_S, WAVEFORMS, Rig


@pytest.mark.parametrize("jitter", [0.0, 0.1])
@pytest.mark.parametrize("tick_s", TICKS_S)
@pytest.mark.parametrize("waveform", WAVEFORMS)
def test_joules_lie_within_the_stated_error(driver: Any, waveform: str, tick_s: float, jitter: float) -> None:
    """Windows of 5 s at random phases: at least 99 of 100 hold the truth, and each states at most 1 %."""
    rig = Rig(driver, tick_s=tick_s, tick_jitter=jitter, **WAVEFORMS[waveform])
    chance = random.Random(f"{waveform} {tick_s} {jitter}")
    within, biases = 0, []
    for _ in range(100):
        rig.clock.sleep(chance.random())
        energy, true_joules = rig.window(5 + chance.random() * tick_s)
        assert energy.joules is not None, energy.refusal
        assert energy.error_joules is not None and energy.budget is not None
        within += abs(energy.joules - true_joules) <= energy.error_joules
        biases.append((energy.joules - true_joules) / true_joules)
        assert energy.error_joules <= 0.01 * energy.joules
        assert sum(energy.budget.values()) == pytest.approx(energy.error_joules)
    assert within >= 99
    assert abs(sum(biases) / len(biases)) < 0.0015  # errors of single windows do not pile up


@pytest.mark.parametrize("tick_s", TICKS_S)
@pytest.mark.parametrize("waveform", WAVEFORMS)
def test_short_windows_state_what_they_are_worth(driver: Any, waveform: str, tick_s: float) -> None:
    """Windows of about a second: the truth is held as often, or the energy is refused for its error."""
    rig = Rig(driver, tick_s=tick_s, **WAVEFORMS[waveform])
    chance = random.Random(f"{waveform} {tick_s}")
    held = []
    for _ in range(100):
        rig.clock.sleep(chance.random())
        energy, true_joules = rig.window(0.7 + chance.random())
        if energy.joules is None:
            assert energy.refusal is not None and "too short" in energy.refusal["reason"]
            continue
        assert energy.error_joules is not None
        held.append(abs(energy.joules - true_joules) <= energy.error_joules)
    assert sum(held) >= 0.99 * len(held) and len(held) >= 40


def test_the_budget_names_its_sources(driver: Any) -> None:
    budget = Rig(driver, **WAVEFORMS["load"]).assert_measures().budget
    assert budget is not None and set(budget) == {"opening_edge", "closing_edge", "counter_step"}
    assert budget["counter_step"] == 0.002
    budget = Rig(driver, lag=True, **WAVEFORMS["load"]).assert_measures().budget
    assert budget is not None and set(budget) == {"opening_edge", "closing_edge", "counter_step", "lag"}


def test_the_closing_edge_grows_with_the_tick(driver: Any) -> None:
    edges = []
    for tick_s in TICKS_S:
        budget = Rig(driver, tick_s=tick_s, **WAVEFORMS["load"]).assert_measures().budget
        assert budget is not None
        edges.append(budget["closing_edge"])
    assert edges == sorted(edges)


@pytest.mark.parametrize("tick_s", TICKS_S)
@pytest.mark.parametrize("lag_s", [0.0, 0.02, 0.08])
def test_a_counter_that_lags(driver: Any, lag_s: float, tick_s: float) -> None:
    """The lag is learned from a load of the card, and its share in the error holds what it misplaces."""
    rig = Rig(driver, tick_s=tick_s, counter_lag_s=lag_s, lag=True, **WAVEFORMS["load"])
    chance = random.Random(f"{lag_s} {tick_s}")
    within, errors = 0, []
    for _ in range(50):
        rig.clock.sleep(0.3 + chance.random())
        energy, true_joules = rig.window(5 + chance.random() * tick_s)
        assert energy.joules is not None and energy.error_joules is not None, energy.refusal
        assert energy.budget is not None
        within += abs(energy.joules - true_joules) <= energy.error_joules
        assert energy.budget["lag"] == pytest.approx(lag_s * 352, abs=2 + 0.1 * lag_s * 352)
        errors.append((energy.joules - true_joules) / true_joules)
    assert within == 50
    assert sum(errors) / 50 == pytest.approx(-lag_s / 2 * 410 / 2500, abs=0.0015)  # half of it is corrected


def test_work_right_before_a_window_is_not_counted_into_it(driver: Any) -> None:
    """A counter that lags still tells of earlier work when the window is asked for."""
    rig = Rig(driver, tick_s=0.02, counter_lag_s=0.08, lag=True, **WAVEFORMS["load"])
    for _ in range(20):
        rig.load(0.5)
        rig.assert_measures()


def test_an_unlearned_lag_would_not_be_held(driver: Any) -> None:
    """What the lag's share is for: without it the same windows lie outside of their error."""
    rig = Rig(driver, tick_s=0.02, counter_lag_s=0.08, **WAVEFORMS["load"])
    rig.clock.sleep(1)
    energy, true_joules = rig.window()
    assert energy.joules is not None and energy.error_joules is not None
    assert abs(energy.joules - true_joules) > energy.error_joules


def test_a_load_that_does_not_show_leaves_the_lag_unknown(driver: Any) -> None:
    budget = Rig(driver, lag=True, **WAVEFORMS["constant"]).assert_measures().budget
    assert budget is not None and "lag" not in budget


def test_a_counter_that_slows_down(driver: Any) -> None:
    """The error grows to what a tick of unknown length leaves open, and still holds the truth."""
    rig = Rig(driver, tick_s=0.02, tick_phase_s=0)
    rig.meter.begin()
    begun_s = driver.now()
    rig.clock.sleep(5 - driver.now() % 0.5 + 0.01)  # where both ticks stand at the same energy
    driver.set("tick_s", 0.5)
    closed_s = driver.now()
    energy = rig.meter.end()
    assert energy.joules is not None and energy.error_joules is not None, energy.refusal
    assert abs(energy.joules - driver.joules(begun_s, closed_s)) <= energy.error_joules
    assert energy.error_joules > 0.01 * energy.joules


@pytest.mark.parametrize(("at_rest_s", "loaded_s"), [(0.1, 0.02), (0.02, 0.1)])
def test_a_counter_that_ticks_otherwise_under_load(driver: Any, at_rest_s: float, loaded_s: float) -> None:
    """Its tick is studied at rest and under load; windows hold the truth whichever it ends in."""
    driver.configure(virtual=1, tick_s=at_rest_s, **WAVEFORMS["load"])
    rig = Rig.__new__(Rig)
    rig.driver, rig.clock = driver, fake.VirtualClock(driver)

    def load(seconds: float) -> None:
        driver.load(True)
        driver.set("tick_s", loaded_s)
        rig.clock.sleep(seconds)
        driver.set("tick_s", at_rest_s)
        driver.load(False)

    rig.meter = nvml.open_gpu(fake.UUID, own_bytes=lambda: OWN_BYTES, clock=rig.clock, load=load)
    chance = random.Random(f"{at_rest_s}")
    for _ in range(30):
        rig.clock.sleep(0.5 + chance.random())
        rig.meter.begin()
        begun_s = driver.now()
        load(5 + chance.random() * 0.1)
        closed_s = driver.now()
        energy = rig.meter.end()
        assert energy.joules is not None and energy.error_joules is not None, energy.refusal
        assert abs(energy.joules - driver.joules(begun_s, closed_s)) <= energy.error_joules


@pytest.mark.parametrize("call_s", [0.001, 0.005])
def test_a_driver_whose_calls_take_long(driver: Any, call_s: float) -> None:
    """Milliseconds a call, as where each goes to the card: the edges are known less well, and the error says so."""
    rig = Rig(driver, tick_s=0.1, call_s=call_s, lag=True, **WAVEFORMS["load"])
    chance = random.Random(f"{call_s}")
    for _ in range(30):
        rig.clock.sleep(chance.random())
        energy, true_joules = rig.window(5 + 0.1 * chance.random())
        assert energy.joules is not None and energy.error_joules is not None, energy.refusal
        assert abs(energy.joules - true_joules) <= energy.error_joules <= 0.02 * energy.joules


@pytest.mark.parametrize("waveform", ["constant", "load"])
@pytest.mark.parametrize("has_instant", [1, 0])
def test_the_second_reading_is_integrated_power(driver: Any, waveform: str, has_instant: int) -> None:
    energy, true_joules = Rig(driver, has_instant=has_instant, **WAVEFORMS[waveform]).window()
    assert energy.second_joules == pytest.approx(true_joules, rel=0.03)
    assert energy.second_joules != energy.joules and energy.agreement is None


def test_the_second_reading_is_independent(driver: Any) -> None:
    """A sensor that reads 8 % more moves the second reading, and not the first."""
    energy, true_joules = Rig(driver, sensor_gain=1.08, **WAVEFORMS["constant"]).window()
    assert energy.joules == pytest.approx(true_joules, rel=0.002)
    assert energy.second_joules == pytest.approx(1.08 * true_joules, rel=0.002)


def test_a_window_with_too_few_power_samples_is_not_checked(driver: Any) -> None:
    """0.8 s hold no mean over a second: there is no second reading, and the energy says so by its absence."""
    energy, true_joules = Rig(driver, has_instant=0, tick_s=0.02, **WAVEFORMS["load"]).window(seconds=0.8)
    assert energy.second_joules is None and energy.agreement is None
    assert energy.joules == pytest.approx(true_joules, rel=0.05)


def test_the_device_is_told(driver: Any) -> None:
    rig = Rig(driver, sm_hz=1.2e9, memory_hz=3.2e9, celsius=61, power_limit_watts=650)
    energy, _ = rig.window(halfway={"sm_hz": 1.8e9, "celsius": 64, "clock_reasons": 0x4})
    state = energy.device_state
    assert state is not None
    assert state["sm_clock_hz"] == pytest.approx(1.5e9, rel=0.03)
    assert state["memory_clock_hz"] == pytest.approx(3.2e9)
    assert state["temperature_celsius"] == 64
    assert state["power_limit_watts"] == 650
    assert state["at_power_limit_share"] == pytest.approx(0.5, abs=0.05)
    assert state["slowdowns"] == [] and energy.slowdowns == ()


def test_an_old_driver_tells_what_it_knows(driver: Any) -> None:
    energy, _ = Rig(driver, old_driver=1, celsius=55).window()
    assert energy.device_state is not None and energy.device_state["temperature_celsius"] == 55


@pytest.mark.parametrize(
    ("reasons", "words"),
    [
        (0x8, "hardware slowdown"),
        (0x20, "too hot"),
        (0x40, "too hot"),
        (0x80, "power brake"),
        (0x10, "another GPU"),
    ],
)
def test_slowdowns_are_told_and_their_joules_stand(driver: Any, reasons: int, words: str) -> None:
    """The joules are right for the window as it ran; that its time does not count is a gate's decision."""
    energy, true_joules = Rig(driver).window(halfway={"clock_reasons": reasons})
    assert energy.joules == pytest.approx(true_joules, rel=0.01) and energy.refusal is None
    assert len(energy.slowdowns) == 1 and words in energy.slowdowns[0]
    assert energy.device_state is not None and energy.device_state["slowdowns"] == list(energy.slowdowns)


def test_slowdowns_between_two_looks_are_counted_by_the_driver(driver: Any) -> None:
    assert Rig(driver).window(halfway={"slowed_s": 0.06})[0].slowdowns == ("too hot (driver)",)
    assert Rig(driver, slowed_s=60).window(halfway={"slowed_s": 60.02})[0].slowdowns == ()


def test_working_at_the_power_limit_is_not_throttling(driver: Any) -> None:
    rig = Rig(driver, clock_reasons=0x4 | 0x1 | 0x2)  # power cap, idle, clocks set by the user
    energy = rig.assert_measures()
    assert energy.slowdowns == ()
    assert energy.device_state is not None and energy.device_state["at_power_limit_share"] == 1
