"""What all drawings are made of: rows of data, colours of series, labels, axes. Draws no chart by itself."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from hooks.svg import SERIES

Row = Mapping[str, Any]

POINTS = "points"
"""Name of the marks that the interactive version tells of; each of their rows has a text in `about`."""

ROOM = 1.12
"""How far a linear axis goes beyond what it must show."""


@dataclass(frozen=True)
class Mark:
    """A point in the unit of its axis, the ends of its interval, and what is said of it."""

    x: float
    y: float
    about: str
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Line:
    """Points that belong together, their name beside the last one, and the colour of the series (from 0)."""

    label: str
    color: int
    marks: tuple[Mark, ...]


def chart(rows: Iterable[Row]) -> Any:
    """An Altair chart on these rows."""
    return alt.Chart(alt.InlineData(values=list(rows)))


def colors(lines: Sequence[Line], field: str = "series") -> Any:
    """The colour of each series, without a legend."""
    scale = alt.Scale(domain=[line.label for line in lines], range=[SERIES[line.color] for line in lines])
    return alt.Color(f"{field}:N", scale=scale, legend=None)


def shapes(lines: Sequence[Line], field: str = "series") -> Any:
    """The shape of each series' points: the same series are told apart without colour."""
    known = ("circle", "square", "triangle-up", "diamond", "cross")
    scale = alt.Scale(domain=[line.label for line in lines], range=[known[line.color] for line in lines])
    return alt.Shape(f"{field}:N", scale=scale, legend=None)


def labels(rows: Sequence[Row], **place: Any) -> Any:
    """Names beside what they name."""
    return chart(rows).mark_text(fontWeight="bold", **place).encode(text="label:N")


def log_ticks(low: float, high: float, steps: Sequence[float] = (1, 2, 5)) -> list[float]:
    """Round numbers between the ends of a logarithmic axis: `steps` of each decade."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return [value for decade in decades for step in steps if low <= (value := step * 10.0**decade) <= high]


def tokens_axis(tokens: Iterable[int], title: str, narrow: bool) -> Any:
    """A horizontal axis of tokens that marks the measured lengths; logarithmic where they span much."""
    ticks = sorted(set(tokens))
    wide_span = ticks[-1] > 40 * ticks[0]
    if narrow and len(ticks) > 3:
        ticks = [ticks[0], ticks[len(ticks) // 2], ticks[-1]]
    if wide_span:
        scale = alt.Scale(type="log", domain=[ticks[0] / 1.25, ticks[-1] * 1.25], nice=False)
    else:
        scale = alt.Scale(domain=[0, ticks[-1] * 1.04], nice=False)
    axis = alt.Axis(values=ticks, grid=False, format=",d", labelOverlap="greedy")
    return alt.X("x:Q", title=title, scale=scale, axis=axis)
