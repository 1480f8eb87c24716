"""A page that shows what other programs measured: real files of theirs, imported, with their origin beside them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from measure.cli import main
from tests.measure.conftest import TINY
from tests.publish.fixture_data import ROOT
from tests.publish.project import Project

DATA = ROOT / "tests" / "measure" / "data"
FILE = DATA / "llama-bench" / "llama-bench-f32.json"
REPORT = DATA / "optimum-benchmark" / "benchmark_report-0.6.0.json"

QUANTITIES = """
[runs.theirs]
label = "llama.cpp"
model = "qwen2.5-1.5b"
origin = "llama-bench"

[quantity."theirs.decode"]
title = "Decode by llama.cpp"
meaning = "Time of one decode step with 0 to 31 tokens in the cache; batch 1"
unit = "s"
run = "theirs"
measured = { experiment = "decode", batch = 1, context_tokens = 16, mode = "imported", field = "seconds_per_token" }

[runs.report]
label = "Tiny by optimum-benchmark"
model = "tiny"
origin = "optimum-benchmark"

[quantity."report.prefill"]
title = "Prefill by optimum-benchmark"
meaning = "Time of a prefill of 64 tokens, divided by 64; batch 1"
unit = "s"
run = "report"
measured = { experiment = "prefill", batch = 1, prompt_tokens = 64, mode = "imported", field = "seconds_per_token" }
"""

PAGE = """---
title: Theirs
---

# Theirs {#theirs}

A step takes {{ theirs.decode }} there.

Another program took {{ report.prefill label=off }} a token, as Tiny by optimum-benchmark.

{{ measured-in }}
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = Project.make(tmp_path_factory.mktemp("imported") / "project")
    site_data = project.folder / "site_data"
    arguments = ["import", str(FILE), "--model", "qwen2.5-1.5b", "--weights", "random"]
    assert main([*arguments, "--site-data", str(site_data)]) == 0
    (site_data / "models" / "tiny.json").write_text(json.dumps(TINY), encoding="utf-8")
    arguments = ["import", str(REPORT), "--model", "tiny", "--dtype", "float32", "--prompt-tokens", "64"]
    assert main([*arguments, "--date", "2026-11-30", "--site-data", str(site_data)]) == 0
    quantities = project.folder / "docs" / "quantities.toml"
    quantities.write_text(quantities.read_text(encoding="utf-8") + QUANTITIES, encoding="utf-8")
    project.write("docs/index.md", PAGE)
    (project.folder / "docs" / "notes" / "note.ipynb").unlink()
    config = project.folder / "mkdocs.yml"
    config.write_text(
        config.read_text(encoding="utf-8").replace("  - notes/note.ipynb\n", ""), encoding="utf-8"
    )
    return project.build()


def text_of(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "", html)).replace("\u202f", " ").replace("\u00a0", " ")


def test_the_value_is_the_files_own(built: Project) -> None:
    assert built.code == 0, built.output
    tests = json.loads(FILE.read_text(encoding="utf-8"))
    durations_ns = sorted(next(t for t in tests if t["n_gen"] == 32)["samples_ns"])
    milliseconds = durations_ns[2] / 32 / 1e6
    page = text_of(built.read("index.html"))
    shown = re.search(r"A step takes (\d+) ms", page)
    assert shown, page[:2000]
    # one process has no interval, so two digits are shown
    assert int(shown[1]) == round(milliseconds, -1)


def test_its_origin_stands_in_its_provenance(built: Project) -> None:
    page = text_of(built.read("index.html"))
    assert "imported from llama-bench 0c1e570 (build 1), file llama-bench-f32.json" in page
    assert "none: fewer than 3 processes" in page
    assert "1 process, 5 samples" in page
    assert "tg32: 0 to 31, stored as 16" in page
    assert "random weights, as stated at import (qwen15-f32.gguf)" in page
    assert re.search(
        r"Measured in: run 20261130-092459-qwen2.5-1.5b-llama-bench-\w+ of 2026-11-30, on AMD EPYC", page
    )


def test_a_report_of_optimum_benchmark_is_shown_likewise(built: Project) -> None:
    page = text_of(built.read("index.html"))
    values = sorted(json.loads(REPORT.read_text(encoding="utf-8"))["prefill"]["latency"]["values"])
    shown = re.search(r"Another program took ([\d.]+) ms", page)
    assert shown, page[:2000]
    assert float(shown[1]) == float(f"{values[1] / 64 * 1e3:.2g}")
    assert "imported from optimum-benchmark, file benchmark_report-0.6.0.json" in page
    assert "it was read as one of 0.6.0" in page


def test_programs_find_the_origin(built: Project) -> None:
    assert 'data-origin="llama-bench"' in built.read("index.html")


def test_the_folder_is_what_the_importing_program_wrote(built: Project) -> None:
    (folder,) = Path(built.folder, "site_data", "runs").glob("*llama-bench*")
    assert {path.name for path in folder.iterdir()} == {"run.json", "samples.jsonl"}
