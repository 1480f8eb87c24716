"""Run folders: what is on the disk after every kind of interruption."""

from __future__ import annotations

import json
import resource
import signal
from pathlib import Path
from typing import Any

import pytest

from measure import record
from measure.errors import MeasureError, UsageError
from measure.record import RunRecord, only_run

SAMPLE = {"experiment": "prefill", "note": "x" * 200}


def new_run(site_data: Path) -> RunRecord:
    run: dict[str, Any] = {"run_id": "r1", "status": "unfinished", "plan": {"left_out": []}, "samples": 0}
    return RunRecord.begin(site_data, run)


def samples_file(site_data: Path) -> Path:
    return site_data / "unfinished" / "r1" / "samples.jsonl"


def test_each_sample_is_on_the_disk_when_append_returns(site_data: Path) -> None:
    run = new_run(site_data)
    for count in range(1, 4):
        run.append({**SAMPLE, "count": count})
        lines = samples_file(site_data).read_text().splitlines()
        assert [json.loads(line)["count"] for line in lines] == list(range(1, count + 1))


def test_a_run_is_in_runs_only_when_it_is_complete(site_data: Path) -> None:
    run = new_run(site_data)
    run.append(SAMPLE)
    assert not (site_data / "runs").exists()
    folder = run.finish("2026-11-30T12:00:00Z", [])
    assert folder == site_data / "runs" / "r1"
    assert not samples_file(site_data).exists()
    complete = json.loads((folder / "run.json").read_text())
    assert (complete["status"], complete["samples"]) == ("complete", 1)


def test_a_complete_run_is_never_written_over(site_data: Path) -> None:
    new_run(site_data).finish("2026-11-30T12:00:00Z", [])
    again = new_run(site_data)
    with pytest.raises(MeasureError, match="written once and never changed"):
        again.finish("2026-11-30T13:00:00Z", [])


@pytest.mark.parametrize("torn", [b'{"experiment": "pre', b"{", '{"reason": "é'.encode()[:-1]])
def test_resuming_drops_a_torn_last_line_and_nothing_else(site_data: Path, torn: bytes) -> None:
    run = new_run(site_data)
    run.append({**SAMPLE, "count": 1})
    run.append({**SAMPLE, "count": 2})
    whole = samples_file(site_data).read_bytes()
    with samples_file(site_data).open("ab") as file:
        file.write(torn)
    resumed = RunRecord.resume(site_data, "r1")
    assert [s["count"] for s in resumed.samples] == [1, 2]
    resumed.append({**SAMPLE, "count": 3})
    assert samples_file(site_data).read_bytes().startswith(whole)
    assert len(samples_file(site_data).read_text().splitlines()) == 3


def test_a_spoiled_line_in_the_middle_is_an_error(site_data: Path) -> None:
    run = new_run(site_data)
    run.append(SAMPLE)
    samples_file(site_data).write_bytes(b"{torn\n" + samples_file(site_data).read_bytes())
    with pytest.raises(MeasureError, match=r"samples\.jsonl:1: expected one sample as JSON, found '\{torn'"):
        RunRecord.resume(site_data, "r1")


def test_resuming_what_is_not_there_lists_what_is(site_data: Path) -> None:
    new_run(site_data)
    with pytest.raises(UsageError, match=r"no single run 'r2'(.|\n)*r1"):
        RunRecord.resume(site_data, "r2")


def test_a_full_disk_keeps_what_was_written(site_data: Path) -> None:
    """A file size limit stands for the full disk: the write fails in the middle of a line."""
    run = new_run(site_data)
    run.append(SAMPLE)
    before = samples_file(site_data).read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 50, limits[1]))
        with pytest.raises(MeasureError, match=r"cannot be written(.|\n)*--resume r1"):
            run.append(SAMPLE)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert samples_file(site_data).read_bytes() == before
    run.append(SAMPLE)
    assert len(samples_file(site_data).read_text().splitlines()) == 2


def test_a_run_that_cannot_begin_leaves_nothing_behind(site_data: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (10, limits[1]))
        with pytest.raises(MeasureError, match="the run cannot begin"):
            new_run(site_data)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert list((site_data / "unfinished").iterdir()) == []


def test_no_number_that_json_does_not_know(site_data: Path) -> None:
    run = new_run(site_data)
    with pytest.raises(ValueError, match="not JSON compliant"):
        run.append({"duration_s": float("nan")})
    assert samples_file(site_data).read_bytes() == b""


def test_one_run_at_a_time(site_data: Path) -> None:
    with (
        only_run(site_data),
        pytest.raises(MeasureError, match="another run is measuring"),
        only_run(site_data),
    ):
        raise AssertionError("two runs at once")
    with only_run(site_data):  # free again
        pass


def test_a_run_is_found_by_the_beginning_of_its_id_and_by_its_path(site_data: Path) -> None:
    new_run(site_data).append(SAMPLE)
    run, samples = record.load(site_data, "r")
    assert run["run_id"] == "r1" and len(samples) == 1
    assert record.find(site_data, f"{samples_file(site_data).parent}/") == samples_file(site_data).parent
    with pytest.raises(UsageError, match="no single run 'q'"):
        record.load(site_data, "q")
