"""Charts as figures: what must be true of each picture, table and CSV, and that data in them are inert."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from markdown import Markdown

from hooks import charts
from hooks.data import store
from hooks.errors import PublishError
from hooks.extension import SplicedExtension
from hooks.numbers import quantities
from hooks.numbers.book import Book
from hooks.pictures import figures
from tests.publish import fixture_data

SVG = "{http://www.w3.org/2000/svg}"

ASKED: list[tuple[str, str | None, dict[str, str]]] = [
    ("time-per-token", None, {}),
    ("time-per-token", "llama-bench", {}),
    ("energy-per-token", "gpu", {}),
    ("decode-by-depth", None, {}),
    ("decode-modes", None, {}),
    ("roofline", None, {}),
    ("roofline", "gpu", {"datasheet": "nvidia-memory-bandwidth.h200"}),
    ("samples", None, {}),
    ("samples", None, {"of": "prefill.seconds_per_token"}),
    ("kv-cache-against-weights", None, {}),
]


def pictures(html: str) -> list[ElementTree.Element]:
    return [
        ElementTree.fromstring(svg.replace(" data-search-exclude", ""))
        for svg in re.findall(r"<svg .*?</svg>", html, re.DOTALL)
    ]


def marks(picture: ElementTree.Element, name: str) -> list[ElementTree.Element]:
    """What is drawn by the layers of that name; axes and grids are none."""
    classes = {group: (group.get("class") or "").split() for group in picture.iter(f"{SVG}g")}
    groups = [group for group, names in classes.items() if name in names and "role-mark" in names]
    return [item for group in groups for item in group if item.tag != f"{SVG}g"]


def book_of(folder: Path) -> Book:
    return Book(store.load(folder), quantities.read(fixture_data.ROOT / "docs/quantities.toml"))


def figure(chart: charts.Chart, uri: str, **options: Any) -> str:
    return figures.figure(chart, figures.specifications(chart), uri, **options)


@pytest.fixture(scope="module")
def uneven(tmp_path_factory: pytest.TempPathFactory) -> Book:
    """The fixture runs with some spread, ceilings that move, and a refused sample in the main one."""
    folder = fixture_data.site_data(tmp_path_factory.mktemp("uneven") / "site_data")
    fixture_data.write_run(folder, records=fixture_data.uneven(fixture_data.samples()))
    fixture_data.gpu_run(folder)
    fixture_data.imported_run(folder)
    return book_of(folder)


@pytest.fixture(
    scope="module", params=ASKED, ids=lambda asked: "-".join(filter(None, [*asked[:2], *asked[2]]))
)
def chart(request: pytest.FixtureRequest, uneven: Book) -> charts.Chart:
    name, alias, options = request.param
    return charts.build(name, uneven, alias, options)


@pytest.fixture(scope="module")
def html(chart: charts.Chart) -> str:
    return figure(chart, "notes/page.md")


def test_every_chart_is_looked_at() -> None:
    assert {name for name, _, _ in ASKED} == set(charts.CHARTS)


def test_the_picture_comes_for_wide_and_for_narrow_screens(html: str) -> None:
    wide, narrow = pictures(html)
    assert wide.get("data-size") == "wide" and narrow.get("data-size") == "narrow"
    for picture, size in ((wide, figures.WIDE), (narrow, figures.NARROW)):
        assert [float(picture.get(name, "0")) for name in ("width", "height")] == pytest.approx(size, abs=1)
    for picture in (wide, narrow):
        sizes = [float(text.get("font-size", "0px")[:-2]) for text in picture.iter(f"{SVG}text")]
        assert sizes and min(sizes) >= 12


def test_nothing_in_it_needs_a_script_or_another_host(html: str) -> None:
    for picture in pictures(html):
        tags = {item.tag.removeprefix(SVG) for item in picture.iter()}
        assert not tags & {"script", "use", "image", "foreignObject", "style"}
        for item in picture.iter():
            assert not any(name.endswith("href") or name.startswith("on") for name in item.attrib)
    assert not re.search(r"https?://(?!www\.w3\.org)", html)


def test_ids_are_unique_and_every_reference_resolves(html: str) -> None:
    ids = re.findall(r'\sid="([^"]+)"', html)
    assert len(ids) == len(set(ids))
    for reference in re.findall(r"url\(#([^)]+)\)", html) + re.findall(r'aria-labelledby="([^"]+)"', html):
        assert reference in ids


def test_colours_follow_the_palette_and_text_the_page_s_font(html: str) -> None:
    assert "font-family" not in html
    for colour in re.findall(r'(?:fill|stroke)="([^"]+)"', html):
        assert colour in ("none", "currentColor", "transparent") or colour.startswith("var(--chart-"), colour


def test_the_text_alternative_states_the_finding_with_numbers(html: str, chart: charts.Chart) -> None:
    for picture in pictures(html):
        title = picture.find(f"{SVG}title")
        assert picture.get("role") == "img" and title is not None and title.text == chart.finding
    assert re.search(r"\d", chart.finding)


def test_the_table_and_the_csv_have_the_same_rows(html: str, chart: charts.Chart) -> None:
    rows = list(csv.reader(io.StringIO(figures.csv_text(chart))))
    assert rows[0] == [column.key for column in chart.columns]
    assert len(set(rows[0])) == len(rows[0])
    assert len(rows) - 1 == len(chart.rows) == len(chart.shown) == html.count("<tr>") - 1
    for row, record, shown in zip(rows[1:], chart.rows, chart.shown, strict=True):
        assert row == ["" if record[c.key] is None else str(record[c.key]) for c in chart.columns]
        assert len(shown) == len(chart.columns)
    assert f'href="../data/charts/{chart.key}.csv"' in html


def test_every_row_with_a_value_is_a_point(html: str, chart: charts.Chart) -> None:
    def is_drawn(row: Any) -> bool:
        if chart.name == "kv-cache-against-weights":
            return row["within_context"] and row["kv_cache_bytes"] <= 4 * row["weights_bytes"]
        if chart.name == "roofline":
            return row["flop_per_byte"] is not None
        (value,) = [key for key in row if key.startswith("value") or key == "share_of_ceiling"]
        return row[value] is not None

    for picture in pictures(html):
        assert len(marks(picture, "points_marks")) == sum(map(is_drawn, chart.rows)) > 0


def test_uncertainty_is_drawn_for_every_point_that_has_it(html: str, chart: charts.Chart) -> None:
    if chart.name == "samples":
        for picture in pictures(html):
            assert len(marks(picture, "mark-rect")) == 1, "the band of the prediction interval"
            assert len(marks(picture, "mark-rule")) == fixture_data.PROCESSES
        return
    low = next((key for key in chart.rows[0] if key.startswith("low")), None)
    wanted = (
        sum(row[low] is not None and "ceiling" not in str(row.get("what")) for row in chart.rows)
        if low
        else 0
    )
    assert bool(wanted) == (chart.name != "kv-cache-against-weights" and "llama-bench" not in chart.key)
    for picture in pictures(html):
        drawn = marks(picture, "mark-rule")
        assert len([bar for bar in drawn if bar.get("stroke", "").startswith("var(")]) == wanted


def test_every_series_is_named_in_the_picture(html: str, chart: charts.Chart) -> None:
    lines = {str(row["experiment"]) for row in chart.rows if "experiment" in row}
    lines |= {str(row["what"]) for row in chart.rows if row.get("flop_per_byte")}
    for picture in pictures(html):
        texts = {(text.text or "").lower() for text in picture.iter(f"{SVG}text")}
        names = {line.lower() for line in lines}
        if picture.get("data-size") == "narrow" and len({name.partition(", ")[0] for name in names}) == 1:
            names = {name.partition(", ")[2] or name for name in names}  # all begin alike: that is left out
        assert names <= texts


def test_the_numbers_are_the_page_s_numbers(uneven: Book) -> None:
    """Picture, table, CSV and text come from one book: the same value to the last digit."""
    checked = 0
    for name, key, id_, where in (
        ("time-per-token", "value_s", "decode.seconds_per_token", {"experiment": "decode", "tokens": 500}),
        (
            "time-per-token",
            "value_s",
            "prefill.seconds_per_token.at_64",
            {"experiment": "prefill", "tokens": 64},
        ),
        (
            "decode-modes",
            "time_s",
            "decode.seconds_per_token",
            {"experiment": "decode, eager", "context_tokens": 500},
        ),
    ):
        made = charts.build(name, uneven, None)
        (at,) = [i for i, row in enumerate(made.rows) if where.items() <= row.items()]
        reading = uneven.read(id_)
        assert made.rows[at][key] == reading.value
        assert reading.text() in made.shown[at]
        assert f"{reading.value!r}" in figures.csv_text(made)
        checked += 1
    assert checked == 3


def test_changed_durations_change_picture_table_and_csv(empty_data: Path, book: Book) -> None:
    fixture_data.write_run(
        empty_data, records=fixture_data.samples(lambda *cell: 2 * fixture_data.seconds_per_token(*cell))
    )
    before, after = (charts.build("decode-by-depth", one, None) for one in (book, book_of(empty_data)))
    assert after.rows[0]["value_s"] == pytest.approx(2 * before.rows[0]["value_s"])
    assert after.shown[0] != before.shown[0] and after.finding != before.finding
    first, second = (figure(one, "a.md") for one in (before, after))
    assert re.findall(r"<svg.*?</svg>", first) != re.findall(r"<svg.*?</svg>", second)


def test_the_same_chart_twice_on_a_page_repeats_no_id(site_data: Path) -> None:
    text = "{{ chart decode-by-depth }}\n\n{{ chart decode-by-depth }}\n\n{{ chart decode-by-depth run=gpu }}"
    extension = SplicedExtension(
        site_data=str(site_data), quantities=str(fixture_data.ROOT / "docs/quantities.toml")
    )
    html = Markdown(extensions=[extension]).convert(text)
    ids = re.findall(r'\sid="([^"]+)"', html)
    assert len(ids) == len(set(ids)) and html.count("<figure") == 3
    assert {"chart-decode-by-depth", "chart-decode-by-depth-2", "chart-decode-by-depth-3"} <= set(ids)
    assert sorted(set(re.findall(r'download="([^"]+)"', html))) == [
        "decode-by-depth.csv",
        "decode-by-depth.gpu.csv",
    ]


def test_an_unknown_option_is_an_error(book: Book) -> None:
    with pytest.raises(PublishError, match=r"(?s)`time-per-token` takes no option `of`.*run="):
        charts.build("time-per-token", book, None, {"of": "decode.seconds_per_token"})


def test_hostile_names_are_inert(empty_data: Path) -> None:
    label = '=1+1<script>alert("x")</script>&amp;'
    machine = {**fixture_data.run_record("x", 0)["machine"], "label": label}
    fixture_data.write_run(empty_data, machine=machine)
    html = figure(charts.build("decode-by-depth", book_of(empty_data), None), "a.md")
    assert "<script" not in html
    assert "=1+1&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;&amp;amp;" in html


def test_a_formula_in_a_csv_cell_is_text() -> None:
    chart = charts.Chart(
        "n",
        "t",
        "f",
        "n",
        (charts.Column("a", "A"),),
        ({"a": "=SUM(1)"},),
        (("x",),),
        (),
        lambda narrow: None,
    )
    assert figures.csv_text(chart) == "a\n'=SUM(1)\n"
