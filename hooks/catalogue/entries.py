"""What the catalogue says of one number: what it is, what it is today, what it was, who uses it. Writes no page.

Every id that a page can state has an entry: the quantities of docs/quantities.toml, facts of models and tokenizers,
and cited values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from hooks.catalogue.every_run import EveryRun
from hooks.catalogue.values import Value
from hooks.data.records import Refusal, Run
from hooks.data.store import Store
from hooks.errors import PublishError
from hooks.numbers import facts
from hooks.numbers.book import Book
from hooks.numbers.definitions import Definition
from hooks.numbers.readings import Reading, described
from hooks.publication.ledger import Entry as Change
from hooks.publication.ledger import Ledger
from hooks.writing.pages import PageState

KINDS = {
    "measured": "measured",
    "series": "measured, a series",
    "derived": "derived by a formula",
    "range": "range over cells",
    "computed": "computed from sizes",
    "published": "published size",
    "cited": "cited",
    "retired": "no longer stated",
}
"""What kind of number it is, in words."""


@dataclass(frozen=True)
class Use:
    """A page that states a number: its path, its title, the number's anchor on it, and the text there."""

    uri: str
    title: str
    anchor: str
    text: str
    alias: str | None = None


@dataclass(frozen=True)
class Entry:
    """A number of the catalogue.

    `now` is what pages state; `runs` are all runs that can give it, the newest first. `inputs` and `used_by` are ids.
    `kind` is one of `KINDS`; `definition` is None for what docs/quantities.toml does not define.
    """

    id: str
    kind: str
    now: Reading
    definition: Definition | None = None
    runs: tuple[tuple[Run, Value], ...] = ()
    inputs: tuple[str, ...] = ()
    used_by: tuple[str, ...] = ()
    uses: tuple[Use, ...] = ()
    history: tuple[Change, ...] = ()

    @property
    def was(self) -> tuple[str, ...]:
        """Its former ids, which lead here."""
        return self.now.was

    @property
    def title(self) -> str:
        """Its short name."""
        return self.now.title

    @property
    def meaning(self) -> str:
        """Its definition, without a full stop."""
        return self.now.meaning.rstrip(".")

    @property
    def unit(self) -> str:
        """Its unit, before any prefix."""
        return self.now.unit


def all_of(
    book: Book, every: EveryRun, pages: Mapping[str, PageState], titles: Mapping[str, str], ledger: Ledger
) -> dict[str, Entry]:
    """Every entry by id, in the order of docs/quantities.toml, then of the facts.

    Args:
        book: The numbers of today.
        every: Those of each run.
        pages: The pages of the build, with the numbers that they used.
        titles: The pages' titles, by URI.
        ledger: What was published.

    Raises:
        PublishError: A run lost samples, and nothing says why.
    """
    newest = sorted(book.store.runs.values(), key=lambda run: (run.finished_at, run.id), reverse=True)
    by_id: dict[str, list[tuple[Run, Value]]] = {}
    for run in newest:
        for id_, value in every.of(run).quantities.items():
            by_id.setdefault(id_, []).append((run, value))
    used_by = _used_by(book.definitions.quantities.values())
    uses = _uses(pages, titles)
    found = {}
    for definition in book.definitions.quantities.values():
        id_ = definition.id
        found[id_] = Entry(
            id=id_,
            kind=_kind(definition, now := _now(book, definition)),
            now=now,
            definition=definition,
            runs=tuple(by_id.get(id_, ())),
            inputs=definition.inputs or ((f"cite.{definition.cited}",) if definition.cited else ()),
            used_by=tuple(used_by.get(id_, ())),
            uses=tuple(uses.get(id_, ())),
            history=ledger.history(id_),
        )
    for definition in book.definitions.retired.values():
        id_, reason = definition.id, Refusal("unavailable", f"no longer stated: {definition.retired}")
        found[id_] = Entry(
            id=id_,
            kind="retired",
            now=replace(described(definition, "retired", None), refusal=reason),
            history=ledger.history(id_),
        )
    for reading in _facts(book.store):
        id_ = reading.id
        found[id_] = Entry(
            id=id_,
            kind=reading.kind,
            now=reading,
            used_by=tuple(used_by.get(id_, ())),
            uses=tuple(uses.get(id_, ())),
            history=ledger.history(id_),
        )
    return found


def _now(book: Book, definition: Definition) -> Reading:
    """The number of today. What no page states may rest on cells that the newest run does not have."""
    try:
        return book.read(definition.id)
    except PublishError:
        alias = book.alias(definition.run or book.definitions.main)
        missing = Refusal("unavailable", "the run that this site states its numbers of did not measure it")
        return replace(described(definition, "measured", alias), refusal=missing)


def _facts(store: Store) -> Iterator[Reading]:
    for id_ in facts.known(store):
        reading = facts.read(store, id_)
        assert reading is not None
        yield reading


def _kind(definition: Definition, now: Reading) -> str:
    if definition.measured is not None:
        return "series" if definition.measured.over else "measured"
    if definition.range is not None:
        return "range"
    return "cited" if definition.cited else now.kind if now.kind == "computed" else "derived"


def _used_by(definitions: Iterable[Definition]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for definition in definitions:
        names = definition.inputs or ((f"cite.{definition.cited}",) if definition.cited else ())
        for name in dict.fromkeys(names):
            found.setdefault(name, []).append(definition.id)
    return found


def _uses(pages: Mapping[str, PageState], titles: Mapping[str, str]) -> dict[str, list[Use]]:
    """The first use of each number on each page, where it has an anchor."""
    found: dict[str, list[Use]] = {}
    for uri, page in sorted(pages.items()):
        seen = set()
        for use in page.numbers:
            anchor = f"n-{use.reading.id}{f':{use.alias}' if use.alias else ''}"
            if anchor in page.anchors and anchor not in seen:
                seen.add(anchor)
                made = Use(uri, titles.get(uri, uri), anchor, use.text, use.alias)
                found.setdefault(use.reading.id, []).append(made)
    return found
