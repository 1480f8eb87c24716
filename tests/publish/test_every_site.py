"""The pages of docs/ on sites of other machines: every sentence of them is right there, too. FIXTURE data only.

`python -m tests.publish.test_every_site` prints what the pages say on each, to be read by a person.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import markdown
import pytest
import yaml

from hooks import charts
from hooks.charts import Chart
from hooks.data.records import Run, keys_of
from hooks.extension import Site, SplicedExtension
from hooks.jupyter.notebook_pages import Notebook
from hooks.numbers.book import Book
from hooks.numbers.formatting import SPACE
from hooks.pictures.gallery import Gallery
from hooks.switching import machines, slots
from hooks.writing.pages import PageState
from tests.publish import fixture_data
from tests.publish.fixture_data import ROOT

DOCS = ROOT / "docs"
SETTINGS = yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), Loader=yaml.BaseLoader)
EXTENSIONS = [
    next(iter(item)) if isinstance(item, dict) else item for item in SETTINGS["markdown_extensions"]
]
ABOUT_OTHERS = ("reference/", "data/", "api/", ".overrides")
"""Pages about the program and lists of the data: they tell no story of one machine."""


class Words(Gallery):
    """Charts in words alone: nothing is drawn."""

    def chart(
        self, name: str, book: Book, alias: str | None, options: Mapping[str, str]
    ) -> tuple[Chart, dict[str, str]]:
        chart = charts.build(name, book, alias, options)
        return chart, {} if chart.refusal else {"wide": ""}

    def picture(self, spec: str, *, name: str, label: str) -> str:
        return "<svg></svg>"


def pages() -> dict[str, tuple[str, str]]:
    """Every page's file and Markdown by its path in docs/; of a notebook that of its text cells."""
    found = {}
    for path in sorted((*DOCS.rglob("*.md"), *DOCS.rglob("*.ipynb"))):
        uri = path.relative_to(DOCS).as_posix()
        if uri.startswith(ABOUT_OTHERS):
            continue
        if path.suffix == ".md":
            source = re.sub(r"\A---\n.*?\n---\n", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        else:
            source = Notebook.read(path, uri).markdown
        found[uri] = f"docs/{uri}", source
    return found


def like(run: Run, **changes: Any) -> Run:
    """The run with another record."""
    return replace(run, record={**run.record, **changes}, read=lambda: run.samples)


def short(run: Run) -> Run:
    """The run as if its time had been up after two processes, with most of its cells left out."""

    def taken(cell: Mapping[str, Any]) -> bool:
        return 500 in (cell["prompt_tokens"], cell["context_tokens"]) and cell["batch"] == 1

    cells = run.record["plan"]["cells"]
    left_out = [
        {"cell": cell, "reason": "the time allowed did not suffice"} for cell in cells if not taken(cell)
    ]
    plan = {**run.record["plan"], "left_out": left_out}
    kept = tuple(sample for sample in run.samples if sample.process < 2 and taken(keys_of(sample.cell)))
    return replace(run, record={**run.record, "plan": plan}, read=lambda: kept)


def sites(site: Site) -> dict[str, Site]:
    """The fixture site as if it had other runs: each is a machine's own site, or that of several."""
    runs = site.book.store.runs
    main, gpu = runs["fixture-main"], runs["fixture-gpu"]
    newest = like(gpu, finished_at="2026-01-03T04:00:00Z")
    found = {
        "a short run": {main.id: short(main)},
        "cpu only": {main.id: main},
        "one gpu": {gpu.id: gpu},
        "several runs": runs,
        "gpu among others": {**runs, gpu.id: newest},
    }
    return {
        name: replace(site, book=Book(replace(site.book.store, runs=those), site.book.definitions))
        for name, those in found.items()
    }


def cut(html: str) -> str:
    """HTML without what no sentence is made of: popovers, pictures, tables of charts, code, the switch, ticks."""
    for pattern in (
        r"<bdi .*?</bdi>",
        r"<svg>.*?</svg>",
        r"<pre.*?</pre>",
        r"<details.*?</details>",
        r'<div class="machine-switch".*?</div>',
        r'<span [^>]*class="claim-mark"[^>]*>✓</span>',
    ):
        html = re.sub(pattern, "", html, flags=re.DOTALL)
    return html


def text_of(html: str) -> str:
    """What a reader sees of HTML."""
    html = re.sub(r"</(p|li|h\d|figcaption|dt|dd|blockquote|tr|div)>", "\n", html)
    text = re.sub(r"<[^>]+>", "", html).replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">")
    return re.sub(r"\n[ \n]*\n", "\n", text.replace(SPACE, " "))


def read(site: Site) -> dict[tuple[str, str], str]:
    """What every page says, by page and run: of the main run, and of each other one that a reader can choose."""
    site = replace(site, choices=machines.choices(site.book), gallery=Words())
    main = site.book.run(site.book.definitions.main).id
    said: dict[tuple[str, str], str] = {}
    for uri, (file, source) in pages().items():
        page = PageState(file, uri)
        page.begin(source)
        extension = SplicedExtension()
        extension.site, extension.page = site, page
        html = cut(markdown.markdown(source, extensions=[extension, *EXTENSIONS]))
        assert not page.errors, "\n\n".join(map(str, page.sorted_errors))
        said[uri, main] = text_of(html)
        for run_id, patch in page.patches.items():
            said[uri, run_id] = text_of(patched(html, patch))
    return said


def patched(html: str, patch: slots.Patch) -> str:
    """The page with another run's figures in their places, as the script in the browser puts them there."""
    import bs4

    soup = bs4.BeautifulSoup(html, "html.parser")
    places = {slot[slots.ATTRIBUTE]: slot for slot in soup.find_all(attrs={slots.ATTRIBUTE: True})}
    for key, inside in patch.inside.items():
        places[key].clear()
        places[key].append(bs4.BeautifulSoup(cut(inside), "html.parser"))
    for key in patch.whole.keys() & places.keys():  # ticks were cut out
        places[key].replace_with(bs4.BeautifulSoup(cut(patch.whole[key]), "html.parser"))
    return str(soup)


SITES = ("a short run", "cpu only", "one gpu", "several runs", "gpu among others")


@pytest.fixture(scope="module", params=SITES)
def said(request: pytest.FixtureRequest, site: Site) -> dict[tuple[str, str], str]:
    return read(sites(site)[request.param])


def sentences(said: Mapping[tuple[str, str], str]) -> list[tuple[tuple[str, str], str]]:
    return [
        (key, sentence)
        for key, text in said.items()
        for sentence in re.split(r"(?<=[.!?:])\s+|\n", text)
        if sentence.strip()
    ]


ONE = re.compile(r"(?<![\d.,–-])\b1 (?!times)[a-z]+s\b")
TWICE = re.compile(r"\b(ms|s|J|W|GB/s|kB|GB|tokens|times|the|a) \1\b")
EMPTY = re.compile(r"\bNone\b(?! of)|\bnan\b|\{\{|\}\}|  +[.,]")


def test_units_and_numbers_agree(said: dict[tuple[str, str], str]) -> None:
    wrong = [
        (key, sentence)
        for key, sentence in sentences(said)
        if any(pattern.search(sentence) for pattern in (ONE, TWICE, EMPTY))
    ]
    assert not wrong


def test_energy_is_in_joules_where_it_was_measured_and_nowhere_else(said: dict[tuple[str, str], str]) -> None:
    for (uri, run_id), text in said.items():
        if not uri.startswith(("primers/", "index")):
            continue
        energies = re.findall(r"\d (?:m|µ|k)?J\b", text)
        if "gpu" in run_id:
            assert "no energy meter" not in text, uri
            assert "cannot answer" not in text and "cannot say yet" not in text, uri
        else:
            assert not energies, (uri, run_id)


def test_a_gpu_is_not_told_to_be_a_processor(said: dict[tuple[str, str], str]) -> None:
    """What only a CPU has is on no page of a GPU's run, and the other way round, but in sentences about both."""
    for (uri, run_id), text in said.items():
        if not uri.startswith("primers/"):
            continue
        if "gpu" in run_id:
            assert not re.search(
                r"this machine (?:they are|it is) compiled|all its cores", text, re.IGNORECASE
            ), uri
        else:
            assert not re.search(r"this (?:graphics )?card", text), uri


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        data = fixture_data.site_data(Path(temporary) / "site_data")
        for write in (
            fixture_data.write_run,
            fixture_data.gpu_run,
            fixture_data.small_run,
            fixture_data.imported_run,
        ):
            write(data)
        for name, one in sites(Site.open(data, DOCS / "quantities.toml")).items():
            for (uri, run_id), text in read(one).items():
                sys.stdout.write(f"\n######## {name}: {uri}, {run_id}\n{text}\n")
