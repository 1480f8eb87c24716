"""A way into each error that publishing can give; what each says is in tests/publish/errors/. No tests live here.

A case is a function of a `Workplace`: it makes the mistake and lets the error out. Its name is the golden file's.
"""

from __future__ import annotations

import io
import json
import lzma
import os
import shutil
from collections.abc import Callable
from contextlib import redirect_stderr
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn
from unittest.mock import patch

import markdown

from hooks import audit, leftovers
from hooks.caching.cache import Cache
from hooks.data import store
from hooks.errors import Place as ErrorPlace
from hooks.errors import PublishError, PublishErrors
from hooks.extension import Site, SplicedExtension
from hooks.jupyter import execution, nursery
from hooks.jupyter.execution import Execution, environment
from hooks.jupyter.notebook_pages import Notebook
from hooks.numbers import quantities
from hooks.numbers.book import Book
from hooks.pictures.gallery import Gallery
from hooks.pictures.painter import Painter
from hooks.publication import snapshots
from hooks.widgets import browser_tokenizer
from hooks.writing import glossary, tokens
from tests.publish import fixture_data


@dataclass(frozen=True)
class Workplace:
    """Where a case works: an empty folder of its own, and the fixture site, which it must not change."""

    folder: Path
    site: Site


Case = Callable[[Workplace], object]
CASES: dict[str, Case] = {}


def case(function: Case) -> Case:
    """Register a function under its name."""
    CASES[function.__name__.replace("_", "-")] = function
    return function


# --- pages ------------------------------------------------------------------------------------------

OLD = {"decode.seconds_per_token": "120\N{NARROW NO-BREAK SPACE}ms"}
"""What the site is said to have published before."""

PAGES = {
    "unknown-id": "{{ decode.second_per_token }}",
    "unknown-form": "{{ tokns 'x' }}",
    "empty": "{{ }}",
    "unknown-option": "{{ weights.bytes stile=si }}",
    "unknown-value": "{{ weights.bytes as=exakt }}",
    "unknown-digits": "{{ weights.bytes digits=99 }}",
    "option-twice": "{{ weights.bytes digits=2 digits=3 }}",
    "no-argument": "{{ chart }}",
    "argument-too-many": "{{ end now }}",
    "unknown-run": "{{ decode.seconds_per_token run=mian }}",
    "no-interval-to-show": "{{ model qwen2.5-1.5b.parameters as=interval }}",
    "unknown-model-fact": "{{ model qwen2.5-1.5b.parameter }}",
    "unknown-model": "{{ model qwen3-1.5b.parameters }}",
    "unknown-cited": "{{ cite qwen2.5-speed-benchmark.transformer }}",
    "unknown-tokenizer-fact": "{{ tokenizer.qwen2.5.entry }}",
    "unknown-tokenizer": '{{ tokens "x" tokenizer=qwen2 }}',
    "no-such-character": '{{ tokens "a\\u0000b" }}',
    "unknown-chart": "{{ chart time-per-tokens }}",
    "unknown-chart-option": "{{ chart kv-cache-against-weights of=x }}",
    "chart-of-no-ceiling": "{{ chart roofline datasheet=qwen2.5-speed-benchmark.vllm }}",
    "chart-of-no-samples": "{{ chart samples of=time.decode_over_prefill }}",
    "unknown-table": "{{ table kv-cache }}",
    "chart-in-text": "Text {{ chart time-per-token }}",
    "chart-in-alt-text": "![{{ chart time-per-token }}](a.png)",
    "heading-without-anchor": "## It takes {{ decode.seconds_per_token }}",
    "two-runs": "It takes {{ decode.seconds_per_token }}.\n\n"
    "It takes {{ decode.seconds_per_token run=real-weights label=off }}.",
    "in-raw-html": "<div>\n{{ decode.seconds_per_token }}\n</div>",
    "open-braces": "Text {{ decode.seconds_per_token\n\nand more.",
    "when-no-condition": "{{ when 1 + 1 }}x{{ end }}",
    "when-without-end": "{{ when decode.seconds_per_token }}x",
    "end-without-when": "x {{ end }}",
    "otherwise-twice": "{{ when weights.bytes }}a{{ otherwise }}b{{ otherwise }}c{{ end }}",
    "claim-contradicted": "Decode is quick. {{ claim decode.seconds_per_token < prefill.seconds_per_token }}",
    "claim-without-sentence": "{{ claim weights.bytes > 1 }}",
    "claim-without-condition": "Big. {{ claim weights.bytes }}",
    "claim-of-a-range": "So. {{ claim time.decode_over_prefill.lengths > 2 }}",
    "claim-of-a-word": "So. {{ claim model.qwen2.5-1.5b.title > 2 }}",
    "claim-of-no-interval": "So. {{ claim model.qwen2.5-1.5b.layers.low > 2 }}",
    "expression-too-long": f"So. {{{{ claim {'1 + ' * 100}1 > 0 }}}}",
    "expression-too-deep": f"So. {{{{ claim {'(-' * 45}1{')' * 45} > 0 }}}}",
    "expression-no-syntax": "So. {{ claim weights.bytes > }}",
    "expression-unknown-name": "So. {{ claim weights > 1 }}",
    "expression-call": "So. {{ claim weights.bytes(1) > 1 }}",
    "expression-forbidden": "So. {{ claim weights.bytes ** 2 > 1 }}",
    "expression-without-result": "So. {{ claim 1 / (weights.bytes - weights.bytes) > 1 }}",
    "expression-too-few": "So. {{ claim about(weights.bytes, 3) }}",
    "expression-no-sense": "So. {{ claim about(weights.bytes, 3, 300%) }}",
}


def convert(source: str, site: Site, *others: str) -> str:
    """A page through the extension, with some beside it that the site uses, and others."""
    extension = SplicedExtension(page="page.md")
    extension.site = Site(site.book, OLD)
    return markdown.markdown(source, extensions=[extension, "toc", "pymdownx.superfences", *others])


def _page(source: str) -> Case:
    return lambda place: convert(f"# Page {{#page}}\n\n{source}\n", place.site)


@case
def page_in_a_formula(place: Workplace) -> object:
    return convert("It is $t = {{ weights.bytes }}$.", place.site, "pymdownx.arithmatex")


CASES |= {f"page-{name}": _page(source) for name, source in PAGES.items()}

# --- quantities.toml --------------------------------------------------------------------------------

HEAD = 'version = 1\n\n[runs.main]\nlabel = "L"\nmodel = "qwen2.5-1.5b"\nplans = ["standard"]\n'
DECODE = """
[quantity."decode.x"]
title = "T"
meaning = "M"
unit = "s"
measured = { experiment = "decode", context_tokens = 500, mode = "eager", field = "seconds_per_token" }
"""

DECODE_1 = DECODE.replace("context", "batch = 1, context")


def _derived(id_: str, formula: str, key: str = "formula") -> str:
    value = json.dumps(formula) if key == "formula" else formula
    return f'\n[quantity."{id_}"]\ntitle = "T"\nmeaning = "M"\nunit = "1"\n{key} = {value}\n'


LISTS = {
    "not-toml": f"{HEAD}[quantity.\n",
    "unknown-version": HEAD.replace("version = 1", "version = 7"),
    "no-run": "version = 1\n",
    "no-table": "version = 1\nruns = 1\n",
    "unknown-key": HEAD + DECODE.replace("title", "titel"),
    "no-value": HEAD + DECODE.replace('meaning = "M"\n', ""),
    "wrong-type": HEAD + DECODE.replace("500", '"500"'),
    "unknown-weights": f'{HEAD}weights = ["randm"]\n',
    "no-id": HEAD + DECODE.replace("decode.x", "decode.low"),
    "two-sources": HEAD + DECODE + 'formula = "1"\n',
    "unknown-unit": HEAD + DECODE.replace('"s"', '"ms"'),
    "unit-of-another": HEAD + DECODE.replace('"s"', '"bytes"'),
    "unknown-name": HEAD + DECODE + _derived("a.b", "decode.y / 2"),
    "of-a-range": HEAD + DECODE + _derived("a.b", '["decode.x"]', "range") + _derived("a.c", "a.b / 2"),
    "by-itself": HEAD + _derived("a.one", "a.two") + _derived("a.two", "a.one * 2"),
    "unknown-run-fact": HEAD + _derived("a.b", "run.parameter"),
    "no-formula": HEAD + _derived("a.b", "1 +"),
    "no-number": HEAD + _derived("a.b", "max"),
    "unknown-cited": HEAD + _derived("a.b", '"qwen2.5-speed-benchmark.vlm"', "cited"),
}


def _list(text: str) -> Case:
    def make(place: Workplace) -> object:
        path = place.folder / "quantities.toml"
        path.write_text(text, encoding="utf-8")
        return Book(place.site.book.store, quantities.read(path))

    return make


CASES |= {f"list-{name}": _list(text) for name, text in LISTS.items()}


# --- glossary.md ------------------------------------------------------------------------------------

GLOSSARIES = {
    "without-anchor": "# Glossary\n\n## KV cache\n\nKept keys and values.\n",
    "without-meaning": "# Glossary\n\n## Token {#token}\n\n## Vector {#vector}\n\nA list.\n",
    "word-of-two": '## Head {#head data-words="head|heads"}\n\nOne.\n\n## Top {#top data-words="head"}\n\nTwo.\n',
}


def _glossary(text: str) -> Case:
    def make(place: Workplace) -> object:
        path = place.folder / "docs" / "glossary.md"
        path.parent.mkdir()
        path.write_text(text, encoding="utf-8")
        return glossary.read(path)

    return make


CASES |= {f"glossary-{name}": _glossary(text) for name, text in GLOSSARIES.items()}


def _asked(text: str, inside: str) -> Case:
    """A page that asks for a number of a list that is good as a list."""

    def make(place: Workplace) -> object:
        book = _list(HEAD + text)(place)
        assert isinstance(book, Book)
        return convert(f"{{{{ {inside} }}}}", Site(book))

    return make


CASES |= {
    "number-unit-of-its-source": _asked(
        _derived("a.b", '"qwen2.5-speed-benchmark.transformers"', "cited"), "a.b"
    ),
    "number-of-two-units": _asked(
        DECODE_1 + _derived("a.b", '["decode.x", "model.qwen2.5-1.5b.layers"]', "range"), "a.b"
    ),
    "number-of-many-cells": _asked(DECODE.replace("context_tokens = 500, ", ""), "decode.x"),
    "number-not-in-the-plan": _asked(DECODE.replace("500", "501"), "decode.x"),
    "number-of-no-run": _asked(
        DECODE + '\n[runs.other]\nlabel = "O"\nmodel = "llama-2-70b"\nplans = ["standard"]\n',
        "decode.x run=other",
    ),
    "number-of-one-run": _asked(
        '\n[runs.a]\nlabel = "A"\nmodel = "qwen2.5-1.5b"\nplans = ["standard"]\n'
        '[runs.b]\nlabel = "B"\nmodel = "qwen2.5-1.5b"\nplans = ["standard"]\n' + DECODE + 'run = "a"\n',
        "decode.x run=b",
    ),
}


@case
def list_missing(place: Workplace) -> object:
    return quantities.read(place.folder / "quantities.toml")


@case
def run_to_come(place: Workplace) -> object:
    alias = '[runs.later]\nlabel = "L"\nmodel = "llama-2-70b"\nplans = ["gpu"]\n'
    text = f'{HEAD}{alias}none_yet = "no GPU was measured yet"\n'
    book = _list(text)(place)
    assert isinstance(book, Book)
    return book.run("later")


# --- site_data/ -------------------------------------------------------------------------------------

Lines = list[str]


def _samples(edit: Callable[[Lines], object]) -> Case:
    """A run whose samples.jsonl was edited."""

    def make(place: Workplace) -> object:
        folder = fixture_data.site_data(place.folder / "site_data")
        path = fixture_data.write_run(folder) / "samples.jsonl"
        lines = path.read_text(encoding="utf-8").split("\n")
        edit(lines)
        path.write_text("\n".join(lines), encoding="utf-8")
        found = store.load(folder)
        if found.incomplete:
            raise PublishErrors(found.incomplete)
        return found

    return make


def _swap(number: int, old: str, new: str) -> Callable[[Lines], object]:
    def edit(lines: Lines) -> None:
        assert old in lines[number - 1], lines[number - 1]
        lines[number - 1] = lines[number - 1].replace(old, new, 1)

    return edit


def _cut(lines: Lines) -> None:
    lines.pop()
    lines[-1] = lines[-1][: lines[-1].index('"peak_bytes": 7') + len('"peak_bytes": 7')]


def _records(**changes: Any) -> Case:
    """A run whose first sample was changed as given."""

    def make(place: Workplace) -> object:
        folder = fixture_data.site_data(place.folder / "site_data")
        records = fixture_data.samples()
        records[0] |= changes
        fixture_data.write_run(folder, records=records)
        return store.load(folder)

    return make


def _run(**changes: Any) -> Case:
    """A run whose run.json was changed as given."""

    def make(place: Workplace) -> object:
        folder = fixture_data.site_data(place.folder / "site_data")
        fixture_data.write_run(folder, **changes)
        return store.load(folder)

    return make


def _files(edit: Callable[[Path], object]) -> Case:
    """A site_data/ with one run, edited at will."""

    def make(place: Workplace) -> object:
        folder = fixture_data.site_data(place.folder / "site_data")
        fixture_data.write_run(folder)
        edit(folder)
        return store.load(folder)

    return make


def _text(name: str, text: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_text(text, encoding="utf-8")


def _json(name: str, change: Callable[[dict[str, Any]], object]) -> Callable[[Path], object]:
    def edit(folder: Path) -> None:
        record = json.loads((folder / name).read_text(encoding="utf-8"))
        change(record)
        (folder / name).write_text(json.dumps(record), encoding="utf-8")

    return edit


BENCHMARK = "cited/qwen2.5-speed-benchmark.json"
CASES |= {
    "samples-cut": _samples(_cut),
    "samples-lost": _samples(lambda lines: lines.__delitem__(slice(0, 4))),
    "samples-nan": _samples(_swap(2, '"peak_bytes": 7000000000', '"peak_bytes": NaN')),
    "samples-negative": _samples(_swap(3, '"duration_s": ', '"duration_s": -')),
    "samples-unknown-field": _samples(_swap(4, '"batch": 1', '"batch": 1, "colour": "red"')),
    "samples-field-twice": _samples(_swap(5, '"batch": 1', '"batch": 1, "batch": 1')),
    "samples-half-a-character": _samples(_swap(5, '"no energy meter', '"\\ud83e no energy meter')),
    "samples-not-json": _samples(_swap(6, '"batch": 1', '"batch": one')),
    "samples-line-break-in-a-time": _samples(_swap(6, ':00Z"', ':00Z\\n"')),
    "samples-of-no-process": _samples(_swap(7, '"process": 0', '"process": 9')),
    "samples-without-duration": _records(duration_s=None),
    "samples-without-energy": _records(energy_refusal=None),
    "samples-failed-gate": _records(
        gates=fixture_data.GATES | {"clock": "failed"}, energy_refusal=None, energy_joules=1.0
    ),
    "run-unknown-version": _run(schema_version=99),
    "run-unfinished": _run(status="unfinished", finished_at=None),
    "run-of-nobody": _run(code=None),
    "run-of-two": _run(
        origin={"program": "llama-bench", "build": "1", "file": "a.json", "sha256": "0" * 64, "notes": []}
    ),
    "run-renamed": _files(lambda folder: (folder / "runs/fixture-main").rename(folder / "runs/other")),
    "run-with-more": _files(_text("runs/fixture-main/plot.svg", "x")),
    "run-is-a-file": _files(_text("runs/stray.txt", "x")),
    "data-missing": lambda place: store.load(place.folder / "site_data"),
    "data-stranger": _files(_text("notes.txt", "x")),
    "data-stranger-model": _files(_text("models/model.yml", "x")),
    "data-renamed-model": _files(
        lambda folder: (folder / "models/llama-2-70b.json").rename(folder / "models/llama.json")
    ),
    "data-no-schema": _files(lambda folder: (folder / "schema.json").unlink()),
    "data-not-utf-8": _files(
        lambda folder: (folder / "models/llama-2-70b.json").write_bytes(b'{"title": "\xe9"}')
    ),
    "data-cited-twice": _files(_json(BENCHMARK, lambda record: record["values"].append(record["values"][0]))),
}


@case
def number_lost(place: Workplace) -> object:
    """A planned cell without samples and without a reason."""
    folder = fixture_data.site_data(place.folder / "site_data")
    records = [
        record
        for record in fixture_data.samples()
        if (record["experiment"], record["context_tokens"], record["mode"]) != ("decode", 500, "eager")
    ]
    fixture_data.write_run(folder, records=records)
    return Book(store.load(folder), place.site.book.definitions).read("decode.seconds_per_token")


def _tokenizer(edit: Callable[[Path], object]) -> Case:
    def make(place: Workplace) -> object:
        folder = fixture_data.site_data(place.folder / "site_data")
        edit(folder / "tokenizers/qwen2.5/tokenizer.json.xz")
        site = Site(Book(store.load(folder), place.site.book.definitions))
        return convert('{{ tokens "x" }}', site)

    return make


def _other_tokenizer(path: Path) -> None:
    content = lzma.decompress(path.read_bytes()).replace(b'"Sp"', b'"Sq"')
    path.write_bytes(lzma.compress(content, preset=0))


CASES |= {
    "tokenizer-missing": _tokenizer(lambda path: path.unlink()),
    "tokenizer-cut": _tokenizer(lambda path: path.write_bytes(path.read_bytes()[:-1000])),
    "tokenizer-other": _tokenizer(_other_tokenizer),
    "tokenizer-entries": _tokenizer(
        lambda path: _json("origin.json", lambda record: record.update(entries=3))(path.parent)
    ),
}

# --- notebooks and builds ---------------------------------------------------------------------------


def _notebook(*cells: str) -> str:
    return json.dumps(
        {
            "nbformat": 4,
            "nbformat_minor": 5,
            "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
            "cells": [
                {
                    "cell_type": "code",
                    "id": f"cell-{number}",
                    "metadata": {},
                    "source": source,
                    "execution_count": None,
                    "outputs": [],
                }
                for number, source in enumerate(cells)
            ],
        }
    )


def _executed(*cells: str, copied: bool = False) -> Case:
    """A notebook executed as a build does it, in this process or in a copy of it."""

    def make(place: Workplace) -> object:
        path = place.folder / "note.ipynb"
        path.write_text(_notebook(*cells), encoding="utf-8")
        job, data = (str(path), "docs/notes/note.ipynb"), place.folder / "site_data"
        if copied:
            made = environment(place.folder, data, place.folder / "quantities.toml")
            with patch.dict(os.environ, made):
                found = next(nursery._executed([job], []))
        else:
            found = nursery._execute(*job)
        if "error" in found:
            raise execution._error(found["error"])
        return found

    return make


CASES |= {
    "notebook-raises": _executed("x = 1", "y = 2\nraise ValueError(f'stopped at {x}')"),
    "notebook-with-a-script": _executed(
        "from IPython.display import HTML\nHTML('<div id=\"x\"></div><script>draw()</script>')"
    ),
    "notebook-dies": _executed("import os\nos._exit(3)"),
    "notebook-ends-its-process": _executed("import os\nos._exit(3)", copied=True),
}


@case
def samples_changed_meanwhile(place: Workplace) -> object:
    folder, kept = fixture_data.site_data(place.folder / "site_data"), place.folder / "cache"
    fixture_data.write_run(folder)
    store.load(folder, Cache(kept))
    run = store.load(folder, Cache(kept)).runs["fixture-main"]  # checked before: read when wanted
    shutil.rmtree(kept / "samples")
    fixture_data.write_run(folder, records=fixture_data.samples(lambda *_: 1.0))
    return run.samples


@case
def notebook_broken(place: Workplace) -> object:
    path = place.folder / "note.ipynb"
    path.write_text('{"cells": []}', encoding="utf-8")
    return Notebook.read(path, "docs/notes/note.ipynb")


@case
def notebook_of_another_version(place: Workplace) -> object:
    path = place.folder / "note.ipynb"
    path.write_text(_notebook("1 + 1"), encoding="utf-8")
    return Notebook.read(path, "docs/notes/note.ipynb").outputs('<div class="jupyter-wrapper"></div>')


@case
def notebook_process_killed(place: Workplace) -> object:
    path = place.folder / "note.ipynb"
    path.write_text(_notebook("1 + 1"), encoding="utf-8")
    data, quantities = place.folder / "site_data", place.folder / "quantities.toml"
    running = Execution(environment(place.folder, data, quantities))
    running._process.kill()
    running.begin({path: "docs/notes/note.ipynb"})
    ended = running.ended(wait=True)
    running.close()
    assert ended is not None and isinstance(ended[1], Exception)
    _, error = ended
    raise error


@case
def changes_of_nothing(place: Workplace) -> object:
    path = place.folder / "published.json"
    path.write_text("{}", encoding="utf-8")
    return snapshots.read(path)


@case
def chart_cannot_be_drawn(place: Workplace) -> object:
    painter = Painter(Cache(None))
    try:
        gallery = Gallery(painter=painter)
        html = gallery.picture('{"mark": "nothing of the kind"}', name="x", label="Decode is slow.")
        return gallery.fill(html)
    except PublishError as error:
        raise error.at(ErrorPlace("docs/page.md", 3)) from error  # as a build does
    finally:
        painter.close()


@case
def site_with_braces(place: Workplace) -> object:
    site = place.folder / "site"
    site.mkdir()
    (site / "page.html").write_text("<p>Decode takes {{ decode.seconds_per_token }}.</p>", encoding="utf-8")
    return _looked_through(site, 1)


@case
def site_without_pages(place: Workplace) -> object:
    return _looked_through(place.folder / "site", 2)


def _looked_through(site: Path, code: int) -> NoReturn:
    with redirect_stderr(io.StringIO()) as printed:
        assert leftovers.main([str(site)]) == code
    raise PublishErrors([PublishError(printed.getvalue().rstrip())])


# --- what a browser does ----------------------------------------------------------------------------


@case
def calculator_without_machines(place: Workplace) -> object:
    folder = fixture_data.site_data(place.folder / "site_data")
    path = place.folder / "quantities.toml"
    path.write_text(f'{HEAD}none_yet = "nothing was measured yet"\n', encoding="utf-8")
    return convert(
        "# Page {#page}\n\n{{ calculator }}\n", Site(Book(store.load(folder), quantities.read(path)))
    )


@case
def browser_cannot_follow_the_tokenizer(place: Workplace) -> object:
    record = json.loads(tokens.content(place.site.book.store)) | {"normalizer": {"type": "NFKC"}}
    return browser_tokenizer.data(record, ErrorPlace("site_data/tokenizers/x/tokenizer.json"))


@case
def browser_library_of_another_version(place: Workplace) -> object:
    folder = shutil.copytree(browser_tokenizer.FOLDER, place.folder / "browser")
    (folder / "tokenizers.min.cjs").write_text("module.exports = {};\n", encoding="utf-8")
    return browser_tokenizer.library(folder)


# --- the audit --------------------------------------------------------------------------------------


def _audited(page: str, allowed: str = "") -> Case:
    """A page whose typed numbers are looked at."""

    def make(place: Workplace) -> object:
        (place.folder / "docs").mkdir()
        (place.folder / "docs/page.md").write_text(page, encoding="utf-8")
        (place.folder / "docs" / audit.ALLOWED).write_text(allowed, encoding="utf-8")
        raise PublishErrors(audit.unbound(place.folder / "docs", place.site.book))

    return make


CASES |= {
    "audit-typed-number": _audited("# Page\n\nDecode takes 354 ms a token.\n"),
    "audit-no-list": _audited("# Page\n", "allow = 1\n"),
    "audit-no-entry": _audited("# Page\n", '[[allow]]\npage = "page.md"\n'),
    "audit-entry-unused": _audited(
        "# Page\n", '[[allow]]\npage = "page.md"\ntext = "95 %"\nreason = "a level"\n'
    ),
}
