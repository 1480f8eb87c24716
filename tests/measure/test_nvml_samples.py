"""Every failure that the fake driver plays, met while a small model really runs: what its sample says, and the next.

The model runs on the CPU; each of its forward passes takes half a second of the fake card's time, under load.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import jsonschema
import pynvml
import pytest
import torch
from transformers import PreTrainedModel

from measure import models, nvml
from measure.ceilings import Ceilings
from measure.meter import Meter
from measure.phases import Bench
from measure.plan import Cell
from measure.sample import sample_of
from measure.sizes import Sizes
from tests.fake_nvml import fake_driver as fake
from tests.measure.conftest import ROOT, copy_contract
from tests.measure.nvml_rig import OWN_BYTES

CPU = torch.device("cpu")
PASS_S = 0.5
STEPS = 10
DECODE = Cell("decode", 1, None, 16, "float32", "eager")
LOAD = {"waveform": 4, "low_watts": 90, "high_watts": 500}
Settings = dict[str, float]


@dataclass(frozen=True)
class Failure:
    """What happens, and what must come of it."""

    name: str
    at_start: Settings = field(default_factory=dict)
    """The card's settings when the meter is opened."""
    midway: Settings = field(default_factory=dict)
    """Settings that change in the middle of the window; "now" stands for the time by then."""
    energy: tuple[str, str] | None = None
    """Kind and words of the energy's refusal; None: there is an energy."""
    sample: tuple[str, str] | None = None
    """Kind and words of the sample's refusal; None: its time counts."""
    gates: dict[str, str] = field(default_factory=dict)
    """What the gates must say."""
    uuid: str = fake.UUID


NOW = -1.0
NO_METER = {"company": "not_checked", "throttling": "not_checked", "energy_agreement": "not_checked"}
FAILURES = [
    Failure("nothing", gates={"throttling": "passed", "energy_agreement": "passed"}),
    # nothing to measure with, from the start
    Failure("no driver", {"no_driver": 1}, energy=("unavailable", "Driver Not Loaded"), gates=NO_METER),
    Failure(
        "no counter", {"no_counter": 1}, energy=("unavailable", "counter: Not Supported"), gates=NO_METER
    ),
    Failure("no permission", {"no_permission": 1}, energy=("unavailable", "Permission"), gates=NO_METER),
    Failure("MIG", {"mig": 1}, energy=("unavailable", "divided by MIG"), gates=NO_METER),
    Failure("part of MIG", {"mig": 1}, energy=("unavailable", "MIG"), gates=NO_METER, uuid=fake.MIG_UUID),
    Failure("vGPU", {"vgpu": 1}, energy=("unavailable", "vGPU"), gates=NO_METER),
    Failure(
        "vGPU without counter", {"vgpu": 1, "no_counter": 1}, energy=("unavailable", "vGPU"), gates=NO_METER
    ),
    Failure("stuck", {"stuck_at_s": 0.3}, energy=("unavailable", "stuck"), gates=NO_METER),
    Failure("backwards", {"backwards_at_s": 0.3}, energy=("unavailable", "backwards"), gates=NO_METER),
    Failure("gone", {"vanish_at_s": 0.3}, energy=("unavailable", "GPU is lost"), gates=NO_METER),
    Failure("unknown card", energy=("unavailable", "Not Found"), gates=NO_METER, uuid="GPU-not-there"),
    # in the middle of a window
    Failure("counter lost midway", midway={"no_counter": 1}, energy=("unavailable", "Not Supported")),
    Failure("stuck midway", midway={"stuck_at_s": NOW}, energy=("unavailable", "stuck")),
    Failure("backwards midway", midway={"backwards_at_s": NOW}, energy=("unavailable", "backwards")),
    Failure("gone midway", midway={"vanish_at_s": NOW}, energy=("unavailable", "GPU is lost")),
    Failure(
        "another process",
        midway={"other_processes": 1},
        energy=("contaminated", "1 other process computed"),
        sample=("contaminated", "1 other process computed"),
        gates={"company": "failed"},
    ),
    Failure(
        "another process in a container",
        {"host_pids": 1},
        midway={"other_processes": 1},
        energy=("contaminated", "1 other process computed"),
        sample=("contaminated", "1 other process computed"),
        gates={"company": "failed"},
    ),
    Failure(
        "memory held by another",
        midway={"foreign_bytes": 2e9},
        energy=("contaminated", "GiB of the GPU's memory"),
        sample=("contaminated", "GiB of the GPU's memory"),
        gates={"company": "failed"},
    ),
    Failure(
        "another in WSL2, which lists no processes",
        {"no_process_list": 1},
        midway={"foreign_bytes": 4e9},
        energy=("contaminated", "GiB of the GPU's memory"),
        sample=("contaminated", "GiB of the GPU's memory"),
        gates={"company": "failed"},
    ),
    Failure("WSL2, alone", {"no_process_list": 1}, gates={"throttling": "passed"}),
    Failure("no permission to list processes", {"no_process_permission": 1}, gates={"throttling": "passed"}),
    Failure(
        "too hot",
        midway={"clock_reasons": 0x40},
        sample=("contaminated", "too hot (hardware)"),
        gates={"throttling": "failed", "energy_agreement": "passed"},
    ),
    Failure(
        "too hot between two looks",
        midway={"slowed_s": 0.3},
        sample=("contaminated", "too hot (driver)"),
        gates={"throttling": "failed"},
    ),
    Failure("at its power limit", {"clock_reasons": 0x4}, gates={"throttling": "passed"}),
    Failure(
        "two readings that disagree",
        {"sensor_gain": 327 / 187},
        energy=("unresolved", "two readings disagree"),
        gates={"energy_agreement": "failed", "throttling": "passed"},
    ),
]


@pytest.fixture(scope="module")
def sizes(tmp_path_factory: pytest.TempPathFactory) -> Sizes:
    site_data: Path = copy_contract(tmp_path_factory.mktemp("samples") / "site_data")
    return Sizes.load(site_data, "tiny")


@pytest.fixture(scope="module")
def model(sizes: Sizes) -> PreTrainedModel:
    built, _ = models.build(sizes, "random", dtype=torch.float32, device=CPU, seed=1)
    return built


@pytest.fixture(scope="module")
def validator() -> Any:
    schema = json.loads((ROOT / "site_data" / "schema.json").read_text(encoding="utf-8"))
    return jsonschema.Draft202012Validator({"$defs": schema["$defs"], "$ref": "#/$defs/sample"})


class Rig:
    """The model beside the fake card; its passes take the card's time."""

    def __init__(self, driver: fake.FakeDriver, model: PreTrainedModel, sizes: Sizes) -> None:
        self.driver = driver
        self.clock = fake.VirtualClock(driver)
        self._model, self._sizes = model, sizes
        self._passes = 0
        self.midway: Callable[[], None] = lambda: None

    def open(self, uuid: str) -> Meter:
        self.meter = nvml.open_gpu(uuid, own_bytes=lambda: OWN_BYTES, clock=self.clock)
        ceilings = Ceilings(
            CPU,
            torch.float32,
            spare_bytes=10**9,
            synchronize=lambda: None,
            read_bytes=2**20,
            products=((8, 8, 8),),
        )
        self._bench = Bench(
            self._model, self._sizes, CPU, self.meter, seed=7, spare_bytes=10**9, ceilings=ceilings
        )
        return self.meter

    def sample(self) -> dict[str, Any]:
        """A line of samples.jsonl."""
        self._passes = 0
        measured = self._bench.measure(DECODE, STEPS)
        answer = json.loads(json.dumps({"event": "sample", **asdict(measured)}))
        answer["foreign_cpu_share"] = 0.1  # who else is on the CPU is no matter of these tests
        self.driver.load(False)
        return sample_of(
            DECODE,
            answer,
            steps=STEPS,
            process=0,
            repetition=0,
            warm_up=False,
            machine={"accelerator": {"name": "a card"}, "cpu_cores": 16},
        )

    def pass_(self, *_: Any) -> None:
        """What each forward pass does to the card."""
        self._passes += 1
        self.driver.load(True)
        if self._passes == STEPS // 2:
            self.midway()
        self.clock.sleep(PASS_S)


@pytest.fixture
def rig(driver: fake.FakeDriver, model: PreTrainedModel, sizes: Sizes) -> Iterator[Rig]:
    rig = Rig(driver, model, sizes)
    hook = model.register_forward_hook(rig.pass_)
    yield rig
    hook.remove()


def assert_timed(sample: dict[str, Any], validator: Any) -> None:
    """The window was timed whatever became of its energy, and the line is one that the contract takes."""
    assert sample["duration_s"] > 0 and sample["tokens"] == STEPS and sample["kv_cache_bytes"] > 0
    assert sample["gates"]["duration"] == sample["gates"]["length"] == "passed"
    validator.validate(sample)


def assert_refusal(found: dict[str, str] | None, expected: tuple[str, str] | None) -> None:
    if expected is None:
        assert found is None, found
    else:
        assert found is not None and found["kind"] == expected[0] and expected[1] in found["reason"], found


@pytest.mark.parametrize("failure", FAILURES, ids=lambda failure: failure.name)
def test_each_failure_is_refused_by_its_kind_and_timing_goes_on(
    driver: fake.FakeDriver, rig: Rig, validator: Any, failure: Failure
) -> None:
    driver.configure(virtual=1, **LOAD, **failure.at_start)
    rig.open(failure.uuid)
    rig.sample()  # fills the cache

    def strike() -> None:
        for key, value in failure.midway.items():
            driver.set(key, driver.now() if value == NOW else value)

    rig.midway = strike
    sample = rig.sample()
    assert_timed(sample, validator)
    assert_refusal(sample["energy_refusal"], failure.energy)
    assert_refusal(sample["refusal"], failure.sample)
    assert (sample["energy_joules"] is None) == (failure.energy is not None)
    for gate, outcome in failure.gates.items():
        assert sample["gates"][gate] == outcome, (gate, sample["gates"])

    rig.midway = lambda: None
    for key in failure.midway:  # what came in the middle goes away again
        driver.set(key, 1e18 if key.endswith("at_s") else 0)
    following = rig.sample()
    assert_timed(following, validator)
    if failure.midway:
        assert following["energy_joules"] > 0 and following["refusal"] is None, following
    else:
        assert_refusal(following["energy_refusal"], failure.energy)


def test_no_library_and_no_bindings(
    driver: fake.FakeDriver, rig: Rig, validator: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def not_there(name: str) -> None:
        raise OSError(f"{name}: cannot open shared object file")

    with monkeypatch.context() as without_library:
        without_library.setattr(pynvml, "nvmlLib", None)
        without_library.setattr(pynvml, "CDLL", not_there)
        rig.open(fake.UUID)
    rig.sample()
    sample = rig.sample()
    assert_timed(sample, validator)
    assert_refusal(sample["energy_refusal"], ("unavailable", "NVML Shared Library Not Found"))
    monkeypatch.setitem(sys.modules, "pynvml", None)
    rig.open(fake.UUID)
    rig.sample()
    sample = rig.sample()
    assert_timed(sample, validator)
    assert_refusal(sample["energy_refusal"], ("unavailable", "nvidia-ml-py is not installed"))


def test_the_energy_of_a_good_sample(driver: fake.FakeDriver, rig: Rig, validator: Any) -> None:
    """The line holds joules, what their error is made of, the second reading and the device."""
    driver.configure(virtual=1, **LOAD)
    rig.open(fake.UUID)
    rig.sample()
    sample = rig.sample()
    assert_timed(sample, validator)
    assert sample["energy_joules"] == pytest.approx(STEPS * PASS_S * 500, rel=0.01)
    assert sum(sample["energy_budget"].values()) == pytest.approx(sample["energy_error_joules"])
    assert sample["energy_second_joules"] == pytest.approx(sample["energy_joules"], rel=0.05)
    assert sample["device_state"]["sm_clock_hz"] == 1.7e9
