"""The interactive version of a chart: what is done to the compiled chart, and the script that shows it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from hooks import charts
from hooks.caching.cache import Cache
from hooks.numbers.book import Book
from hooks.pictures import explorer, figures, svg
from hooks.pictures.painter import Painter
from hooks.pictures.painting import bundle
from tests.publish.test_charts import ASKED


@pytest.fixture(scope="module")
def painter() -> Iterator[Painter]:
    painter = Painter(Cache(None))
    yield painter
    painter.close()


@pytest.fixture(
    scope="module", params=ASKED, ids=lambda asked: "-".join(filter(None, [*asked[:2], *asked[2]]))
)
def chart(request: pytest.FixtureRequest, book: Book) -> charts.Chart:
    name, alias, options = request.param
    return charts.build(name, book, alias, options)


@pytest.fixture(scope="module")
def document(chart: charts.Chart, painter: Painter) -> dict[str, Any]:
    begun = explorer.begin(figures.specifications(chart))
    assert begun is not None
    found: dict[str, Any] = json.loads(explorer.finish(begun, painter))
    return found


def leaves(marks: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for mark in marks:
        yield from leaves(mark["marks"]) if "marks" in mark else iter([mark])


def test_both_axes_can_show_a_part_of_themselves(document: dict[str, Any]) -> None:
    assert set(document) == {"wide", "narrow"}
    for vega in document.values():
        assert {signal["name"] for signal in vega["signals"]} >= {"zoom_x", "zoom_y"}
        scales = {scale["name"]: scale for scale in vega["scales"]}
        for axis in ("x", "y"):
            assert scales[axis]["domainRaw"] == {"signal": f"zoom_{axis}"}
        for axis in vega["axes"]:
            values = axis.get("values")
            assert values is None or values["signal"].startswith(f"zoom_{axis['scale']} ? null : [")
        assert all(mark["clip"] for mark in leaves(vega["marks"]))


def test_each_point_has_its_words_and_screen_readers_hear_the_page_s(document: dict[str, Any]) -> None:
    for vega in document.values():
        (points,) = [mark for mark in leaves(vega["marks"]) if mark["name"] == "points_marks"]
        assert points["type"] == "symbol"
        assert all(mark["aria"] is False for mark in leaves(vega["marks"]))
        assert '"description"' not in json.dumps(vega["marks"])
        rows = [row for data in vega["data"] for row in data.get("values", ()) if "about" in row]
        assert rows and all(re.search(r"\d", row["about"]) for row in rows)


def test_the_static_picture_is_of_the_same_specification(chart: charts.Chart, painter: Painter) -> None:
    spec = figures.specifications(chart)["wide"]
    label = {"name": "n", "label": chart.finding}
    assert svg.render(spec, **label) == svg.finished(painter.picture(spec), *label.values())
    assert painter.compiled(spec)["width"] == figures.WIDE[0]


def test_a_drawing_without_named_points_has_no_interactive_version() -> None:
    assert explorer.begin({"wide": '{"mark": "bar"}', "narrow": '{"mark": "bar"}'}) is None
    assert explorer.begin({}) is None


def test_a_notebook_s_figure_gets_its_document_from_the_build(book: Book) -> None:
    chart = charts.build("decode-by-depth", book, None)
    specs = figures.specifications(chart)
    cell = figures.figure(chart, specs, "", explore=explorer.LATER, picture=svg.slot)
    own = figures.figure(chart, dict.fromkeys(specs, "{}"), "", explore=explorer.LATER, picture=svg.slot)
    files: dict[str, str] = {}
    html = explorer.place(f"<p>one</p>{cell}<p>two</p>{own}", "notes/note.ipynb", files)
    (path,) = files
    assert f'data-explore="../{path}"' in html and html.count("data-explore") == 1
    assert json.loads(files[path]) == specs and path.endswith(explorer.SUFFIX)


def test_the_script_is_one_file_that_asks_nobody() -> None:
    script = bundle(explorer.SNIPPET)
    assert not script.startswith("!"), script
    assert "globalThis.splicedVega=" in script.replace(" ", "")
    assert "https://" not in script and not re.search(r"^\s*import\b", script, re.MULTILINE)
    assert re.fullmatch(r"assets/vega-[0-9a-f]{12}\.js", explorer.script_path())


def test_the_script_s_name_changes_with_what_it_is_made_of(monkeypatch: pytest.MonkeyPatch) -> None:
    names = {explorer.script_path()}
    monkeypatch.setattr(explorer, "SNIPPET", "globalThis.splicedVega = 1;")
    names.add(explorer.script_path())
    monkeypatch.setattr(explorer, "version", lambda name: "0")
    names.add(explorer.script_path())
    assert len(names) == 3
