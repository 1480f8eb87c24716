"""Rendered pages kept between builds: when one still holds, and what it left behind. Renders none, knows no host.

A page is made of its source, and of all that a build can read: docs/, the configuration, the data's records and
definitions, the code, the packages. One hash of all of that is the basis, and when it is another, every page is
rendered anew. The samples of runs are by far the most of the data, so they alone are traced (`hooks.caching.traces`):
a page holds for as long as what it asked of them is answered as it was.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hooks.caching import reads, traces
from hooks.caching.cache import Cache, digest, file_digest, versions
from hooks.caching.traces import Asked, Trace
from hooks.data.records import Run
from hooks.errors import PublishError
from hooks.numbers.book import Book
from hooks.pictures.gallery import Part
from hooks.writing.pages import PageState

if TYPE_CHECKING:
    from hooks.extension import Site

_HERE = Path(__file__).resolve().parents[1]
_KIND = "page"

_OF_SOURCE = {"file", "uri", "source", "first_line", "locate", "errors", "_expected", "_lines", "_met"}
"""What a page's state knows before the page is rendered, and what no kept page has."""


def basis(site_data: Path, docs: Path, *others: Any) -> str:
    """A hash of all that pages are made of, but for the samples of runs.

    Args:
        site_data: The data.
        docs: The folder of the pages, with all that they may include.
        others: JSON values: what else the pages of a build depend on.
    """
    left_out = {site_data / "unfinished"} | set(_HERE.rglob("__pycache__"))
    files = [
        path
        for folder in (site_data, docs, _HERE)
        for path in sorted(folder.rglob("*"))
        if path.name != "samples.jsonl" and left_out.isdisjoint(path.parents) and path.is_file()
    ]
    return digest(versions(), [(str(path), file_digest(path)) for path in files], others)


@dataclass(frozen=True)
class Rendered:
    """A rendered page: what the host's renderer left in its page, and what ours left in the site."""

    left: Mapping[str, Any]
    used: Mapping[str, Any]
    files: Mapping[str, str]
    parts: Mapping[str, Part]


@dataclass(frozen=True)
class _Behind:
    """What a page rests on: the runs behind it with the hash of their samples, those of them whose samples it read
    itself, and a fingerprint of each answer, by who gave it and by the question."""

    runs: Mapping[str, str]
    read: frozenset[str]
    answers: Mapping[tuple[str, Asked], str]


class Recording:
    """What rendering one page leaves in the site, and what it asks of the samples, from now until `end`."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._files: dict[str, str] = site.files
        self._parts: dict[str, Part] = site.gallery.parts
        site.files, site.gallery.parts = {}, {}
        self._trace = traces.begin()

    def end(self, state: PageState, left: Mapping[str, Any]) -> tuple[Rendered, Trace]:
        """The rendered page and what it asked; the site has all files and parts again."""
        traces.end(self._trace)
        site, files, parts = self._site, self._site.files, self._site.gallery.parts
        self._files.update(files)
        self._parts.update(parts)
        site.files, site.gallery.parts = self._files, self._parts
        used = {item.name: getattr(state, item.name) for item in fields(state) if item.name not in _OF_SOURCE}
        return Rendered(left, used, files, parts), self._trace


class Shelf:
    """The rendered pages of a build and of those before it.

    Args:
        kept: Where they are kept.
        basis: What `basis` gave.
        books: Today's numbers, by the names under which traces have them.
        runs: Today's runs by id.
    """

    def __init__(self, kept: Cache, basis: str, books: Mapping[str, Book], runs: Mapping[str, Run]) -> None:
        self.kept, self.basis, self.books, self.runs = kept, basis, books, runs
        self._prints: dict[tuple[str, Asked], str] = {}
        self._new: dict[str, bytes] = {}

    def key(self, uri: str, source: str, meta: Mapping[str, Any]) -> str:
        """The name of a page among those kept: a hash of all that it is made of but for samples."""
        return digest("rendered", self.basis, uri, source, meta)

    def find(self, key: str) -> Rendered | None:
        """The page as it was rendered before; None where nobody has, or where what it asked is answered otherwise."""
        text = self.kept.get_bytes(_KIND, key)
        if text is None:
            return None
        behind, made = pickle.loads(text)
        changed = {run for run, was in behind.runs.items() if self._content(run) != was}
        if changed:
            if changed & behind.read or not self._says_the_same(behind):
                return None
            runs = {run: self.runs[run].content for run in behind.runs}
            self._new[key] = pickle.dumps((replace(behind, runs=runs), made))  # next time, without asking
        found: Rendered = _Unpickler(io.BytesIO(made), self.runs).load()
        return found

    def _says_the_same(self, behind: _Behind) -> bool:
        return all(self._today(*asked) == was for asked, was in behind.answers.items())

    def _content(self, run: str) -> str | None:
        return self.runs[run].content if run in self.runs else None

    def _today(self, book: str, asked: Asked) -> str | None:
        """A fingerprint of what is answered today; None where that is an error, which rendering the page will tell."""
        try:
            return self._print(book, asked, self.books[book].answer(asked))
        except (PublishError, KeyError):
            return None

    def _print(self, book: str, asked: Asked, value: Any) -> str:
        if (book, asked) not in self._prints:
            self._prints[book, asked] = reads.fingerprint(value)
        return self._prints[book, asked]

    def put(self, key: str, trace: Trace, made: Rendered) -> None:
        """A page was rendered; it is written out at once, before anything changes what it holds."""
        text = io.BytesIO()
        _Pickler(text, pickle.HIGHEST_PROTOCOL).dump(made)
        behind = _Behind(
            runs={run: self.runs[run].content for run in sorted(trace.behind)},
            read=frozenset(trace.runs),
            answers={
                asked: self._print(*asked, answer.value)
                for asked, answer in trace.answers.items()
                if answer.runs
            },
        )
        self._new[key] = pickle.dumps((behind, text.getvalue()))

    def keep(self) -> None:
        """Keep the pages that were put here."""
        for key, text in self._new.items():
            self.kept.put_bytes(_KIND, key, text)
        self._new.clear()


class _Pickler(pickle.Pickler):
    """Runs are names: a page that is put back speaks of today's, which may be read from other places."""

    def persistent_id(self, item: object) -> str | None:
        return item.id if isinstance(item, Run) else None


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, runs: Mapping[str, Run]) -> None:
        super().__init__(file)
        self._runs = runs

    def persistent_load(self, name: str) -> Run:
        return self._runs[name]


def restore(state: PageState, made: Rendered, site: Site) -> None:
    """Give a page that is announced, and the site, all that rendering it left in them."""
    for name, value in made.used.items():
        setattr(state, name, value)
    site.files |= made.files
    site.gallery.restore(made.parts)
