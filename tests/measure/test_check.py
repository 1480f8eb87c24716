"""`check`: every way in which data can be wrong is said with file, line, field, expected and found."""

from __future__ import annotations

import json
import lzma
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from measure.check import Checker, parse
from tests.measure.conftest import ROOT, Command, FinishedRun

Change = Callable[[dict[str, Any]], object]


def problems(site_data: Path) -> list[str]:
    return [str(problem) for problem in Checker(site_data).problems()]


def change_sample(run: FinishedRun, number: int, change: Change) -> None:
    path = run.folder / "samples.jsonl"
    lines = path.read_text().splitlines()
    sample = json.loads(lines[number - 1])
    change(sample)
    lines[number - 1] = json.dumps(sample)
    path.write_text("\n".join(lines) + "\n")


def change_json(path: Path, change: Change) -> None:
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))


def test_the_committed_data_is_valid() -> None:
    assert problems(ROOT / "site_data") == []


def test_what_a_run_writes_is_valid(finished: FinishedRun) -> None:
    assert problems(finished.site_data) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda s: s.update(duration_s=-0.5), "duration_s: expected more than 0, found -0.5"),
        (lambda s: s.update(duration_s=0), "duration_s: expected more than 0, found 0"),
        (lambda s: s.update(duration_s="1 s"), "duration_s: expected number or null, found '1 s'"),
        (lambda s: s.update(duration_s=float("nan")), "expected one sample as JSON, found NaN"),
        (lambda s: s.update(duration_s=float("inf")), "expected one sample as JSON, found Infinity"),
        (lambda s: s.update(kv_cache_bytes=2**63), "expected one sample as JSON, found 9223372036854775808"),
        (lambda s: s.update(duration_s=None), "duration_s: expected seconds, or a refusal"),
        (lambda s: s.pop("tokens"), "expected the field 'tokens', found none"),
        (lambda s: s.update(tokens=1), "tokens: expected 500 x 1 steps, found 1"),
        (lambda s: s.update(duration_ms=5), "expected only the fields of schema.json, found 'duration_ms'"),
        (lambda s: s.update(experiment="training"), "experiment: expected one of prefill, decode, kv_cache"),
        (lambda s: s.update(prompt_tokens=77, tokens=77), "expected a cell of the plan in run.json"),
        (lambda s: s.update(process=9), "process: expected a process of run.json, found 9"),
        (lambda s: s.update(energy_refusal=None), "energy_joules: expected joules, or an energy_refusal"),
        (lambda s: s.update(refusal={"kind": "broken", "reason": "x"}), "expected one of unavailable"),
        (
            lambda s: s["gates"].update(clock="failed"),
            "refusal: expected a reason, since the gate clock failed",
        ),
        (
            lambda s: s["gates"].update(mood="passed"),
            "gates: expected only the fields of schema.json, found 'mood'",
        ),
        (lambda s: s.update(work_flop=1e18), "work_flop: expected at most 100 % of the ceiling beside it"),
    ],
)
def test_bad_samples(run_copy: FinishedRun, change: Change, said: str) -> None:
    number = 1 + next(i for i, s in enumerate(run_copy.samples()) if is_good_prefill(s))
    change_sample(run_copy, number, change)
    found = problems(run_copy.site_data)
    assert any(f"{run_copy.folder / 'samples.jsonl'}:{number}: " in p and said in p for p in found), found


def is_good_prefill(sample: dict[str, Any]) -> bool:
    timed = sample["prompt_tokens"] == 500 and not sample["warm_up"]
    return timed and sample["refusal"] is None and sample["steps"] == 1


def test_a_repeated_sample(run_copy: FinishedRun) -> None:
    path = run_copy.folder / "samples.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*lines[:-1], lines[0]]))
    (problem,) = problems(run_copy.site_data)
    assert problem.startswith(f"{path}:{len(lines)}: repetition: expected each repetition once")


def test_a_repeated_key(run_copy: FinishedRun, rewrite_line: Any) -> None:
    path = run_copy.folder / "samples.jsonl"
    rewrite_line(path, 2, lambda line: line.replace('"steps"', '"process": 0, "steps"'))
    (problem,) = problems(run_copy.site_data)
    assert problem.startswith(f"{path}:2: expected one sample as JSON, found the key 'process' twice")


def test_a_last_line_cut_short(run_copy: FinishedRun) -> None:
    path = run_copy.folder / "samples.jsonl"
    content = path.read_bytes()
    path.write_bytes(content[:-30])
    lines = content.count(b"\n")
    torn, count = problems(run_copy.site_data)
    assert torn.startswith(f"{path}:{lines}: expected a whole line, found a line cut short")
    assert count == f"{path}: expected {lines} lines, as run.json says, found {lines - 1}"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda r: r.update(schema_version=3),
            "schema_version: expected 2, the version that this program reads",
        ),
        (
            lambda r: r.update(run_id="other"),
            "run_id: expected '{folder}', as the folder is called, found 'other'",
        ),
        (lambda r: r.update(status="unfinished"), "status: expected 'complete', as everything in runs/"),
        (lambda r: r["model"].update(name="qwen9"), "model.name: expected one of models/: llama-2-70b"),
        (lambda r: r["machine"].pop("cpu"), "machine: expected the field 'cpu', found none"),
        (lambda r: r.update(started_at="today"), "started_at: expected text like"),
        (lambda r: r["plan"].update(rounds=0), "plan.rounds: expected at least 1, found 0"),
    ],
)
def test_bad_provenance(run_copy: FinishedRun, change: Change, said: str) -> None:
    change_json(run_copy.folder / "run.json", change)
    found = problems(run_copy.site_data)
    said = said.format(folder=run_copy.folder.name)
    assert any(str(run_copy.folder / "run.json") in p and said in p for p in found), found


def test_a_run_without_its_samples(run_copy: FinishedRun) -> None:
    (run_copy.folder / "samples.jsonl").unlink()
    (problem,) = problems(run_copy.site_data)
    assert "expected the samples of the run" in problem


def test_bad_models(site_data: Path) -> None:
    change_json(site_data / "models" / "tiny.json", lambda m: m.update(layers=0, name="small"))
    found = problems(site_data)
    assert any("tiny.json: layers: expected at least 1, found 0" in p for p in found)
    assert any("tiny.json: name: expected 'tiny', as the file is called, found 'small'" in p for p in found)


def test_a_tokenizer_with_another_content(site_data: Path) -> None:
    shutil.copytree(ROOT / "site_data" / "tokenizers", site_data / "tokenizers")
    file = site_data / "tokenizers" / "qwen2.5" / "tokenizer.json.xz"
    file.write_bytes(lzma.compress(b"{}", preset=0))
    (problem,) = problems(site_data)
    assert "tokenizer.json.xz: sha256: expected c0382117ea329cdf" in problem


def test_no_schema_and_no_folder(tmp_path: Path) -> None:
    assert "expected a folder with schema.json" in problems(tmp_path / "nothing")[0]
    assert "expected the data contract, found no file" in problems(tmp_path)[0]


def test_the_command_exits_with_1_and_says_what_mends_it(run_copy: FinishedRun, measure: Command) -> None:
    change_sample(run_copy, 3, lambda s: s.update(duration_s=-1))
    bad = measure("check", "--site-data", str(run_copy.site_data))
    assert bad.returncode == 1
    assert "samples.jsonl:3: duration_s: expected more than 0, found -1" in bad.stderr
    assert "git checkout" in bad.stderr


def test_the_command_exits_with_0_when_all_is_well(finished: FinishedRun, measure: Command) -> None:
    good = measure("check", "--site-data", str(finished.site_data))
    assert (good.returncode, good.stderr) == (0, "")
    assert "1 run, all as schema.json says" in good.stdout


def test_the_schema_is_a_schema_and_explains_itself() -> None:
    from jsonschema import Draft202012Validator

    schema = json.loads((ROOT / "site_data" / "schema.json").read_text())
    Draft202012Validator.check_schema(schema)
    sample = schema["$defs"]["sample"]["properties"]
    unexplained = [
        name
        for name, field in sample.items()
        if "description" not in field and "$ref" not in field and "anyOf" not in field
    ]
    assert unexplained == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[1e999]", "1e999"),
        ("[-1e999]", "1e999"),
        ("[NaN]", "NaN"),
        (f"[{2**63}]", "64 bits"),
        (f"[{'9' * 5000}]", "64 bits"),
        ('{"a": 1, "a": 2}', "twice"),
        ("[" * 100_000, "without end"),
    ],
)
def test_json_that_is_no_data_is_refused(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse(text)


def test_the_largest_numbers_are_data() -> None:
    assert parse(f"[{2**63 - 1}, {-(2**63)}, 1.5e308]") == [2**63 - 1, -(2**63), 1.5e308]
