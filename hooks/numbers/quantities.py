"""Reading docs/quantities.toml: every number that a page may state, checked table by table. Reads no samples.

`hooks.numbers.definitions` says what the tables define, and `hooks.numbers.book` turns it into numbers.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from hooks.data.records import CELL_KEYS
from hooks.errors import Place, PublishError, nearest
from hooks.numbers import expressions, formatting
from hooks.numbers.definitions import FOREIGN, WEIGHTS, Alias, Definition, Definitions, Measured, check_names
from hooks.numbers.fields import FIELDS
from hooks.publication import former

VERSION = 1

_CELL_TYPES = dict(zip(CELL_KEYS, (str, int, int, int, str, str), strict=True))
"""What `measured` may name to choose a cell, and the type of each."""

_OVER = ("batch", "prompt_tokens", "context_tokens")
_DEVICES = ("cpu", "gpu")
_SOURCES = ("measured", "formula", "cited", "range")
_RETIRED = "retired"
_OPTIONAL = {"show": str, "digits": int, "run": str, "note": str, "cited": str, _RETIRED: str}
_KEYS = {"title", "meaning", "unit", "show", "digits", "run", "note", "was", _RETIRED, *_SOURCES}
_ALIAS_KEYS = {"label", "model", "plans", "weights", "device", "origin", "none_yet", "was"}
_ID = re.compile(rf"{expressions.ID.pattern}\Z")
_RESERVED = {"low", "high"}


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
    runs, named = reader.table(data, "runs"), reader.table(data, "quantity")
    aliases = {name: reader.alias(name, table) for name, table in runs.items()}
    if not aliases:
        raise PublishError(
            "no run is named",
            place=Place(str(path)),
            expected="a table [runs.main]",
            found="none",
            mend="add one; docs/reference/authoring.md shows it",
        )
    defined = {id_: reader.definition(id_, table, aliases) for id_, table in named.items()}
    retired = {id_: definition for id_, definition in defined.items() if definition.retired}
    quantities = {id_: definition for id_, definition in defined.items() if not definition.retired}
    check_names(quantities)
    definitions = Definitions(path, aliases, quantities, retired)
    former.check(definitions)
    return definitions


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

    def table(self, tables: Mapping[str, Any], name: str, place: Place | None = None) -> dict[str, Any]:
        table = tables.get(name, {})
        if not isinstance(table, dict):
            raise PublishError(
                f"{name} is not a table",
                place=place or Place(str(self.path)),
                expected="key = value lines",
                found=repr(table),
                mend="the head of the file shows how it is written",
            )
        return table

    def keys(self, table: object, known: set[str], name: str, place: Place) -> dict[str, Any]:
        found = self.table({name: table}, name, place)
        for key in found:
            if key not in known:
                raise PublishError(
                    f"unknown key `{key}`" + (f" in {name}" if name else ""),
                    place=place,
                    expected=", ".join(sorted(known)),
                    found=key,
                    nearest=nearest(key, known),
                    mend="write a known key; the head of the file explains each",
                )
        return found

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
        title = f"runs.{name}"
        found = self.keys(table, _ALIAS_KEYS, title, place)
        optional = {
            key: self.value(found, key, str, title, place)
            for key in ("device", "origin", "none_yet")
            if key in found
        }
        if "device" in optional:
            self.one_of(optional["device"], _DEVICES, "device", title, place)
        # An imported run has no plan of ours.
        plans = () if "origin" in found and "plans" not in found else self.words(found, "plans", title, place)
        weights = self.words(found, "weights", title, place) if "weights" in found else WEIGHTS
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
            label=self.value(found, "label", str, title, place),
            model=self.value(found, "model", str, title, place),
            plans=plans,
            weights=weights,
            place=place,
            was=self.words(found, "was", title, place) if "was" in found else (),
            **optional,
        )

    def words(self, table: Mapping[str, Any], key: str, name: str, place: Place) -> tuple[str, ...]:
        return tuple(map(str, self.value(table, key, list, name, place)))

    def definition(self, id_: str, table: object, aliases: Mapping[str, Alias]) -> Definition:
        place = self.place(rf"quantity\.\"{re.escape(id_)}\"")
        retired = isinstance(table, dict) and _RETIRED in table
        foreign = id_.partition(".")[0] in FOREIGN and not retired  # a fact that is gone may be retired here
        if not _ID.match(id_) or id_.rpartition(".")[2] in _RESERVED or foreign:
            raise PublishError(
                f"`{id_}` cannot be an id",
                place=place,
                expected='[quantity."words.joined_by.dots"], not ending in .low or .high, '
                f"not beginning with {', '.join(sorted(FOREIGN))}",
                found=id_,
                mend="give it another id",
            )
        found = self.keys(table, _KEYS, id_, place)
        sources = [key for key in (*_SOURCES, _RETIRED) if key in found]
        if len(sources) != 1:
            raise PublishError(
                f"{id_} needs one source",
                place=place,
                expected=f"exactly one of {', '.join((*_SOURCES, _RETIRED))}",
                found=", ".join(sources) or "none",
                mend="say where the number comes from",
            )
        optional = {
            key: self.value(found, key, type_, id_, place) for key, type_ in _OPTIONAL.items() if key in found
        }
        self.one_of(optional.get("show", "si"), formatting.STYLES, "show", id_, place)
        self.one_of(optional.get("run", next(iter(aliases))), aliases, "run", id_, place)
        unit = self.value(found, "unit", str, id_, place)
        self.one_of(unit, formatting.UNITS, "unit", id_, place)
        if "measured" in found:
            optional["measured"] = self.measured(found["measured"], unit, id_, place)
        if "formula" in found:
            try:
                optional["formula"] = expressions.parse(self.value(found, "formula", str, id_, place))
            except PublishError as error:
                raise error.at(place) from error
        if "was" in found:
            optional["was"] = self.words(found, "was", id_, place)
        if "range" in found:
            optional["range"] = self.words(found, "range", id_, place)
        return Definition(
            id=id_,
            title=self.value(found, "title", str, id_, place),
            meaning=self.value(found, "meaning", str, id_, place),
            unit=unit,
            place=place,
            **optional,
        )

    def one_of(self, value: str, known: Iterable[str], key: str, name: str, place: Place) -> None:
        if value not in known:
            raise PublishError(
                f"`{key}` of {name} is unknown",
                place=place,
                expected=", ".join(known),
                found=value,
                nearest=nearest(value, known),
                mend="write a known one",
            )

    def measured(self, table: object, unit: str, id_: str, place: Place) -> Measured:
        name = f"measured of {id_}"
        found = self.keys(table, {*_CELL_TYPES, "field", "over"}, name, place)
        field = self.value(found, "field", str, name, place)
        self.one_of(field, FIELDS, "field", name, place)
        experiment = self.value(found, "experiment", str, name, place)
        self.one_of(experiment, FIELDS[field].experiments, f"experiment for {field}", name, place)
        where = {
            key: self.words(found, key, name, place)
            if key == "mode" and isinstance(found[key], list)
            else self.value(found, key, type_, name, place)
            for key, type_ in _CELL_TYPES.items()
            if key in found
        }
        over = self.value(found, "over", str, name, place) if "over" in found else None
        if over is not None:
            self.one_of(over, [key for key in _OVER if key not in where], "over", name, place)
        if unit != FIELDS[field].unit:
            raise PublishError(
                f"the unit of {id_} is not that of its field",
                place=place,
                expected=f'unit = "{FIELDS[field].unit}" for {field}',
                found=f'unit = "{unit}"',
                mend="write the field's unit; a formula can convert",
            )
        return Measured(field, where, over)


_EXAMPLE = {str: '"text"', int: "a whole number", list: '["…", "…"]', dict: "{ … }"}
