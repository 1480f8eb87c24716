"""The whole path on one machine in one go: a tiny model is measured, a site is built from the run, its HTML is read."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup, Tag

from tests.measure.conftest import ROOT, FinishedRun

PAGE = """\
# One page

Decode takes {{ decode.seconds_per_token }} a token.
It takes longer than prefill. {{ claim decode.seconds_per_token > prefill.seconds_per_token }}

{{ when decode.joules_per_token }}It draws {{ decode.joules_per_token }}.{{ otherwise }}Its energy was not
measured.{{ end }} The reason: {{ decode.joules_per_token }}.

The cache holds {{ kv_cache.bytes_per_token }} a token, and {{ model tiny.kv_bytes_per_token_16bit }} in 16 bits.
"""

QUANTITIES = """\
version = 1

[runs.main]
label = "Tiny"
model = "tiny"
plans = ["quick"]

[quantity."prefill.seconds_per_token"]
title = "Prefill"
meaning = "Time to process a prompt of 500 tokens, divided by 500"
unit = "s"
measured = { experiment = "prefill", prompt_tokens = 500, field = "seconds_per_token" }

[quantity."decode.seconds_per_token"]
title = "Decode"
meaning = "Time of one decode step with 500 tokens in the cache"
unit = "s"
measured = { experiment = "decode", context_tokens = 500, mode = "eager", field = "seconds_per_token" }

[quantity."decode.joules_per_token"]
title = "Decode energy"
meaning = "Energy of one decode step with 500 tokens in the cache"
unit = "J"
measured = { experiment = "decode", context_tokens = 500, mode = "eager", field = "joules_per_token" }

[quantity."kv_cache.bytes_per_token"]
title = "KV cache"
meaning = "Size of the cache's tensors, divided by the tokens in it"
unit = "bytes"
show = "exact"
measured = { experiment = "kv_cache", context_tokens = 500, field = "kv_bytes_per_token" }
"""

CONFIG = """\
site_name: One page
theme: {{name: material, font: false}}
plugins: []
hooks: [{hook}]
"""


class Project:
    """A site of one page over a copy of the run."""

    def __init__(self, folder: Path, run: FinishedRun) -> None:
        self.folder = folder
        self.run_id = run.folder.name
        shutil.copytree(run.site_data, folder / "site_data")
        shutil.copytree(ROOT / "site_data" / "tokenizers", folder / "site_data" / "tokenizers")
        (folder / "site_data" / "cited").mkdir()
        (folder / "docs").mkdir()
        (folder / "docs" / "index.md").write_text(PAGE, encoding="utf-8")
        (folder / "docs" / "quantities.toml").write_text(QUANTITIES, encoding="utf-8")
        (folder / "mkdocs.yml").write_text(CONFIG.format(hook=ROOT / "hooks" / "site.py"), encoding="utf-8")

    @property
    def samples_file(self) -> Path:
        return self.folder / "site_data" / "runs" / self.run_id / "samples.jsonl"

    def samples(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.samples_file.read_text().splitlines()]

    def write(self, samples: list[dict[str, Any]]) -> None:
        self.samples_file.write_text("".join(json.dumps(s) + "\n" for s in samples))

    def build(self) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "mkdocs", "build", "--strict"],
            cwd=self.folder,
            capture_output=True,
            text=True,
            env={k: v for k, v in os.environ.items() if not k.startswith("SPLICED")},
        )

    def published(self, quantity: str) -> float:
        """The value of a number on the page, before it is rounded."""
        published = json.loads((self.folder / "site" / "published.json").read_text(encoding="utf-8"))
        (value,) = (q["value"] for q in published["pages"]["index.md"]["quantities"] if q["id"] == quantity)
        return float(value)

    def page(self) -> BeautifulSoup:
        built = self.build()
        assert built.returncode == 0, built.stdout + built.stderr
        return BeautifulSoup((self.folder / "site" / "index.html").read_text(encoding="utf-8"), "html.parser")


@pytest.fixture
def project(tmp_path: Path, finished: FinishedRun) -> Project:
    return Project(tmp_path, finished)


def number(page: BeautifulSoup, quantity: str) -> Tag:
    found = page.select_one(f'.quantity[data-quantity="{quantity}"]')
    assert found, f"no {quantity} on the page"
    return found


def bounds_s(text: str) -> tuple[float, float]:
    """Seconds between which the value lies that was rounded to `text`, or that has `text` as its bound."""
    if text.startswith("under"):
        return 0.0, bounds_s(text.removeprefix("under").strip())[1]
    figures, unit = text.split("\u202f")
    digits = figures.replace(".", "")
    decimals = len(figures.partition(".")[2])
    zeros = len(digits) - len(digits.rstrip("0")) if not decimals else 0
    half = 10.0 ** (zeros - decimals) / 2
    factor = {"s": 1.0, "ms": 1e-3, "µs": 1e-6}[unit]
    return (float(figures) - half) * factor, (float(figures) + half) * factor


def median_of_process_medians(samples: list[dict[str, Any]], keep: Callable[[dict[str, Any]], bool]) -> float:
    by_process: dict[int, list[float]] = {}
    for s in samples:
        if keep(s) and not s["warm_up"] and s["refusal"] is None:
            by_process.setdefault(s["process"], []).append(s["duration_s"] / s["tokens"])
    return statistics.median(statistics.median(v) for v in by_process.values())


def is_decode(sample: dict[str, Any]) -> bool:
    """Of the cell that the page states."""
    return (sample["experiment"], sample["context_tokens"], sample["mode"]) == ("decode", 500, "eager")


def test_what_was_measured_is_what_the_page_says(project: Project) -> None:
    page = project.page()
    decode = number(page, "decode.seconds_per_token")
    expected_s = median_of_process_medians(project.samples(), is_decode)
    assert project.published("decode.seconds_per_token") == pytest.approx(expected_s)
    low_s, high_s = bounds_s(decode.text)
    assert low_s <= expected_s <= high_s
    assert decode["data-run"] == project.run_id
    assert decode["id"] == "n-decode.seconds_per_token"
    size = number(page, "kv_cache.bytes_per_token")
    assert size.text.replace("\u202f", " ").replace(" ", " ") == "512 bytes"
    refused = number(page, "decode.joules_per_token")
    assert "refused" in refused["class"] and refused["data-refusal"] == "unavailable"
    assert next(s for s in project.samples() if is_decode(s))["energy_refusal"]["reason"] in refused.text
    assert "Its energy was not" in page.text and "It draws" not in page.text
    claim = page.select_one(".claim")
    assert claim and claim["data-claim"] == "decode.seconds_per_token > prefill.seconds_per_token"
    assert "256" in page.text  # 16 bits: half of what float32 takes


def test_changed_samples_change_the_page(project: Project) -> None:
    before = number(project.page(), "decode.seconds_per_token").text
    before_s = project.published("decode.seconds_per_token")
    samples = project.samples()
    for sample in samples:
        if is_decode(sample):
            sample["duration_s"] *= 30
    project.write(samples)
    after = number(project.page(), "decode.seconds_per_token").text
    assert after != before
    assert project.published("decode.seconds_per_token") == pytest.approx(30 * before_s)


def test_missing_samples_fail_the_build(project: Project) -> None:
    project.write([s for s in project.samples() if not is_decode(s)])
    built = project.build()
    said = built.stdout + built.stderr
    assert built.returncode != 0
    assert "index.md:3" in said and "decode.seconds_per_token" in said and "500" in said


def test_a_claim_that_turns_false_fails_the_build_with_both_values(project: Project) -> None:
    samples = project.samples()
    for sample in samples:
        if is_decode(sample):
            sample["duration_s"] *= 1e-6
    project.write(samples)
    built = project.build()
    said = built.stdout + built.stderr
    assert built.returncode != 0
    assert "It takes longer than prefill." in said and "index.md:4" in said
    assert "decode.seconds_per_token" in said and "prefill.seconds_per_token" in said
