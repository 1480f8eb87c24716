"""The ledger in memory: which numbers each publication changed, and what a number was at any of them. Opens no file.

A publication names those that it came after, as a commit names its parents. So lines mean the same in any order, and
two branches that both published can be put together: what a number was at a publication is looked up among that one
and those before it. `hooks.publication.ledger_file` reads and appends.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from urllib.parse import quote

from hooks.numbers.readings import Reading

UNPUBLISHED = "unpublished"
"""The version of what no publication holds."""

PARAMETER = "published"
"""The part of a permalink's query that carries the version."""

Name = tuple[str, str | None]
"""An id, and the alias of the run where a page asks for one."""


@dataclass(frozen=True)
class Number:
    """A number as the site states it, on whatever page.

    `text` is its plain form in the quantity's own style, or the reason why there is none; `value`, `low` and `high`
    are in `unit`, rounded to 12 digits; `run` holds the ids of its runs, separated by spaces; `refusal` is the kind.
    """

    id: str
    alias: str | None
    text: str
    value: float | None
    low: float | None
    high: float | None
    unit: str
    run: str | None
    refusal: str | None

    @classmethod
    def of(cls, reading: Reading, alias: str | None = None) -> Number:
        """The number that a reading states; `alias` is the run that a page asked for, if it did."""
        return cls(
            id=reading.id,
            alias=alias,
            text=reading.text(),
            value=_rounded(reading.value),
            low=_rounded(reading.low),
            high=_rounded(reading.high),
            unit=reading.unit,
            run=" ".join(run.id for run in reading.runs) or None,
            refusal=reading.refusal.kind if reading.refusal else None,
        )

    @property
    def name(self) -> Name:
        """Its id and alias."""
        return self.id, self.alias

    @property
    def stated(self) -> tuple[object, ...]:
        """All that makes it another number when it changes."""
        return self.text, self.value, self.low, self.high, self.unit, self.run, self.refusal


@dataclass(frozen=True)
class Publication:
    """One publication. `version` is its date and a counter; `key` a hash of all that it says; `after` the keys of those
    that it followed: one, or two after a merge, or none."""

    version: str
    date: str
    key: str
    after: tuple[str, ...]

    @property
    def order(self) -> tuple[str, int, str]:
        """Sorts publications by date and counter; two branches may have used one counter."""
        return (*ordered(self.version), self.key)


@dataclass(frozen=True)
class Entry:
    """A number that a publication changed."""

    publication: Publication
    number: Number

    @property
    def version(self) -> str:
        """The version at which the number became this."""
        return self.publication.version

    @property
    def date(self) -> str:
        """Its date, YYYY-MM-DD."""
        return self.publication.date


@dataclass(frozen=True)
class Ledger:
    """All publications. `was` has former ids of quantities by their present one, `runs` former aliases of runs."""

    entries: tuple[Entry, ...] = ()
    was: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    runs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @cached_property
    def publications(self) -> tuple[Publication, ...]:
        """All publications, the earliest first."""
        found = {entry.publication.key: entry.publication for entry in self.entries}
        return tuple(sorted(found.values(), key=lambda publication: publication.order))

    @property
    def latest(self) -> Publication | None:
        """The last publication; None before the first."""
        return self.publications[-1] if self.publications else None

    @cached_property
    def heads(self) -> tuple[Publication, ...]:
        """The publications that none follows: one, or several after branches were put together."""
        followed = {key for publication in self.publications for key in publication.after}
        return tuple(each for each in self.publications if each.key not in followed)

    def history(self, id_: str, alias: str | None = None) -> tuple[Entry, ...]:
        """Every change of a number, the earliest first, those under its former ids among them."""
        found = [entry for name in self._names(id_, alias) for entry in self._by_name.get(name, ())]
        return tuple(sorted(found, key=lambda entry: entry.publication.order))

    def last(self, id_: str, alias: str | None = None) -> tuple[Entry, ...]:
        """The number as published last; several where branches differ under one version, none where it never was."""
        return self._newest(id_, alias, None)

    def at(self, version: str, id_: str, alias: str | None = None) -> tuple[Entry, ...]:
        """The number as it was in that version of the site; several where branches differ under one version.

        None where the version is unknown or did not have the number.
        """
        found: dict[Number, Entry] = {}
        for publication in self.publications:
            if publication.version == version:
                for entry in self._newest(id_, alias, self._before(publication)):
                    found.setdefault(entry.number, entry)
        return tuple(found.values())

    def before(self, entry: Entry) -> tuple[Entry, ...]:
        """What the number of an entry was before it; none where the entry is its first."""
        among = self._before(entry.publication) - {entry.publication.key}
        return self._newest(*entry.number.name, among)

    @cached_property
    def is_chain(self) -> bool:
        """Whether each publication followed the one before it, so that what a number was is its last entry."""
        keys = [publication.key for publication in self.publications]
        return all(
            publication.after == ((keys[index - 1],) if index else ())
            for index, publication in enumerate(self.publications)
        )

    def holds(self, number: Number) -> bool:
        """Whether the number was published last as it is now, on every branch."""
        last = self.last(*number.name)
        return bool(last) and all(entry.number.stated == number.stated for entry in last)

    def version_of(self, number: Number) -> str:
        """The version under which the number can be cited as it is now: the last one, or `UNPUBLISHED`."""
        return self.latest.version if self.latest and self.holds(number) else UNPUBLISHED

    def changed(self, numbers: Iterable[Number]) -> tuple[Number, ...]:
        """Those of the numbers that a publication would have to say, each once."""
        found = {number.name: number for number in numbers}
        return tuple(found[name] for name in sorted(found, key=_sortable) if not self.holds(found[name]))

    @cached_property
    def _by_name(self) -> Mapping[Name, tuple[Entry, ...]]:
        found: dict[Name, list[Entry]] = {}
        for entry in self.entries:
            found.setdefault(entry.number.name, []).append(entry)
        return {
            name: tuple(sorted(entries, key=lambda entry: entry.publication.order))
            for name, entries in found.items()
        }

    @cached_property
    def _by_key(self) -> Mapping[str, Publication]:
        return {publication.key: publication for publication in self.publications}

    def _names(self, id_: str, alias: str | None) -> list[Name]:
        """Under which names the number's entries stand: the present one, then former ones."""
        aliases = [alias, *(self.runs.get(alias, ()) if alias else ())]
        return [(each, of) for each in (id_, *self.was.get(id_, ())) for of in aliases]

    def _newest(self, id_: str, alias: str | None, among: set[str] | None) -> tuple[Entry, ...]:
        """The newest entries among the publications of these keys; those of a former name where there are no others."""
        for name in self._names(id_, alias):
            entries = [
                entry
                for entry in self._by_name.get(name, ())
                if among is None or entry.publication.key in among
            ]
            if entries:
                return tuple(entry for entry in entries if entry.version == entries[-1].version)
        return ()

    @cached_property
    def _ancestries(self) -> dict[str, set[str]]:
        return {}

    def _before(self, publication: Publication) -> set[str]:
        """The keys of a publication and of all that it came after."""
        if publication.key not in self._ancestries:
            found: set[str] = set()
            waiting = [publication.key]
            while waiting:
                key = waiting.pop()
                if key not in found and key in self._by_key:
                    found.add(key)
                    waiting += self._by_key[key].after
            self._ancestries[publication.key] = found
        return self._ancestries[publication.key]


def current_version(ledger: Ledger, numbers: Iterable[Number]) -> str:
    """The version of a site with these numbers: the last one, or `UNPUBLISHED` where any of them is another."""
    return UNPUBLISHED if ledger.latest is None or ledger.changed(numbers) else ledger.latest.version


def permalink(page_url: str, id_: str, version: str, alias: str | None = None) -> str:
    """The address of one number as a version of the site stated it, from the address of a page that states it.

    The version is a query, so that the fragment stays the number's anchor: a browser finds it without a script, servers
    of files and `file:` ignore the query, and the theme's navigation keeps it. What is not published has none.
    """
    query = "" if version == UNPUBLISHED else f"?{PARAMETER}={quote(version)}"
    return f"{page_url}{query}#n-{quote(id_)}{f':{quote(alias)}' if alias else ''}"


def ordered(version: str) -> tuple[str, int]:
    """A version as what it is sorted by: its date and its counter."""
    date, _, counter = version.partition(".")
    return date, int(counter)


def _sortable(name: Name) -> tuple[str, str]:
    return name[0], name[1] or ""


def _rounded(value: float | None) -> float | None:
    """To 12 significant digits: what differs beyond them is another version of a library, not another number."""
    return None if value is None else float(f"{value:.12g}")
