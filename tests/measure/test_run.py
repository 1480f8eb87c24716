"""`python -m measure run` as a person uses it: results, interruptions, refusals. Each test starts real processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from measure import code
from measure.gates import GATES
from measure.plan import PlannedCell
from measure.record import cell_of
from measure.tally import RETAKES
from tests.measure.conftest import ROOT, Command, FinishedRun


def assert_all_taken(run: dict[str, Any], samples: list[dict[str, Any]]) -> None:
    """Each round has of each cell what the plan says, or, where the machine was disturbed, has tried often enough."""
    rounds = {p["process"]: p["round"] for p in run["processes"]}
    for planned in map(PlannedCell.from_json, run["plan"]["cells"]):
        own = [s for s in samples if cell_of(s) == planned.cell and not s["warm_up"]]
        if any(s["refusal"] and s["refusal"]["kind"] == "unavailable" for s in own):
            assert planned.cell.experiment == "idle", (
                "on a machine without a meter, idle alone is not measured"
            )
            continue
        for round_ in range(1 if planned.cell.mode == "before_context" else run["plan"]["rounds"]):
            timed = [s for s in own if rounds[s["process"]] == round_]
            good = sum(s["refusal"] is None for s in timed)
            assert good == planned.repetitions or len(timed) == planned.repetitions + RETAKES, planned
            assert [s["repetition"] for s in timed] == list(range(len(timed)))


def test_a_run_takes_what_its_plan_says(finished: FinishedRun) -> None:
    run, samples = finished.run(), finished.samples()
    assert {s["experiment"] for s in samples} == {"idle", "ceilings", "prefill", "decode", "kv_cache"}
    assert {s["mode"] for s in samples if s["experiment"] == "decode"} == {"eager", "compiled"}
    assert_all_taken(run, samples)
    assert run["samples"] == len(samples)


def test_each_sample_is_judged(finished: FinishedRun) -> None:
    for sample in finished.samples():
        assert tuple(sample["gates"]) == GATES
        failed = [name for name, result in sample["gates"].items() if result == "failed"]
        assert not failed or sample["refusal"] or sample["energy_refusal"]
        if sample["duration_s"]:
            assert sample["gates"]["duration"] == sample["gates"]["clock"] == "passed"
        if sample["experiment"] in ("prefill", "decode"):
            assert sample["gates"]["length"] == "passed"


def test_timed_windows_have_their_work_and_the_ceilings_beside_them(finished: FinishedRun) -> None:
    for sample in finished.samples():
        if sample["experiment"] not in ("prefill", "decode"):
            continue
        assert sample["work_bytes"] and sample["work_flop"]
        probed = sample["ceiling_bytes_per_s"] and sample["ceiling_flop_per_s"]
        assert bool(probed) is not sample["warm_up"]
        if not sample["warm_up"]:
            assert sample["gates"]["ceiling"] == "passed" or sample["refusal"]


def test_faster_modes_are_checked_once(finished: FinishedRun) -> None:
    (check,) = finished.run()["mode_checks"]
    assert check["mode"] == "compiled" and check["passed"]
    assert 0 <= check["max_difference"] <= check["tolerance"]
    assert "compiled at depth 500 computes as eager" in finished.output


def test_a_run_says_where_it_comes_from(finished: FinishedRun) -> None:
    run = finished.run()
    head = subprocess.run(
        ["git", "log", "-1", "--format=%H", "--", "measure", "site_data/schema.json"],
        capture_output=True,
        text=True,
        cwd=ROOT,
    ).stdout.strip()
    assert run["run_id"] == finished.folder.name
    assert run["status"] == "complete"
    assert run["model"]["parameters"] == 107_072
    assert run["model"]["weights"]["kind"] == "random"
    assert run["meter"]["refusal"]["kind"] == "unavailable"
    assert run["machine"]["cpu_cores"] == len(os.sched_getaffinity(0))
    assert run["software"]["torch"]
    assert len(run["processes"]) == 3
    assert run["code"]["commit"] == (head or None)
    assert run["code"]["tree"] == code.tree_here()
    assert str(finished.site_data.parent) not in json.dumps(run)  # no folder of this machine


def test_energy_is_refused_without_a_meter_with_the_reason(finished: FinishedRun) -> None:
    if finished.run()["meter"]["refusal"] is None:
        pytest.skip("this machine has a meter")
    for sample in finished.samples():
        assert sample["energy_joules"] is None
        assert sample["energy_refusal"]["kind"] == "unavailable"
    assert finished.output.count("energy unavailable: ") == 1


def test_cells_are_taken_in_another_order_in_each_process(finished: FinishedRun) -> None:
    planned = [PlannedCell.from_json(cell).cell for cell in finished.run()["plan"]["cells"]]
    orders = []
    for process in range(3):
        timed = [s for s in finished.samples() if s["process"] == process and not s["warm_up"]]
        order = [cell_of(s) for s in timed if s["experiment"] != "idle"]
        assert sorted(order, key=planned.index) != order  # not as the plan lists them, nor cell after cell
        orders.append(order)
    assert orders[0] != orders[1] != orders[2]


def test_processes_warm_up_by_themselves(finished: FinishedRun) -> None:
    for process in range(3):
        warm = {cell_of(s) for s in finished.samples() if s["process"] == process and s["warm_up"]}
        assert {c.experiment for c in warm} == {"prefill", "decode", "ceilings"}


def test_a_person_can_read_the_result(finished: FinishedRun) -> None:
    for words in (
        "prefill prompt 500",
        "decode depth 500",
        "decode depth 500, compiled",
        "kv_cache length 64",
        "ceilings read",
        "tokens/s",
        "energy agreement",
        "not checked",
        "random weights",
    ):
        assert words in finished.output
    assert "make site" in finished.output


def test_without_a_terminal_progress_is_plain_lines(finished: FinishedRun) -> None:
    assert "windows" in finished.progress and "left" in finished.progress
    assert "\x1b" not in finished.progress + finished.output
    assert "\r" not in finished.progress


def test_list_and_show(finished: FinishedRun, measure: Command) -> None:
    listed = measure("list", "--site-data", str(finished.site_data))
    assert listed.returncode == 0 and "complete" in listed.stdout and "random" in listed.stdout
    shown = measure("show", finished.folder.name[:10], "--site-data", str(finished.site_data))
    assert shown.returncode == 0 and "decode depth 500" in shown.stdout
    missing = measure("show", "never", "--site-data", str(finished.site_data))
    assert missing.returncode == 2 and finished.folder.name in missing.stderr


def start_and_wait_for_samples(
    measure: Command, site_data: Path, count: int, process_number: int = 0
) -> subprocess.Popen[str]:
    """Start a run and return when its process with that number has written `count` samples, warm-ups too."""
    process = measure.start(
        *("run", "--model", "tiny", "--plan", "quick", "--site-data", str(site_data)),
        # a shell starts what runs in the background with SIGINT ignored, and so these tests perhaps
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    written_by = f'"process": {process_number},'.encode()
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        files = list((site_data / "unfinished").glob("*/samples.jsonl"))
        if files and files[0].read_bytes().count(written_by) >= count:
            return process
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    process.kill()
    raise AssertionError("no samples after two minutes")


def test_a_run_stopped_by_ctrl_c_is_kept_and_resumed(site_data: Path, fast_measure: Command) -> None:
    """What SIGKILL leaves is in test_kill.py."""
    process = start_and_wait_for_samples(fast_measure, site_data, 3, process_number=1)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    (folder,) = (p for p in (site_data / "unfinished").iterdir() if p.is_dir())
    assert f"python -m measure run --resume {folder.name}" in said
    before = (folder / "samples.jsonl").read_bytes()
    assert before.endswith(b"\n") and before.count(b'"process": 1,') >= 3
    assert not (site_data / "runs").exists()

    done = fast_measure("run", "--resume", folder.name, "--site-data", str(site_data))
    assert done.returncode == 0, done.stderr
    complete = site_data / "runs" / folder.name
    content = (complete / "samples.jsonl").read_bytes()
    assert content.startswith(before)  # nothing lost, nothing rewritten
    run = json.loads((complete / "run.json").read_text())
    assert len(run["processes"]) == 4  # the interrupted round was finished by a process of its own
    assert_all_taken(run, [json.loads(line) for line in content.decode().splitlines()])
    checked = fast_measure("check", "--site-data", str(site_data))
    assert checked.returncode == 0, checked.stderr


def test_two_runs_at_once_are_refused_and_nothing_is_left_behind(site_data: Path, measure: Command) -> None:
    first = start_and_wait_for_samples(measure, site_data, 1)
    try:
        second = measure("run", "--model", "tiny", "--plan", "quick", "--site-data", str(site_data))
        assert second.returncode == 1
        assert f"another run is measuring into {site_data} (process {first.pid})" in second.stderr
    finally:
        first.kill()
        first.communicate()
    worker_gone = time.monotonic() + 10
    while time.monotonic() < worker_gone:
        running = subprocess.run(["pgrep", "-P", str(first.pid)], capture_output=True, text=True).stdout
        if not running:
            break
        time.sleep(0.1)
    assert not running


def test_a_budget_ends_the_run_cleanly_and_says_what_it_left_out(
    site_data: Path, fast_measure: Command
) -> None:
    began = time.monotonic()
    done = fast_measure(
        "run", "--model", "tiny", "--plan", "standard", "--budget", "6s", "--site-data", str(site_data)
    )
    assert done.returncode == 0, done.stderr
    assert time.monotonic() - began < 6 + 6  # and the time to print the table on a slow machine
    (folder,) = (site_data / "runs").iterdir()
    run = json.loads((folder / "run.json").read_text())
    assert run["plan"]["budget_s"] == 6
    assert run["plan"]["left_out"], "a standard plan of five processes takes longer than 6 s"
    assert any("the time allowed, 6 s, did not suffice" in item["reason"] for item in run["plan"]["left_out"])
    assert "left out: " in done.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--model", "gpt-9"], 2, "expected one of llama-2-70b, qwen2.5-1.5b, smollm2-135m, tiny"),
        (["--model", "llama-2-70b"], 1, "does not fit: its weights need 275.9 GB in float32"),
        (["--model", "tiny", "--device", "cuda:7"], 2, "no device 'cuda:7'; this machine has cpu"),
        (["--model", "tiny", "--weights", "nowhere.gguf"], 2, "found nothing there"),
        (["--resume", "never"], 2, "no single run 'never'"),
        (["--budget", "soon"], 2, "expected a duration such as 8m"),
        (["--plan", "grand"], 2, "invalid choice: 'grand'"),
    ],
)
def test_what_cannot_be_done_is_said(
    arguments: list[str], code: int, said: str, site_data: Path, measure: Command
) -> None:
    done = measure("run", *arguments, "--site-data", str(site_data))
    assert done.returncode == code
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert not (site_data / "runs").exists()
    assert not list((site_data / "unfinished").glob("*/run.json"))


def test_no_site_data_at_all(tmp_path: Path, measure: Command) -> None:
    done = measure("run", "--site-data", str(tmp_path / "nothing"))
    assert done.returncode == 2
    assert "expected a folder with schema.json and models/" in done.stderr
    assert not (tmp_path / "nothing").exists()


def test_a_budget_too_short_for_anything_is_said(site_data: Path, measure: Command) -> None:
    done = measure(
        "run", "--model", "tiny", "--plan", "quick", "--budget", "2s", "--site-data", str(site_data)
    )
    assert done.returncode == 1
    assert "the time allowed, 2 s, ended before the first sample" in done.stderr and "--budget" in done.stderr
    assert not (site_data / "runs").exists()


def test_a_full_disk_stops_the_run_and_keeps_it(site_data: Path, measure: Command) -> None:
    """A file size limit on the session stands for the full disk."""

    def small_files() -> None:
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (6000, 6000))

    stopped = measure(
        "run", "--model", "tiny", "--plan", "quick", "--site-data", str(site_data), preexec_fn=small_files
    )
    assert stopped.returncode == 1
    assert (
        "cannot be written" in stopped.stderr and "Make room, then: python -m measure run" in stopped.stderr
    )
    (folder,) = (p for p in (site_data / "unfinished").iterdir() if p.is_dir())
    kept = (folder / "samples.jsonl").read_text()
    assert kept.endswith("\n") and len(kept.splitlines()) >= 5
    assert all(json.loads(line) for line in kept.splitlines())


def test_a_cell_that_does_not_fit_is_recorded_and_the_run_goes_on(site_data: Path, measure: Command) -> None:
    """A model whose prompts of 500 tokens need more memory than the process may have."""
    from tests.measure.conftest import TINY

    wide = {**TINY, "name": "wide", "title": "Wide", "intermediate_size": 800_000, "layers": 1}
    (site_data / "models" / "wide.json").write_text(json.dumps(wide))

    def little_memory() -> None:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (45 * 10**8, 45 * 10**8))

    done = measure(
        "run", "--model", "wide", "--plan", "quick", "--site-data", str(site_data), preexec_fn=little_memory
    )
    assert done.returncode == 0, done.stderr
    (folder,) = (site_data / "runs").iterdir()
    samples = [json.loads(line) for line in (folder / "samples.jsonl").read_text().splitlines()]
    too_large = [s for s in samples if s["refusal"] and s["refusal"]["kind"] == "did_not_fit"]
    assert {s["prompt_tokens"] for s in too_large if s["experiment"] == "prefill"} == {500}
    assert any(s["prompt_tokens"] == 64 and s["duration_s"] for s in samples)
    assert "did_not_fit" in done.stdout and "ran out of memory" in done.stdout
    assert measure("check", "--site-data", str(site_data)).returncode == 0


def test_without_its_packages_it_says_what_to_install(tmp_path: Path) -> None:
    """A Python that has nothing but the standard library."""
    done = subprocess.run(
        [sys.executable, "-S", "-m", "measure", "list"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "is not installed here" in done.stderr and "--group measure" in done.stderr
    assert "Traceback" not in done.stderr
