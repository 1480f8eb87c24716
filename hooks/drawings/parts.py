"""What all drawings are made of: rows of data, colours of series, labels, axes. Draws no chart by itself."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from hooks.drawings.marks import SERIES, Line, Row

Context = dict[str, Any]
"""What Altair hands from a chart to its parts: the data of all, by name."""

ROOM = 1.12
"""How far a linear axis goes beyond what it must show."""


@dataclass(frozen=True)
class Layers:
    """Charts over one another, as `alt.layer` makes them; that copies all parts of each several times over."""

    charts: tuple[Any, ...]

    def to_dict(self, validate: bool = True, context: Context | None = None) -> dict[str, Any]:
        """The specification, as of any Altair chart; `context` is that of the layers around it."""
        shared: Context = {"datasets": {}, "top_level": False} if context is None else context
        made: dict[str, Any] = {"layer": [each.to_dict(validate, context=shared) for each in self.charts]}
        if context is None:
            made |= {"$schema": alt.SCHEMA_URL, "datasets": shared["datasets"]}
            if validate:
                alt.LayerChart.from_dict(made)
        return made


def layer(*charts: Any) -> Layers:
    """Charts over one another, the last on top."""
    return Layers(charts)


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
    return chart(rows).mark_text(fontWeight="bold", **place).encode(text=alt.Text("label:N"))


def log_ticks(low: float, high: float, steps: Sequence[float] = (1, 2, 5)) -> list[float]:
    """Round numbers between the ends of a logarithmic axis: `steps` of each decade."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return [value for decade in decades for step in steps if low <= (value := step * 10.0**decade) <= high]


def is_wide(tokens: Sequence[int]) -> bool:
    """Whether lengths span so much that their axis is logarithmic."""
    return tokens[-1] > 40 * tokens[0]


def tokens_axis(tokens: Sequence[int], title: str, narrow: bool) -> Any:
    """A horizontal axis of tokens that marks the measured lengths, in order; logarithmic where they span much."""
    ticks, wide_span = list(tokens), is_wide(tokens)
    if narrow and len(ticks) > 3:
        ticks = [ticks[0], ticks[len(ticks) // 2], ticks[-1]]
    if wide_span:
        scale = alt.Scale(type="log", domain=[ticks[0] / 1.25, ticks[-1] * 1.25], nice=False)
    else:
        scale = alt.Scale(domain=[0, ticks[-1] * 1.04], nice=False)
    axis = alt.Axis(values=ticks, grid=False, format=",d", labelOverlap="greedy", tickMinStep=1)
    return alt.X("x:Q", title=title, scale=scale, axis=axis)
