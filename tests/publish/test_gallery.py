"""Drawings say all that is drawn, and pictures kept between builds are never old."""

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
from hooks.drawings.drawing import Drawing, draw, is_drawing
from hooks.drawings.drawing import read as read_drawing
from hooks.drawings.drawing import text as drawing_text
from hooks.numbers import quantities
from hooks.numbers.book import Book
from hooks.pictures import figures, gallery, painter, painting, specification, svg
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


def all_of(book: Book) -> list[Specs]:
    made = Gallery()
    return [made.chart(name, book, alias, options)[1] for name, alias, options in ASKED]


def test_changed_samples_of_any_kind_are_other_drawings(data: Path) -> None:
    last = all_of(opened(data))
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
            now = all_of(opened(data))
            changed += now != last
            last = now
    assert changed >= 6, "the charts do draw these samples"


@pytest.fixture
def drawing(data: Path) -> str:
    return Gallery().chart("decode-by-depth", opened(data), None, {})[1]["wide"]


def test_a_drawing_is_text_from_which_it_is_read_whole(data: Path) -> None:
    book = opened(data)
    for name, alias, options in ASKED:
        chart = charts.build(name, book, alias, options)
        for size, text in figures.specifications(chart).items():
            assert is_drawing(text)
            read = read_drawing(text)["drawing"]
            assert drawn(read) == drawn(chart.draw(size == "narrow")), name
            assert drawing_text(read, 1, 1) == drawing_text(chart.draw(size == "narrow"), 1, 1)


def drawn(drawing: Drawing) -> Any:
    made = draw(drawing).to_dict(validate=False)
    return json.loads(json.dumps(made, sort_keys=True))


def test_nothing_is_painted_twice(drawing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Cache(tmp_path / "cache")
    first = Painter(kept)
    picture = first.picture(drawing)
    first.close()
    monkeypatch.setattr(painter, "_Process", lambda *_: pytest.fail("painted again"))
    assert Painter(kept).picture(drawing) == picture


@pytest.mark.parametrize("package", ["altair", "narwhals", "vl-convert-python", "the code that draws"])
def test_other_code_paints_anew(drawing: str, monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    before = Painter(Cache(None))._key("picture", drawing)
    for module in (specification, painter):
        version = vars(module)["version"]
        monkeypatch.setattr(
            module, "version", lambda asked, now=version: "0" if asked == package else now(asked)
        )
    if package == "the code that draws":
        monkeypatch.setattr(specification, "sources", lambda folder: "other code")
    assert Painter(Cache(None))._key("picture", drawing) != before


@pytest.mark.parametrize("package", ["altair", "narwhals", "vl-convert-python"])
def test_finished_pictures_are_kept_by_versions(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    assert gallery._made_with() == gallery._MADE_WITH
    version: Callable[[str], str] = vars(gallery)["version"]
    monkeypatch.setattr(gallery, "version", lambda asked: "0" if asked == package else version(asked))
    assert gallery._made_with() != gallery._MADE_WITH


def test_what_was_made_while_the_code_changed_is_not_kept(
    drawing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = Cache(tmp_path / "cache")
    made = Gallery(kept, Painter(Cache(None)))
    monkeypatch.setattr(gallery, "_made_with", lambda: "code of a moment later")
    assert made.fill(made.picture(drawing, name="n", label="l")).startswith("<svg")
    made.keep()
    assert made.painter is not None
    made.painter.close()
    assert not (tmp_path / "cache").exists()


def test_charts_pass_the_checks_that_a_build_leaves_out(data: Path) -> None:
    book = opened(data)
    for name, alias, options in ASKED:
        chart = charts.build(name, book, alias, options)
        for text in figures.specifications(chart).values():
            checked = specification.of_drawing(text, checked=True)
            assert checked == specification.of_drawing(text), name


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
        build = Build.open(data, listed, tmp_path / ".build", tmp_path / "site", painter=lent, lent=True)
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
