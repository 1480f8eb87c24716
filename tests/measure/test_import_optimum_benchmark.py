"""`import` of optimum-benchmark: its real files, what they do not say, and everything that one may get wrong."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from measure import record
from measure.cli import main

DATA = Path(__file__).parent / "data" / "optimum-benchmark"
WHOLE = DATA / "benchmark-0.6.0.json"
REPORT = DATA / "benchmark_report-0.6.0.json"
SAID = ("--dtype", "float32", "--date", "2026-11-30")
ALL_SAID = (*SAID, "--prompt-tokens", "64")

Change = Callable[[dict[str, Any]], object]


def bring_in(site_data: Path, *arguments: object) -> int:
    return main(["import", *map(str, arguments), "--model", "tiny", "--site-data", str(site_data)])


def the_run(site_data: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    (folder,) = record.run_folders(site_data)
    return record.load(site_data, folder.name)


def changed(tmp_path: Path, source: Path, change: Change) -> Path:
    data = copy.deepcopy(json.loads(source.read_text(encoding="utf-8")))
    change(data)
    path = tmp_path / "changed.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


def refused(site_data: Path, capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    code = bring_in(site_data, *arguments)
    done = capsys.readouterr()
    assert code in (1, 2) and not done.out and done.err.startswith("error: ")
    assert not list(record.run_folders(site_data))
    return done.err


def test_a_benchmark_with_its_configuration(site_data: Path) -> None:
    assert bring_in(site_data, WHOLE, *SAID) == 0
    run, samples = the_run(site_data)
    written = json.loads(WHOLE.read_text(encoding="utf-8"))["report"]
    for experiment, length, tokens in (("prefill", 64, 64), ("decode", 72, 16)):
        own = [s for s in samples if s["experiment"] == experiment]
        assert [s["duration_s"] for s in own] == written[experiment]["latency"]["values"]
        assert {s["prompt_tokens"] or s["context_tokens"] for s in own} == {length}
        assert {s["tokens"] for s in own} == {tokens}
    assert run["software"]["transformers"] == "4.57.1" and run["software"]["pytorch"] == "2.13.0+cpu"
    assert run["machine"]["label"] == "AMD EPYC"
    assert run["model"]["weights"]["file"] == "tinymodel"
    assert (run["model"]["parameters"], run["model"]["weights_bytes"]) == (107_072, 4 * 107_072)
    assert run["origin"]["version"] == "0.6.0"
    told = " ".join(run["origin"]["notes"])
    assert "64 to 79" in told and "one process" in told and "dtype" in told and "per_token" in told
    assert len(run["processes"]) == 1
    assert main(["check", "--site-data", str(site_data)]) == 0
    assert main(["show", run["run_id"], "--site-data", str(site_data)]) == 0


def test_a_report_alone_asks_for_what_it_does_not_say(
    site_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    error = refused(site_data, capsys, REPORT)
    assert "--dtype TYPE --prompt-tokens N --date YYYY-MM-DD" in error
    assert bring_in(site_data, REPORT, *ALL_SAID) == 0
    run, samples = the_run(site_data)
    assert {s["tokens"] for s in samples if s["experiment"] == "decode"} == {16}
    assert run["started_at"] == "2026-11-30T00:00:00Z"
    assert run["origin"]["version"] is None
    assert any("read as one of 0.6.0" in note for note in run["origin"]["notes"])
    assert any(
        "Stated at import, not by the file: dtype and prompt tokens" in n for n in run["origin"]["notes"]
    )
    assert run["machine"]["label"] == "a machine that the file does not name"
    assert main(["check", "--site-data", str(site_data)]) == 0


def test_a_dtype_in_the_configuration_is_taken(tmp_path: Path, site_data: Path) -> None:
    def change(data: dict[str, Any]) -> None:
        data["config"]["backend"]["torch_dtype"] = "bfloat16"

    assert bring_in(site_data, changed(tmp_path, WHOLE, change), "--date", "2026-11-30") == 0
    run, _ = the_run(site_data)
    assert (
        run["model"]["dtype"] == "bfloat16"
        and run["model"]["weights_bytes"] == 2 * run["model"]["parameters"]
    )


def test_a_decode_by_subtraction_is_left_out(
    tmp_path: Path, site_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bring_in(site_data, changed(tmp_path, REPORT, lambda data: data.pop("per_token")), *ALL_SAID) == 0
    _, samples = the_run(site_data)
    assert {s["experiment"] for s in samples} == {"prefill"}
    assert "Left out: decode" in capsys.readouterr().out


def test_a_gpu(tmp_path: Path, site_data: Path) -> None:
    def change(data: dict[str, Any]) -> None:
        data["config"]["backend"] |= {"device": "cuda", "torch_dtype": "float16"}
        data["config"]["environment"]["gpu"] = ["<script>", "<script>"]

    assert bring_in(site_data, changed(tmp_path, WHOLE, change), "--date", "2026-11-30") == 0
    run, _ = the_run(site_data)
    assert run["machine"]["accelerator"]["name"] == "<script>"
    assert any("device cuda" in note for note in run["origin"]["notes"])


def test_a_configuration_alone_is_refused(site_data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "benchmark.json" in refused(site_data, capsys, DATA / "benchmark_config-0.6.0.json", *ALL_SAID)


def set_in(*path: Any) -> Change:
    """A change that sets what the path leads to, its last item being the value."""
    *keys, last, value = path

    def change(data: dict[str, Any]) -> None:
        part = data
        for key in keys:
            part = part[key]
        part[last] = value

    return change


@pytest.mark.parametrize(
    ("source", "change", "words"),
    [
        (REPORT, set_in("prefil", {}), ["field prefil", "nearest known: prefill"]),
        (REPORT, lambda d: d.pop("decode"), ["field decode", "found none"]),
        (REPORT, set_in("forward", {}), ["text-generation"]),
        (REPORT, set_in("decode", "latency", None), ["field latency", "an object"]),
        (REPORT, set_in("decode", "latency", "p91", 1), ["field p91", "nearest known: p9"]),
        (REPORT, set_in("decode", "latency", "unit", "ms"), ["field unit", "'ms'"]),
        (REPORT, set_in("decode", "latency", "values", 0, -1.0), ["values[0]", "more than 0"]),
        (REPORT, set_in("decode", "latency", "values", []), ["field values"]),
        (REPORT, set_in("decode", "latency", "values", 0, 1e30), ["values[0]", "at most"]),
        (REPORT, set_in("decode", "latency", "count", 9), ["field count", "3"]),
        (REPORT, set_in("decode", "latency", "mean", 1.0), ["field mean"]),
        (REPORT, set_in("decode", "throughput", "value", 57.5), ["field value", "whole number"]),
        (REPORT, set_in("decode", "throughput", "unit", "samples/s"), ["tokens/s"]),
        (WHOLE, set_in("config", "environment", "optimum_benchmark_version", "0.7.0"), ["0.7.0", "0.6.0"]),
        (WHOLE, lambda d: d["config"].pop("environment"), ["field environment"]),
        (WHOLE, set_in("extra", 1), ["field extra"]),
        (WHOLE, set_in("config", "launcher", "name", "torchrun"), ["torchrun"]),
        (WHOLE, set_in("config", "scenario", "input_shapes", "batch_size", 2), ["batch_size", "throughput"]),
        (WHOLE, set_in("config", "scenario", "input_shapes", "sequence_length", 0), ["sequence_length"]),
        (
            WHOLE,
            set_in("config", "scenario", "generate_kwargs", "max_new_tokens", 32),
            ["max_new_tokens", "17"],
        ),
        (WHOLE, set_in("config", "scenario", "generate_kwargs", "num_beams", 4), ["num_beams"]),
        (WHOLE, set_in("config", "backend", "quantization_config", {"bits": 4}), ["quantised"]),
        (WHOLE, set_in("config", "backend", "device", "cuda"), ["field gpu"]),
    ],
)
def test_what_is_wrong_is_named(
    tmp_path: Path,
    site_data: Path,
    capsys: pytest.CaptureFixture[str],
    source: Path,
    change: Change,
    words: list[str],
) -> None:
    path = changed(tmp_path, source, change)
    error = refused(site_data, capsys, path, *(SAID if source == WHOLE else ALL_SAID))
    for word in [str(path), *words]:
        assert word in error


def test_what_the_file_says_is_not_said_otherwise(
    site_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "leave it out" in refused(site_data, capsys, WHOLE, *SAID, "--prompt-tokens", "65")


@pytest.mark.parametrize("flag", [("--date", "yesterday"), ("--prompt-tokens", "-3"), ("--dtype", "int4")])
def test_flags_that_say_nothing(site_data: Path, flag: tuple[str, str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        bring_in(site_data, REPORT, *flag)
    assert stopped.value.code == 2


def test_cut_short(tmp_path: Path, site_data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "cut.json"
    path.write_text(REPORT.read_text(encoding="utf-8")[:-200], encoding="utf-8")
    error = refused(site_data, capsys, path, *ALL_SAID)
    assert f"{path}:" in error and "cut short" in error
