"""Charts: what must be true of each picture, table and CSV, and that data in them are inert."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from hooks import charts, figures, quantities, store
from hooks.book import Book
from hooks.errors import PublishError
from tests.publish import fixture_data

SVG = "{http://www.w3.org/2000/svg}"


def pictures(html: str) -> list[ElementTree.Element]:
    return [
        ElementTree.fromstring(svg.replace(" data-search-exclude", ""))
        for svg in re.findall(r"<svg .*?</svg>", html, re.DOTALL)
    ]


def book_of(folder: Path) -> Book:
    return Book(store.load(folder), quantities.read(fixture_data.ROOT / "docs/quantities.toml"))


def figure(chart: charts.Chart, uri: str, **options: Any) -> str:
    return figures.figure(chart, figures.specifications(chart), uri, **options)


@pytest.fixture(scope="module", params=sorted(charts.CHARTS))
def chart(request: pytest.FixtureRequest, book: Book) -> charts.Chart:
    return charts.build(request.param, book, None)


@pytest.fixture(scope="module")
def html(chart: charts.Chart) -> str:
    return figure(chart, "notes/page.md")


def test_the_picture_comes_for_wide_and_for_narrow_screens(html: str) -> None:
    wide, narrow = pictures(html)
    assert wide.get("data-size") == "wide" and narrow.get("data-size") == "narrow"
    assert float(wide.get("width", "0")) <= figures.WIDE[0] + 1
    assert float(narrow.get("width", "0")) <= figures.NARROW[0] + 1
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


def test_the_table_and_the_csv_are_what_is_drawn(html: str, chart: charts.Chart) -> None:
    rows = list(csv.reader(io.StringIO(figures.csv_text(chart))))
    assert rows[0] == [column.key for column in chart.columns]
    assert len(rows) - 1 == len(chart.rows) == len(chart.shown) == html.count("<tr>") - 1
    for row, record in zip(rows[1:], chart.rows, strict=True):
        assert row == [
            "" if record[column.key] is None else str(record[column.key]) for column in chart.columns
        ]
    assert f'href="../data/charts/{chart.name}.csv"' in html


def test_the_finding_s_numbers_are_the_text_s_numbers(book: Book) -> None:
    finding = charts.build("time-per-token", book, None).finding
    for id_ in ("decode.seconds_per_token", "prefill.seconds_per_token", "time.decode_over_prefill"):
        assert book.read(id_).text() in finding


def test_intervals_are_drawn(html: str, chart: charts.Chart) -> None:
    if chart.name == "kv-cache-against-weights":
        pytest.skip("computed numbers have no interval")
    for picture in pictures(html):
        marks = [
            group
            for group in picture.iter(f"{SVG}g")
            if group.get("class") == "mark-rule role-mark layer_1_marks"
        ]
        assert sum(len(list(group)) for group in marks) == len(chart.rows)


def test_changed_durations_change_picture_table_and_csv(empty_data: Path, book: Book) -> None:
    fixture_data.write_run(
        empty_data, records=fixture_data.samples(lambda *cell: 2 * fixture_data.seconds_per_token(*cell))
    )
    before, after = (charts.build("decode-by-depth", one, None) for one in (book, book_of(empty_data)))
    assert after.rows[0]["value_s"] == pytest.approx(2 * before.rows[0]["value_s"])
    assert after.shown[0] != before.shown[0] and after.finding != before.finding
    first, second = (figure(one, "a.md") for one in (before, after))
    assert re.findall(r"<svg.*?</svg>", first) != re.findall(r"<svg.*?</svg>", second)


def test_a_planned_cell_without_samples_is_an_error_not_a_missing_point(empty_data: Path) -> None:
    records = [r for r in fixture_data.samples() if r["prompt_tokens"] != 128]
    fixture_data.write_run(empty_data, records=records)
    with pytest.raises(PublishError, match=r"(?s)prompt of 128 tokens.* has no samples"):
        charts.build("time-per-token", book_of(empty_data), None)


def test_a_refused_series_is_said_in_words(empty_data: Path) -> None:
    records = fixture_data.samples()
    for record in records:
        if record["experiment"] == "decode":
            record |= {"duration_s": None, "refusal": {"kind": "did_not_fit", "reason": "out of memory"}}
    fixture_data.write_run(empty_data, records=records)
    chart = charts.build("time-per-token", book_of(empty_data), None)
    assert "out of memory" in chart.finding
    assert ("decode", "64", "out of memory") in {row[:3] for row in chart.shown}
    assert figure(chart, "a.md")


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
