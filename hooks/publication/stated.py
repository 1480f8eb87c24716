"""Every number that a site states, whatever the page, and which version of the site they make. Renders nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hooks.errors import PublishError
from hooks.numbers.book import Book
from hooks.numbers.definitions import FOREIGN, Definitions
from hooks.numbers.readings import Reading
from hooks.publication import ledger_file
from hooks.publication.ledger import Ledger, Name, Number, current_version
from hooks.writing.pages import NumberUse


def open_ledger(book: Book) -> Ledger:
    """The ledger beside the book's data, with the former names that docs/quantities.toml has.

    Raises:
        PublishError: It is not as it was published.
    """
    return ledger_file.read(book.store.folder, *was(book.definitions))


def was(definitions: Definitions) -> tuple[Mapping[str, tuple[str, ...]], Mapping[str, tuple[str, ...]]]:
    """Former ids of quantities, and former aliases of runs, by their present ones."""
    return (
        {id_: each.was for id_, each in definitions.quantities.items() if each.was},
        {name: each.was for name, each in definitions.aliases.items() if each.was},
    )


def numbers(book: Book, uses: Iterable[NumberUse] = (), names: Iterable[Name] = ()) -> tuple[Number, ...]:
    """Every quantity, and beyond them what pages use and what is named, each once; without those that cannot be read.

    A quantity that no page states may ask for what the run has not; a page that states it says so itself.

    Args:
        book: The numbers.
        uses: What the pages state: other runs, model facts, cited values.
        names: Others, such as those of a ledger.
    """
    found: dict[Name, Number] = {}
    for id_, alias in [*((id_, None) for id_ in book.definitions.quantities), *names]:
        reading = _read(book, id_, alias)
        if reading is not None:
            found.setdefault((id_, alias), Number.of(reading, alias))
    for use in uses:
        if is_named(book, use.reading.id):
            found.setdefault((use.reading.id, use.alias), Number.of(use.reading, use.alias))
    return tuple(found[name] for name in sorted(found, key=lambda name: (name[0], name[1] or "")))


def version(book: Book, ledger: Ledger) -> str:
    """The version of the site as the data are now: the last one, or `unpublished`."""
    published = {entry.number.name for entry in ledger.entries}
    known = (name for name in published if is_named(book, name[0]))
    return (
        current_version(ledger, numbers(book, names=known)) if ledger.latest else current_version(ledger, ())
    )


def is_named(book: Book, id_: str) -> bool:
    """Whether the id is one that can be cited: a chart's points, for example, have no name that lasts."""
    return id_ in book.definitions.quantities or (id_.partition(".")[0] in FOREIGN and " " not in id_)


def _read(book: Book, id_: str, alias: str | None) -> Reading | None:
    try:
        return book.read(id_, alias)
    except PublishError:
        return None
