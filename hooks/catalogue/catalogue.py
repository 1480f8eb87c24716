"""The whole catalogue of a build: what its lists, pages, endpoints and downloads are made from, and where they go.

It begins when every page of the site is rendered, since a number's page names the pages that state it; its pages are
written when the site is, in the frames of the two indexes that docs/data/ has.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from hooks import datapackage
from hooks.caching.cache import Cache, digest, file_digest
from hooks.catalogue import api, entries, files, indexes, plain, quantity_page, run_page
from hooks.catalogue.entries import Entry
from hooks.catalogue.every_run import EveryRun
from hooks.catalogue.frame import Frame
from hooks.catalogue.render import API, link, page_path, quantity_path, render, run_path, size_words
from hooks.catalogue.run_page import Download
from hooks.catalogue.values import RunValues
from hooks.citation import citations, citing
from hooks.citation.citations import Record
from hooks.citation.citing import Citing
from hooks.data.records import Run
from hooks.markup import escaped
from hooks.numbers.book import Book
from hooks.output import markdown_form, other_forms
from hooks.pictures import sheets
from hooks.publication import ledger_pages, stated
from hooks.writing.pages import NumberUse, PageState

QUANTITIES = "data/quantities/index.md"
RUNS = "data/runs/index.md"
START = "data/index.md"
"""The pages in docs/ that the lists stand in; without the first a site has no catalogue."""

ARCHIVE = "data/spliced-inference-data.zip"
VALUES = "data/values.csv"
PACKAGE = "data/datapackage.json"

_LIST = re.compile(r'<div data-list="([a-z]+)"></div>')
_CHART = re.compile(r'href="[^"]*?(data/charts/[^"/]+\.csv)"')
_END = '<div class="page-end"'

NUMBER_COLUMNS = (
    "quantity",
    "alias",
    "title",
    "text",
    "value",
    "low",
    "high",
    "unit",
    "interval",
    "run",
    "refusal",
    "anchor",
)


@dataclass
class Catalogue:
    """The catalogue of one build.

    Args:
        book: The numbers.
        kept: Results of earlier builds.
        pages: The pages of the site, with what they used.
        titles: Their titles, by URI.
        site: What citations of the site share.
    """

    book: Book
    kept: Cache
    pages: Mapping[str, PageState]
    titles: Mapping[str, str]
    site: Citing
    archives: dict[str, files.Files] = field(default_factory=dict)

    @cached_property
    def every(self) -> EveryRun:
        """The numbers of each run."""
        return EveryRun(self.book, self.kept)

    @cached_property
    def runs(self) -> list[tuple[Run, RunValues]]:
        """All runs, the newest first, and what each says."""
        found = sorted(self.book.store.runs.values(), key=lambda run: (run.finished_at, run.id), reverse=True)
        return [(run, self.every.of(run)) for run in found]

    @cached_property
    def entries(self) -> dict[str, Entry]:
        """All numbers by id."""
        return entries.all_of(self.book, self.every, self.pages, self.titles, self.site.ledger)

    @cached_property
    def samples(self) -> files.SampleFiles:
        """The samples behind numbers."""
        return files.SampleFiles(self.book.definitions.quantities)

    @cached_property
    def stated(self) -> Mapping[str, list[str]]:
        """The pages that state a number of each run, by the run's id."""
        found: dict[str, list[str]] = {}
        for uri, page in sorted(self.pages.items()):
            for id_ in sorted({run.id for use in page.numbers for run in use.reading.runs}):
                found.setdefault(id_, []).append(uri)
        return found

    # --- in pages of the site ---------------------------------------------------------------------------

    def complete(self, uri: str, html: str, chart_files: Mapping[str, str]) -> str:
        """A page's content with the lists that it has a place for, and with a link to its own data where it has any.

        Args:
            uri: The page.
            html: Its content.
            chart_files: The CSV files of charts, by their path in the site.
        """
        html = _LIST.sub(lambda match: self._lists[match[1]](), html)
        page = self.pages.get(uri)
        if page is None or not page.numbers:
            return html
        path = f"data/pages/{uri.rpartition('.')[0]}.zip"
        self.archives[path] = self._of_page(uri, page, html, chart_files)
        words = (
            f'<p class="page-data" data-search-exclude>Data of this page: '
            f'<a href="{link(path, page_path(uri))}" download>'
            "its numbers, charts and samples</a>, with licence and citation (ZIP).</p>\n"
        )
        at = html.rfind(_END)
        return f"{html}{words}" if at < 0 else f"{html[:at]}{words}{html[at:]}"

    @property
    def _lists(self) -> Mapping[str, Any]:
        store = self.book.store
        return {
            "quantities": lambda: indexes.quantities(self.entries, store),
            "runs": lambda: indexes.runs(self.runs, {k: len(v) for k, v in self.stated.items()}, store),
            "data": self._start,
            "changes": self._changes,
        }

    def _changes(self) -> str:
        uses = (use for page in self.pages.values() for use in page.numbers)
        numbers = stated.numbers(self.book, uses)
        return ledger_pages.html(self.site.ledger, numbers, self.book, self.site.version)

    def _start(self) -> str:
        record = self._record("dataset", "Measured runs of language-model inference", "data/index.html", ())
        return render(
            "start.html",
            uri="data/index.html",
            runs=[(run_page.title(run, self._model(run)), run, values) for run, values in self.runs[:5]],
            run_count=len(self.runs),
            sample_count=sum(values.samples for _, values in self.runs),
            quantity_count=len(self.book.definitions.quantities),
            entry_count=len(self.entries),
            machines=sorted({run.machine for run, _ in self.runs}),
            models=sorted({self._model(run) for run, _ in self.runs}),
            archive=ARCHIVE,
            values=VALUES,
            package=PACKAGE,
            cite=citations.apa(record),
        )

    # --- of its own --------------------------------------------------------------------------------------

    def write(self, folder: Path, frames: Mapping[str, str]) -> None:
        """Write all but the archives of pages; `frames` are the finished pages of the two indexes, by URI."""
        framed = {uri: Frame.of(html, self.site.site, self.site.address) for uri, html in frames.items()}
        for path, text in self._texts(framed):
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8", newline="")
        files.write_archive(folder / ARCHIVE, self._everything(), Path(ARCHIVE).stem)
        self._write_runs(folder, framed[RUNS])

    def write_archives(self, folder: Path) -> None:
        """Write the archive of each page that was completed since the last time."""
        for path, content in self.archives.items():
            files.write_archive(folder / path, content, Path(path).stem)
        self.archives.clear()

    @property
    def paths(self) -> Iterator[str]:
        """The pages that `write` makes, by their path in the site."""
        yield from map(quantity_path, self.entries)
        yield from (run_path(run.id) for run, _ in self.runs)

    def _texts(self, framed: Mapping[str, Frame]) -> Iterator[tuple[str, str]]:
        for entry in self.entries.values():
            yield from self._of_entry(entry, framed[QUANTITIES])
        paths = {"archive": ARCHIVE, "datapackage": PACKAGE, "values": VALUES}
        runs = [run for run, _ in self.runs]
        yield f"{API}/index.json", api.text(api.index(self.entries.values(), runs, paths, self._site))
        yield VALUES, self._values
        yield PACKAGE, self._package

    def _of_entry(self, entry: Entry, frame: Frame) -> Iterator[tuple[str, str]]:
        record = self._record(
            "quantity",
            entry.title,
            quantity_path(entry.id),
            entry.now.runs,
            None if entry.now.refusal else _value(entry),
        )
        rows = self.samples.rows(entry)
        if rows:
            yield f"data/quantities/{entry.id}.samples.csv", sheets.text(files.SAMPLE_COLUMNS, rows)
        if entry.runs:
            yield f"data/quantities/{entry.id}.runs.csv", files.runs_csv(entry)
        endpoint = api.text(api.quantity(entry, self._site, record))
        note = entry.now.note
        content = quantity_page.page(
            entry,
            self.entries,
            cite=_cite(record, entry.id),
            samples=len(rows),
            comes_from={note: self.titles.get(note, note)} if note else {},
            titles=self._models,
            of=self._series,
        )
        description = f"{entry.meaning}. {entry.now.text()}."
        page = frame.page(
            path=quantity_path(entry.id),
            title=entry.title,
            description=description,
            content=content,
            head=citing.meta_tags(record, description) + other_forms.markdown_link(quantity_path(entry.id)),
        )
        markdown = plain.quantity(entry, quantity_path(entry.id), self.site, description)
        # A former address leads to the same page, which says what the number is called now.
        for id_ in (entry.id, *entry.was):
            yield quantity_path(id_), page
            yield f"{API}/quantities/{id_}.json", endpoint
            yield markdown_form.path_of(quantity_path(id_)), markdown

    def _write_runs(self, folder: Path, frame: Frame) -> None:
        gates = self._gates
        for run, values in self.runs:
            title = run_page.title(run, self._model(run))
            record = self._record("run", title, run_path(run.id), (run,))
            base = f"data/runs/{run.id}"
            archive, samples = f"{base}.zip", f"{base}.samples.jsonl"
            about = files.about(
                title,
                f"One run of {self.site.site}: its provenance and every raw sample.",
                record,
                [
                    ("run.json", "provenance"),
                    ("samples.jsonl", "samples, one a line"),
                    ("schema.json", "every field"),
                ],
            )
            contents: dict[str, bytes | Path] = {
                "README.md": about.encode(),
                **{name: run.folder / name for name in ("run.json", "samples.jsonl")},
                "schema.json": self.book.store.folder / "schema.json",
            }
            size = self._write_kept(folder / archive, contents, run.id)
            shutil.copyfile(run.folder / "samples.jsonl", folder / samples)
            made = {"archive": archive, "samples": samples}
            _write(
                folder / f"{API}/runs/{run.id}.json", api.text(api.run(run, values, made, self._site, record))
            )
            content = run_page.page(
                run,
                values,
                self._number_links,
                gates=gates,
                downloads=[
                    Download(archive, "The whole run with licence and citation, ZIP", size_words(size)),
                    Download(
                        samples, "Its samples, JSON Lines", size_words((folder / samples).stat().st_size)
                    ),
                ],
                stated=[(uri, self.titles.get(uri, uri)) for uri in self.stated.get(run.id, ())],
                model_title=self._model(run),
                cite=_cite(record, run.id),
            )
            description = f"{title}. {values.samples} samples of {len(values.cells)} cells, {run.machine}."
            head = citing.meta_tags(record, description) + other_forms.markdown_link(run_path(run.id))
            page = frame.page(
                path=run_path(run.id), title=title, description=description, content=content, head=head
            )
            _write(folder / run_path(run.id), page)
            markdown = plain.run(run, values, run_path(run.id), self.site, title, description)
            _write(folder / markdown_form.path_of(run_path(run.id)), markdown)

    def _write_kept(self, path: Path, contents: files.Files, root: str) -> int:
        """Write an archive, or what was kept of the same one; its size in bytes."""
        key = digest("archive", root, {name: _digest(content) for name, content in contents.items()})
        made = self.kept.get_bytes("archive", key)
        if made is None:
            files.write_archive(path, contents, root)
            self.kept.put_bytes("archive", key, path.read_bytes())
            return path.stat().st_size
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(made)
        return len(made)

    def _everything(self) -> files.Files:
        """The archive of all data."""
        store = self.book.store
        found: dict[str, bytes | Path] = {
            path.relative_to(store.folder).as_posix(): path
            for pattern in ("schema.json", "ledger.jsonl", "models/*.json", "cited/*.json")
            for path in store.folder.glob(pattern)
        }
        for run, _ in self.runs:
            found |= {f"runs/{run.id}/{name}": run.folder / name for name in ("run.json", "samples.jsonl")}
        record = self._record("dataset", "Measured runs of language-model inference", "data/index.html", ())
        contents = [
            ("datapackage.json", "all files and fields with their units (a Frictionless data package)"),
            ("schema.json", "the contract: every field of every file (JSON Schema)"),
            ("runs/RUN-ID/run.json", "provenance of a run"),
            ("runs/RUN-ID/samples.jsonl", "its raw samples, one a line"),
            ("models/", "published sizes of models, with their origin"),
            ("cited/", "numbers from elsewhere, with their origin"),
            ("values.csv", "every number of the site in every run, computed from the samples"),
            ("CITATION.bib", "how to cite it, for reference managers"),
        ]
        what = f"All data of {self.site.site}: {len(self.runs)} runs, every raw sample, and what reads them."
        about = files.about(f"Data of {self.site.site}", what, record, contents)
        found["README.md"] = about.encode()
        found["CITATION.bib"] = citations.bibtex(record).encode()
        found["values.csv"], found["datapackage.json"] = self._values.encode(), self._package.encode()
        return found

    def _of_page(self, uri: str, page: PageState, html: str, chart_files: Mapping[str, str]) -> files.Files:
        """The archive of a page."""
        title = self.titles.get(uri, uri)
        runs = {run.id: run for use in page.numbers for run in use.reading.runs}
        record = self._record("page", title, page_path(uri), runs.values())
        found: dict[str, bytes | Path] = {}
        numbers = {(use.reading.id, use.alias): use for use in reversed(page.numbers)}
        rows = [_number_row(use, page) for use in reversed(numbers.values())]
        found["numbers.csv"] = sheets.text(NUMBER_COLUMNS, rows).encode()
        sampled = {
            json.dumps(row): row
            for use in numbers.values()
            if use.reading.id in self.entries
            for row in self.samples.rows(replace(self.entries[use.reading.id], now=use.reading))
        }
        if sampled:
            found["samples.csv"] = sheets.text(files.SAMPLE_COLUMNS, sampled.values()).encode()
        for path in sorted(set(_CHART.findall(html)) & set(chart_files)):
            found[f"charts/{Path(path).name}"] = chart_files[path].encode()
        contents = [("numbers.csv", "every number that the page states, as it states it")]
        contents += (
            [("samples.csv", "the samples behind them, warm-ups and refused ones marked")] if sampled else []
        )
        contents += (
            [("charts/", "the data of its charts")] if any(n.startswith("charts/") for n in found) else []
        )
        about = files.about(f"Data of the page “{title}”", f"A page of {self.site.site}.", record, contents)
        return {**found, "README.md": about.encode()}

    @cached_property
    def _values(self) -> str:
        units = {id_: definition.unit for id_, definition in self.book.definitions.quantities.items()}
        return files.values_csv(self.runs, units)

    @cached_property
    def _package(self) -> str:
        return datapackage.text(datapackage.describe(self.book.store.folder))

    @cached_property
    def _gates(self) -> Mapping[str, str]:
        """What each gate checks, by its name, as schema.json has it."""
        schema = json.loads((self.book.store.folder / "schema.json").read_text(encoding="utf-8"))
        gates = schema["$defs"]["sample"]["properties"]["gates"]["properties"]
        return {name: str(gate.get("description", "")) for name, gate in gates.items()}

    @cached_property
    def _site(self) -> api.Json:
        return {"site": self.site.site, "address": self.site.address, "version": self.site.version}

    @cached_property
    def _models(self) -> Mapping[str, str]:
        """Titles of models, by name."""
        return {name: str(model["title"]) for name, model in self.book.store.models.items()}

    @cached_property
    def _series(self) -> quantity_page.Comparable:
        made: dict[quantity_page.Series, quantity_page.Series] = {}
        found = {run.id: quantity_page.series_of(run, self._models) for run, _ in self.runs}
        return {id_: made.setdefault(each, each) for id_, each in found.items()}

    @cached_property
    def _number_links(self) -> Mapping[str, str]:
        """A link to each number's page from those of runs, by its id."""
        return {
            id_: f'<a href="../quantities/{id_}.html">{escaped(entry.title)}</a>'
            for id_, entry in self.entries.items()
        }

    def _model(self, run: Run) -> str:
        return self._models.get(run.model, run.model)

    def _record(
        self, kind: str, title: str, path: str, runs: Iterable[Run], value: str | None = None
    ) -> Record:
        return self.site.record(kind, title, path, runs=runs, value=value)


def _value(entry: Entry) -> str:
    interval = entry.now.interval_text()
    return f"{entry.now.text()} (95 % prediction interval {interval})" if interval else entry.now.text()


def _cite(record: Record, id_: str) -> str:
    """The citation at the foot of a page; the theme's navigation loads its script where the page has this element."""
    return f'<div class="page-end" data-script="{citing.SCRIPT}">{citations.block(record)}</div>'


def _number_row(use: NumberUse, page: PageState) -> list[Any]:
    reading = use.reading
    anchor = f"n-{reading.id}{f':{use.alias}' if use.alias else ''}"
    return [
        reading.id,
        use.alias,
        reading.title,
        use.text,
        reading.value,
        reading.low,
        reading.high,
        reading.unit,
        reading.interval_text(),
        " ".join(run.id for run in reading.runs),
        reading.refusal.kind if reading.refusal else None,
        anchor if anchor in page.anchors else None,
    ]


def _digest(content: bytes | Path) -> str | None:
    return digest(content.decode("utf-8")) if isinstance(content, bytes) else file_digest(content)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="")
