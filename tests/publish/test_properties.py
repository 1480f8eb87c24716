"""What must hold for any input: tokens give the text back, numbers stay inside their interval, data stay data.

Everything goes the whole way: from site_data/ on disk, or from a page's source, to the finished HTML, CSV and JSON.
Formulas have no input that hangs, escapes or yields what is no number.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
import shutil
import statistics
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import markdown
import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from hooks import charts
from hooks.build import Build
from hooks.data import store
from hooks.errors import PublishError
from hooks.extension import Site, SplicedExtension
from hooks.numbers import quantities
from hooks.numbers.book import Book
from hooks.numbers.expressions import DEEPEST, LONGEST, parse
from hooks.numbers.formatting import SPACE, UNITS
from hooks.pictures import sheets
from hooks.publication.published import dump
from hooks.writing.provenance import rows
from tests.publish import fixture_data
from tests.publish.fixture_data import ROOT

on_disk = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
"""A folder made for one test is written anew by each example."""

VOID = {"area", "br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"}


@dataclass
class Item:
    """An element as a browser builds it: attributes, and the text inside it."""

    tag: str
    attributes: dict[str, str]
    text: str = ""


@dataclass
class Reader(HTMLParser):
    """Elements of a page in order, escapes undone."""

    source: str
    items: list[Item] = field(default_factory=list)
    text: str = ""

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._open: list[Item] = []
        self.feed(re.sub("\r\n?", "\n", self.source))  # as browsers do, before anything else
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        item = Item(tag, {name: value or "" for name, value in attrs})
        self.items.append(item)
        if tag not in VOID:
            self._open.append(item)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.items.append(Item(tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop().tag != tag:
            pass

    def handle_data(self, data: str) -> None:
        self.text += data
        for item in self._open:
            item.text += data

    def of_class(self, name: str) -> Iterator[Item]:
        return (item for item in self.items if name in item.attributes.get("class", "").split())

    @property
    def shape(self) -> list[tuple[str, tuple[str, ...]]]:
        """Tags and names of attributes: all that a browser acts on."""
        return [(item.tag, tuple(sorted(item.attributes))) for item in self.items]


def convert(source: str, site: Site) -> Reader:
    extension = SplicedExtension()
    extension.site = site
    return Reader(markdown.markdown(source, extensions=[extension, "tables", "toc", "pymdownx.superfences"]))


@cache
def definitions() -> quantities.Definitions:
    return quantities.read(ROOT / "docs/quantities.toml")


# --- tokens -----------------------------------------------------------------------------------------

# A page cannot hold NUL or half a surrogate pair; everything else can be written with JSON's escapes.
any_text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=60)

# Left out: what Markdown itself changes before any extension sees it (line ends, tabs, the two marks that it uses).
as_typed = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\u2028\u2029\u0085"),
    min_size=1,
    max_size=60,
)

UNUSUAL = [
    "\u0301",  # a combining mark with nothing to combine with
    "e\u0301 \u00e9 \ufb01 \u212b",  # normal forms differ
    "👩‍👩‍👧‍👦🇩🇪🏳️‍🌈🪿",  # joined by ZWJ, flags, a character of several tokens
    "\u200d\u200b\ufe0f",  # joiners alone
    "שלום עולם \u202eabc\u202c",  # right to left, and an override
    "語言模型、推論。",
    " two  spaces, one at the end ",
    "*a* _b_ `c` [d](e) <b> &amp; &#60; \\{{ f }} }} {{ $x$ ~~y~~ ^^z^^ :smile: --- | #",
    '"\\"',
    "export x=1 as=plain",
]
CONTROLS = ["\x01\x07\x08\x0b\x0c\x1b\x1f\x7f\x80\x9f", "\x02spliced:0\x03", "\ta\tb", "a\r\nb\rc\n", "\n\n"]


def token_text(inside: str, site: Site) -> tuple[str, str]:
    """The text of the tokens on a page, and the same text as an image's alt text."""
    page = convert(f"Text {{{{ tokens {inside} }}}} text.\n\n![{{{{ tokens {inside} }}}}](a.png)\n", site)
    (tokens,) = page.of_class("tokens")
    (image,) = (item for item in page.items if item.tag == "img")
    return tokens.text, image.attributes["alt"]


def examples(*texts: str) -> Any:
    def add(test: Any) -> Any:
        for text in texts:
            test = example(text=text)(test)
        return test

    return add


def as_browsers_read(text: str) -> str:
    """Python's parser drops references to characters that browsers keep; put them as it does."""
    return text.translate(dict.fromkeys((*range(1, 9), 11, *range(14, 32), *range(127, 160))))


@settings(max_examples=60)
@given(text=any_text)
@examples(*UNUSUAL, *CONTROLS)
def test_any_escaped_text_comes_back_from_tokens(text: str, site: Site) -> None:
    shown, alt = token_text(json.dumps(text), site)
    assert as_browsers_read(shown) == as_browsers_read(text)
    # In attributes, characters that nobody sees and HTML forbids are shown as such.
    assert as_browsers_read(alt) == as_browsers_read(
        re.sub("[\x01-\x08\x0b\x0c\x0e-\x1f\x7f]", "\ufffd", text)
    )


@settings(max_examples=60)
@given(text=as_typed)
@examples(*UNUSUAL)
def test_any_typed_text_comes_back_from_tokens(text: str, site: Site) -> None:
    assert token_text(json.dumps(text, ensure_ascii=False), site) == (text, text)


# --- numbers ----------------------------------------------------------------------------------------

PREFIXES = {"n": -9, "µ": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15}


def parsed(text: str, unit: str) -> float:
    """The value that a text states, in `unit`."""
    digits, _, symbol = text.partition(SPACE)
    digits = digits.replace(",", "").replace("\N{MINUS SIGN}", "-")
    return float(digits) * 10.0 ** PREFIXES[symbol.removesuffix(UNITS[unit].symbol)]


@st.composite
def sample_sets(draw: st.DrawFn) -> list[tuple[int, float]]:
    """(process, seconds per token) of up to six processes, from perfect agreement to none at all."""
    size = draw(st.floats(1e-8, 1e4))
    spread = draw(st.sampled_from([0.0, 1e-12, 1e-6, 1e-3, 0.05, 0.5, 0.99]))
    shares = st.floats(1 - spread, 1 + spread)
    return [
        (process, size * draw(shares))
        for process in range(draw(st.integers(1, 6)))
        for _ in range(draw(st.integers(1, 3)))
    ]


def write_decode(folder: Path, samples: list[tuple[int, float]]) -> Site:
    cell = {"experiment": "decode", "prompt_tokens": None, "context_tokens": 500, "batch": 1}
    cell |= {"dtype": "float32", "mode": "eager"}
    records = [
        fixture_data.sample(cell, process, 0, lambda *_, t=time: t, warm_up=False, energy=False)
        for process, time in samples
    ]
    base = fixture_data.run_record("x", 0)["processes"][0]
    processes = [{**base, "process": n, "round": n} for n in range(6)]
    fixture_data.write_run(folder, records=records, processes=processes)
    return Site(Book(store.load(folder), definitions()))


@settings(on_disk, max_examples=60)
@given(samples=sample_sets())
@example(samples=[(n, 0.35) for n in range(5)])
@example(samples=[(0, 9.996e-3), (1, 9.996e-3), (2, 9.9961e-3)])
@example(samples=[(0, 1e-3), (1, 1.0), (2, 1e3)])
def test_any_samples_give_a_number_inside_its_interval(
    samples: list[tuple[int, float]], empty_data: Path
) -> None:
    site = write_decode(empty_data, samples)
    page = convert("{{ decode.seconds_per_token }}", site)
    (shown,) = page.of_class("quantity")
    times: dict[int, list[float]] = {}
    for process, time in samples:
        times.setdefault(process, []).append(time * 4 / 4)
    medians = [statistics.median(values) for values in times.values()]
    value = statistics.median(medians)
    reading = site.book.read("decode.seconds_per_token")
    assert reading.value == pytest.approx(value)
    slack = 1e-9 * value
    if shown.text.startswith("under "):
        assert reading.low is not None and reading.high is not None
        assert reading.low <= slack, "a bound is stated only where the interval holds zero"
        bound = parsed(shown.text.removeprefix("under "), "s")
        assert reading.high - slack <= bound <= 1.1 * reading.high + slack
        return
    stated = parsed(shown.text, "s")
    if len(medians) < 3:
        assert reading.low is None and reading.high is None
        assert abs(stated - value) <= 0.05 * value + slack, "two digits"
        assert "fewer than 3 processes" in page.text
        return
    assert reading.low is not None and reading.high is not None
    half = (reading.high - reading.low) / 2
    if half <= 1e-9 * value:
        assert abs(stated - value) <= 0.005 * value + slack, "three digits"
        assert "all processes agree" in page.text
        return
    assert reading.low - slack <= stated <= reading.high + slack
    assert abs(stated - value) <= half / 4 + slack, "what the interval leaves is not rounded away"
    digits, _, symbol = shown.text.partition(SPACE)
    if "." in digits:
        last = parsed(re.sub(r"\d(?!$)", "0", digits)[:-1] + "1" + SPACE + symbol, "s")
        assert last * 20 >= half, "no digit is made up"


@settings(on_disk, max_examples=40)
@given(samples=sample_sets())
def test_the_ends_in_the_popover_hold_the_number(samples: list[tuple[int, float]], empty_data: Path) -> None:
    reading = write_decode(empty_data, samples).book.read("decode.seconds_per_token")
    said = dict(rows(reading))
    assume(" to " in said.get("Interval", ""))
    text = said["Interval"].partition(" (")[0]
    ends, _, symbol = text.partition(SPACE)
    low, high = (parsed(end + SPACE + symbol, "s") for end in ends.split(" to "))
    text = reading.text()
    assume(not text.startswith("under "))
    stated = parsed(text, "s")
    half = (high - low) / 2
    assert low - 0.06 * half <= stated <= high + 0.06 * half
    assert reading.low is not None and reading.high is not None
    assert abs(low - reading.low) <= 0.06 * half + 1e-9 * high
    assert abs(high - reading.high) <= 0.06 * half + 1e-9 * high


# --- data -------------------------------------------------------------------------------------------

HOSTILE = [
    "<script>alert(1)</script>",
    "\"'><img src=x onerror=alert(1)>",
    "javascript:alert(1)//",
    "</span></p></title></svg><h1>",
    "&lt;b&gt; &amp; &#60; &copy &#x0;",
    "*a* _b_ `c` [d](javascript:e) ![f](g) {{ h }} \\ $1 \\1 \\g<0> <!-- ]]> -->",
    '=HYPERLINK("http://x","y")',
    "+1",
    "-1+1|cmd",
    "@SUM(A1)",
    "\u200b=1",
    "＝1",
    "a,b\nc\r\nd;\te",
    "\x02klzzwxh:0\x03 \x02spliced:0\x03 \x07\x00\x1b\x7f",
    "\ufffe\uffff",
    "{{ decode.seconds_per_token }}",
]
PAGE = """# Page {#page}

Decode takes {{ decode.seconds_per_token }}, there {{ decode.seconds_per_token run=real-weights }}, and energy
{{ energy.decode_over_prefill }}. {{ claim decode.seconds_per_token > 0 }}
Energy is more. {{ claim energy.decode_over_prefill > 1 }}

{{ model qwen2.5-1.5b.title }}, {{ model qwen2.5-1.5b.parameters }}, {{ tokenizer.qwen2.5.entries }},
{{ cite qwen2.5-speed-benchmark.transformers }}

![{{ energy.decode_over_prefill }}](a.png) <b title="{{ energy.decode_over_prefill }}">b</b>

{{ table kv-cache-by-model }}

{{ measured-in }}
"""
ALL_CHARTS = "\n\n".join(f"{{{{ chart {name} }}}}" for name in charts.CHARTS)


def rewrite(path: Path, change: Any) -> None:
    record = json.loads(path.read_text(encoding="utf-8"))
    change(record)
    path.write_text(json.dumps(record), encoding="utf-8")


def publish(
    folder: Path, text: str, source: str = PAGE, cache: Path | None = None
) -> tuple[Reader, dict[str, str]]:
    """A page, and the files of its build, with `text` in every place of site_data/ and of the list that takes words."""
    refusal = {"kind": "unavailable", "reason": text}
    base = fixture_data.run_record("x", 0)
    machine = {**base["machine"], "label": text, "cpu": text, "os": text}
    model = {**base["model"], "weights": {"kind": "random", "label": text}}
    small = {**model, "name": "smollm2-135m", "weights": {"kind": "file", "label": text}}
    records = fixture_data.samples()
    for record in records:
        record["energy_refusal"] = refusal
    fixture_data.write_run(folder, records=records, machine=machine, model=model)
    fixture_data.write_run(folder, "fixture-small", records, machine=machine, model=small)

    def origin(record: dict[str, Any]) -> None:
        record["origin"] |= dict.fromkeys(("title", "publisher", "place", "licence"), text)
        record["origin"]["url"] = f"https://{text}"

    def cited(record: dict[str, Any]) -> None:
        origin(record)
        for value in record["values"]:
            value |= {"meaning": text, "place": text}

    def titled(record: dict[str, Any]) -> None:
        origin(record)
        record["title"] = text if record["name"].startswith("qwen") else f"{text} {record['name']}"

    for path in (folder / "cited").glob("*.json"):
        rewrite(path, cited)
    for path in [*(folder / "models").glob("*.json"), *(folder / "tokenizers").glob("*/origin.json")]:
        rewrite(path, titled)
    listed = (ROOT / "docs/quantities.toml").read_text(encoding="utf-8")
    listed = re.sub(
        r'^(title|meaning|label) = ".*"$',
        lambda match: f"{match[1]} = {toml_string(text)}",
        listed,
        flags=re.MULTILINE,
    )
    (folder.parent / "quantities.toml").write_text(listed, encoding="utf-8")
    site_dir = folder.parent / "site"
    build = Build.open(folder, folder.parent / "quantities.toml", folder.parent / ".build", site_dir, cache)
    try:
        build.begin("page.md", "docs/page.md", source)
        html = markdown.markdown(source, extensions=[build.extension, "tables", "toc"])
        build.end()
        build.take({"page.md": html})
        html = build.complete("page.md", html)
        html = dict(build.last()).get("page.md", html)
        assert build.errors == (), build.errors[0]
        shutil.rmtree(site_dir, ignore_errors=True)
        build.end_site(site_dir, dump(build.published()))
    finally:
        build.close()
    files = {str(path.relative_to(site_dir)): path for path in site_dir.rglob("*") if path.is_file()}
    return Reader(html), {name: path.read_text(encoding="utf-8") for name, path in files.items()}


def toml_string(text: str) -> str:
    return '"' + "".join(f"\\U{ord(character):08x}" for character in text) + '"'


words = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20),
    st.builds("".join, st.lists(st.sampled_from(HOSTILE), min_size=1, max_size=2)),
)


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where builds keep what does not depend on the text, such as the script of the charts."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def harmless(
    tmp_path_factory: pytest.TempPathFactory, cache: Path
) -> dict[str, tuple[Reader, dict[str, str]]]:
    """The same pages and files with a word in place of hostile text."""
    folder = fixture_data.site_data(tmp_path_factory.mktemp("harmless") / "site_data")
    return {source: publish(folder, "harmless", source, cache) for source in (PAGE, ALL_CHARTS)}


OTHER_RUN = "data/machines/page/fixture-small.js"


def exchanged(script: str) -> dict[str, Reader]:
    """What the machine switch puts into a page, by its place; the file sets one value and does nothing else."""
    head, text = script.split(" = ", 1)
    assert head == '(window.splicedRuns ??= {})["page.md fixture-small"]'
    value = json.loads(text.removesuffix(";\n"))
    assert not value["attributes"] and not value["inside"] and value["whole"]
    return {slot: Reader(html) for slot, html in value["whole"].items()}


@settings(on_disk, max_examples=20)
@given(text=words)
@examples(*HOSTILE)
def test_any_data_are_inert_in_html_and_json(
    text: str, empty_data: Path, harmless: dict[str, tuple[Reader, dict[str, str]]]
) -> None:
    plain, plain_files = harmless[PAGE]
    page, files = publish(empty_data, text)
    assert page.shape == plain.shape, "data are text, never elements or attributes"
    for item in page.items:
        for name in ("href", "src", "action", "formaction"):
            assert not item.attributes.get(name, "").strip().lower().startswith("javascript:")
    parts, plain_parts = exchanged(files[OTHER_RUN]), exchanged(plain_files[OTHER_RUN])
    assert {slot: part.shape for slot, part in parts.items()} == {
        slot: part.shape for slot, part in plain_parts.items()
    }, "what the machine switch puts into the page is text, too"
    published = json.loads(files["published.json"])
    titles = {number["title"] for number in published["pages"]["page.md"]["quantities"]}
    assert text in titles, "exactly the text"
    if text.isprintable():
        assert page.text.count(text) >= plain.text.count("harmless")
        values = [value for item in page.items for value in item.attributes.values()]
        assert values.count(text) >= 2, "the image's alt text and the title in raw HTML"


@settings(on_disk, max_examples=3)
@given(text=words)
@examples("".join(HOSTILE), HOSTILE[0], HOSTILE[6], HOSTILE[-1])
def test_any_data_are_inert_in_charts(
    text: str, empty_data: Path, harmless: dict[str, tuple[Reader, dict[str, str]]], cache: Path
) -> None:
    page, files = publish(empty_data, text, ALL_CHARTS, cache)
    plain, plain_files = harmless[ALL_CHARTS]
    assert set(page.shape) <= set(plain.shape)
    parts, plain_parts = exchanged(files[OTHER_RUN]), exchanged(plain_files[OTHER_RUN])
    assert parts.keys() == plain_parts.keys()
    for slot, part in parts.items():
        assert set(part.shape) <= set(plain_parts[slot].shape)
    tables = [path for path in files if path.endswith(".csv")]
    measured = charts.CHARTS.keys() - {"kv-cache-against-weights"}
    names = {*charts.CHARTS, *(f"{name}.fixture-small" for name in measured)}
    assert {Path(path).name.removesuffix(".csv") for path in tables} == names
    for path in tables:
        assert_plain_cells(files[path])


FORMULA = "=+-@\t\r\n＝＋－＠"
"""Beginnings that a spreadsheet may take for a formula, full-width ones too."""


def assert_plain_cells(text: str) -> None:
    """Every row has as many cells as the heading, and no cell is a formula."""
    head, *body = csv.reader(io.StringIO(text, newline=""))
    for row in body:
        assert len(row) == len(head)
        for cell in row:
            with suppress(ValueError):
                float(cell)
                continue
            assert cell[:1] not in set(FORMULA), cell


@given(
    cells=st.lists(st.one_of(words, st.sampled_from([c + "1+1" for c in FORMULA])), min_size=1, max_size=4)
)
def test_any_text_is_inert_in_csv(cells: list[str]) -> None:
    text = sheets.text([f"c{index}" for index in range(len(cells))], [cells])
    assert_plain_cells(text)
    (_, found) = csv.reader(io.StringIO(text, newline=""))
    assert [cell.removeprefix("'") for cell in found] == [cell.removeprefix("'") for cell in cells]


# --- formulas ---------------------------------------------------------------------------------------

names = st.sampled_from(["a.b", "c.d", "model.qwen2.5-1.5b.parameters", "a.b.low"])
numbers = st.one_of(
    st.integers(0, 10**30).map(str), st.floats(0, allow_infinity=False, allow_nan=False).map(repr)
)
formulas = st.recursive(
    names | numbers,
    lambda inner: st.one_of(
        st.tuples(
            inner, st.sampled_from([" + ", " - ", " * ", " / ", " < ", " == ", " and ", " or "]), inner
        ).map("".join),
        inner.map("({})".format),
        inner.map("-{}".format),
        inner.map("not {}".format),
        st.tuples(st.sampled_from(["min", "max", "abs"]), inner).map("{0[0]}({0[1]})".format),
        st.tuples(st.sampled_from(["min", "max", "rising", "falling"]), inner, inner).map(
            "{0[0]}({0[1]}, {0[2]})".format
        ),
        st.tuples(inner, inner).map("about({0[0]}, {0[1]}, 10%)".format),
        st.tuples(inner, inner, inner).map("within({0[0]}, {0[1]}, {0[2]})".format),
    ),
    max_leaves=12,
)
VALUES = st.floats(allow_nan=False, allow_infinity=False)


@settings(max_examples=200)
@given(source=formulas, value=VALUES)
def test_any_formula_yields_a_finite_number_a_verdict_or_an_error(source: str, value: float) -> None:
    with suppress(PublishError):
        expression = parse(source)
        result = expression.evaluate(dict.fromkeys(expression.ids, value))
        assert isinstance(result, bool) or math.isfinite(float(result))


EVIL = [
    "9" * LONGEST,
    "9**9**9",
    "9.9e307 * " * 30 + "9.9e307",
    "-" * (LONGEST - 1) + "1",
    "not " * (LONGEST // 4 - 1) + "1",
    "(" * (LONGEST // 2 - 1) + "1" + ")" * (LONGEST // 2 - 1),
    "abs(" * 70 + "1" + ")" * 70,
    "1+" * (LONGEST // 2 - 1) + "1",
    "1 <" * (LONGEST // 3 - 1) + "1",
    "1e999",
    "1e308 * 10 > 1",
    "().__class__.__mro__",
    "a.__class__",
    "a.b.__class__.__init__.__globals__",
    "min.__self__",
    "min",
    "a.b + max",
    "rising == 1",
    "about(a.b, 1, 1000%)",
    "within(1, 2)",
    "a.b %",
    "v0 + a.b",
    "vv0 + a.b",
    "__builtins__",
    "abs(__import__)",
    "'a' * 999999999",
    "[0] * 999999999",
    "(lambda: 1)()",
    "[x for x in a.b]",
    "min(*a.b)",
    "f'{a.b}'",
    "a.b if c.d else 0",
    "(a.b := 1)",
    "1_000 > 1j",
    "await a.b",
    "open('x')",
    "\0",
    "a.b\n;import os",
]


@pytest.mark.parametrize("source", EVIL, ids=range(len(EVIL)))
def test_no_formula_hangs_or_escapes(source: str) -> None:
    try:
        expression = parse(source)
        result = expression.evaluate(dict.fromkeys(expression.ids, 2.0))
    except PublishError as error:
        assert "expected: " in str(error)
        return
    assert isinstance(result, (bool, int, float)) and abs(result) < 1e308


def test_limits_leave_room_for_what_authors_write() -> None:
    assert parse(" + ".join(["a.b"] * 30)).evaluate({"a.b": 1.0}) == 30
    assert parse("(" * 15 + "a.b + 1" + ")" * 15 + " > 1").evaluate({"a.b": 1.0}) is True
    assert DEEPEST < 100 < LONGEST
