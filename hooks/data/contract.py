"""One file of site_data/ against schema.json: reading, parsing, checking. Knows no folder's layout.

What is wrong is an error with file, line and field. Numbers that are not finite, fields that stand there
twice and versions that nobody knows are refused before the schema is asked.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn

from hooks.caching.cache import Cache, digest, file_digest
from hooks.data.records import Record
from hooks.errors import Place, PublishError

SCHEMA_VERSION = 2
READABLE_VERSIONS = (1, 2)
"""Records of these versions are read: all that a later one added is optional."""

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")

CHECK = "run `python -m measure check`, which checks all of site_data/"
RESTORE = "restore the file: `git checkout -- {path}`"


class Contract:
    """schema.json with a check for each kind of record, built when one is to be checked.

    A compiled check says yes or no, tens of times faster than jsonschema, which then explains a no. What `kept` holds
    was checked before, by this code and against this schema.
    """

    def __init__(self, path: Path, kept: Cache | None = None) -> None:
        self.path = path
        self.kept = kept or Cache(None)
        text = read(path)
        self._made_of = digest(text, file_digest(__file__))
        schema = parse(text, Place(str(path)))
        if schema.get("version") != SCHEMA_VERSION:
            _refuse_version(Place(str(path)), schema.get("version"), "version")
        self._definitions: dict[str, Any] = schema["$defs"]
        self._checks: dict[str, Callable[[object], object]] = {}

    def check(self, kind: str, record: object, place: Place) -> Any:
        """Return `record` if it is a valid `kind`.

        Raises:
            PublishError: It is not. The error names the field, what was expected and what was found.
        """
        import fastjsonschema  # it and what it compiles take time, and most records were checked before

        if kind not in self._checks:
            schema = _inline(self._definitions[kind], self._definitions)
            self._checks[kind] = fastjsonschema.compile(schema, use_default=False)
        try:
            self._checks[kind](record)
        except fastjsonschema.JsonSchemaValueException as error:
            raise self._explained(kind, record, place, error) from None
        return record

    def record(self, path: Path, kind: str) -> Record:
        """A file that holds one record."""
        place = Place(str(path))
        text = read(path)
        record = parse(text, place)
        key = digest("record", self._made_of, kind, text)
        if self.kept.get("record", key):
            known: Record = record
            return known
        if isinstance(record, dict) and record.get("schema_version") not in READABLE_VERSIONS:
            _refuse_version(place, record.get("schema_version"), "schema_version")
        checked: Record = self.check(kind, record, place)
        self.kept.put("record", key, True)
        return checked

    def _explained(self, kind: str, record: object, place: Place, found: Any) -> PublishError:
        from jsonschema import Draft202012Validator  # takes time to import, and only explains what is wrong
        from jsonschema.exceptions import best_match

        schema = _inline(self._definitions[kind], self._definitions)
        worst = best_match(Draft202012Validator(schema).iter_errors(record))
        if worst is not None:
            path, rule, wanted, said = (
                worst.absolute_path,
                worst.validator,
                worst.validator_value,
                worst.message,
            )
        else:  # jsonschema takes a text that ends in a line break for one without; the stricter of the two counts
            path, rule, wanted, said = found.path[1:], found.rule, found.rule_definition, repr(found.value)
        name = ".".join(map(str, path)) or "the whole record"
        # The check is made with jsonschema, too: it would not find what only the other refuses.
        mend = RESTORE.format(path=place.file) if worst is None else CHECK
        return PublishError(
            f"{name} is not what the contract has",
            place=place,
            expected=f"{rule} {json.dumps(wanted, default=str)[:200]}",
            found=said[:300],
            mend=mend,
        )


def parse(text: str, place: Place) -> Any:
    """A JSON text.

    Raises:
        PublishError: It is not JSON, has a number that is not finite, a field twice, or half a character.
    """

    def refuse_constant(name: str) -> NoReturn:
        raise PublishError(
            f"{name} is not a number",
            place=place,
            expected="a finite number, or null with a refusal",
            found=name,
            mend=CHECK,
        )

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        record = dict(pairs)
        if len(record) != len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise PublishError(
                f"the field {twice} stands there twice",
                place=place,
                expected="each field once",
                found=", ".join(str(value)[:40] for name, value in pairs if name == twice),
                mend=RESTORE.format(path=place.file),
            )
        return record

    def finite(digits: str) -> float:
        number = float(digits)
        return number if math.isfinite(number) else refuse_constant(digits)

    try:
        found = json.loads(text, parse_constant=refuse_constant, parse_float=finite, object_pairs_hook=once)
        if _SURROGATE.search(text):  # a pair of them is a character; one alone can be written nowhere
            json.dumps(found, ensure_ascii=False).encode()
        return found
    except UnicodeEncodeError as error:
        raise PublishError(
            "half a character",
            place=place,
            expected="whole characters; JSON writes one beyond U+FFFF as a pair such as \\ud83e\\udd94",
            found=ascii(error.object[error.start]),
            mend=RESTORE.format(path=place.file),
        ) from error
    except json.JSONDecodeError as error:
        line = place.line or error.lineno
        raise PublishError(
            "this is not JSON",
            place=Place(place.file, line),
            expected="a whole JSON record",
            found=f"{error.msg} at column {error.colno}: {tail(text[: error.pos + 20])}",
            mend=RESTORE.format(path=place.file),
        ) from error


def read(path: Path) -> str:
    """A file's text.

    Raises:
        PublishError: There is no such file, or it is not UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise PublishError(
            "there is no such file",
            place=Place(str(path)),
            expected="a file that the contract asks for",
            mend=RESTORE.format(path=path),
        ) from error
    except UnicodeDecodeError as error:
        raise PublishError(
            "this is not UTF-8 text",
            place=Place(str(path)),
            found=str(error),
            mend=RESTORE.format(path=path),
        ) from error


def tail(text: str) -> str:
    """The end of a text, for an error."""
    return "…" + text[-60:] if len(text) > 60 else text


def _inline(node: Any, definitions: Mapping[str, Any]) -> Any:
    """The schema with every reference put in its place: resolving them for each line takes most of the time."""
    if isinstance(node, dict):
        if "$ref" in node:
            target: Any = {"$defs": definitions}
            for part in node["$ref"].removeprefix("#/").split("/"):
                target = target[part]
            rest = {key: value for key, value in node.items() if key != "$ref"}
            return _inline({**target, **rest}, definitions)
        return {key: _inline(value, definitions) for key, value in node.items()}
    if isinstance(node, list):
        return [_inline(item, definitions) for item in node]
    return node


def _refuse_version(place: Place, found: object, field: str) -> NoReturn:
    newer = isinstance(found, int) and found > SCHEMA_VERSION
    raise PublishError(
        "unknown schema version",
        place=place,
        expected=f"{field} {SCHEMA_VERSION} or an earlier one",
        found=f"{field} {found}",
        mend=(
            "update this repository: the file was written by a newer one"
            if newer
            else "measure again, or migrate the file as CHANGELOG.md describes for its version"
        ),
    )
