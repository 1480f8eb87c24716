"""A number over time as a small SVG: a point for each run, with its interval. Knows no run and no quantity.

It is drawn here and not by Vega, since there is one for every number of the catalogue: text of a few kilobytes, made
in a thousandth of a second. Its colours are those of the site's charts; each series has a shape of its own, too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from html import escape

from hooks.drawings.marks import SERIES

WIDE, NARROW = (680, 250), (340, 230)
"""Width and height in CSS pixels."""

FEW = 60
"""Up to so many points each has a shape; more are dots."""

_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 14, 26, 42
_LOG_FROM = 30.0
"""Values that span more than this are drawn on a logarithmic axis."""

_INK = (*SERIES, "currentColor")


@dataclass(frozen=True)
class Point:
    """A run's number: seconds since 1970, the value and the ends of its interval or range in the picture's unit.

    `series` counts from 0; the fifth and all later ones share a look. `stated` marks the number that pages state.
    """

    moment_s: float
    value: float | None
    low: float | None
    high: float | None
    series: int
    stated: bool = False


@dataclass(frozen=True)
class _Axis:
    """A scale from values to pixels, and its ticks."""

    low: float
    high: float
    begin: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        held = min(max(value, self.low), self.high)  # an interval may reach below what a logarithm has
        low, high, at = (math.log(x) if self.log else x for x in (self.low, self.high, held))
        share = (at - low) / (high - low)
        return round(self.begin + share * (self.end - self.begin), 1)


def picture(points: Sequence[Point], y_title: str, label: str, size: tuple[int, int], name: str) -> str:
    """The `<svg>` element.

    Args:
        points: At least one.
        y_title: What the values are, with their unit.
        label: What it shows, in a sentence, for people who do not see it.
        size: `WIDE` or `NARROW`.
        name: Unique on the page.
    """
    width, height = size
    y = _values(points, height)
    x, dates = _times(points, width)
    parts = [_grid(y, width), _dates(x, dates, width, height)]
    few = len(points) <= FEW
    for series in sorted({min(point.series, 4) for point in points}):
        parts.append(_series([p for p in points if min(p.series, 4) == series], series, x, y, few))
    kind = "wide" if size == WIDE else "narrow"
    return (
        f'<svg data-size="{kind}" role="img" aria-labelledby="{name}" focusable="false" data-search-exclude '
        f'width="{width}" height="{height}" viewBox="0 0 {width} {height}" font-size="13" fill="currentColor">'
        f'<title id="{name}">{_text(label)}</title>'
        f'<text x="0" y="13">{_text(y_title)}</text>{"".join(parts)}</svg>'
    )


def marker(series: int, *, stated: bool) -> str:
    """The look of a series' points, for a legend."""
    at = min(series, 4)
    shape = _shape(at, 7, 7)
    svg = '<svg class="data-marker" width="14" height="14" aria-hidden="true" focusable="false">'
    return f"{svg}{_mark(shape, at, stated=stated)}</svg>"


def _values(points: Sequence[Point], height: int) -> _Axis:
    ends = [v for point in points for v in (point.value, point.low, point.high) if v is not None]
    low, high = min(ends), max(ends)
    positive = [v for v in ends if v > 0]
    if low > 0 and high / min(positive) > _LOG_FROM:
        return _Axis(low / 1.3, high * 1.3, height - _BOTTOM, _TOP, log=True)
    low, high = min(low, 0.0), max(high, 0.0) or (1.0 if low >= 0 else 0.0)
    room = (high - low) * 0.1
    return _Axis(low - (room if low < 0 else 0), high + (room if high > 0 else 0), height - _BOTTOM, _TOP)


def _times(points: Sequence[Point], width: int) -> tuple[_Axis, tuple[list[tuple[float, str]], str]]:
    first, last = min(p.moment_s for p in points), max(p.moment_s for p in points)
    room = (last - first) * 0.06 or 12 * 3600.0
    axis = _Axis(first - room, last + room, _LEFT, width - _RIGHT)
    return axis, ticks(axis.low, axis.high, 7 if width > 400 else 3)


def _grid(y: _Axis, width: int) -> str:
    made = []
    values = _log_steps(y.low, y.high) if y.log else _steps(y.low, y.high, 5)
    step = abs(values[1] - values[0]) if len(values) > 1 and not y.log else 0.0
    for value in values:
        at = y(value)
        text = _number(value, step)
        made.append(
            f'<path d="M{_LEFT} {at}H{width - _RIGHT}" stroke="var(--chart-grid, #8884)"/>'
            f'<text x="{_LEFT - 8}" y="{at + 4.5:g}" text-anchor="end">{text}</text>'
        )
    return "".join(made)


def _dates(x: _Axis, dates: tuple[list[tuple[float, str]], str], width: int, height: int) -> str:
    marks, title = dates
    foot = height - _BOTTOM
    made = [f'<path d="M{_LEFT} {foot}H{width - _RIGHT}" stroke="currentColor" opacity="0.5"/>']
    for moment, text in marks:
        at = x(moment)
        made.append(
            f'<path d="M{at} {foot}v4" stroke="currentColor" opacity="0.5"/>'
            f'<text x="{at}" y="{foot + 18}" text-anchor="middle">{text}</text>'
        )
    made.append(
        f'<text x="{(_LEFT + width - _RIGHT) / 2:g}" y="{height - 5}" text-anchor="middle">{title}</text>'
    )
    return "".join(made)


def _series(points: Sequence[Point], series: int, x: _Axis, y: _Axis, few: bool) -> str:
    """All of a series in few elements, however many points it has."""
    bars: list[str] = []
    dots: dict[bool, list[str]] = {True: [], False: []}
    for point in points:
        at = x(point.moment_s)
        if point.low is not None and point.high is not None:
            low, high = y(point.low), y(point.high)
            caps = f"M{at - 4:g} {low}h8M{at - 4:g} {high}h8" if few else ""
            bars.append(f"M{at} {low}V{high}{caps}")
        if point.value is not None:
            shape = _shape(series, at, y(point.value)) if few or point.stated else f"M{at} {y(point.value)}h0"
            dots[point.stated].append(shape)
    ink, width = _INK[series], "1.6" if few else "1"
    opacity = "" if few else ' opacity="0.45"'
    made = (
        [f'<path d="{"".join(bars)}" fill="none" stroke="{ink}" stroke-width="{width}"{opacity}/>']
        if bars
        else []
    )
    if dots[False] and few:
        made.append(_mark("".join(dots[False]), series, stated=False))
    elif dots[False]:
        d = "".join(dots[False])
        made.append(f'<path d="{d}" fill="none" stroke="{ink}" stroke-width="4" stroke-linecap="round"/>')
    if dots[True]:
        made.append(_mark("".join(dots[True]), series, stated=True))
    return "".join(made)


def _mark(path: str, series: int, stated: bool) -> str:
    fill = _INK[series] if stated else "var(--paper, #fff)"
    return f'<path d="{path}" fill="{fill}" stroke="{_INK[series]}" stroke-width="1.8"/>'


def _shape(series: int, x: float, y: float) -> str:
    """A circle, a square, a triangle, a diamond; a small circle for all others."""
    match series:
        case 1:
            return f"M{x - 4:g} {y - 4:g}h8v8h-8z"
        case 2:
            return f"M{x:g} {y - 5:g}l5 9h-10z"
        case 3:
            return f"M{x:g} {y - 5.5:g}l5.5 5.5l-5.5 5.5l-5.5-5.5z"
        case _:
            r = 4.5 if series == 0 else 3
            return f"M{x - r:g} {y:g}a{r} {r} 0 1 0 {2 * r:g} 0a{r} {r} 0 1 0-{2 * r:g} 0z"


def _steps(low: float, high: float, count: int) -> list[float]:
    """Round numbers between two ends, about `count` of them."""
    rough = (high - low) / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(size * power for size in (1, 2, 2.5, 5, 10) if size * power >= rough * 0.999)
    return [n * step for n in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def _log_steps(low: float, high: float) -> list[float]:
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    sizes = (1, 2, 5) if high / low < 1000 else (1,)
    return [v for decade in decades for size in sizes if low <= (v := size * 10.0**decade) <= high]


def _number(value: float, step: float) -> str:
    decimals = (
        max(0, -math.floor(math.log10(step) + 1e-9)) if step else max(0, -math.floor(math.log10(value)))
    )
    if step and not float(round(step * 10**decimals, 6)).is_integer():
        decimals += 1
    return f"{value:,.{decimals}f}".replace("-", "\N{MINUS SIGN}")


_SPANS = (
    *(
        (timedelta(minutes=n), "%H:%M", "%-d %B %Y, UTC")
        for n in (1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720)
    ),
    *((timedelta(days=n), "%-d %b", "%Y") for n in (1, 2, 7, 14)),
)
_MONTHS = (
    (1, "%b %Y"),
    (2, "%b %Y"),
    (3, "%b %Y"),
    (6, "%b %Y"),
    (12, "%Y"),
    (24, "%Y"),
    (60, "%Y"),
    (120, "%Y"),
    (240, "%Y"),
    (600, "%Y"),
)


def ticks(first_s: float, last_s: float, most: int) -> tuple[list[tuple[float, str]], str]:
    """At most about `most` round moments between two, each with its text; and what the axis says of all.

    Args:
        first_s: Seconds since 1970.
        last_s: Later than `first_s`.
        most: How many there may be.
    """
    first, last = datetime.fromtimestamp(first_s, UTC), datetime.fromtimestamp(last_s, UTC)
    for span, form, title in _SPANS:
        if (last - first) / span <= most:
            size = span.total_seconds()
            at = math.ceil(first_s / size) * size
            found = []
            while at <= last_s:
                found.append((at, _day(datetime.fromtimestamp(at, UTC), form)))
                at += size
            if (
                span < timedelta(days=1)
                and len({datetime.fromtimestamp(m, UTC).date() for m, _ in found}) > 1
            ):
                found = [
                    (
                        m,
                        _day(t, "%-d %b")
                        if (t := datetime.fromtimestamp(m, UTC)).hour == t.minute == 0
                        else text,
                    )
                    for m, text in found
                ]
            years = sorted({first.year, last.year})
            words = _day(last, title) if span < timedelta(days=1) else " to ".join(map(str, years))
            return found, words
    days = (last - first).days
    months, form = next(((n, form) for n, form in _MONTHS if days / (30.4 * n) <= most), _MONTHS[-1])
    found, year, month = [], first.year, 1
    while (moment := datetime(year, month, 1, tzinfo=UTC)) <= last:
        if moment >= first:
            found.append((moment.timestamp(), moment.strftime(form)))
        total = year * 12 + month - 1 + months
        year, month = divmod(total, 12)
        month += 1
    return found, "date of the run"


def _day(moment: datetime, form: str) -> str:
    """`strftime` with %-d as the day without a zero, whatever the system."""
    return moment.strftime(form.replace("%-d", str(moment.day)))


def _text(text: str) -> str:
    return escape(text).replace("{{", "&#123;&#123;").replace("}}", "&#125;&#125;")
