"""The catalogue: pages, endpoints, files and archives of every number and every run. FIXTURE data, no build."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from bs4 import BeautifulSoup
from hypothesis import example, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from hooks import datapackage
from hooks.caching.cache import Cache
from hooks.catalogue import every_run, files, quantity_page, run_page, timeline
from hooks.catalogue.catalogue import ARCHIVE, QUANTITIES, RUNS, Catalogue
from hooks.catalogue.entries import Entry, Use
from hooks.catalogue.every_run import EveryRun
from hooks.catalogue.frame import Frame
from hooks.catalogue.values import RunValues, Value
from hooks.citation.citations import Author
from hooks.citation.citing import Citing
from hooks.data.records import Refusal, Run
from hooks.numbers.book import Book
from hooks.numbers.definitions import Definition
from hooks.writing.pages import NumberUse, PageState
from tests.publish.fixture_data import ROOT

CITING = Citing(
    "Our Site", (Author("The Authors"),), "https://example.org/x/", None, "unpublished", "2026-11-30"
)
FRAME = (
    '<html><head><meta name="description" content="old"><link rel="canonical" href="https://example.org/old">'
    '<meta name="citation_title" content="old"><title>Old - Our Site</title></head>'
    '<a href="#old" class="md-skip">Skip</a><article class="md-content__inner">old</article></html>'
)
TITLES = {"a.md": "A page", "b/c.md": "Another"}
SCHEMAS = {
    path.stem: Draft202012Validator(
        json.loads(path.read_text(encoding="utf-8")), format_checker=Draft202012Validator.FORMAT_CHECKER
    )
    for path in sorted((ROOT / "docs/api/v1/schema").glob("*.json"))
}


def pages(book: Book) -> dict[str, PageState]:
    """Two pages that state numbers: one of them that of another run."""
    made = {}
    for uri, uses in {
        "a.md": [
            ("decode.seconds_per_token", None),
            ("time.decode_over_prefill", None),
            ("energy.decode_over_prefill", None),
        ],
        "b/c.md": [("decode.seconds_per_token", "real-weights"), ("model.qwen2.5-1.5b.layers", None)],
    }.items():
        page = PageState(uri, uri)
        for id_, alias in uses:
            reading = book.read(id_, alias)
            page.numbers.append(NumberUse(reading, reading.text(), alias))
            page.anchor(f"{id_}:{alias}" if alias else id_)
        made[uri] = page
    return made


@pytest.fixture(scope="module")
def catalogue(book: Book) -> Catalogue:
    return Catalogue(book, Cache(None), pages(book), TITLES, CITING)


@pytest.fixture(scope="module")
def written(catalogue: Catalogue, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_all(catalogue, tmp_path_factory.mktemp("catalogue"))


def write_all(catalogue: Catalogue, folder: Path) -> Path:
    """The catalogue as it stands in a site; with the archives of pages."""
    for uri in TITLES:
        catalogue.complete(uri, "<p>text</p>", {})
    catalogue.write(folder, {QUANTITIES: FRAME, RUNS: FRAME})
    catalogue.write_archives(folder)
    return folder


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


# --- endpoints --------------------------------------------------------------------------------------


def test_every_endpoint_is_as_its_schema_has_it(written: Path, book: Book) -> None:
    for schema in SCHEMAS.values():
        Draft202012Validator.check_schema(schema.schema)
    found = sorted((written / "api/v1").rglob("*.json"))
    assert len(found) == 1 + len(list(book.known())) + len(book.store.runs)
    for path in found:
        endpoint = json.loads(path.read_text(encoding="utf-8"))
        kind = {"quantities": "quantity", "runs": "run", "v1": "index"}[path.parent.name]
        assert endpoint["schema"] == f"api/v1/schema/{kind}.json"
        SCHEMAS[kind].validate(endpoint)


@pytest.mark.parametrize(
    "damage",
    [
        {"api": 2},
        {"licence": {"name": "MIT", "url": "https://example.org/"}},
        {"now": {"text": "1 s", "value": "1", "low": None, "high": None, "refusal": None}},
        {"kind": "guessed"},
        {"version": "yesterday"},
    ],
)
def test_the_schema_refuses_what_is_no_such_endpoint(written: Path, damage: Mapping[str, Any]) -> None:
    path = written / "api/v1/quantities/decode.seconds_per_token.json"
    endpoint = json.loads(path.read_text(encoding="utf-8"))
    assert SCHEMAS["quantity"].is_valid(endpoint)
    assert not SCHEMAS["quantity"].is_valid(endpoint | damage)


def test_a_number_says_what_the_book_says_and_what_each_run_says(written: Path, book: Book) -> None:
    endpoint = json.loads(
        (written / "api/v1/quantities/decode.seconds_per_token.json").read_text(encoding="utf-8")
    )
    reading = book.read("decode.seconds_per_token")
    assert endpoint["now"]["value"] == pytest.approx(reading.value, rel=1e-11)
    assert endpoint["now"]["text"] == reading.text()
    by_run = {each["run"]: each for each in endpoint["runs"]}
    assert set(by_run) == {"fixture-main", "fixture-small", "fixture-gpu"}, "an imported run has another mode"
    small = book.read("decode.seconds_per_token", "real-weights")
    assert by_run["fixture-small"]["value"] == pytest.approx(small.value, rel=1e-11)
    assert [each["date"] for each in endpoint["runs"]] == sorted(
        (each["date"] for each in endpoint["runs"]), reverse=True
    )
    stated = {(each["page"], each["anchor"]) for each in endpoint["stated_on"]}
    assert stated == {
        ("a.html", "n-decode.seconds_per_token"),
        ("b/c.html", "n-decode.seconds_per_token:real-weights"),
    }


def test_a_refusal_stays_one_in_every_form(written: Path) -> None:
    endpoint = json.loads(
        (written / "api/v1/quantities/energy.decode_over_prefill.json").read_text(encoding="utf-8")
    )
    assert endpoint["now"]["value"] is None and endpoint["now"]["refusal"]["kind"] == "unavailable"
    rows = {
        row["run"]: row for row in read_csv(written / "data/quantities/energy.decode_over_prefill.runs.csv")
    }
    assert rows["fixture-main"]["value"] == "" and rows["fixture-main"]["reason"]
    assert float(rows["fixture-gpu"]["value"]) > 0
    page = (written / "data/quantities/energy.decode_over_prefill.html").read_text(encoding="utf-8")
    assert endpoint["now"]["refusal"]["reason"] in BeautifulSoup(page, "html.parser").get_text()


def test_a_number_of_one_alias_is_asked_of_runs_that_answer_to_it(written: Path) -> None:
    endpoint = json.loads(
        (written / "api/v1/quantities/llama_bench.decode.seconds_per_token.json").read_text()
    )
    assert [each["run"] for each in endpoint["runs"]] == ["fixture-llama-bench"]
    assert endpoint["now"]["low"] < endpoint["now"]["high"] and endpoint["parts"]


# --- samples ----------------------------------------------------------------------------------------


def test_the_samples_behind_a_number_give_the_number(written: Path, book: Book) -> None:
    rows = read_csv(written / "data/quantities/decode.seconds_per_token.samples.csv")
    by_process: dict[str, list[float]] = {}
    for row in rows:
        if row["counted"] == "True":
            by_process.setdefault(row["process"], []).append(float(row["value"]))
    medians = sorted(sorted(values)[len(values) // 2] for values in by_process.values())
    assert medians[len(medians) // 2] == pytest.approx(book.read("decode.seconds_per_token").value, rel=1e-9)
    assert {row["warm_up"] for row in rows} == {"True", "False"}
    assert all(row["reason"] for row in rows if row["counted"] == "False")


def test_a_ratio_comes_with_the_samples_of_both(written: Path) -> None:
    rows = read_csv(written / "data/quantities/time.decode_over_prefill.samples.csv")
    assert {row["quantity"] for row in rows} == {"decode.seconds_per_token", "prefill.seconds_per_token"}


# --- pages ------------------------------------------------------------------------------------------


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.ids: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag == "a" and values.get("href"):
            self.found.append(str(values["href"]))
        if values.get("id"):
            self.ids.append(str(values["id"]))


def test_every_link_of_the_catalogue_leads_to_a_file(written: Path) -> None:
    elsewhere = {
        "data/index.html",
        "data/quantities/index.html",
        "data/runs/index.html",
        "method.html",
        "reference/api.html",
    }
    elsewhere |= {"a.html", "b/c.html"}
    count = 0
    for path in written.rglob("*.html"):
        reader = _Links()
        reader.feed(path.read_text(encoding="utf-8"))
        assert len(reader.ids) == len(set(reader.ids)), path
        for href in reader.found:
            if href.startswith(("http", "#")):
                continue
            target = (path.parent / unquote(href.partition("#")[0])).resolve().relative_to(written.resolve())
            note = target.as_posix().startswith(("notes/", "primers/"))
            assert note or target.as_posix() in elsewhere or (written / target).is_file(), (
                f"{path.name}: {href}"
            )
            count += 1
    assert count > 1000


def test_each_page_has_its_own_head(written: Path) -> None:
    titles, addresses = set(), set()
    found = list(written.rglob("*.html"))
    for path in found:
        head = path.read_text(encoding="utf-8").partition("</head>")[0]
        assert head.count("<title>") == head.count('rel="canonical"') == head.count('name="description"') == 1
        assert head.count('name="citation_title"') == 1 and not re.search(r"\bold\b", head)
        titles.add(re.search("<title>(.*?)</title>", head)[1])  # type: ignore[index]
        addresses.add(re.search('rel="canonical" href="(.*?)"', head)[1])  # type: ignore[index]
    assert len(addresses) == len(found)
    assert len(titles) > 0.9 * len(found)


def test_a_page_of_a_run_tells_all_cells_and_why_samples_do_not_count(
    book: Book, catalogue: Catalogue, written: Path
) -> None:
    run, values = catalogue.runs[0]
    text = BeautifulSoup((written / f"data/runs/{run.id}.html").read_text(encoding="utf-8"), "html.parser")
    rows = text.select(".data-cells tbody tr")
    assert len(rows) == len(values.cells) == len(run.planned)
    assert str(run.record["machine"]["label"]) in text.get_text()
    for refused in values.refusals:
        assert refused.reason in text.get_text()
    for link in text.select("ul.data-files a[download]"):
        assert (written / "data/runs" / str(link["href"])).is_file()


def test_a_renamed_and_a_retired_number_keep_their_pages(book: Book, tmp_path: Path) -> None:
    id_ = "decode.seconds_per_token"
    renamed = replace(book.definitions.quantities[id_], was=("decode.earlier_name",))
    gone = Definition("gone.number", "Gone", "What it was", "s", renamed.place, retired="nobody asked for it")
    definitions = replace(
        book.definitions,
        quantities={**book.definitions.quantities, id_: renamed},
        retired={gone.id: gone},
    )
    Catalogue(Book(book.store, definitions), Cache(None), {}, {}, CITING).write(
        tmp_path, {QUANTITIES: FRAME, RUNS: FRAME}
    )
    pages = tmp_path / "data/quantities"
    assert (pages / "decode.earlier_name.html").read_bytes() == (pages / f"{id_}.html").read_bytes()
    assert "decode.earlier_name" in (pages / f"{id_}.html").read_text(encoding="utf-8")
    assert "nobody asked for it" in (pages / "gone.number.html").read_text(encoding="utf-8")
    for name, kind in (("decode.earlier_name", "measured"), (gone.id, "retired")):
        endpoint = json.loads((tmp_path / f"api/v1/quantities/{name}.json").read_text(encoding="utf-8"))
        SCHEMAS["quantity"].validate(endpoint)
        assert endpoint["kind"] == kind


def test_lists_have_every_number_and_every_run(catalogue: Catalogue) -> None:
    for marker, wanted in (
        ("quantities", set(catalogue.entries)),
        ("runs", {run.id for run, _ in catalogue.runs}),
    ):
        html = catalogue.complete("data/x/index.md", f'<div data-list="{marker}"></div>', {})
        listed = {
            str(link["href"]).removesuffix(".html")
            for link in BeautifulSoup(html, "html.parser").select("li > a")
        }
        assert listed == wanted
    start = catalogue.complete("data/index.md", '<div data-list="data"></div>', {})
    assert "CC BY 4.0" in start and "The Authors" in start


# --- what was refused, and what is kept -------------------------------------------------------------


def test_reasons_that_differ_in_numbers_are_told_together() -> None:
    reasons = ["others had 12% of the CPU, more than 5.0%", "others had 6.2% of the CPU, more than 5.0%"]
    assert every_run.together(reasons) == "others had 6.2 to 12% of the CPU, more than 5.0%"
    assert every_run.together(["no meter"]) == "no meter"
    assert every_run.together(["1,200 of 3", "90 of 3"]) == "90 to 1,200 of 3"


def test_what_a_run_says_is_kept_and_comes_back_as_it_was(
    book: Book, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = book.store.runs["fixture-gpu"]
    made = EveryRun(book, Cache(tmp_path)).of(run)
    assert RunValues.from_row(json.loads(json.dumps(made.row()))) == made
    monkeypatch.setattr(every_run, "_cells", lambda *_: pytest.fail("it was kept"))
    assert EveryRun(book, Cache(tmp_path)).of(run) == made


def test_a_changed_definition_or_file_is_not_answered_from_what_was_kept(book: Book, tmp_path: Path) -> None:
    kept, run = Cache(tmp_path), book.store.runs["fixture-small"]
    EveryRun(book, kept).of(run)
    listed = tmp_path / "quantities.toml"
    text = book.definitions.path.read_text(encoding="utf-8")
    listed.write_text(text + "\n", encoding="utf-8")
    other = Book(book.store, replace(book.definitions, path=listed))
    computed = []
    every = EveryRun(other, kept)
    every._quantities = lambda *_: computed.append(1) or iter(())  # type: ignore[method-assign, func-returns-value, assignment]
    every.of(run)
    assert computed


# --- archives ---------------------------------------------------------------------------------------


def test_archives_are_the_same_each_time_and_say_how_to_cite_them(
    catalogue: Catalogue, written: Path, tmp_path: Path
) -> None:
    write_all(catalogue, tmp_path)
    archives = sorted(path.relative_to(written) for path in written.rglob("*.zip"))
    assert {"data/pages/a.zip", "data/pages/b/c.zip", ARCHIVE} <= {path.as_posix() for path in archives}
    for path in archives:
        assert (written / path).read_bytes() == (tmp_path / path).read_bytes(), path
        with zipfile.ZipFile(written / path) as archive:
            readme = archive.read(f"{path.stem}/README.md").decode()
        assert "CC BY 4.0" in readme and "The Authors. (2026, November 30)." in readme


def test_the_archive_of_all_data_has_all_of_it_and_is_described(written: Path, site_data: Path) -> None:
    root = Path(ARCHIVE).stem
    with zipfile.ZipFile(written / ARCHIVE) as archive:
        names = {name.removeprefix(f"{root}/") for name in archive.namelist()}
        package = json.loads(archive.read(f"{root}/datapackage.json"))
        for resource in package["resources"]:
            content = archive.read(f"{root}/{resource['path']}")
            if resource["path"].startswith("runs/"):
                assert resource["bytes"] == len(content)
                assert resource["hash"] == f"sha256:{hashlib.sha256(content).hexdigest()}"
    there = {path.relative_to(site_data).as_posix() for path in site_data.rglob("*") if path.is_file()}
    assert {name for name in there if not name.startswith(("tokenizers/", "unfinished/"))} <= names


def test_the_archive_of_a_page_has_what_the_page_states(written: Path, book: Book) -> None:
    with zipfile.ZipFile(written / "data/pages/b/c.zip") as archive:
        rows = list(csv.DictReader(io.StringIO(archive.read("c/numbers.csv").decode())))
        samples = list(csv.DictReader(io.StringIO(archive.read("c/samples.csv").decode())))
    assert [(row["quantity"], row["alias"]) for row in rows] == [
        ("decode.seconds_per_token", "real-weights"),
        ("model.qwen2.5-1.5b.layers", ""),
    ]
    assert rows[0]["text"] == book.read("decode.seconds_per_token", "real-weights").text()
    assert {row["run"] for row in samples} == {"fixture-small"}


def test_the_data_package_describes_each_field_that_is_there(site_data: Path) -> None:
    described = datapackage.describe(site_data)
    assert json.loads(datapackage.text(described)) == described
    tables = [each for each in described["resources"] if each["profile"] == "tabular-data-resource"]
    assert len(tables) == len(list((site_data / "runs").iterdir()))
    python = {"integer": int, "number": (int, float), "boolean": bool, "string": str, "object": dict}
    for table in tables:
        types = {field["name"]: python[field["type"]] for field in table["schema"]["fields"]}
        for line in (site_data / table["path"]).read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            assert list(record) == list(types)
            assert all(value is None or isinstance(value, types[name]) for name, value in record.items())  # type: ignore[arg-type]
    units = {field["name"]: field.get("unit") for field in tables[0]["schema"]["fields"]}
    assert (
        units["duration_s"] == "s"
        and units["energy_joules"] == "J"
        and units["ceiling_bytes_per_s"] == "bytes/s"
    )


def test_a_data_package_that_is_behind_the_data_is_seen(empty_data: Path) -> None:
    assert datapackage.is_current(empty_data), "none is no old one"
    assert datapackage.main([str(empty_data)]) == 0
    assert datapackage.is_current(empty_data)
    next((empty_data / "models").glob("*.json")).unlink()
    assert not datapackage.is_current(empty_data)


# --- hostile data -----------------------------------------------------------------------------------

HOSTILE = st.text(st.sampled_from("<>\"'&{}%\\/`=+-@ aé漢\u202eאب🦔\x00\x1b\n]"), min_size=1, max_size=24)


def hostile(run: Run, text: str) -> Run:
    """The run with that text wherever a machine, a person or a program could have written one."""
    record = json.loads(json.dumps(run.record))
    record["machine"] |= {"label": text, "cpu": text, "os": text}
    record["machine"]["accelerator"] = {
        "name": text, "uuid": text, "memory_bytes": 1, "driver": text, "power_limit_watts": 1.0,
    }  # fmt: skip
    record["model"]["weights"] |= {"label": text, "file": text, "repository": text}
    record["software"] |= {text: text}
    record["argv"] = [text]
    record["plan"]["left_out"] = [
        {"cell": dict(record["plan"]["cells"][0]), "planned": 1, "taken": 0, "reason": text}
    ]
    return replace(run, record=record, read=lambda: run.samples)


@settings(max_examples=20)
@given(text=HOSTILE)
@example(text="<script>alert(1)</script>")
@example(text='"><img src=x onerror=alert(1)>{{ claim }}')
def test_hostile_data_are_text_on_every_page(catalogue: Catalogue, text: str) -> None:
    run, values = catalogue.runs[0]
    bad = hostile(run, text)
    refused = replace(values.refusals[0], reason=text, cells=(text,)) if values.refusals else None
    value = Value.refused_for("unavailable", text)
    cells = (replace(values.cells[0], left_out=text, values={"watts": value}), *values.cells[1:])
    said = replace(values, cells=cells, refusals=(refused,) if refused else (), quantities={"q.x": value})
    link = '<a href="../quantities/q.x.html">x</a>'
    made = run_page.page(
        bad, said, {"q.x": link}, gates=dict.fromkeys(values.gates, text),
        downloads=[run_page.Download("x", text, text)], stated=[("a.md", text)], model_title=text, cite="",
    )  # fmt: skip
    _check(made, text)
    entry = catalogue.entries["decode.seconds_per_token"]
    now = replace(entry.now, title=text, meaning=text, refusal=Refusal("unavailable", text), estimate=None)
    worst = replace(
        entry,
        now=now,
        runs=((bad, values.quantities[entry.id]), (bad, value)),
        uses=(Use("a.md", text, f"n-{entry.id}", text, text),),
    )
    of = {bad.id: quantity_page.series_of(bad, {run.model: text})}
    page = quantity_page.page(
        worst,
        {**catalogue.entries, entry.id: worst},
        cite="",
        samples=1,
        comes_from={"a.md": text},
        titles={run.model: text},
        of=of,
    )
    _check(page, text)
    framed = Frame.of(FRAME, text, "https://example.org/").page(
        path="x.html", title=text, description=text, content=page
    )
    _check(framed, text)
    for row in csv.reader(io.StringIO(files.runs_csv(worst))):
        assert not row[-1].startswith(("=", "+", "-", "@")), "a spreadsheet would take it for a formula"


def _check(html: str, text: str) -> None:
    """Nothing in it runs, no braces look like a placeholder, and a reader sees the text."""
    parsed = BeautifulSoup(html, "html.parser")
    assert not parsed.find_all(["img", "iframe", "object"])
    assert not [script for script in parsed.find_all("script") if not script.get("src")]
    assert not [name for tag in parsed.find_all(True) for name in tag.attrs if name.startswith("on")]
    assert not re.search(r"\{\{|\}\}", html)
    seen = " ".join(parsed.get_text().split())
    words = "".join("\N{REPLACEMENT CHARACTER}" if c in "\x00\x1b" else c for c in text).split()
    assert all(word in seen for word in words)


# --- the picture ------------------------------------------------------------------------------------

NUMBERS = st.floats(min_value=-1e15, max_value=1e15, allow_nan=False).filter(
    lambda x: x == 0 or abs(x) > 1e-12
)


@settings(max_examples=40)
@given(
    points=st.lists(
        st.tuples(st.integers(0, 4 * 10**9), NUMBERS, st.floats(0, 2), st.integers(0, 6), st.booleans()),
        min_size=1,
        max_size=12,
    )
)
@example(points=[(0, 0.0, 0.0, 0, True)])
@example(points=[(10**9, 1e-9, 2.0, 0, False), (10**9 + 60, 5.0, 0.0, 1, True)])
def test_a_number_over_time_is_drawn_inside_of_its_picture(
    points: list[tuple[int, float, float, int, bool]],
) -> None:
    made = [
        timeline.Point(moment, value, value - abs(value) * half, value + abs(value) * half, series, stated)
        for moment, value, half, series, stated in points
    ]
    for size in (timeline.WIDE, timeline.NARROW):
        svg = timeline.picture(made, "s", "What it shows", size, "t")
        assert svg.count("<svg") == svg.count("</svg>") == 1
        assert "nan" not in svg and "inf" not in svg
        for x, y in re.findall(r"M(-?[\d.]+) (-?[\d.]+)", svg):
            assert -6 <= float(x) <= size[0] + 6 and -6 <= float(y) <= size[1] + 6
        labels = re.findall(r'text-anchor="middle">([^<]+)<', svg)
        assert 1 <= len(labels) <= 9


@pytest.mark.parametrize(
    ("first", "last", "wanted"),
    [
        (0, 3600, "00:30"),
        (1_764_000_000, 1_764_000_000 + 5 * 86400, "27 Nov"),
        (1_700_000_000, 1_700_000_000 + 400 * 86400, "2024"),
        (0, 60 * 365 * 86400, "2000"),
    ],
)
def test_dates_on_the_axis_are_round(first: float, last: float, wanted: str) -> None:
    marks, title = timeline.ticks(first, last, 7)
    assert any(wanted in text for _, text in marks), marks
    assert 2 <= len(marks) <= 9 and title
    assert all(first <= moment <= last for moment, _ in marks)


def test_a_thousand_runs_make_a_small_picture() -> None:
    made = [timeline.Point(1.7e9 + 3600 * n, 1 + n % 7, 0.5 + n % 7, 2 + n % 7, n % 6) for n in range(1000)]
    assert len(timeline.picture(made, "s", "x", timeline.WIDE, "t")) < 60_000


def test_values_come_back_from_their_rows(catalogue: Catalogue) -> None:
    for _, values in catalogue.runs:
        for value in values.quantities.values():
            assert Value.from_row(json.loads(json.dumps(value.row()))) == value


def test_each_number_is_used_by_what_it_is_made_of(catalogue: Catalogue) -> None:
    entry: Entry = catalogue.entries["time.decode_over_prefill"]
    for name in entry.inputs:
        assert entry.id in catalogue.entries[name].used_by
