"""Replays: their lanes, their times against the quantities behind them, and their HTML."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hooks.extension import Site
from hooks.numbers.book import Book
from hooks.widgets import replays
from tests.publish import fixture_data
from tests.publish.fixture_data import ROOT
from tests.publish.test_pages import convert

ANSWER = "Twelve tokens or so, and a hedgehog 🦔."


def test_a_lane_for_each_machine_and_mode(book: Book) -> None:
    lanes = replays.lanes(book, 40)
    assert [lane.name for lane in lanes] == [
        "CPU, plain steps",
        "CPU, compiled steps",
        "GPU, plain steps",
        "GPU, one CUDA graph",
        "A100, transformers",
        "A100, vLLM",
    ]
    assert not any(lane.refused for lane in lanes)
    assert all("Qwen2.5 Speed Benchmark" in lane.where for lane in lanes[-2:])


def test_times_are_those_of_the_quantities(book: Book) -> None:
    count = 40
    plain, fast, *_, cited = replays.lanes(book, count)
    prefill = book.read("prefill.seconds_per_token").value or 0
    for lane, step in ((plain, "decode.seconds_per_token"), (fast, "decode.fast.seconds_per_token")):
        assert lane.prompt_tokens == 500
        assert lane.first.value == pytest.approx(500 * prefill)
        assert lane.whole.value == pytest.approx(500 * prefill + (count - 1) * (book.read(step).value or 0))
        assert lane.first.half, "the spread between processes goes into the times"
    pace = book.read("cite.qwen2.5-speed-benchmark.vllm").value or 0
    assert cited.first.value == pytest.approx(1 / pace)
    assert cited.whole.value == pytest.approx(count / pace)


def test_a_machine_that_is_still_to_come_is_one_line(tmp_path: Path) -> None:
    folder = fixture_data.site_data(tmp_path / "site_data")
    fixture_data.write_run(folder)
    site = Site.open(folder, ROOT / "docs/quantities.toml")
    lanes = replays.lanes(site.book, 40)
    refused = [lane for lane in lanes if lane.refused]
    assert [lane.name for lane in refused] == ["Qwen2.5-1.5B on a GPU"]
    html = convert('{{ replay "One two." }}', site)
    assert html.count('class="replay-lane"') == len(lanes) - 1
    assert html.count("no GPU has been measured for this site yet") >= 1


def test_a_mode_that_a_run_lacks_is_no_second_lane(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = fixture_data.site_data(tmp_path / "site_data")
    fixture_data.write_run(folder)
    monkeypatch.setattr(replays, "KINDS", (replays.KINDS[0], replays.KINDS[0], replays.KINDS[1]))
    site = Site.open(folder, ROOT / "docs/quantities.toml")
    assert len(replays.lanes(site.book, 40)) == 2


def test_each_lane_has_the_whole_text(site: Site) -> None:
    html = convert(f'{{{{ replay "{ANSWER}" }}}}', site)
    lanes = re.findall(r'<p [^>]*class="tokens replay-text"[^>]*>(.*?)</p>', html, re.DOTALL)
    assert len(lanes) == 6
    for lane in lanes:
        assert "".join(re.findall(r'<span class="token"[^>]*>([^<]*)</span>', lane)) == ANSWER
    ids = re.findall(r'data-token-id="([^"]+)"', lanes[0])
    (count,) = re.findall(r"an answer of (\d+) tokens", html)
    assert sum(len(one.split()) for one in ids) == int(count) > len(ids), "the hedgehog takes several"
    assert 'tabindex="0" data-token' not in html
