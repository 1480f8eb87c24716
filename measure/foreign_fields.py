"""Reading another program's records field by field: type, limits, and errors that name the place. Knows no format."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from measure.errors import MeasureError

INTEGER_MOST = 2**63 - 1
"""The largest that a 64-bit field of any of these programs can hold."""

_TIME = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,6})?Z")


def wrong(where: str, expected: str, found: object, mend: str | None = None) -> MeasureError:
    """An error about one place of a file: what was expected there, what was found, what mends it."""
    text = repr(found) if isinstance(found, str) else str(found)
    shown = text if len(text) <= 120 else text[:117] + "..."
    return MeasureError(f"{where}: expected {expected}, found {shown}" + (f". {mend}" if mend else ""))


@dataclass(frozen=True)
class Fields:
    """One object of a foreign file. `where` is its place: file and line, or file and record.

    Values may be text that holds a number, as csv and sql have them. Every getter raises MeasureError.
    """

    values: Mapping[str, Any]
    where: str

    def check_names(self, required: Collection[str], optional: Collection[str], mend: str) -> None:
        """Refuse a field that is not known, with the nearest known, and the absence of one that is needed."""
        known = [*required, *optional]
        for name in self.values:
            if name not in known:
                near = difflib.get_close_matches(name, known, 1, cutoff=0.5)
                nearest = f"; nearest known: {near[0]}" if near else ""
                raise wrong(f"{self.where}, field {name}", f"a field of a known version{nearest}", name, mend)
        for name in required:
            if name not in self.values:
                near = difflib.get_close_matches(name, list(self.values), 1, cutoff=0.7)
                nearest = f"none; the nearest is {near[0]}" if near else "none"
                raise wrong(f"{self.where}, field {name}", "the field", _Plain(nearest), mend)

    def text(self, name: str) -> str:
        """A line of printable text, its ends trimmed; it may be empty."""
        value = self._value(name)
        if not isinstance(value, str) or not value.isprintable() or len(value) > 1000:
            raise wrong(self._at(name), "a line of printable text", value)
        return value.strip()

    def integer(self, name: str, least: int = 0, most: int = INTEGER_MOST) -> int:
        """An integer from `least` to `most`."""
        value = self._value(name)
        if isinstance(value, str) and re.fullmatch(r"-?\d{1,20}", value):
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise wrong(self._at(name), f"an integer from {least} to {most}", value)
        return value

    def number(self, name: str) -> float:
        """A finite number that is not negative."""
        value = self._value(name)
        if isinstance(value, str) and re.fullmatch(r"[\d.eE+-]{1,40}", value):
            try:
                value = float(value)
            except ValueError:
                raise wrong(self._at(name), "a number", value) from None
        return _finite(value, self._at(name), least=0.0)

    def numbers(self, name: str) -> list[float]:
        """A list of at least one positive number."""
        value = self._value(name)
        if not isinstance(value, list) or not value:
            raise wrong(self._at(name), "a list of at least one number", value)
        return [
            _finite(item, f"{self._at(name)}[{index}]", least=0.0, more=True)
            for index, item in enumerate(value)
        ]

    def time(self, name: str) -> str:
        """A time in UTC, such as 2026-11-30T09:24:59Z."""
        value = self._value(name)
        if not isinstance(value, str) or not _TIME.fullmatch(value):
            raise wrong(self._at(name), "a time such as 2026-11-30T09:24:59Z", value)
        try:
            datetime.fromisoformat(value)
        except ValueError:
            raise wrong(self._at(name), "a time that exists", value) from None
        return value

    def setting(self, name: str) -> str:
        """Any scalar, as text, a truth as csv has it: 0 or 1."""
        value = self._value(name)
        if isinstance(value, bool):
            return str(int(value))
        if isinstance(value, str):
            return self.text(name)
        if value is None or isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
            return str(value)
        raise wrong(self._at(name), "a text or a number", value)

    def part(self, name: str) -> Fields:
        """An object inside this one."""
        value = self._value(name)
        if not isinstance(value, dict):
            raise wrong(self._at(name), "an object", value)
        return Fields(value, self._at(name))

    def has(self, name: str) -> bool:
        """Whether the field is there and not null."""
        return self.values.get(name) is not None

    def error(self, name: str, expected: str, mend: str | None = None) -> MeasureError:
        """An error about a field that is there."""
        return wrong(self._at(name), expected, self.values.get(name), mend)

    def _value(self, name: str) -> Any:
        if name not in self.values:
            raise wrong(self._at(name), "the field", _Plain("none"))
        return self.values[name]

    def _at(self, name: str) -> str:
        return f"{self.where}, field {name}"


class _Plain:
    """Words that stand in an error without quotes."""

    def __init__(self, words: str) -> None:
        self._words = words

    def __str__(self) -> str:
        return self._words


def _finite(value: object, where: str, *, least: float, more: bool = False) -> float:
    bound = f"more than {least:g}" if more else f"at least {least:g}"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise wrong(where, f"a number of {bound}", value)
    if not -INTEGER_MOST <= value <= INTEGER_MOST or value < least or (more and value == least):
        raise wrong(where, f"a number of {bound}, at most {INTEGER_MOST}", value)
    return float(value)
