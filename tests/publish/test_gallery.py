"""Charts kept between builds are never old: whatever changes, the kept ones are those that would be drawn anew."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import altair as alt
import pytest
from bs4 import BeautifulSoup

from hooks import charts
from hooks.build import Build
from hooks.caching.cache import Cache
from hooks.data import store
from hooks.numbers import quantities
from hooks.numbers.book import Book
from hooks.pictures import figures, gallery, painter, painting, svg
from hooks.pictures.gallery import Gallery
from hooks.pictures.painter import Painter
from tests.publish import fixture_data
from tests.publish.test_charts import ASKED

Specs = dict[str, str]


@pytest.fixture
def data(empty_data: Path) -> Path:
    fixture_data.write_run(empty_data)
    fixture_data.small_run(empty_data)
    fixture_data.gpu_run(empty_data)
    fixture_data.imported_run(empty_data)
    return empty_data


def opened(data: Path, text: str | None = None) -> Book:
    listed = data.parent / "quantities.toml"
    listed.write_text(
        text or (fixture_data.ROOT / "docs/quantities.toml").read_text("utf-8"), encoding="utf-8"
    )
    return Book(store.load(data), quantities.read(listed))


def all_of(kept: Cache, book: Book) -> list[Specs]:
    made = Gallery(kept)
    specs = [made.chart(name, book, alias, options)[1] for name, alias, options in ASKED]
    made.keep()
    return specs


def edit(path: Path, change: Callable[[Any], None]) -> None:
    """Change a JSON file."""
    content = json.loads(path.read_text(encoding="utf-8"))
    change(content)
    path.write_text(json.dumps(content), encoding="utf-8")


def test_changed_samples_of_any_kind_are_in_every_chart(data: Path, tmp_path: Path) -> None:
    kept = Cache(tmp_path / "cache")
    last = all_of(kept, opened(data))
    changed = 0
    for run in ("fixture-main", "fixture-gpu"):
        path = data / "runs" / run / "samples.jsonl"
        records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        kinds = {(record["experiment"], record["mode"]) for record in records if record["duration_s"]}
        for kind in sorted(kinds):
            for record in records:
                if (record["experiment"], record["mode"]) == kind and record["duration_s"]:
                    record["duration_s"] *= 1.2
            path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
            book = opened(data)
            now = all_of(kept, book)
            assert now == all_of(Cache(None), book), kind
            changed += now != last
            last = now
    assert changed >= 6, "the charts do draw these samples"


def test_other_records_titles_and_names_are_in_the_charts(data: Path, tmp_path: Path) -> None:
    kept = Cache(tmp_path / "cache")
    text = (fixture_data.ROOT / "docs/quantities.toml").read_text(encoding="utf-8")
    before = all_of(kept, opened(data))
    edit(data / "models/qwen2.5-1.5b.json", lambda model: model.update(title="Another title", layers=27))
    edit(data / "runs/fixture-main/run.json", lambda run: run["machine"].update(label="another machine"))
    edit(data / "cited/nvidia-memory-bandwidth.json", lambda cited: cited["values"][0].update(value=1e12))
    for book in (opened(data), opened(data, text.replace('label = "', 'label = "Other ', 1))):
        now = all_of(kept, book)
        assert now == all_of(Cache(None), book)
    assert now != before


def test_nothing_is_drawn_twice(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept, book = Cache(tmp_path / "cache"), opened(data)
    first = all_of(kept, book)
    monkeypatch.setattr(figures, "specifications", lambda *_, **__: pytest.fail("drawn again"))
    assert all_of(kept, book) == first
    assert all_of(kept, opened(data)) == first


@pytest.mark.parametrize("package", ["altair", "narwhals", "vl-convert-python"])
def test_another_version_is_other_code(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    assert gallery._made_with() == gallery._MADE_WITH
    version = gallery.version
    monkeypatch.setattr(gallery, "version", lambda asked: "0" if asked == package else version(asked))
    assert gallery._made_with() != gallery._MADE_WITH


def test_other_code_draws_anew(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept, book = Cache(tmp_path / "cache"), opened(data)
    first = all_of(kept, book)
    monkeypatch.setattr(gallery, "_MADE_WITH", "other code")
    monkeypatch.setattr(gallery, "_made_with", lambda: "other code")
    monkeypatch.setattr(figures, "specifications", lambda *_, **__: {"wide": "drawn anew"})
    assert all_of(kept, book) == [{"wide": "drawn anew"}] * len(first)


def test_what_was_made_while_the_code_changed_is_not_kept(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, book = Cache(tmp_path / "cache"), opened(data)
    monkeypatch.setattr(gallery, "_made_with", lambda: "code of a moment later")
    all_of(kept, book)
    assert not (tmp_path / "cache").exists()


def test_charts_pass_the_checks_that_a_build_leaves_out(data: Path) -> None:
    book = opened(data)
    for name, alias, options in ASKED:
        chart = charts.build(name, book, alias, options)
        assert figures.specifications(chart, checked=True) == figures.specifications(chart, checked=False), (
            name
        )


def test_pictures_in_slots_are_those_painted_at_once(data: Path, tmp_path: Path) -> None:
    book, kept = opened(data), Cache(tmp_path / "cache")
    chart, specs = Gallery().chart("time-per-token", book, None, {})
    expected = figures.figure(chart, specs, "a.md")
    for _ in range(2):  # painted, and kept
        made = Gallery(kept, Painter(kept))
        slots = figures.figure(chart, specs, "a.md", picture=made.picture)
        assert "data-slot" in slots and len(slots) < len(expected)
        assert made.fill(slots) == expected
        in_cell = figures.figure(chart, specs, "a.md", picture=svg.slot)
        assert made.fill(made.take(in_cell)) == expected
        # A cell's HTML goes through BeautifulSoup, which quotes an attribute in its own way.
        for wanted in svg.slots(in_cell):
            again = str(BeautifulSoup(svg.slot(wanted, name="n", label="l"), "html.parser"))
            assert svg.slots(again) == [wanted]
        made.keep()
        assert made.painter is not None
        made.painter.close()


def test_a_damaged_cache_paints_anew(data: Path, tmp_path: Path) -> None:
    book, kept = opened(data), Cache(tmp_path / "cache")

    def painted() -> str:
        made = Gallery(kept, Painter(kept))
        chart, specs = made.chart("time-per-token", book, None, {})
        html = made.fill(figures.figure(chart, specs, "a.md", picture=made.picture))
        made.keep()
        assert made.painter is not None
        made.painter.close()
        return html

    first = painted()
    files = [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    assert len(files) >= 3
    for path in files:
        path.write_bytes(path.read_bytes()[:-10])
    assert painted() == first


def test_the_painter_paints_for_altairs_vega_lite() -> None:
    assert alt.SCHEMA_VERSION.lstrip("v").startswith(f"{painting.VEGA_LITE}.")


BLANK = '{"data": {"values": []}, "mark": "point"}'


def test_a_painter_nobody_listens_to_ends_without_a_word() -> None:
    wish = json.dumps(["picture", "key", BLANK]) + "\n"
    process = subprocess.Popen(
        [sys.executable, "-m", "hooks.pictures.painting"],
        cwd=fixture_data.ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdin and process.stdout and process.stderr
    process.stdout.close()
    process.stdin.write(wish)
    process.stdin.close()
    assert process.wait() == 0 and process.stderr.read() == ""
    process.stderr.close()


def test_a_painter_outlives_the_builds_that_it_was_lent_to(data: Path, tmp_path: Path) -> None:
    listed, lent = data.parent / "quantities.toml", Painter(Cache(None))
    opened(data)
    first = lent.picture(BLANK)
    (process,) = lent._processes
    for _ in range(2):
        build = Build.open(data, listed, tmp_path / ".build", tmp_path / "site", painter=lent)
        assert build.painter is lent and build.site.gallery.painter is lent
        build.close()
    lent.forget()
    assert lent.picture(BLANK) == first
    assert lent._processes == [process] and process._process.poll() is None
    lent.close()
    assert process._process.poll() is not None


def test_many_pictures_are_painted_by_several_processes_and_all_come_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(painter, "MOST_PROCESSES", 2)
    # More than any pipe holds, so that one that waits for the other to read would wait for ever.
    specs = [
        json.dumps({"data": {"values": [{"x": "y" * 300_000, "n": number}]}, "mark": "point"})
        for number in range(2 * painter.WORTH_A_PROCESS)
    ]
    made = Painter(Cache(None))
    for spec in specs:
        made.start(spec)
    assert len(made._processes) == 2
    assert [made.compiled(spec)["data"][0]["values"][0]["n"] for spec in specs] == list(range(len(specs)))
    made.close()


def test_pictures_are_made_here_where_the_processes_die() -> None:
    made = Painter(Cache(None))
    expected = made.picture(BLANK)
    (process,) = made._processes
    made.start(BLANK.replace("point", "bar"))
    process._process.kill()
    assert made.picture(BLANK.replace("point", "bar")) and made.picture(BLANK) == expected
    made.close()
