"""The NVIDIA meter from outside: which card it opens, what it says of itself, idle power, real time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest
import torch

from measure import meter, nvml
from measure.meter import NoMeter
from tests.fake_nvml import fake_driver as fake
from tests.measure.nvml_rig import OWN_BYTES, TICKS_S, WAVEFORMS, Rig


@pytest.mark.parametrize("tick_s", TICKS_S)
def test_describe_tells_what_the_counter_is(driver: Any, tick_s: float) -> None:
    told = Rig(driver, tick_s=tick_s, **WAVEFORMS["load"]).meter.describe()
    assert told["kind"] == "nvml" and told["refusal"] is None
    assert told["tick_s"] == pytest.approx(tick_s, rel=0.01)
    assert told["idle_watts_after_context"] == pytest.approx(90, rel=0.005)
    assert told["idle_watts_before_context"] is None
    assert told["domains"] == ["GPU with its memory and circuits"]
    assert told["gain_error_share"] == 0.05
    assert told["second_reading"].startswith("instant power")


def test_describe_tells_which_power_is_sampled(driver: Any) -> None:
    assert "averaged" in Rig(driver, has_instant=0).meter.describe()["second_reading"]


def test_idle_watts_needs_no_meter(driver: Any) -> None:
    driver.configure(virtual=1, **WAVEFORMS["load"])
    clock, held = fake.VirtualClock(driver), driver.users()
    assert nvml.idle_watts(fake.UUID, 1.0, clock) == pytest.approx(90, rel=0.005)
    driver.set("no_counter", 1)
    assert nvml.idle_watts(fake.UUID, 1.0, clock) is None
    assert driver.users() == held


def test_begin_twice_opens_one_window(driver: Any) -> None:
    rig = Rig(driver)
    rig.meter.begin()
    rig.clock.sleep(1)
    rig.assert_measures()


# ---- which card ----


@pytest.fixture
def torch_sees(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Let torch have CUDA devices with these UUIDs, in this order."""

    def see(*uuids: str) -> None:
        facts = [types.SimpleNamespace(uuid=uuid) for uuid in uuids]
        monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: facts[device.index])
        monkeypatch.setattr(torch.cuda, "synchronize", lambda device: None)
        monkeypatch.setattr(torch.cuda, "memory_reserved", lambda device: OWN_BYTES)
        monkeypatch.setattr(nvml, "_multiply_for", lambda seconds, device: None)

    return see


@pytest.mark.parametrize("idle_first", [0, 1])
def test_the_card_is_the_one_that_torch_uses(
    driver: Any, torch_sees: Any, monkeypatch: pytest.MonkeyPatch, idle_first: int
) -> None:
    """CUDA_VISIBLE_DEVICES and CUDA's own order shift indices, and NVML has an order of its own: the UUID decides."""
    driver.configure(virtual=1, idle_first=idle_first, idle_watts=40, **WAVEFORMS["load"])
    monkeypatch.setattr(nvml, "WallClock", lambda: fake.VirtualClock(driver))
    bare = [uuid.removeprefix("GPU-") for uuid in (fake.UUID, fake.IDLE_UUID)]  # as torch writes them
    torch_sees(*bare)
    busy, idle = (meter.open_meter(torch.device("cuda", i)).describe() for i in (0, 1))
    assert busy["idle_watts_after_context"] == pytest.approx(90, rel=0.01)
    assert idle["idle_watts_after_context"] == pytest.approx(40, rel=0.01)
    torch_sees(bare[1])  # CUDA_VISIBLE_DEVICES=1, or the idle card's UUID
    told = meter.open_meter(torch.device("cuda", 0), 38.5).describe()
    assert told["idle_watts_after_context"] == pytest.approx(40, rel=0.01)
    assert told["idle_watts_before_context"] == 38.5


@pytest.mark.parametrize("uuid", [fake.UUID, fake.UUID.removeprefix("GPU-")])
def test_a_uuid_needs_no_prefix(driver: Any, uuid: str) -> None:
    Rig(driver, uuid=uuid).assert_measures()


@pytest.mark.parametrize(
    "uuid",
    [
        fake.MIG_UUID,  # as CUDA_VISIBLE_DEVICES has it
        fake.MIG_UUID.removeprefix("MIG-"),  # as torch has it
        "GPU-" + fake.MIG_UUID.removeprefix("MIG-"),  # as one would write what torch has
        fake.UUID,  # the whole card, divided
    ],
)
def test_a_part_of_a_card_is_refused_under_any_of_its_names(driver: Any, uuid: str) -> None:
    kind, reason = Rig(driver, uuid=uuid, mig=1).refusal()
    assert kind == "unavailable" and "divided by MIG" in reason


@pytest.mark.parametrize("uuid", ["GPU-not-there", fake.MIG_UUID, "MIG-GPU-fa4e/1/0"])
def test_a_card_that_nvml_does_not_know(driver: Any, uuid: str) -> None:
    rig = Rig(driver, uuid=uuid)
    assert isinstance(rig.meter, NoMeter)
    kind, reason = rig.refusal()
    assert kind == "unavailable" and f"find the GPU {uuid}: Not Found" in reason


def test_older_bindings_are_enough(driver: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names that pynvml gained late may be missing where somebody else chose its version."""
    import pynvml

    for name in (
        "NVML_FI_DEV_POWER_INSTANT",
        "nvmlDeviceGetCurrentClocksEventReasons",
        "nvmlDeviceGetTemperatureV",
        "nvmlMemory_v2",
    ):
        monkeypatch.delattr(pynvml, name)
    energy = Rig(driver, celsius=58).assert_measures()
    assert energy.device_state is not None and energy.device_state["temperature_celsius"] == 58


# ---- real time ----


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


@pytest.mark.slow
def test_in_real_time_as_pynvml_finds_its_library(nvml_library: Path) -> None:
    """No hand of ours in pynvml: its library comes from the loader's path, the thread and the clock are real."""
    environment = os.environ | {
        "LD_LIBRARY_PATH": str(nvml_library.parent),
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
