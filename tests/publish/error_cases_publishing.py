"""Ways into the errors of publishing again: the ledger, former names, and what is compared. No tests live here."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from hooks import datapackage, publish
from hooks.errors import PublishErrors
from hooks.extension import Site
from hooks.numbers import quantities
from hooks.numbers.book import Book
from hooks.publication import committed, former, ledger_file, snapshots
from hooks.publication.ledger import Number
from tests.publish import fixture_data
from tests.publish.error_cases import CASES, HEAD, Case, Workplace, case, convert

DEFINED = '\n[quantity."{id}"]\ntitle = "T"\nmeaning = "M"\nunit = "1"\n{more}\n'


def _number(id_: str, value: float, alias: str | None = None) -> Number:
    return Number(id_, alias, f"{value:g}", value, None, None, "1", None, None)


def _list(place: Workplace, **tables: str) -> Path:
    path = place.folder / "quantities.toml"
    tables = {name.replace("__", "."): more for name, more in tables.items()}
    path.write_text(
        HEAD + "".join(DEFINED.format(id=id_, more=more) for id_, more in tables.items()), encoding="utf-8"
    )
    return path


def _former(id_: str | None = None, **tables: str) -> Case:
    """A list of quantities with former names; `id_` is then asked for."""

    def make(place: Workplace) -> object:
        definitions = quantities.read(_list(place, **tables))
        return id_ and convert(f"{{{{ {id_} }}}}", Site(Book(place.site.book.store, definitions)))

    return make


def _vanished(number: Number) -> Case:
    """A number that was published, and a list that has another."""

    def make(place: Workplace) -> object:
        folder = fixture_data.site_data(place.folder / "site_data")
        ledger_file.append(folder, ledger_file.read(folder), [number], "2026-01-02")
        definitions = quantities.read(_list(place, a__c='formula = "1"'))
        ledger = ledger_file.read(folder)
        raise PublishErrors(former.vanished(ledger, definitions, place.site.book.store))

    return make


def _rewritten(edit: Callable[[list[str]], list[str]]) -> Case:
    """A ledger of two publications that was edited."""

    def make(place: Workplace) -> object:
        folder = fixture_data.site_data(place.folder / "site_data")
        for value in (1.0, 2.0):
            ledger_file.append(folder, ledger_file.read(folder), [_number("a.b", value)], "2026-01-02")
        path = folder / ledger_file.FILE
        text = path.read_text(encoding="utf-8")
        path.write_text("".join(f"{line}\n" for line in edit(text.splitlines())), encoding="utf-8")
        ledger_file.read(folder)
        return ledger_file.refuse_loss(folder, [text])

    return make


def _earlier(lines: list[str]) -> list[str]:
    """The second publication with the date of an earlier one, and the key that it has then."""
    record = json.loads(lines[1]) | {"version": "2025-01-01.1", "date": "2025-01-01"}
    number = {name: record[name] for name in record.keys() - {"version", "date", "publication", "after"}}
    key = ledger_file._key(record["version"], record["after"], [number])
    return [lines[0], json.dumps(record | {"publication": key})]


CASES |= {
    "former-name-in-use": _former(a__b='formula = "1"', a__c='formula = "1"\nwas = ["a.b"]'),
    "former-name-asked-for": _former("a.old", a__b='formula = "1"\nwas = ["a.old"]'),
    "former-quantity-asked-for": _former("a.b", a__b='retired = "it counted twice"', a__c='formula = "1"'),
    "published-and-gone": _vanished(_number("a.b", 1.0)),
    "published-of-a-run-that-is-gone": _vanished(_number("a.c", 1.0, "gone")),
    "ledger-line-changed": _rewritten(lambda lines: [lines[0].replace('"1"', '"7"', 1), lines[1]]),
    "ledger-publication-missing": _rewritten(lambda lines: lines[1:]),
    "ledger-out-of-order": _rewritten(_earlier),
    "ledger-line-lost": _rewritten(lambda lines: lines[:1]),
}


@case
def publish_of_nothing(place: Workplace) -> object:
    path = place.folder / "published.json"
    path.write_text("{}", encoding="utf-8")
    return publish.numbers(path)


@case
def changes_of_no_commit(place: Workplace) -> object:
    return committed.commit(place.folder, "no-such-commit")


@case
def changes_of_a_commit_without_a_site(place: Workplace) -> object:
    return snapshots._build(place.folder, "no-such-commit", "0" * 40, 0)


@case
def package_of_no_contract(place: Workplace) -> object:
    return datapackage.describe(place.folder)


@case
def package_of_an_unknown_line(place: Workplace) -> object:
    folder = fixture_data.site_data(place.folder / "site_data")
    (folder / ledger_file.FILE).write_text('{"colour": "red"}\n', encoding="utf-8")
    return datapackage.describe(folder)
