"""The audit finds typed numbers that look measured, and nothing else; the repository's own pages pass it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hooks import audit
from hooks.errors import PublishError
from hooks.extension import Site
from hooks.numbers.book import Book
from hooks.numbers.formatting import SPACE
from hooks.writing import written
from tests.publish.fixture_data import ROOT

FOUND = [
    ("It takes 350 ms.", "350 ms", (0.35,), "s"),
    (f"It takes 350{SPACE}ms.", "350 ms", (0.35,), "s"),
    ("From 18 to 27 ms.", "18 to 27 ms", (0.018, 0.027), "s"),
    ("It fills 3.09 GB.", "3.09 GB", (3.09e9,), "bytes"),
    ("It fills 28 KiB.", "28 KiB", (28 * 1024.0,), "bytes"),
    ("It reads 1,500 tokens.", "1,500 tokens", (1500.0,), "tokens"),
    ("At 2.4 tokens a second.", "2.4 tokens a second", (2.4,), "tokens/s"),
    ("It draws 60 W.", "60 W", (60.0,), "W"),
    ("About 56 % of it.", "56 %", (0.56,), "1"),
    ("About 7 percent of it.", "7 percent", (0.07,), "1"),
    ("It reaches 150 GFLOP/s.", "150 GFLOP/s", (150e9,), "flop/s"),
    ("It is 24 times as slow.", "24 times", (24.0,), "1"),
    ("Between 20 and 35 times.", "20 and 35 times", (20.0, 35.0), "1"),
    ("It is 3× as slow.", "3×", (3.0,), "1"),
    ("It is twice as slow.", "twice", (2.0,), "1"),
    ("A tenfold cost.", "tenfold", (10.0,), "1"),
    ("Used five hundred times.", "five hundred times", (500.0,), "1"),
    ("It needs half as much.", "half", (0.5,), "1"),
]
NOT_FOUND = [
    "A 500-token prompt in 16-bit weights on an A100-80GB.",
    "Llama 3 70B has 80 layers; see page 12, version 3.11, in 2026.",
    "A 95 % prediction interval holds 95 times in 100.",
    "It appears twice. The first of three points.",
    "`350 ms` in code, {{ plain \"350 ms\" }}, {{ decode.seconds_per_token }}, <b title=\"3 ms\">b</b>",
    "[a link](https://example.org/3%20ms/100ms) {: #a-3 style=\"width: 30 %\" }",
    "\n```text\n350 ms\n```\n",
    "<!-- 350 ms -->",
    "\\{{ 350 }}",
]  # fmt: skip


@pytest.mark.parametrize(("text", "shown", "values", "unit"), FOUND)
def test_what_looks_measured(text: str, shown: str, values: tuple[float, ...], unit: str) -> None:
    (number,) = written.find(text)
    assert (number.text, number.unit) == (" ".join(shown.split()), unit)
    assert number.values == pytest.approx(values)
    assert text[number.start :].startswith(shown[0])


def report(docs: Path, book: Book, page: str, allow: str = "") -> list[str]:
    docs.mkdir(exist_ok=True)
    (docs / "page.md").write_text(page, encoding="utf-8")
    (docs / audit.ALLOWED).write_text(allow, encoding="utf-8")
    return [str(error) for error in audit.unbound(docs, book)]


@pytest.mark.parametrize("text", NOT_FOUND)
def test_what_does_not(text: str, tmp_path: Path, book: Book) -> None:
    assert report(tmp_path / "docs", book, text) == []


def test_a_finding_names_place_sentence_and_what_would_bind_it(tmp_path: Path, book: Book) -> None:
    page = "---\ntitle: T\n---\n\n# Heading\n\nFirst. Decode takes about 360 ms\nper token. Last.\n"
    (found,) = report(tmp_path / "docs", book, page)
    assert found.splitlines()[0] == "docs/page.md:7: “360 ms” looks measured, and nothing stands behind it"
    assert "sentence: “Decode takes about 360 ms per token.”" in found
    assert f"decode.seconds_per_token (355{SPACE}ms)" in found
    assert "mend: write {{ decode.seconds_per_token" in found and '{{ plain "360 ms" }}' in found


def test_cited_values_and_model_facts_are_near_too(tmp_path: Path, book: Book) -> None:
    (found,) = report(tmp_path / "docs", book, "It writes 39.7 tokens/s there.")
    assert "cite.qwen2.5-speed-benchmark.transformers" in found
    assert "write {{ cite qwen2.5-speed-benchmark.transformers }}" in found
    (found,) = report(tmp_path / "docs", book, "It has 107,000 tokens of room.")
    assert "write {{ model qwen2.5-1.5b.kv_equals_weights_tokens }}" in found


def test_titles_table_cells_and_alt_texts_are_prose(tmp_path: Path, book: Book) -> None:
    page = "---\ntitle: It takes 1 ms\n---\n\n| a | 2 ms |\n|---|---|\n| b | 3 ms |\n\n![4 ms](a.png)\n"
    found = report(tmp_path / "docs", book, page)
    assert [line.split("“")[1][:4] for line in found] == ["1 ms", "2 ms", "3 ms", "4 ms"]
    assert [line.split(":")[1] for line in found] == ["2", "5", "7", "9"]


def test_a_claim_binds_the_numbers_that_it_states(tmp_path: Path, book: Book) -> None:
    about = "{{ claim about(time.decode_over_prefill, 14, 10%) }}"
    assert report(tmp_path / "docs", book, f"Once. It is about 14 times as slow. {about} End.") == []
    assert report(tmp_path / "docs", book, f"It is 14 times as slow. {{{{ claim a.b > 1 }}}} {about}") == []
    assert len(report(tmp_path / "docs", book, f"It is about 15 times as slow. {about}")) == 1
    assert len(report(tmp_path / "docs", book, f"It is 14 times as slow. Then this. {about}")) == 1
    two = "It is 10 to 20 times as slow. {{ claim within(time.decode_over_prefill, 10, 20) }}"
    assert report(tmp_path / "docs", book, two) == []
    assert report(tmp_path / "docs", book, "It is twice as slow. {{ claim about(a.b, 2, 10%) }}") == []


def test_an_entry_with_a_reason_allows_one(tmp_path: Path, book: Book) -> None:
    entry = '[[allow]]\npage = "page.md"\ntext = "over 25 seconds"\nreason = "a setting"\n'
    assert report(tmp_path / "docs", book, "Windows of over 25 seconds.", entry) == []
    (found, unused) = report(tmp_path / "docs", book, "Windows of 25 seconds.", entry)
    assert "“25 seconds” looks measured" in found
    assert unused.startswith(
        f"docs/{audit.ALLOWED}:1: “over 25 seconds” is allowed on page.md and does not stand"
    )


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ('[[allow]]\npage = "page.md"\ntext = "5 s"\n', "needs page, text and reason"),
        ('[[allow]]\npage = "page.md"\ntext = "5 s"\nreason = ""\n', "needs page, text and reason"),
        ('[[allow]]\npage = "p"\ntext = "5 s"\nreason = "r"\nunit = "s"\n', "needs page, text and reason"),
        ("[[allow\n", "no list of typed numbers"),
        ("[other]\n", "no list of typed numbers"),
    ],
)
def test_a_bad_list(entry: str, message: str, tmp_path: Path, book: Book) -> None:
    with pytest.raises(PublishError, match=message):
        report(tmp_path / "docs", book, "Text.", entry)


def test_notebooks_are_read_cell_by_cell(tmp_path: Path, book: Book) -> None:
    cells = [
        ("markdown", ["# Note\n", "\n", "Text."]),
        ("code", ["x = '5 ms'"]),
        ("markdown", ["It takes\n", "5 ms."]),
    ]
    data = {
        "metadata": {"page": {"description": "It takes 6 ms"}},
        "cells": [{"cell_type": kind, "metadata": {}, "source": source} for kind, source in cells],
    }
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "note.ipynb").write_text(json.dumps(data), encoding="utf-8")
    first, second = map(str, audit.unbound(docs, book))
    assert first.startswith("docs/note.ipynb, cell 3, line 2: “5 ms”")
    assert second.startswith("docs/note.ipynb:1: “6 ms”")


def test_the_command_line(tmp_path: Path, site_data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "quantities.toml").write_text((ROOT / "docs/quantities.toml").read_text())
    arguments = ["--docs", str(docs), "--site-data", str(site_data)]
    (docs / "page.md").write_text("Fine.")
    assert audit.main(arguments) == 0
    (docs / "page.md").write_text("It takes 5 ms.")
    assert audit.main(arguments) == 1
    assert "1 to mend." in capsys.readouterr().out
    assert audit.main(["--docs", str(docs), "--site-data", str(tmp_path / "nowhere")]) == 2


def test_the_site_s_own_pages_pass() -> None:
    book = Site.open(ROOT / "site_data", ROOT / "docs" / "quantities.toml").book
    assert "\n\n".join(map(str, audit.unbound(ROOT / "docs", book))) == ""
