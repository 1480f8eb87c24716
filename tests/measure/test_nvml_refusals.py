"""Every failure that the fake driver plays ends in the right typed refusal, and timing goes on."""

from __future__ import annotations

import math
import sys
from typing import Any

import pytest

from measure import nvml
from measure.meter import NoMeter
from tests.fake_nvml import fake_driver as fake
from tests.measure.nvml_rig import WAVEFORMS, Rig


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"no_driver": 1}, "Driver Not Loaded"),
        ({"no_counter": 1}, "energy counter: Not Supported"),
        ({"no_permission": 1}, "energy counter: Insufficient Permissions"),
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


def test_no_nvml_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """No fake here: pynvml looks for the library as it does on a machine without NVIDIA's driver."""
    import pynvml

    def not_there(name: str) -> None:
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(pynvml, "nvmlLib", None)
    monkeypatch.setattr(pynvml, "CDLL", not_there)
    refusal = nvml.open_gpu(fake.UUID, own_bytes=lambda: 0).end().refusal
    assert refusal == {
        "kind": "unavailable",
        "reason": "NVML could not start NVML: NVML Shared Library Not Found",
    }


def test_no_pynvml(driver: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    opened = nvml.open_gpu(fake.UUID, own_bytes=lambda: 0)
    assert "nvidia-ml-py" in opened.end().refusal["reason"]  # type: ignore[index]


FAILURES: list[tuple[dict[str, float], str, str]] = [
    ({"vanish_at_s": 0}, "unavailable", "GPU is lost"),
    ({"no_counter": 1}, "unavailable", "Not Supported"),
    ({"no_permission": 1}, "unavailable", "Insufficient Permissions"),
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


@pytest.mark.parametrize(
    "settings",
    [
        {"host_pids": 1},  # a container: our process is there under a PID that we do not know
        {"own_listed": 0},  # a container that hides it
        {"no_process_list": 1},  # WSL2
        {"no_process_permission": 1},  # a container that may not ask
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


def test_company_before_any_context_of_ours(driver: Any) -> None:
    """Without a context of our own nobody on the card can be us, under whatever PID."""
    driver.configure(virtual=1, own_listed=0, own_bytes=0, **WAVEFORMS["load"])
    clock = fake.VirtualClock(driver)
    opened = nvml.open_gpu(fake.UUID, own_bytes=None, clock=clock)
    for settings, company in (
        ({}, None),
        ({"other_processes": 1}, "1 other"),
        ({"foreign_bytes": 8e8}, "GiB"),
    ):
        for key, value in {"other_processes": 0, "foreign_bytes": 0, **settings}.items():
            driver.set(key, value)
        opened.begin()
        clock.sleep(3)
        energy = opened.end()
        assert (energy.company is None) if company is None else company in str(energy.company)


def test_readings_that_disagree(driver: Any) -> None:
    """As once seen on a card: 187 J by the counter, 327 J by sampled power."""
    rig = Rig(driver, sensor_gain=327 / 187)
    kind, reason = rig.refusal()
    assert kind == "unresolved" and "disagree" in reason
    energy, true_joules = rig.window()
    assert energy.agreement == reason or "disagree" in str(energy.agreement)
    assert energy.second_joules == pytest.approx(true_joules * 327 / 187, rel=0.02)
    driver.set("sensor_gain", 1)
    rig.assert_measures()


@pytest.mark.parametrize("seconds", [0.0, 0.01, 0.15])
def test_a_window_too_short(driver: Any, seconds: float) -> None:
    kind, reason = Rig(driver, tick_s=0.1).refusal(seconds=seconds)
    assert kind == "unresolved" and "too short" in reason


def test_end_without_begin(driver: Any) -> None:
    rig = Rig(driver)
    refusal = rig.meter.end().refusal
    assert refusal is not None and "no window" in refusal["reason"]


def test_nothing_leaves_the_opening(driver: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    held = driver.users()
    monkeypatch.setattr(nvml, "study", lambda *_: 1 / 0)
    kind, reason = Rig(driver).refusal()
    assert kind == "unavailable" and "ZeroDivisionError" in reason
    assert driver.users() == held


def test_nothing_leaves_begin_and_end(driver: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig(driver)
    monkeypatch.setattr(nvml, "next_change", lambda *_: 1 / 0)
    kind, reason = rig.refusal()
    assert kind == "unavailable" and "ZeroDivisionError" in reason
