"""What of the ledger is on the site: the page of changes, and each number's history as a script. Looks nothing up anew.

The script that a permalink loads (docs/assets/cited-then.js) takes a number's history from a file of its own. It is a
script that sets a value, since a page that was opened as a file can load nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date

from hooks.errors import PublishError
from hooks.markup import escaped
from hooks.numbers.book import Book
from hooks.numbers.definitions import Definitions
from hooks.publication import former
from hooks.publication.ledger import Entry, Ledger, Number, Publication, ordered

URI = "data/changes.md"
"""The page in docs/ that has a place for the list of changes."""

FOLDER = "data/ledger"
FILE = "data/ledger.jsonl"
"""The ledger itself, for download."""

NEW = "new"
"""Stands in the place of what a number was that was nothing before."""

SHOWN = 30
"""Publications whose changes the page lists; earlier ones are in the file."""

Row = tuple[Number, str, str]
"""A number, and what it was and is."""


# --- histories --------------------------------------------------------------------------------------


def scripts(ledger: Ledger, numbers: Iterable[Number], definitions: Definitions) -> dict[str, str]:
    """The history of each published number as a script, by its path in the site; former names have theirs."""
    present = former.ids(definitions)
    now = {number.name: number for number in numbers}
    by_id: dict[str, set[str | None]] = {}
    for id_, alias in (entry.number.name for entry in ledger.entries):
        by_id.setdefault(present.get(id_, id_), set()).add(_present_alias(alias, definitions))
    found = {}
    for id_, aliases in sorted(by_id.items()):
        histories = {
            alias or "": _history(ledger, id_, alias, now.get((id_, alias)))
            for alias in sorted(aliases, key=lambda alias: alias or "")
        }
        retired = definitions.retired.get(id_)
        content = {
            "id": id_,
            "latest": ledger.latest.version if ledger.latest else None,
            "retired": retired.retired if retired else None,
            "numbers": histories,
        }
        # Nothing in it may end a script, should somebody put it into a page.
        text = json.dumps(content, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
        for name in (id_, *(old for old, new in present.items() if new == id_)):
            found[f"{FOLDER}/{name}.js"] = f"document.currentScript.history={text};\n"
    return found


def _history(ledger: Ledger, id_: str, alias: str | None, now: Number | None) -> dict[str, object]:
    """A number's entries; what it is now; and for which versions the last entry before them is not what it was then."""
    entries = ledger.history(id_, alias)
    places = {entry: index for index, entry in enumerate(entries)}
    others = {}
    for version in dict.fromkeys(publication.version for publication in _branched(ledger, id_, alias)):
        was = [places[entry] for entry in ledger.at(version, id_, alias)]
        if was != _last_before(entries, version):
            others[version] = was
    return {
        "entries": [[entry.version, entry.number.text, entry.number.run] for entry in entries],
        "others": others,
        "now": None if now is None else [now.text, now.run, ledger.holds(now)],
    }


def _branched(ledger: Ledger, id_: str, alias: str | None) -> Sequence[Publication]:
    """Publications at which a number may have been something else than its last entry before them says."""
    renamed = ledger.was.get(id_) or (alias and ledger.runs.get(alias))
    return ledger.publications if renamed or not ledger.is_chain else ()


def _last_before(entries: Sequence[Entry], version: str) -> list[int]:
    """The rule of the script: the last entry up to a version, and those of the same version."""
    before = [index for index, entry in enumerate(entries) if ordered(entry.version) <= ordered(version)]
    return [index for index in before if entries[index].version == entries[before[-1]].version]


def _present_alias(alias: str | None, definitions: Definitions) -> str | None:
    return former.runs(definitions).get(alias, alias) if alias else None


# --- the page of changes ----------------------------------------------------------------------------


def html(ledger: Ledger, numbers: Sequence[Number], book: Book, version: str) -> str:
    """The content of the page on what each publication changed, newest first; its links are seen from data/."""
    names = Names(book)
    parts = ['<link rel="stylesheet" href="../assets/data.css">']
    unpublished = ledger.changed(numbers)
    if ledger.latest is None:
        return "<p>Nothing has been published yet.</p>"
    if unpublished:
        rows = [(number, _text(ledger.last(*number.name)), number.text) for number in unpublished]
        parts += ['<h2 id="unpublished">Not yet published</h2>', f"<p>{_NOT_YET}</p>", _table(rows, names)]
    else:
        parts.append(f"<p>The pages that you read are those of version {escaped(version)}.</p>")
    shown = ledger.publications[::-1][:SHOWN]
    changed = changes(ledger, {publication.key for publication in shown})
    for publication in shown:
        parts += _section(publication, changed[publication.key], names)
    earlier = len(ledger.publications) - len(shown)
    if earlier:
        parts.append(f"<p>{earlier:,} earlier publications are in the file.</p>")
    return "\n".join(parts)


def anchor(publication: Publication) -> str:
    """The anchor of a publication on the page. Two branches may have published under one version."""
    return f"v{publication.version}-{publication.key[:6]}"


def changes(ledger: Ledger, keys: Collection[str]) -> Mapping[str, list[Row]]:
    """What each of some publications changed, by their keys: each number with what it was and is."""
    found: dict[str, list[Row]] = {key: [] for key in keys}
    for entry in sorted(ledger.entries, key=lambda entry: str(entry.number.name)):
        if entry.publication.key in keys:
            found[entry.publication.key].append(
                (entry.number, _text(ledger.before(entry)), entry.number.text)
            )
    return found


def _section(publication: Publication, rows: list[Row], names: Names) -> Iterator[str]:
    title = f"{_day(publication.date)}, version {publication.version}"
    yield f'<h2 id="{anchor(publication)}">{escaped(title)}</h2>'
    count = "1 number" if len(rows) == 1 else f"{len(rows):,} numbers"
    if publication.after:
        yield f"<p>{count} changed.</p>"
    else:
        yield f"<p>The first publication, with {count}.</p>"
    yield _table(rows, names)


def _table(rows: Iterable[Row], names: Names) -> str:
    body = "".join(
        f"<tr><td>{names.html(number)}</td><td>{escaped(before)}</td><td>{escaped(after)}</td>"
        f"<td>{names.runs(number)}</td></tr>\n"
        for number, before, after in rows
    )
    head = "".join(f'<th scope="col">{text}</th>' for text in ("Number", "Before", "After", "Run"))
    table = f'<table class="data-table"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
    return f'<div class="data-scroll" tabindex="0" role="region" aria-label="Changed numbers">{table}</div>'


def _day(text: str) -> str:
    day = date.fromisoformat(text)
    return f"{day.day} {day:%B} {day.year}"


def _text(entries: Sequence[Entry]) -> str:
    """What a number was, in words; where branches differ, both."""
    return " or ".join(dict.fromkeys(entry.number.text for entry in entries)) or NEW


class Names:
    """What numbers are called, and where their own pages are.

    Args:
        book: The numbers.
        above: The way to the folder `data/`, where links are not seen from it.
        linked: Whether numbers and runs have pages.
    """

    def __init__(self, book: Book, above: str = "", *, linked: bool = True) -> None:
        self.book, self.above, self.linked = book, above, linked
        self.former = former.ids(book.definitions)

    def html(self, number: Number) -> str:
        """What a number is called, as HTML, with a link to its own page if it has one."""
        id_ = self.former.get(number.id, number.id)
        title = escaped(self._title(id_))
        known = self.linked and former.is_known(id_, self.book.definitions, self.book.store)
        words = f'<a href="{self.above}quantities/{escaped(id_)}.html">{title}</a>' if known else title
        return words + (f" (run {escaped(number.alias)})" if number.alias else "")

    def runs(self, number: Number) -> str:
        """The runs of a number as HTML; those that the data still have are links."""
        there = self.book.store.runs
        return " ".join(
            f'<a href="{self.above}runs/{escaped(run)}.html">{escaped(run)}</a>'
            if run in there
            else escaped(run)
            for run in (number.run or "").split()
        )

    def _title(self, id_: str) -> str:
        definition = self.book.definitions.quantities.get(id_) or self.book.definitions.retired.get(id_)
        if definition is not None:
            return definition.title
        try:
            return self.book.read(id_).title
        except PublishError:
            return id_


_NOT_YET = "The pages that you read state these numbers; no version holds them yet."
