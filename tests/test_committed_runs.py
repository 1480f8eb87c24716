"""The runs that the site rests on: what they hold, where they come from, and that nobody touched them since."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from hooks.data import quiet, store
from hooks.numbers import model_facts
from measure import code
from measure.quiet import quiet_words

ROOT = Path(__file__).resolve().parents[1]
RUNS = sorted((ROOT / "site_data" / "runs").iterdir())


def read(folder: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    lines = (folder / "samples.jsonl").read_text(encoding="utf-8").splitlines()
    return json.loads((folder / "run.json").read_text(encoding="utf-8")), [json.loads(line) for line in lines]


def git(*arguments: str) -> str | None:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else None


@pytest.mark.parametrize(
    ("model", "weights", "parameters"),
    [("qwen2.5-1.5b", "random", 1_543_714_304), ("smollm2-135m", "file", 134_515_008)],
)
def test_the_pages_have_a_standard_run_of(model: str, weights: str, parameters: int) -> None:
    found = [
        read(folder)
        for folder in RUNS
        if (run := read(folder)[0])["model"]["name"] == model
        and run["model"]["weights"]["kind"] == weights
        and run["plan"]["name"] in ("standard", "gpu")
    ]
    assert found
    for run, samples in found:
        assert run["model"]["parameters"] == parameters
        wanted = [("prefill", n) for n in (64, 128, 500, 1000)] + [("decode", n) for n in (64, 500, 1000)]
        for experiment, length in wanted:
            processes = {
                s["process"]
                for s in samples
                if s["experiment"] == experiment
                and length in (s["prompt_tokens"], s["context_tokens"])
                and (s["batch"], s["mode"]) == (1, "eager")
                and not s["warm_up"]
                and s["refusal"] is None
            }
            assert len(processes) >= 5, (run["run_id"], experiment, length, processes)


@pytest.mark.parametrize("folder", RUNS, ids=lambda folder: folder.name)
def test_a_run_has_what_its_plan_says_or_tells_what_it_left_out(folder: Path) -> None:
    run, samples = read(folder)
    if run.get("origin"):
        pytest.skip("imported: its plan is what the file held")
    key = ("experiment", "batch", "prompt_tokens", "context_tokens", "dtype", "mode")
    good = Counter(
        tuple(s[field] for field in key) for s in samples if not s["warm_up"] and s["refusal"] is None
    )
    told = {tuple(item["cell"][field] for field in key): item for item in run["plan"]["left_out"]}
    for planned in run["plan"]["cells"]:
        cell = tuple(planned[field] for field in key)
        rounds = 1 if planned["mode"] == "before_context" else run["plan"]["rounds"]
        if cell in told:
            assert (
                told[cell]["taken"] == good[cell] < told[cell]["planned"] == planned["repetitions"] * rounds
            )
        else:
            assert good[cell] == planned["repetitions"] * rounds


@pytest.mark.parametrize("folder", RUNS, ids=lambda folder: folder.name)
def test_real_caches_are_as_large_as_the_sizes_say(folder: Path) -> None:
    run, samples = read(folder)
    model = json.loads((ROOT / "site_data" / "models" / f"{run['model']['name']}.json").read_text())
    in_16_bits = model_facts.facts(model)["kv_bytes_per_token_16bit"].value
    scale = {"float32": 2, "bfloat16": 1, "float16": 1}[run["model"]["dtype"]]
    sizes = {s["kv_cache_bytes"] / s["tokens"] for s in samples if s["experiment"] == "kv_cache"}
    assert sizes == {in_16_bits * scale}


@pytest.mark.parametrize("folder", RUNS, ids=lambda folder: folder.name)
def test_a_run_was_measured_by_code_of_this_repository(folder: Path) -> None:
    run, _ = read(folder)
    if run["code"] is None:
        assert run["origin"], "only an imported run has no measuring code"
        return
    assert run["code"]["changed"] is not True
    if git("rev-parse", "--is-shallow-repository") != "false":
        return
    tree, commit = run["code"].get("tree"), run["code"]["commit"]
    if commit:
        assert git("cat-file", "-t", commit) == "commit"
        assert git("cat-file", "-t", f"{commit}:measure/phases.py") == "blob"
        assert tree is None or code.tree_of(commit) == tree
    else:  # measured on a copy without its repository
        assert tree and code.commit_with(tree), f"{folder.name}: no commit has the code that measured it"


@pytest.mark.parametrize("folder", RUNS, ids=lambda folder: folder.name)
def test_a_committed_run_was_never_changed(folder: Path) -> None:
    if git("rev-parse", "--is-shallow-repository") == "false":
        commits = (git("log", "--format=%H", "--", str(folder)) or "").split()
        assert len(commits) <= 1, f"{folder.name} was changed after it was committed"


def test_both_parts_of_the_project_tell_by_one_rule_whether_a_machine_was_quiet() -> None:
    told = {}
    for run in store.load(ROOT / "site_data").runs.values():
        by_hooks = quiet.disturbances(run.samples)
        by_measure = quiet_words(read(run.folder)[1])
        disturbed = [words for words in by_measure if "not quiet" in words]
        assert len(by_hooks) == len(disturbed), run.id
        for ours, theirs in zip(by_hooks, disturbed, strict=True):
            # the same count of samples, or the same of the two ceilings
            assert ("samples were" in ours) == ("samples were" in theirs), run.id
            assert ("read bandwidth" in ours) == ("read bandwidth" in theirs), run.id
            assert ours.split(" were ")[0] in theirs or "went between" in ours, run.id
        told[run.id] = bool(disturbed)
    assert any(told.values())
