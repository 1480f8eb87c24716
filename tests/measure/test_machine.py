"""`machine`: what a machine can measure, what not and why, how long it takes, what to run; with and without a GPU."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from measure import capability, cards, host, record, work
from measure.capability import Capability, look
from measure.cli import main
from measure.forecast import forecast
from measure.plan import CPU, GPU, make_plan
from measure.sizes import Sizes
from tests.fake_nvml import fake_driver as fake
from tests.measure import runs
from tests.measure.conftest import ROOT, FinishedRun

TOLD = {
    "torch": "2.13.0",
    "cuda": "13.0",
    "no_compiler": None,
    "bytes_per_s": 40e9,
    "flop_per_s": 150e9,
    "foreign_cpu_share": 0.01,
}


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the probe's process tells; a test may change it. Nothing is started."""
    facts: dict[str, Any] = dict(TOLD)

    def ask(*, rates: bool) -> dict[str, Any]:
        return facts if rates else facts | dict.fromkeys(("bytes_per_s", "flop_per_s", "foreign_cpu_share"))

    monkeypatch.setattr(capability, "_ask_torch", ask)
    monkeypatch.setattr(cards, "visible", list)
    return facts


@pytest.fixture
def card(monkeypatch: pytest.MonkeyPatch, told: dict[str, Any], driver: fake.FakeDriver) -> fake.FakeDriver:
    """A GPU that NVML shows in real time, and that CUDA would use."""
    driver.configure(virtual=0, own_listed=0, own_bytes=0)  # we have no context on it
    monkeypatch.setattr(cards, "visible", lambda: [fake.UUID])
    return driver


def command(site_data: Path, *arguments: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["machine", "--model", "tiny", *arguments, "--site-data", str(site_data)]) == 0
    return capsys.readouterr().out


def test_a_cpu(site_data: Path, told: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    out = command(site_data, capsys=capsys)
    assert host.cpu_name() in out
    assert "reads 40 GB/s and multiplies 150 GFLOP/s" in out
    assert "decode compiled: yes" in out and "energy: unavailable" in out
    assert "standard for tiny on cpu: about" in out and "by a probe" in out
    assert f"python -m measure run --model tiny --plan standard --device cpu --site-data {site_data}" in out
    assert "python -m measure check" in out and "make site" in out
    assert "llama-2-70b" in out


def test_a_busy_cpu_is_told(
    site_data: Path, told: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert "others have 1.0% of the CPU just now, and 5% is allowed: few enough" in command(
        site_data, capsys=capsys
    )
    told["foreign_cpu_share"] = 0.4
    assert "would be refused as contaminated" in command(site_data, capsys=capsys)


def test_its_json(site_data: Path, told: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(command(site_data, "--json", capsys=capsys))
    assert found["machine_version"] == 1
    (cpu,) = found["devices"]
    assert (cpu["name"], cpu["kind"], cpu["dtype"], cpu["unusable"]) == ("cpu", "cpu", "float32", None)
    assert cpu["machine_id"] == host.identity(None)
    assert cpu["meter"]["kind"] in ("none", "rapl")
    fits = {fit["model"]: fit for fit in found["models"]}
    assert set(fits) == {"tiny", "smollm2-135m", "qwen2.5-1.5b", "llama-2-70b"}
    assert fits["qwen2.5-1.5b"]["weights_bytes"] == 4 * 1_543_714_304
    assert [plan["plan"] for plan in found["plans"]] == ["standard", "quick"]
    assert found["commands"][0] == found["plans"][0]["command"]
    assert found["not_timed"] is None


def test_memory_decides_what_fits(
    site_data: Path, told: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = Sizes.load(site_data, "qwen2.5-1.5b")
    weights = 4 * work.parameters(sizes)
    a_token = 4 * work.cache_elements(sizes)
    monkeypatch.setattr(host, "available_bytes", lambda: weights + 1000 * a_token)
    found = look(site_data, "qwen2.5-1.5b")
    fits = {fit.model: fit for fit in found.fits}
    assert fits["qwen2.5-1.5b"].fits and fits["qwen2.5-1.5b"].longest_tokens == 1000
    assert not fits["llama-2-70b"].fits and fits["llama-2-70b"].longest_tokens == 0
    assert fits["smollm2-135m"].longest_tokens == Sizes.load(site_data, "smollm2-135m").max_positions
    monkeypatch.setattr(host, "available_bytes", lambda: weights)
    found = look(site_data, "qwen2.5-1.5b")
    assert not found.courses and not found.commands


def test_a_model_that_does_not_fit_has_no_plan(
    site_data: Path, told: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["machine", "--model", "llama-2-70b", "--site-data", str(site_data)]) == 0
    assert "No plan fits" in capsys.readouterr().out


def test_an_unknown_model(site_data: Path, told: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["machine", "--model", "tinny", "--site-data", str(site_data)]) == 2
    assert "nearest known: tiny" in capsys.readouterr().err


def test_without_a_compiler_the_compiled_mode_is_missing(
    site_data: Path, told: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    told["no_compiler"] = "No working C++ compiler found"
    assert "decode compiled: no, it needs a C++ compiler" in command(site_data, capsys=capsys)


def test_without_torch_nothing_can_be_measured(
    site_data: Path, told: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    told.clear()
    told["failed"] = "torch could not be asked: No module named 'torch'"
    out = command(site_data, capsys=capsys)
    assert "cannot be measured: torch could not be asked" in out and "No plan fits" in out
    assert "python -m measure run" not in out


def test_a_run_in_progress_is_not_disturbed(
    site_data: Path, told: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    with record.only_run(site_data):
        out = command(site_data, capsys=capsys)
    assert "nothing was timed: another run is measuring" in out
    assert "GB/s" not in out


def test_nothing_is_timed_when_not_asked(
    site_data: Path, told: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    out = command(site_data, "--no-probe", capsys=capsys)
    assert "nothing was timed: not asked for" in out
    assert "standard for tiny on cpu: as long as its budget allows" in out


def test_a_gpu_with_its_meter(
    site_data: Path, card: fake.FakeDriver, capsys: pytest.CaptureFixture[str]
) -> None:
    out = command(site_data, capsys=capsys)
    assert "cuda:0: " in out and "driver" in out
    assert "in bfloat16" in out and "decode graph: yes" in out
    assert "energy: yes, nvml" in out and "which moves every" in out
    gpu, cpu = out.index("gpu for tiny on cuda:0"), out.index("standard for tiny on cpu")
    assert gpu < cpu
    assert "--plan gpu --device cuda:0 --budget 8m" in out[out.index("next:") :]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"no_counter": 1}, "energy: unavailable"),
        ({"mig": 1}, "MIG"),
    ],
)
def test_a_gpu_whose_meter_refuses_is_timed_all_the_same(
    site_data: Path,
    card: fake.FakeDriver,
    capsys: pytest.CaptureFixture[str],
    settings: dict[str, int],
    words: str,
) -> None:
    for key, value in settings.items():
        card.set(key, value)
    out = command(site_data, capsys=capsys)
    assert words in out and "--plan gpu --device cuda:0" in out


def test_others_on_the_card_are_told(
    site_data: Path, card: fake.FakeDriver, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "not alone" not in command(site_data, capsys=capsys)
    card.set("other_processes", 2)
    out = command(site_data, capsys=capsys)
    assert "not alone: 2 other processes" in out and "contaminated" in out


def test_a_torch_without_cuda_cannot_use_the_card(
    site_data: Path, card: fake.FakeDriver, told: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    told["cuda"] = None
    out = command(site_data, capsys=capsys)
    assert "cannot be measured: this torch, 2.13.0, was built without CUDA" in out
    assert "gpu for tiny" not in out and "--plan standard --device cpu" in out


def test_a_card_that_nvml_does_not_know(
    site_data: Path,
    card: fake.FakeDriver,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(cards, "visible", lambda: ["GPU-00000000-0000-0000-0000-000000000000"])
    out = command(site_data, capsys=capsys)
    assert "cuda:0: GPU-00000000-0000-0000-0000-000000000000, memory unknown" in out
    assert "energy: unavailable" in out


def test_names_are_text(
    site_data: Path,
    told: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(host, "cpu_name", lambda: "<script> [/bold] :smile:")
    assert "<script> [/bold] :smile:" in command(site_data, capsys=capsys)


# How long a plan takes


def test_a_run_of_this_machine_tells_how_long_a_plan_takes(
    site_data: Path, told: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    here = {"machine__id": host.identity(None)}
    prefill = {**runs.PREFILL, "prompt_tokens": 500}
    decode = {**runs.DECODE, "context_tokens": 500}
    lines = [*runs.samples(prefill, [5.0] * 3, tokens=500), *runs.samples(decode, [2.0] * 3)]
    runs.write(site_data, "20260101-other", lines, machine__id="other")
    runs.write(site_data, "20260102-here", lines, **here)
    found = json.loads(command(site_data, "--json", capsys=capsys))
    (standard, _) = found["plans"]
    assert standard["forecast"]["basis"] == "by the times of 20260102-here on this machine"
    plan = make_plan("standard", device=CPU, dtype="float32", max_positions=2048, seed=20)
    expected = forecast(
        plan,
        Sizes.load(site_data, "tiny"),
        device=CPU,
        dtype="float32",
        metered=found["devices"][0]["meter"]["refusal"] is None,
        run=(*record.load(site_data, "20260102-here"), Sizes.load(site_data, "tiny")),
        rates=None,
    )
    assert expected is not None and standard["forecast"]["seconds"] == expected.seconds
    # a prefill of 500 tokens took 5 s: 5 processes, one warm-up and three samples of it alone take longer than that
    assert expected.seconds > 5 * 4 * 5.0


def test_another_model_takes_longer_in_proportion_to_its_work(site_data: Path) -> None:
    prefill = {**runs.PREFILL, "prompt_tokens": 500}
    decode = {**runs.DECODE, "context_tokens": 500}
    lines = [*runs.samples(prefill, [5.0] * 3, tokens=500), *runs.samples(decode, [2.0] * 3)]
    runs.write(site_data, "20260102-here", lines)
    run = record.load(site_data, "20260102-here")
    tiny, small = (Sizes.load(site_data, name) for name in ("tiny", "smollm2-135m"))
    plan = make_plan("standard", device=CPU, dtype="float32", max_positions=2048, seed=20)

    def seconds(sizes: Sizes) -> float:
        found = forecast(
            plan, sizes, device=CPU, dtype="float32", metered=False, run=(*run, tiny), rates=None
        )
        assert found is not None
        return found.seconds

    assert seconds(small) > 100 * seconds(tiny)


def test_nothing_is_forecast_from_nothing(site_data: Path) -> None:
    plan = make_plan("gpu", device=GPU, dtype="bfloat16", max_positions=2048, seed=20)
    sizes = Sizes.load(site_data, "tiny")
    for rates in (None, (1e9, 1e9)):  # a CPU's rates tell nothing of a GPU
        assert (
            forecast(plan, sizes, device=GPU, dtype="bfloat16", metered=True, run=None, rates=rates) is None
        )


def test_a_budget_is_the_most_that_a_plan_takes(site_data: Path) -> None:
    plan = make_plan("quick", device=CPU, dtype="float32", max_positions=2048, seed=20)
    found = forecast(
        plan,
        Sizes.load(site_data, "llama-2-70b"),
        device=CPU,
        dtype="float32",
        metered=False,
        run=None,
        rates=(1e9, 1e9),
    )
    assert found is not None and found.seconds == plan.budget_s


def test_the_forecast_from_a_real_run_is_near_what_it_took(finished: FinishedRun) -> None:
    """The quick plan of Tiny, forecast from its own times, against the time that the run really took."""
    from datetime import datetime

    run, samples = record.load(finished.site_data, finished.folder.name)
    sizes = Sizes.load(finished.site_data, "tiny")
    plan = make_plan("quick", device=CPU, dtype="float32", max_positions=sizes.max_positions, seed=20)
    found = forecast(
        replace(plan, budget_s=None),
        sizes,
        device=CPU,
        dtype="float32",
        metered=False,
        run=(run, samples, sizes),
        rates=None,
    )
    took = datetime.fromisoformat(run["finished_at"]) - datetime.fromisoformat(run["started_at"])
    assert found is not None
    assert 0.3 < found.seconds / took.total_seconds() < 3.0


# The probe


def test_the_probe_tells_without_timing() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "measure.probe", "--no-rates"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=True,
        timeout=100,
    )
    found = json.loads(done.stdout)
    assert set(found) == set(TOLD)
    assert found["torch"] and found["bytes_per_s"] is None


def test_the_probe_times_reads_and_products(monkeypatch: pytest.MonkeyPatch) -> None:
    from measure import probe

    monkeypatch.setattr(probe, "LOOK_S", 0.0)
    monkeypatch.setattr(probe, "REST_S", 0.3)
    found = probe.look(rates=True)
    assert 1e8 < found["bytes_per_s"] < 1e13
    assert 1e8 < found["flop_per_s"] < 1e15
    assert 0 <= found["foreign_cpu_share"] <= 1


def test_a_probe_that_fails_says_why(monkeypatch: pytest.MonkeyPatch, site_data: Path) -> None:
    monkeypatch.setattr(sys, "executable", str(site_data / "no-python"))
    found: Capability = look(site_data, "tiny")
    assert found.torch is None and found.busy is not None and "torch could not be asked" in found.busy
    assert not found.courses
