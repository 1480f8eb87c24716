"""What the pages of numbers are made of, as a key, and their texts from earlier builds under it. Makes no page.

Most numbers are as they were when one sample of a run changes. Hashing all that a page says takes a tenth of the time
of making it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from hooks import reads
from hooks.cache import Cache, digest, file_digest, sources, versions
from hooks.catalogue.entries import Entry
from hooks.records import Run

_HERE = Path(__file__).resolve().parent
_KIND = "quantity"

Texts = dict[str, str]
"""The texts of a number's page by what they are."""


class Shelf:
    """The texts of the pages of a build and of those before it.

    Args:
        kept: Where they are kept.
        entries: All numbers of the catalogue.
        runs: All runs of the data.
        shared: JSON values that every page depends on.
    """

    def __init__(self, kept: Cache, entries: Mapping[str, Entry], runs: Iterable[Run], *shared: Any) -> None:
        self.kept, self.entries, self._runs, self._others = kept, entries, runs, shared
        self._new: dict[str, Texts] = {}

    def texts(self, entry: Entry, made_of: Any, make: Callable[[], Texts]) -> Texts:
        """The texts of a number, made where nobody has.

        Args:
            entry: The number.
            made_of: What they are made of beside it and what all pages share, such as its citation.
            make: Makes them.
        """
        key = self._key(entry, made_of)
        found = self.kept.get(_KIND, key)
        if not isinstance(found, dict):
            found = self._new[key] = make()
        return found

    def keep(self) -> None:
        """Keep what was made, unless code or a template was saved meanwhile: then nobody knows which one made it."""
        if _made_with() == self._made_with:
            for key, texts in self._new.items():
                self.kept.put(_KIND, key, texts)
        self._new.clear()

    def _key(self, entry: Entry, made_of: Any) -> str:
        others = [self.entries[id_] for id_ in (*entry.inputs, *entry.used_by) if id_ in self.entries]
        return digest(
            "quantity",
            self._made_with,
            self._shared,
            # A page may name a thousand runs: what it says of each is less than what is known of it.
            [[run.id, value.row()] for run, value in entry.runs],
            reads.fingerprint(replace(entry, runs=())),
            [[other.id, other.title, other.now.text(), other.now.refusal is None] for other in others],
            reads.fingerprint(made_of),
        )

    @cached_property
    def _made_with(self) -> str:
        return _made_with()

    @cached_property
    def _shared(self) -> str:
        """All records, since a page says where a run was measured; all ids, since a formula links those that exist."""
        records = [digest(run.id, run.record) for run in self._runs]
        return digest(records, sorted(self.entries), self._others)


def _made_with() -> str:
    templates = [[path.name, file_digest(path)] for path in sorted(_HERE.glob("*.html"))]
    return digest(versions(), sources(_HERE.parent), templates)
