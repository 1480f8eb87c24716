"""Numbers that an author typed: in text, with the unit or the word that makes them look measured. Looks nothing up."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from hooks.numbers.formatting import WORDS

_PREFIXES = {
    "": 1.0,
    "n": 1e-9,
    "µ": 1e-6,
    "u": 1e-6,
    "m": 1e-3,
    "k": 1e3,
    "K": 1e3,
    "M": 1e6,
    "G": 1e9,
    "T": 1e12,
}
_BINARY = {"Ki": 1024.0, "Mi": 1024.0**2, "Gi": 1024.0**3, "Ti": 1024.0**4}
_SMALL, _LARGE = ("", "n", "µ", "u", "m"), ("", "k", "K", "M", "G", "T")
_SYMBOLS = {
    "s": ("s", _SMALL),
    "B": ("bytes", (*_LARGE, *_BINARY)),
    "J": ("J", ("m", *_LARGE)),
    "W": ("W", ("m", *_LARGE)),
    "B/s": ("bytes/s", _LARGE),
    "FLOP/s": ("flop/s", _LARGE),
    "FLOPS": ("flop/s", _LARGE),
    "FLOP": ("flop", _LARGE),
    "FLOPs": ("flop", _LARGE),
    "Hz": ("Hz", _LARGE),
}
"""Symbols of units: the unit of the data, and the prefixes that the symbol takes."""

_WORDS = {
    "second": ("s", 1.0),
    "millisecond": ("s", 1e-3),
    "microsecond": ("s", 1e-6),
    "minute": ("s", 60.0),
    "hour": ("s", 3600.0),
    "byte": ("bytes", 1.0),
    "kilobyte": ("bytes", 1e3),
    "megabyte": ("bytes", 1e6),
    "gigabyte": ("bytes", 1e9),
    "terabyte": ("bytes", 1e12),
    "joule": ("J", 1.0),
    "millijoule": ("J", 1e-3),
    "kilojoule": ("J", 1e3),
    "watt": ("W", 1.0),
    "kilowatt": ("W", 1e3),
    "kilowatt-hour": ("J", 3.6e6),
    "token": ("tokens", 1.0),
}
_OTHER = {
    "Wh": ("J", 3600.0),
    "kWh": ("J", 3.6e6),
    "°C": ("°C", 1.0),
    "tok/s": ("tokens/s", 1.0),
    "tokens/s": ("tokens/s", 1.0),
    "tokens per second": ("tokens/s", 1.0),
    "tokens a second": ("tokens/s", 1.0),
    "%": ("1", 0.01),
    "percent": ("1", 0.01),
    "per cent": ("1", 0.01),
    "times": ("1", 1.0),
    "×": ("1", 1.0),
    "x": ("1", 1.0),
}

UNITS: dict[str, tuple[str, float]] = {
    **{
        prefix + symbol: (unit, (_PREFIXES | _BINARY)[prefix])
        for symbol, (unit, prefixes) in _SYMBOLS.items()
        for prefix in prefixes
    },
    **{word + plural: meant for word, meant in _WORDS.items() for plural in ("", "s")},
    **_OTHER,
}
"""What may stand after a number, and what one of it is in the unit of the data."""

_SPELLED = {word: float(value) for value, word in enumerate(WORDS[1:], 2)} | {
    "fifteen": 15.0,
    "twenty": 20.0,
    "thirty": 30.0,
    "forty": 40.0,
    "fifty": 50.0,
    "hundred": 100.0,
    "thousand": 1000.0,
}
_MULTIPLES = {
    "twice": 2.0,
    "thrice": 3.0,
    "half": 0.5,
    "doubled": 2.0,
    "halved": 0.5,
    "tripled": 3.0,
    "quadrupled": 4.0,
}

_SPACE = r"[ \u00a0\u2009\u202f\n]?"
_NUMBER = r"\d[\d,]*(?:\.\d+)?"
_UNIT = "|".join(sorted(map(re.escape, UNITS), key=len, reverse=True))
_WORD = "|".join(_SPELLED)
_WRITTEN = re.compile(
    # A hyphen before the unit names a setting (a 500-token prompt), and 70B is a model's size, not bytes.
    rf"(?<![\w.,/#-])(?P<digits>{_NUMBER})(?:{_SPACE}(?:to|–|-|and|or){_SPACE}(?P<high>{_NUMBER}))?"
    rf"(?!B\b){_SPACE}(?P<unit>{_UNIT})(?![\w/-])"
    # How often of how many, and how sure an interval is: neither is a finding.
    r"(?! in \d)(?!(?:\W+\w+){0,3}?\W+intervals?\b)"
    rf"|\b(?P<spelled>(?i:(?:(?:{_WORD})[ -])*(?:{_WORD})))(?:-?fold\b|[ \n]times\b(?! in \d))"
    rf"|\b(?P<fold>{_NUMBER})-?fold\b"
    r"|\b(?P<multiple>(?i:twice|thrice)(?=\s(?:as|the|that|what|its)\b)|(?i:half)(?=\sas\b)"
    r"|(?i:doubled|halved|tripled|quadrupled))\b"
)


@dataclass(frozen=True)
class Written:
    """A number as typed: its text, where it stands, and its values in `unit`; two where it is a range."""

    text: str
    start: int
    values: tuple[float, ...]
    plain: tuple[float, ...]
    unit: str


def find(prose: str) -> Iterator[Written]:
    """Every number that looks measured. `plain` are the values as typed, before any prefix."""
    for match in _WRITTEN.finditer(prose):
        unit, size = "1", 1.0
        if match["digits"]:
            plain = tuple(float(text.replace(",", "")) for text in (match["digits"], match["high"]) if text)
            unit, size = UNITS[" ".join(match["unit"].split())]
        elif match["fold"]:
            plain = (float(match["fold"].replace(",", "")),)
        elif match["spelled"]:
            plain = (_spelled(re.split("[ -]", match["spelled"].lower())),)
        else:
            plain = (_MULTIPLES[match["multiple"].lower()],)
        values = tuple(value * size for value in plain)
        yield Written(" ".join(match[0].split()), match.start(), values, plain, unit)


def _spelled(words: list[str]) -> float:
    """A number in words: `five hundred` is 500, `twenty five` is 25."""
    total = 0.0
    for value in map(_SPELLED.__getitem__, words):
        total = (total or 1.0) * value if value >= 100 else total + value
    return total
