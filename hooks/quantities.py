"""What docs/quantities.toml says: every number that a page may state, checked as it is read. Reads no samples.

A definition is measured (a field of one cell's samples), derived (a formula over other ids), cited (a value
in site_data/cited/) or a range over several ids. `hooks.book` turns definitions into numbers.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hooks import expressions, formatting
from hooks.errors import Place, PublishError, nearest
from hooks.fields import FIELDS

VERSION = 1

WEIGHTS = ("random", "hub", "file")
"""Kinds of weights that a run may have, as schema.json names them."""

CELL_KEYS = {
    "experiment": str,
    "batch": int,
    "prompt_tokens": int,
    "context_tokens": int,
    "dtype": str,
    "mode": str,
}
"""What `measured` may name to choose a cell, and the type of each."""

_SOURCES = ("measured", "formula", "cited", "range")
_KEYS = {"title", "meaning", "unit", "show", "digits", "run", "note", *_SOURCES}
_ID = re.compile(rf"{expressions.ID.pattern}\Z")
_RESERVED = {"low", "high"}


@dataclass(frozen=True)
class Alias:
    """A name for the newest complete run of one model under one of some plans, with some kinds of weights."""

    name: str
    label: str
    model: str
    plans: tuple[str, ...]
    weights: tuple[str, ...]
    place: Place


@dataclass(frozen=True)
class Definition:
    """One quantity: what it means and where it comes from. Exactly one of the four sources is set."""

    id: str
    title: str
    meaning: str
    unit: str
    place: Place
    show: str = "si"
    digits: int | None = None
    run: str | None = None
    note: str | None = None
    measured: Mapping[str, Any] | None = None
    formula: expressions.Expression | None = None
    cited: str | None = None
    range: tuple[str, ...] | None = None

    @property
    def inputs(self) -> tuple[str, ...]:
        """The ids that its value is made of; none for a measured or a cited one."""
        return self.formula.ids if self.formula else self.range or ()


@dataclass(frozen=True)
class Definitions:
    """All of docs/quantities.toml. The first alias is the one that numbers use unless a page says another."""

    path: Path
    aliases: Mapping[str, Alias]
    quantities: Mapping[str, Definition]

    @property
    def main(self) -> str:
        """Name of the first alias."""
        return next(iter(self.aliases))


def read(path: Path) -> Definitions:
    """Read docs/quantities.toml.

    Raises:
        PublishError: It is missing, is not TOML, has an unknown key, a wrong type, a formula with an unknown
            name or a cycle. The error names the line of the quantity's table.
    """
    try:
        text = path.read_text(encoding="utf-8")
        data = tomllib.loads(text)
    except FileNotFoundError as error:
        raise PublishError(
            "there is no such file",
            place=Place(str(path)),
            expected="the list of every number that the site may state",
            mend="`git checkout -- docs/quantities.toml`",
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        line = re.search(r"at line (\d+)", str(error))
        raise PublishError(
            "this is not TOML",
            place=Place(str(path), int(line[1]) if line else None),
            found=str(error),
            mend="mend the line; docs/reference/authoring.md shows the format",
        ) from error
    reader = _Reader(path, text)
    reader.keys(data, {"version", "runs", "quantity"}, "", Place(str(path)))
    if data.get("version") != VERSION:
        raise PublishError(
            "unknown version of the format",
            place=Place(str(path)),
            expected=f"version = {VERSION}",
            found=f"version = {data.get('version')}",
            mend="write it as docs/reference/authoring.md shows",
        )
    aliases = {name: reader.alias(name, table) for name, table in data.get("runs", {}).items()}
    if not aliases:
        raise PublishError(
            "no run is named", place=Place(str(path)), expected="a table [runs.main]", mend="add it"
        )
    quantities = {
        id_: reader.definition(id_, table, aliases) for id_, table in data.get("quantity", {}).items()
    }
    _check_names(quantities)
    return Definitions(path, aliases, quantities)


class _Reader:
    """Checks one table at a time and knows the line where it begins."""

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self.lines = text.split("\n")

    def place(self, header: str) -> Place:
        pattern = re.compile(rf"\s*\[\s*{header}\s*\]")
        for number, line in enumerate(self.lines, 1):
            if pattern.match(line):
                return Place(str(self.path), number)
        return Place(str(self.path))

    def keys(self, table: object, known: set[str], name: str, place: Place) -> dict[str, Any]:
        if not isinstance(table, dict):
            raise PublishError(
                f"{name} is not a table", place=place, expected="key = value lines", found=repr(table)
            )
        for key in table:
            if key not in known:
                raise PublishError(
                    f"unknown key `{key}`" + (f" in {name}" if name else ""),
                    place=place,
                    expected=", ".join(sorted(known)),
                    found=key,
                    nearest=nearest(key, known),
                    mend="write a known key; the head of the file explains each",
                )
        return table

    def value(self, table: Mapping[str, Any], key: str, type_: type, name: str, place: Place) -> Any:
        value = table.get(key)
        if type(value) is not type_ or value == "" or value == []:
            raise PublishError(
                f"{name} needs `{key}`" if value is None else f"`{key}` of {name} has a wrong value",
                place=place,
                expected=f"{key} = {_EXAMPLE[type_]}",
                found="nothing" if value is None else repr(value),
                mend="the head of the file explains each key",
            )
        return value

    def alias(self, name: str, table: object) -> Alias:
        place = self.place(rf"runs\.\"?{re.escape(name)}\"?")
        found = self.keys(table, {"label", "model", "plans", "weights"}, f"runs.{name}", place)
        plans = self.value(found, "plans", list, f"runs.{name}", place)
        weights: tuple[str, ...] = WEIGHTS
        if "weights" in found:
            weights = tuple(map(str, self.value(found, "weights", list, f"runs.{name}", place)))
        for kind in weights:
            if kind not in WEIGHTS:
                raise PublishError(
                    f"runs.{name} asks for unknown weights",
                    place=place,
                    expected=f"some of {', '.join(WEIGHTS)}",
                    found=kind,
                    nearest=nearest(kind, WEIGHTS),
                    mend="write known kinds; the head of the file explains them",
                )
        return Alias(
            name=name,
            label=self.value(found, "label", str, f"runs.{name}", place),
            model=self.value(found, "model", str, f"runs.{name}", place),
            plans=tuple(map(str, plans)),
            weights=weights,
            place=place,
        )

    def definition(self, id_: str, table: object, aliases: Mapping[str, Alias]) -> Definition:
        place = self.place(rf"quantity\.\"{re.escape(id_)}\"")
        if not _ID.match(id_) or id_.rpartition(".")[2] in _RESERVED or id_.partition(".")[0] in _FOREIGN:
            raise PublishError(
                f"`{id_}` cannot be an id",
                place=place,
                expected='[quantity."words.joined_by.dots"], not ending in .low or .high, '
                f"not beginning with {', '.join(sorted(_FOREIGN))}",
                found=id_,
                mend="give it another id",
            )
        found = self.keys(table, _KEYS, id_, place)
        sources = [key for key in _SOURCES if key in found]
        if len(sources) != 1:
            raise PublishError(
                f"{id_} needs one source",
                place=place,
                expected=f"exactly one of {', '.join(_SOURCES)}",
                found=", ".join(sources) or "none",
                mend="say where the number comes from",
            )
        optional = {
            key: self.value(found, key, type_, id_, place)
            for key, type_ in (("show", str), ("digits", int), ("run", str), ("note", str), ("cited", str))
            if key in found
        }
        self.one_of(optional.get("show", "si"), formatting.STYLES, "show", id_, place)
        self.one_of(optional.get("run", next(iter(aliases))), aliases, "run", id_, place)
        unit = self.value(found, "unit", str, id_, place)
        self.one_of(unit, formatting.UNITS, "unit", id_, place)
        if "measured" in found:
            optional["measured"] = self.cell(found["measured"], unit, id_, place)
        if "formula" in found:
            try:
                optional["formula"] = expressions.parse(self.value(found, "formula", str, id_, place))
            except PublishError as error:
                raise error.at(place) from error
        if "range" in found:
            optional["range"] = tuple(map(str, self.value(found, "range", list, id_, place)))
        return Definition(
            id=id_,
            title=self.value(found, "title", str, id_, place),
            meaning=self.value(found, "meaning", str, id_, place),
            unit=unit,
            place=place,
            **optional,
        )

    def one_of(self, value: str, known: Any, key: str, name: str, place: Place) -> None:
        if value not in known:
            raise PublishError(
                f"`{key}` of {name} is unknown",
                place=place,
                expected=", ".join(known),
                found=value,
                nearest=nearest(value, known),
                mend="write a known one",
            )

    def cell(self, table: object, unit: str, id_: str, place: Place) -> Mapping[str, Any]:
        name = f"measured of {id_}"
        found = self.keys(table, {*CELL_KEYS, "field"}, name, place)
        field = self.value(found, "field", str, name, place)
        self.one_of(field, FIELDS, "field", name, place)
        self.value(found, "experiment", str, name, place)
        for key, type_ in CELL_KEYS.items():
            if key in found:
                self.value(found, key, type_, name, place)
        if unit != FIELDS[field].unit:
            raise PublishError(
                f"the unit of {id_} is not that of its field",
                place=place,
                expected=f'unit = "{FIELDS[field].unit}" for {field}',
                found=f'unit = "{unit}"',
                mend="write the field's unit; a formula can convert",
            )
        return found


_EXAMPLE = {str: '"text"', int: "a whole number", list: '["…", "…"]', dict: "{ … }"}
_FOREIGN = {"model", "cite", "run", "tokenizer"}
"""First words of ids that come from elsewhere: facts of models, runs and tokenizers, cited values."""


def _check_names(quantities: Mapping[str, Definition]) -> None:
    for definition in quantities.values():
        for name in definition.inputs:
            if name.partition(".")[0] in _FOREIGN:
                continue
            if name not in quantities:
                raise PublishError(
                    f"{definition.id} uses `{name}`, which is not defined",
                    place=definition.place,
                    expected="ids of this file, model.NAME.FACT, cite.SOURCE.VALUE, run.FACT",
                    found=name,
                    nearest=nearest(name, quantities),
                    mend=f'define [quantity."{name}"] or mend the name',
                )
            if quantities[name].range and definition.formula:
                raise PublishError(
                    f"{definition.id} computes with `{name}`, which is a range",
                    place=definition.place,
                    expected="ids that have one value",
                    mend="compute with the ids that the range is made of",
                )
    ended: set[str] = set()
    for definition in quantities.values():
        _refuse_cycle(definition, quantities, (), ended)


def _refuse_cycle(
    definition: Definition, quantities: Mapping[str, Definition], chain: tuple[str, ...], ended: set[str]
) -> None:
    if definition.id in ended:
        return
    if definition.id in chain:
        cycle = " → ".join((*chain[chain.index(definition.id) :], definition.id))
        raise PublishError(
            f"{definition.id} is defined by itself",
            place=definition.place,
            expected="formulas that end in measured, computed or cited numbers",
            found=cycle,
            mend="take one of these ids out of the formula of the other",
        )
    for name in definition.inputs:
        if name in quantities:
            _refuse_cycle(quantities[name], quantities, (*chain, definition.id), ended)
    ended.add(definition.id)
