"""The runs that the site rests on: what they hold, where they come from, and that nobody touched them since."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from hooks import model_facts

ROOT = Path(__file__).resolve().parents[1]
RUNS = sorted((ROOT / "site_data" / "runs").iterdir())
LONG_WINDOW_S = 20.0
"""Cells with longer windows may have fewer than five samples in a process."""


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
        counts = Counter(
            (s["experiment"], s["prompt_tokens"] or s["context_tokens"], s["process"])
            for s in samples
            if not s["warm_up"] and s["refusal"] is None and (s["duration_s"] or 0) < LONG_WINDOW_S
        )
        wanted = [("prefill", n) for n in (64, 128, 500, 1000)] + [("decode", n) for n in (64, 500, 1000)]
        for experiment, length in wanted:
            slow = any(
                (s["duration_s"] or 0) >= LONG_WINDOW_S
                for s in samples
                if s["experiment"] == experiment and length in (s["prompt_tokens"], s["context_tokens"])
            )
            per_process = [n for (e, tokens, _), n in counts.items() if (e, tokens) == (experiment, length)]
            assert slow or (len(per_process) >= 5 and min(per_process) >= 5), (
                experiment,
                length,
                per_process,
            )


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
    assert run["code"]["changed"] is not True
    if run["code"]["commit"] and git("rev-parse", "--is-shallow-repository") == "false":
        assert git("cat-file", "-t", run["code"]["commit"]) == "commit"
        assert git("cat-file", "-t", f"{run['code']['commit']}:measure/phases.py") == "blob"


@pytest.mark.parametrize("folder", RUNS, ids=lambda folder: folder.name)
def test_a_committed_run_was_never_changed(folder: Path) -> None:
    if git("rev-parse", "--is-shallow-repository") == "false":
        commits = (git("log", "--format=%H", "--", str(folder)) or "").split()
        assert len(commits) <= 1, f"{folder.name} was changed after it was committed"
