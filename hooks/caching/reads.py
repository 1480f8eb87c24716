"""What was read of the data while something was made, and whether it is still as it was. Makes nothing itself.

A chart or a notebook is made of what it asks a book for, and a notebook also of the files that it opens
(`hooks.caching.opened`). Each such read is kept as plain JSON, with a fingerprint of what came back. What was made
then holds for as long as every read, repeated on today's data, comes back with the same fingerprint.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from functools import lru_cache
from operator import attrgetter
from typing import Any, cast

from hooks.caching.cache import digest, file_digest
from hooks.caching.opened import Seen, text
from hooks.data.records import CELL_KEYS, Run, Sample
from hooks.errors import PublishError
from hooks.numbers.book import Book

_GONE = (PublishError, AttributeError, TypeError, KeyError)
"""What asking for something raises that is there no more."""

Read = list[Any]
"""`[kind, …arguments]`, of JSON values: what was asked."""


class _Watched:
    """A book, or a part of it, that notes what it is asked. Methods note their arguments, data the attribute."""

    def __init__(self, inner: Any, path: tuple[str, ...], note: Any) -> None:
        self._inner, self._path, self._note = inner, path, note

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._inner, name)
        if name in ("store", "definitions") and not self._path:
            return _Watched(value, (name,), self._note)
        if not callable(value):
            self._note(["attribute", *self._path, name], value)
            return value

        def asked(*args: Any, **options: Any) -> Any:
            result = value(*args, **options)
            if isinstance(result, Iterator):
                result = list(result)
            self._note(["call", *self._path, name, list(args), options], result)
            return result

        return asked


def watched(book: Book, seen: Seen, *, samples_too: bool = True) -> Book:
    """The book, noting in `seen` all that it is asked from now on.

    Args:
        book: The book.
        seen: What was asked.
        samples_too: Whether a run is noted with all its samples; else whoever reads these has to be traced.
    """

    def note(read: Read, result: Any) -> None:
        key = text(read)
        if key not in seen:  # an open book says the same each time; a chart asks for a model at each point
            alone = isinstance(result, Run) and not samples_too
            seen[key] = _record(result) if alone else fingerprint(result)

    return cast(Book, _Watched(book, (), note))


def hold(seen: Mapping[str, str], book: Book) -> bool:
    """Whether every read comes back today as it did."""
    return all(_today(read, book) == was for read, was in seen.items())


def samples(book: Book, alias: str, where: Mapping[str, Any]) -> list[Sample]:
    """The run's samples, warm-ups and refused ones too, of the cells that have these values."""
    return [
        sample
        for sample in book.run(alias).samples
        if all(getattr(sample, key) == value for key, value in where.items())
    ]


def note_samples(seen: Seen, book: Book, alias: str | None, where: Mapping[str, Any]) -> list[Sample]:
    """`samples`, noted by the cells that were asked for: other samples of the run may change."""
    assert set(where) <= set(CELL_KEYS), where
    found = samples(book, alias or book.definitions.main, where)
    seen[text(["samples", alias, dict(where)])] = fingerprint(found)
    return found


def note_record(seen: Seen, book: Book, alias: str | None) -> Run:
    """A run whose record alone is read, not its samples."""
    run = book.run(alias or book.definitions.main)
    seen[text(["record", alias])] = _record(run)
    return run


def note_call(seen: Seen, book: Book, name: str, *args: Any) -> Any:
    """The result of a method of the book, noted."""
    return getattr(watched(book, seen), name)(*args)


def fingerprint(value: Any) -> str:
    """A hash of what a read gave: of a run all of it, of a number all that a page can say of it."""
    if isinstance(value, Run):
        return _whole(value)
    return digest(_plain(value))


def runs(seen: Collection[str], book: Book) -> set[str]:
    """Ids of the runs that the reads took something of, as far as numbers and runs tell."""
    found: set[str] = set()
    for read in seen:
        kind, *rest = _parsed(read)
        with suppress(*_GONE):
            if kind in ("samples", "record"):
                found.add(book.run(rest[0] or book.definitions.main).id)
            elif kind in ("attribute", "call"):
                found.update(_runs(_again(kind, rest, book)))
    return found


def _runs(value: Any) -> Iterator[str]:
    if isinstance(value, Run):
        yield value.id
    elif is_dataclass(value) and not isinstance(value, type):
        for item in fields(value):
            yield from _runs(getattr(value, item.name))
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _runs(item)


def _today(read: str, book: Book) -> str | None:
    kind, *rest = _parsed(read)
    try:
        if kind == "file":
            return file_digest(rest[0])
        if kind == "samples":
            return fingerprint(samples(book, rest[0] or book.definitions.main, rest[1]))
        if kind == "record":
            return _record(book.run(rest[0] or book.definitions.main))
        if kind in ("attribute", "call"):
            return fingerprint(_again(kind, rest, book))
    except _GONE:
        return None  # what was there is no more: make it anew, and let that say what is wrong
    return None


def _again(kind: str, rest: Read, book: Book) -> Any:
    """What the book, or a part of it, answers today to an attribute or a call."""
    found: Any = book
    *path, last = rest if kind == "attribute" else rest[:-2]
    for name in path:
        found = getattr(found, name)
    found = getattr(found, last)
    if kind == "call":
        found = found(*rest[-2], **rest[-1])
        found = list(found) if isinstance(found, Iterator) else found
    return found


_records: dict[int, tuple[Run, str]] = {}


def _record(run: Run) -> str:
    """A hash of a run's record in memory, made once: of what was read, whatever its files hold by now."""
    known = _records.get(id(run))
    if known is None or known[0] is not run:
        known = _records[id(run)] = run, digest(run.id, run.record)
    return known[1]


def _whole(run: Run) -> str:
    return digest(_record(run), run.content)


def _plain(value: Any) -> Any:
    """Dataclasses as lists, so that everything is JSON. A run inside a number is its record: the number itself
    says what it took of the samples."""
    if isinstance(value, Run):
        return _record(value)
    if isinstance(value, Sample):
        return _sample(value)
    if is_dataclass(value) and not isinstance(value, type):
        return [type(value).__name__, *(_plain(getattr(value, item.name)) for item in fields(value))]
    if isinstance(value, Mapping):
        return [[_plain(key), _plain(item)] for key, item in value.items()]
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted(map(repr, value))
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    # A formula's tree is known by its source, which stands beside it.
    return "" if isinstance(value, ast.AST) else str(value)


_values_of = attrgetter(*(item.name for item in fields(Sample)))


def _sample(sample: Sample) -> str:
    return repr(_values_of(sample))


@lru_cache(maxsize=4096)
def _parsed(read: str) -> Read:
    parsed: Read = json.loads(read)
    return parsed
