"""Numbers as people read them: rounding, prefixes, separators, units. Knows nothing of where they come from.

Rounding follows the interval: the last digit shown is the first digit of the interval's half-width (the
second where the first is a 1), so the text always stays inside the interval. A value that its interval cannot
tell from nothing is a bound: `under 0.2 ms`. Without an interval a number has a fixed count of digits, fewer
where it was measured in too few processes to have one. Every function returns plain text.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Context, Decimal

SPACE = "\N{NARROW NO-BREAK SPACE}"
"""Stands between number and unit, so that a line never breaks there."""

_COUNTED = re.compile(r"(?<=\d) (?=[\w%])")
"""Between a number and what it counts."""

_EXACT = Context(prec=800, rounding=ROUND_HALF_EVEN)
"""Wide enough for any float, so that nothing but the chosen place is rounded."""

_NOISE = 1e-9
"""Half-widths below this share of the value are the rounding of floats, not a spread."""

MINUS = "\N{MINUS SIGN}"

DIGITS = 3
"""Significant digits of a number without an interval."""


@dataclass(frozen=True)
class Unit:
    """A unit as the data has it: its symbol beside a number, in full beside an exact one, its prefixes."""

    symbol: str
    word: str
    prefixes: tuple[int, ...] = (0,)


_PREFIX = {-9: "n", -6: "µ", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P"}
_BINARY = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_LARGE = (0, 3, 6, 9, 12, 15)
_WORDS = ((1e12, "trillion"), (1e9, "billion"), (1e6, "million"))

UNITS = {
    "1": Unit("", ""),
    "s": Unit("s", "s", (-9, -6, -3, 0)),
    "bytes": Unit("B", "bytes", _LARGE),
    "J": Unit("J", "J", (-9, -6, -3, *_LARGE)),
    "W": Unit("W", "W", (-3, *_LARGE)),
    "tokens": Unit("tokens", "tokens"),
    "tokens/s": Unit("tokens/s", "tokens/s"),
    "bytes/s": Unit("B/s", "bytes/s", _LARGE),
    "flop": Unit("FLOP", "FLOP", _LARGE),
    "flop/s": Unit("FLOP/s", "FLOP/s", _LARGE),
}
"""Every unit that a quantity may have. A time, a count of bytes and so on stay in the base unit until here."""

WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
"""Counts as sentences have them, from one on; larger ones are in digits."""

STYLES = ("si", "exact", "binary", "percent", "short")
"""Ways to show a number; `si` is what a quantity gets when it names none."""


def number(
    value: float, unit: str, *, half: float | None = None, digits: int | None = None, style: str = "si"
) -> str:
    """The number with its unit.

    Args:
        value: In `unit`.
        unit: A key of `UNITS`; another unit is printed as it is, without prefixes.
        half: Half-width of the interval, in `unit`; decides the rounding unless `digits` is given.
        digits: Significant digits.
        style: One of `STYLES`.
    """
    if half is not None and is_below_resolution(value, half):
        return under(abs(value) + half, unit, digits=digits, style=style)
    scale, symbol = _scale(value, unit, half, digits, style)
    return _join(_digits(value, scale, _last_place(value, half, digits, style)), symbol)


def counted(count: int) -> str:
    """A count, at least one, as a sentence has it: `three`, and `1,200` beyond twelve."""
    return WORDS[count - 1] if 1 <= count <= len(WORDS) else f"{count:,}"


def under(bound: float, unit: str, *, digits: int | None = None, style: str = "si") -> str:
    """A bound, rounded up: `under 0.17 ms`."""
    place = _exponent(bound) - (digits or 2) + 1
    rounded = float(_round_up(bound, place))
    return f"under {number(rounded, unit, digits=_digits_needed(rounded), style=style)}"


def plus_minus(value: float, half: float, unit: str, *, style: str = "si") -> str:
    """A number with its interval beside it: `355 ± 17 ms`. The half-width is rounded up."""
    if is_below_resolution(value, half):
        return number(value, unit, half=half, style=style)
    scale, symbol = _scale(value, unit, half, None, style)
    place = _last_place(value, half, None, style)
    shown = _digits(value, scale, place), _digits(float(_round_up(half, place)), scale, place)
    return _join(f"{SPACE}±{SPACE}".join(shown), symbol)


def interval(
    low: float,
    high: float,
    unit: str,
    *,
    half: float | None = None,
    digits: int | None = None,
    style: str = "si",
) -> str:
    """Two numbers with one unit: `338 to 362 ms`. Rounded to one digit finer than `half` asks."""
    finest = max(abs(low), abs(high))
    scale, symbol = _scale(finest, unit, half, digits, style)
    place = _last_place(finest, half, digits, style)
    if half and not is_noise(half, finest):
        place = _exponent(half) - 1
    return _join(f"{_digits(low, scale, place)} to {_digits(high, scale, place)}", symbol)


def span(
    low: float,
    high: float,
    unit: str,
    *,
    half: float | None = None,
    digits: int | None = None,
    style: str = "si",
) -> str:
    """A range over cells: `20 to 35`. One number where both ends print alike."""
    finest = max(abs(low), abs(high))
    scale, symbol = _scale(finest, unit, half, digits, style)
    smaller = min(abs(low), abs(high)) or finest
    place = _last_place(smaller, half, digits or (None if half or style == "exact" else 2), style)
    first, last = _digits(low, scale, place), _digits(high, scale, place)
    return _join(first if first == last else f"{first} to {last}", symbol)


def scale(value: float, unit: str) -> tuple[float, str]:
    """What to divide by, and the symbol, to show numbers as large as `value` with one prefix."""
    size, symbol = _scale(value, unit, None, None, "si")
    return float(size), symbol


def is_noise(half: float, value: float) -> bool:
    """Whether a half-width is no more than the rounding of floats."""
    return half <= _NOISE * abs(value)


def is_below_resolution(value: float, half: float) -> bool:
    """Whether an interval of this half-width holds nothing at all, or less."""
    return half >= abs(value) and half > 0


def _round_up(value: float, place: int) -> Decimal:
    without_noise = Decimal(repr(float(value) * (1 - _NOISE)))
    return without_noise.quantize(Decimal(1).scaleb(place), ROUND_CEILING, _EXACT)


def _digits_needed(value: float) -> int:
    """Significant digits of a value that was rounded."""
    digits = Decimal(repr(value)).normalize().as_tuple().digits
    return max(1, len(digits))


def _join(digits: str, symbol: str) -> str:
    return f"{digits}{SPACE}{symbol}" if symbol else digits


def _last_place(value: float, half: float | None, digits: int | None, style: str) -> int:
    """Exponent of ten of the last digit shown."""
    leading = _exponent(value)
    if digits is not None:
        return _place_of(value, leading, digits)
    if half and not is_noise(half, value):
        # A half-width of 1.2 keeps a second digit: rounding to whole ones would eat much of it.
        return min(_exponent(half / 2), leading)
    if style == "exact" and float(value).is_integer():
        return 0
    return _place_of(value, leading, DIGITS)


def _place_of(value: float, leading: int, digits: int) -> int:
    place = leading - digits + 1
    # 0.9996 rounds to 1.00, which has a digit more before the last one.
    return place + (_exponent(float(_round(value, place))) > leading)


def _exponent(value: float) -> int:
    return math.floor(math.log10(abs(value))) if value else 0


def _scale(
    value: float, unit: str, half: float | None, digits: int | None, style: str
) -> tuple[Decimal, str]:
    """What one of the printed unit is in the base unit, and its symbol."""
    known = UNITS.get(unit, Unit(unit, unit))
    rounded = abs(_round(value, _last_place(value, half, digits, style)))
    if style == "percent":
        return Decimal("0.01"), "%"
    if style == "exact":
        return Decimal(1), known.word
    if style == "binary":
        power = min(int(math.log(float(rounded), 1024)) if rounded >= 1 else 0, len(_BINARY) - 1)
        return Decimal(1024**power), _BINARY[power]
    if style == "short" and known.prefixes == (0,):
        for size, word in _WORDS:
            if rounded >= size:
                return Decimal(size), f"{word} {known.word}".rstrip()
        return Decimal(1), known.symbol
    power = 3 * (_exponent(float(rounded)) // 3)
    power = min(max(power, known.prefixes[0]), known.prefixes[-1])
    return Decimal(10) ** power, _PREFIX[power] + known.symbol


def _round(value: float, place: int) -> Decimal:
    return Decimal(repr(float(value))).quantize(Decimal(1).scaleb(place), context=_EXACT)


def _digits(value: float, scale: Decimal, place: int) -> str:
    """The digits down to `10 ** place` base units, shown in units of `scale`."""
    if scale.log10() % 1:  # binary units: the place holds in the scaled unit
        scaled = _EXACT.divide(Decimal(repr(float(value))), scale)
        lowest = place - _exponent(value) + _exponent(float(scaled))
        shown = scaled.quantize(Decimal(1).scaleb(min(lowest, 0)), context=_EXACT)
    else:
        shown = _EXACT.divide(_round(value, place), scale)
        decimals = max(0, int(scale.log10()) - place)
        shown = shown.quantize(Decimal(1).scaleb(-decimals), context=_EXACT)
    text = f"{shown:,f}"
    return text.replace("-", MINUS) if shown else text.lstrip("-")


def unbroken(text: str) -> str:
    """Text in which a line breaks after no number that counts something: `2 cores, 24 GiB`."""
    return _COUNTED.sub("\N{NO-BREAK SPACE}", text)
