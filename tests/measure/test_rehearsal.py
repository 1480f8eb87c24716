"""The GPU campaign from end to end with an acted card: budget, provenance, every experiment, and that it stays out."""

from __future__ import annotations

from pathlib import Path

import pytest

from hooks.data import store
from hooks.errors import PublishError
from measure.check import Checker
from measure.gates import GATES
from measure.plan import Cell
from measure.progress import duration
from measure.record import cell_of
from tests.measure.conftest import ROOT, Command, copy_contract
from tests.measure.rehearsal import Rehearsed, rehearse

BUDGET_S = 100

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def rehearsed(tmp_path_factory: pytest.TempPathFactory, nvml_library: Path) -> Rehearsed:
    site_data = copy_contract(tmp_path_factory.mktemp("rehearsal") / "site_data")
    done = rehearse(nvml_library, site_data, model="tiny", budget=f"{BUDGET_S}s")
    assert done.code == 0, done.said
    return done


def test_it_ends_within_its_budget_and_says_what_it_left_out(rehearsed: Rehearsed) -> None:
    assert rehearsed.took_s < BUDGET_S + 5  # and the time to start Python, and to print, on a busy machine
    run = rehearsed.run()
    assert (run["status"], run["plan"]["name"], run["plan"]["budget_s"]) == ("complete", "gpu", BUDGET_S)
    reasons = [item["reason"] for item in run["plan"]["left_out"]]
    assert f"the time allowed, {duration(BUDGET_S)}, did not suffice" in reasons
    assert "left out: decode depth 1000, graph" in rehearsed.said


def test_every_experiment_took_part(rehearsed: Rehearsed) -> None:
    """Warm-ups count here, and so do samples that others on a busy machine disturbed: a slow one gets no further."""
    done = rehearsed.samples()
    taken = {cell_of(s) for s in done if s["refusal"] is None or s["refusal"]["kind"] == "contaminated"}
    for cell in (
        Cell("idle", 1, None, None, "bfloat16", "before_context"),
        Cell("idle", 1, None, None, "bfloat16", "with_context"),
        Cell("ceilings", 1, None, None, "bfloat16", "read"),
        Cell("ceilings", 1, None, None, "bfloat16", "gemm"),
        Cell("prefill", 1, 500, None, "bfloat16"),
        Cell("decode", 1, None, 500, "bfloat16"),
        Cell("decode", 1, None, 500, "bfloat16", "graph"),
        Cell("kv_cache", 1, None, 500, "bfloat16"),
    ):
        assert cell in taken, f"{cell.label()}\n{rehearsed.said}"


def test_its_provenance_is_complete(rehearsed: Rehearsed) -> None:
    run = rehearsed.run()
    assert run["machine"]["accelerator"]["uuid"].startswith("GPU-")
    assert run["machine"]["accelerator"]["power_limit_watts"] == 700
    assert run["meter"]["kind"] == "nvml" and run["meter"]["tick_s"] == pytest.approx(0.1, rel=0.1)
    # power steps between 120 and 600 W, half of the time each
    assert run["meter"]["idle_watts_before_context"] == pytest.approx(360, rel=0.1)
    assert [c["mode"] for c in run["mode_checks"]] == ["graph"] and run["mode_checks"][0]["passed"]
    assert len(run["code"]["tree"]) == 64
    assert "--device" in run["argv"] and run["rehearsal"] is True
    assert run["run_id"].endswith("-rehearsal")


def test_windows_have_energy_a_second_reading_and_the_state_of_the_card(rehearsed: Rehearsed) -> None:
    timed = [s for s in rehearsed.samples() if s["experiment"] in ("prefill", "decode") and not s["warm_up"]]
    metered = [s for s in timed if s["energy_joules"] is not None]
    assert len(metered) >= len(timed) / 2, [s["energy_refusal"] for s in timed]
    for sample in metered:
        mean_watts = sample["energy_joules"] / sample["duration_s"]
        assert 120 <= mean_watts <= 600
        assert sample["energy_error_joules"] <= 0.05 * sample["energy_joules"]
        assert sample["energy_second_joules"] and sample["device_state"]["sm_clock_hz"]
        assert sample["gates"]["throttling"] == "passed"
        assert tuple(sample["gates"]) == GATES


def test_the_contract_refuses_a_rehearsal(rehearsed: Rehearsed) -> None:
    """And nothing else of it: but for this one line it is as a real run should be."""
    site_data = rehearsed.folder.parent.parent
    (problem,) = Checker(site_data).problems()
    assert str(problem) == f"{rehearsed.folder / 'run.json'}: rehearsal: expected False, found True"
    with pytest.raises(PublishError, match="rehearsal"):
        store.load(site_data)


def test_a_rehearsal_keeps_out_of_what_is_published(measure: Command) -> None:
    done = measure("run", "--plan", "gpu", "--device", "rehearsal:GPU-1")
    assert done.returncode == 2
    assert "a rehearsal's figures are no measurements" in done.stderr and "--site-data" in done.stderr
    assert not [p for p in (ROOT / "site_data" / "unfinished").glob("*") if "rehearsal" in p.name]
