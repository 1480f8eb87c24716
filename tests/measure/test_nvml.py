"""The energy meter against the fake driver, whose true energy is known: errors, refusals, and that timing goes on."""

from __future__ import annotations

import json
import math
import os
import random
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from measure import meter, nvml
from measure.meter import Energy, Meter, NoMeter
from measure.nvml_company import CONTEXT_BYTES, others, own_memory
from measure.nvml_driver import GpuProcess
from measure.nvml_edges import (
    Change,
    Closing,
    Joules,
    PowerRange,
    PowerSample,
    Tick,
    closing_part,
    disagreement,
    integrate,
    lost_tick,
    tick_of,
)
from tests.fake_nvml import fake_driver as fake

OWN_BYTES = 3_000_000_000
"""As fake_nvml.c's own_bytes."""
WAVEFORMS: dict[str, dict[str, float]] = {
    "constant": {"waveform": 0, "high_watts": 350},
    "steps": {"waveform": 1, "low_watts": 150, "high_watts": 600, "period_s": 0.7},
    "ramp": {"waveform": 2, "low_watts": 150, "high_watts": 600, "period_s": 0.9},
    "spikes": {"waveform": 3, "low_watts": 300, "high_watts": 900, "period_s": 0.137, "duty": 0.02},
    "load": {"waveform": 4, "low_watts": 90, "high_watts": 500},
}
TICKS_S = (0.02, 0.05, 0.1)


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fake.build(tmp_path_factory.mktemp("fake_nvml"))


@pytest.fixture
def driver(library: Path) -> Iterator[Any]:
    """The fake driver inside pynvml, on virtual time."""
    driver = fake.FakeDriver(library)
    driver.configure(virtual=1)
    with fake.installed(driver):
        yield driver


class Rig:
    """A meter on the fake card, and windows on it."""

    def __init__(self, driver: Any, **settings: float) -> None:
        driver.configure(virtual=1, **settings)
        self.driver = driver
        self.clock = fake.VirtualClock(driver)
        self.meter: Meter = nvml.open_gpu(fake.UUID, own_bytes=lambda: OWN_BYTES, clock=self.clock)

    def window(self, seconds: float = 5.0, halfway: dict[str, float] | None = None) -> tuple[Energy, float]:
        """(what the meter says, the true joules) of a window; `halfway` are settings changed in its middle."""
        self.meter.begin()
        begun_s = self.driver.now()
        self.driver.load(True)
        self.clock.sleep(seconds / 2)
        for key, value in (halfway or {}).items():
            self.driver.set(key, value)
        self.clock.sleep(seconds / 2)
        closed_s = self.driver.now()
        self.driver.load(False)
        return self.meter.end(), self.driver.joules(begun_s, closed_s)

    def refusal(self, **window: Any) -> tuple[str, str]:
        """(kind, reason) of a window that must be refused."""
        energy, _ = self.window(**window)
        assert energy.joules is None and energy.error_joules is None
        assert energy.refusal is not None
        return energy.refusal["kind"], energy.refusal["reason"]

    def assert_measures(self) -> None:
        """A window now gives an energy within its error."""
        energy, true_joules = self.window()
        assert energy.joules is not None, energy.refusal
        assert energy.error_joules is not None
        assert abs(energy.joules - true_joules) <= energy.error_joules


@pytest.mark.parametrize("jitter", [0.0, 0.1])
@pytest.mark.parametrize("tick_s", TICKS_S)
@pytest.mark.parametrize("waveform", WAVEFORMS)
def test_joules_lie_within_the_stated_error(driver: Any, waveform: str, tick_s: float, jitter: float) -> None:
    rig = Rig(driver, tick_s=tick_s, tick_jitter=jitter, **WAVEFORMS[waveform])
    chance = random.Random(f"{waveform} {tick_s} {jitter}")
    within, biases = 0, []
    for _ in range(100):
        rig.clock.sleep(chance.random())
        energy, true_joules = rig.window(5 + chance.random() * tick_s)
        assert energy.joules is not None, energy.refusal
        assert energy.error_joules is not None
        within += abs(energy.joules - true_joules) <= energy.error_joules
        biases.append((energy.joules - true_joules) / true_joules)
        assert jitter or energy.error_joules <= 0.01 * energy.joules
    assert within >= 99
    assert abs(sum(biases) / len(biases)) < 0.0015  # errors of single windows do not pile up


@pytest.mark.parametrize("tick_s", TICKS_S)
def test_describe_tells_what_the_counter_is(driver: Any, tick_s: float) -> None:
    told = Rig(driver, tick_s=tick_s, **WAVEFORMS["load"]).meter.describe()
    assert told["kind"] == "nvml" and told["refusal"] is None
    assert told["tick_s"] == pytest.approx(tick_s, rel=0.01)
    assert told["idle_watts_after_context"] == pytest.approx(90, rel=0.005)
    assert told["idle_watts_before_context"] is None


def test_idle_watts_needs_no_meter(driver: Any) -> None:
    driver.configure(virtual=1, **WAVEFORMS["load"])
    clock, held = fake.VirtualClock(driver), driver.users()
    assert nvml.idle_watts(fake.UUID, 1.0, clock) == pytest.approx(90, rel=0.005)
    driver.set("no_counter", 1)
    assert nvml.idle_watts(fake.UUID, 1.0, clock) is None
    assert driver.users() == held


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"no_driver": 1}, "Driver Not Loaded"),
        ({"no_counter": 1}, "energy counter: Not Supported"),
        ({"mig": 1}, "MIG"),
        ({"vgpu": 1}, "vGPU"),
        ({"stuck_at_s": 0.3}, "stuck"),
        ({"backwards_at_s": 0.3}, "backwards"),
        ({"vanish_at_s": 0.3}, "GPU is lost"),
    ],
)
def test_no_meter_says_why(driver: Any, settings: dict[str, float], words: str) -> None:
    held = driver.users()  # by the meters of other tests
    rig = Rig(driver, **settings)
    assert isinstance(rig.meter, NoMeter)
    kind, reason = rig.refusal()
    assert kind == "unavailable" and words in reason
    assert rig.meter.describe() == {"kind": "none", "refusal": {"kind": kind, "reason": reason}}
    driver.set("vanish_at_s", math.inf)
    assert driver.users() == held, "NVML was not given back"


@pytest.mark.parametrize(("uuid", "words"), [("GPU-not-there", "Not Found"), ("MIG-fa4e", "Not Found")])
def test_a_gpu_that_nvml_does_not_know(driver: Any, uuid: str, words: str) -> None:
    opened = nvml.open_gpu(uuid, own_bytes=lambda: 0, clock=fake.VirtualClock(driver))
    assert isinstance(opened, NoMeter)
    assert words in opened.end().refusal["reason"]  # type: ignore[index]


def test_no_pynvml(driver: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    opened = nvml.open_gpu(fake.UUID, own_bytes=lambda: 0)
    assert "nvidia-ml-py" in opened.end().refusal["reason"]  # type: ignore[index]


FAILURES: list[tuple[dict[str, float], str, str]] = [
    ({"vanish_at_s": 0}, "unavailable", "GPU is lost"),
    ({"no_counter": 1}, "unavailable", "Not Supported"),
    ({"other_processes": 1}, "contaminated", "1 other process computed"),
    ({"other_processes": 3}, "contaminated", "3 other processes computed"),
    ({"foreign_bytes": 2e9}, "contaminated", "2.0 GiB"),
]


@pytest.mark.parametrize(("settings", "kind", "words"), FAILURES)
@pytest.mark.parametrize("when", ["before", "during"])
def test_failures_are_refused_and_timing_goes_on(
    driver: Any, settings: dict[str, float], kind: str, words: str, when: str
) -> None:
    rig = Rig(driver)
    rig.assert_measures()
    if when == "before":
        for key, value in settings.items():
            driver.set(key, value)
        refused = rig.refusal()
    else:
        refused = rig.refusal(halfway=settings)
    assert refused[0] == kind and words in refused[1], refused
    for key in settings:
        driver.set(key, 1e18 if key == "vanish_at_s" else 0)
    rig.assert_measures()


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


def test_a_counter_that_goes_backwards(driver: Any) -> None:
    rig = Rig(driver)
    kind, reason = rig.refusal(halfway={"backwards_at_s": 0})
    assert kind == "unavailable" and "backwards" in reason
    rig.assert_measures()  # it counts on from where it is


def test_a_counter_that_sticks(driver: Any) -> None:
    rig = Rig(driver)
    rig.meter.begin()
    rig.clock.sleep(3)
    driver.set("stuck_at_s", driver.now())
    rig.clock.sleep(2)
    refusal = rig.meter.end().refusal
    assert refusal is not None and refusal["kind"] == "unavailable" and "stuck" in refusal["reason"]
    assert "stuck" in rig.refusal()[1]
    driver.set("stuck_at_s", 1e18)
    rig.assert_measures()


def test_a_contender_that_came_and_went(driver: Any) -> None:
    rig = Rig(driver)
    rig.meter.begin()
    rig.clock.sleep(2)
    driver.set("other_processes", 1)
    rig.clock.sleep(1)
    driver.set("other_processes", 0)
    rig.clock.sleep(2)
    refusal = rig.meter.end().refusal
    assert refusal is not None and refusal["kind"] == "contaminated"


def test_working_at_the_power_limit_is_not_throttling(driver: Any) -> None:
    rig = Rig(driver, clock_reasons=0x4 | 0x1 | 0x2)  # power cap, idle, clocks set by the user
    rig.assert_measures()


@pytest.mark.parametrize(
    "settings",
    [
        {"host_pids": 1},  # a container: our process is there under a PID that we do not know
        {"own_listed": 0},  # a container that hides it
        {"no_process_list": 1},  # WSL2
        {"own_bytes": -3e9},  # the driver does not say what each process holds
        {"has_instant": 0},  # an older driver: power is the mean of a second
    ],
)
def test_what_is_not_told_is_no_refusal(driver: Any, settings: dict[str, float]) -> None:
    rig = Rig(driver, **WAVEFORMS["load"], **settings)
    rig.assert_measures()
    driver.set("foreign_bytes", 4e9)
    assert rig.refusal()[0] == "contaminated"


def test_a_contender_in_a_container(driver: Any) -> None:
    assert Rig(driver, host_pids=1, other_processes=1).refusal()[0] == "contaminated"


def test_readings_that_disagree(driver: Any) -> None:
    """As once seen on a card: 187 J by the counter, 327 J by sampled power."""
    rig = Rig(driver, sensor_gain=327 / 187)
    kind, reason = rig.refusal()
    assert kind == "unresolved" and "disagree" in reason
    driver.set("sensor_gain", 1)
    rig.assert_measures()


@pytest.mark.parametrize("seconds", [0.0, 0.01, 0.15])
def test_a_window_too_short(driver: Any, seconds: float) -> None:
    kind, reason = Rig(driver, tick_s=0.1).refusal(seconds=seconds)
    assert kind == "unresolved" and "too short" in reason


def test_a_counter_that_slows_down(driver: Any) -> None:
    rig = Rig(driver, tick_s=0.02, tick_phase_s=0)
    rig.meter.begin()
    rig.clock.sleep(5 - driver.now() % 0.5 + 0.01)  # where both ticks stand at the same energy
    driver.set("tick_s", 0.5)
    refusal = rig.meter.end().refusal
    assert refusal is not None and refusal["kind"] == "unresolved" and "lost its tick" in refusal["reason"]


def test_end_without_begin(driver: Any) -> None:
    rig = Rig(driver)
    refusal = rig.meter.end().refusal
    assert refusal is not None and "no window" in refusal["reason"]


def test_begin_twice_opens_one_window(driver: Any) -> None:
    rig = Rig(driver)
    rig.meter.begin()
    rig.clock.sleep(1)
    rig.assert_measures()


def test_nothing_leaves_begin_and_end(driver: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig(driver)
    monkeypatch.setattr(nvml, "_next_change", lambda *_: 1 / 0)
    kind, reason = rig.refusal()
    assert kind == "unavailable" and "ZeroDivisionError" in reason


def test_the_device_is_found_by_uuid(driver: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "synchronize", lambda device: None)
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda device: OWN_BYTES)
    facts = types.SimpleNamespace(uuid=fake.UUID.removeprefix("GPU-"))
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: facts)
    monkeypatch.setattr(nvml, "WallClock", lambda: fake.VirtualClock(driver))
    assert meter.open_meter(torch.device("cuda", 3)).describe()["kind"] == "nvml"
    told = nvml.open_meter(torch.device("cuda", 3), idle_watts_before_context=71.5).describe()
    assert told["idle_watts_before_context"] == 71.5


REAL_TIME = """
import json, time
from measure import nvml
meter = nvml.open_gpu({uuid!r}, own_bytes=lambda: 3_000_000_000)
seen = []
for _ in range(3):
    meter.begin()
    begun_s = time.perf_counter()
    while time.perf_counter() < begun_s + 1.0:
        pass
    closed_s = time.perf_counter()
    energy = meter.end()
    seen.append([energy.joules, energy.error_joules, 350 * (closed_s - begun_s), energy.refusal])
print(json.dumps([meter.describe(), seen]))
"""


def test_in_real_time_as_pynvml_finds_its_library(library: Path) -> None:
    """No hand of ours in pynvml: its library comes from the loader's path, the thread and the clock are real."""
    environment = os.environ | {
        "LD_LIBRARY_PATH": str(library.parent),
        "FAKE_NVML": "high_watts=350,tick_s=0.02",
        "PYTHONPATH": str(Path(__file__).resolve().parents[2]),
    }
    done = subprocess.run(
        [sys.executable, "-c", REAL_TIME.format(uuid=fake.UUID)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told, seen = json.loads(done.stdout)
    assert told["tick_s"] == pytest.approx(0.02, rel=0.05)
    for joules, error, true_joules, refusal in seen:
        assert joules is not None, refusal
        assert abs(joules - true_joules) <= error


# ---- the fake driver itself ----


@pytest.mark.parametrize("waveform", WAVEFORMS)
def test_the_fake_drivers_energy_is_the_integral_of_its_power(driver: Any, waveform: str) -> None:
    driver.configure(virtual=1, **WAVEFORMS[waveform])
    for on in (True, False, True):
        driver.advance(0.31)
        driver.load(on)
    step_s = 1e-4
    sums = math.fsum(driver.watts(0.2 + (i + 0.5) * step_s) * step_s for i in range(20_000))
    assert driver.joules(0.2, 2.2) == pytest.approx(sums, rel=1e-3)


def test_the_fake_driver_knows_its_settings(driver: Any, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(AssertionError, match="tick_ms"):
        driver.configure(tick_ms=20)
    assert "no setting 'tick_ms'" in capfd.readouterr().err


# ---- arithmetic ----

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
    part = closing_part(TICK, closing, PowerRange(100, 600), PowerRange(60, 600), mean)
    assert abs(part.value - before * a) <= part.error + 1e-9


def test_power_beyond_its_range_leaves_the_ticks_own_energy() -> None:
    closing = Closing(0.05, 0.05, 0.0, Change(0.1, 0.1, 70.0))  # 700 W, where 100 to 110 W were seen
    seen = PowerRange(100, 110)
    part = closing_part(TICK, closing, seen, seen, 105)
    assert part.value - part.error <= 0.0 + 1e-9 and part.value + part.error >= 70.0 - 1e-9


def test_a_tick_between_the_closing_and_the_read_is_taken_off() -> None:
    """The counter moved 1 ms after the closing, before it was read: that millisecond's energy is not ours."""
    closing = Closing(0.0, 0.002, 50.0, Change(0.101, 0.101, 80.0))
    part = closing_part(TICK, closing, PowerRange(299, 301), PowerRange(290, 310), 300)
    assert part.value == pytest.approx(-0.3) and part.error < 0.02


def test_a_held_up_reader_does_not_change_the_tick() -> None:
    times = [0.1 * i for i in range(12)]
    changes = [Change(t - 0.0001, t, t) for t in times]
    changes[5] = Change(0.5, 0.53, 0.5)  # seen 30 ms late
    tick = tick_of(changes)
    assert tick.period_s == pytest.approx(0.1) and tick.jitter_s < 0.001


def test_a_lost_tick_is_told() -> None:
    assert lost_tick(TICK, Closing(0.0, 0.0, 0.0, Change(0.09, 0.1, 1.0))) is None
    assert lost_tick(TICK, Closing(0.0, 0.0, 0.0, Change(0.2, 0.21, 1.0))) is not None


@given(slope=st.floats(-50, 50), count=st.integers(2, 50))
def test_a_line_is_integrated_exactly(slope: float, count: int) -> None:
    samples = [PowerSample(i / (count - 1), 100 + slope * i / (count - 1)) for i in range(count)]
    assert integrate(samples, 0.0, 1.0) == pytest.approx(100 + slope / 2)


@pytest.mark.parametrize(
    ("gain", "agrees"), [(1.0, True), (1.09, True), (0.92, True), (1.13, False), (0.87, False)]
)
def test_agreement_has_a_budget(gain: float, agrees: bool) -> None:
    samples = [PowerSample(i * 0.025, 300.0 * gain) for i in range(201)]
    doubt = disagreement(Joules(1500.0, 5.0), samples, 0.0, 5.0, 0.0)
    assert (doubt is None) is agrees, doubt


def test_scatter_does_not_excuse_everything() -> None:
    samples = [PowerSample(i * 0.5, 100.0 if i % 2 else 900.0) for i in range(11)]
    assert disagreement(Joules(800.0, 5.0), samples, 0.0, 5.0, 1.0) is not None


def test_too_few_samples_are_no_check() -> None:
    assert "could not be checked" in str(
        disagreement(Joules(10.0, 0.1), [PowerSample(0.1, 10)], 0.0, 1.0, 0.0)
    )


def test_who_is_on_the_card() -> None:
    ours, theirs = GpuProcess(7, 100), GpuProcess(8, 200)
    assert others([], 7) == 0
    assert others([ours], 7) == 0 and others([ours, theirs], 7) == 1
    assert others([theirs], 7) == 0 and others([theirs, GpuProcess(9, None)], 7) == 1
    assert own_memory([ours, theirs], 7, 1) == 100
    assert own_memory([theirs], 7, 1) == 200
    assert own_memory([GpuProcess(7, None)], 7, 1) == 1 + CONTEXT_BYTES
