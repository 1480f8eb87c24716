"""Raw samples as dots, one column for each process. Knows neither the book nor a chart's name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from hooks.drawings.marks import POINTS, Dot
from hooks.drawings.parts import chart, layer
from hooks.pictures.svg import SERIES

_INK = {"counted": SERIES[0], "warm-up": "currentColor", "refused": SERIES[1]}
_SHAPES = {"high": "triangle-up", "low": "triangle-down"}


def strip(
    dots: Sequence[Dot],
    medians: Mapping[int, float],
    band: tuple[float, float] | None,
    narrow: bool,
    *,
    domain: tuple[float, float],
    y_title: str,
) -> Any:
    """Dots by process, a bar at each process' median, and a band across.

    Args:
        dots: At least one; those that lie outside of `domain` are at its edge and point outwards.
        medians: The median of each process that has one.
        band: An interval for all, behind the dots.
        narrow: For a narrow screen.
        domain: The ends of the value axis.
        y_title: What the values are, with their unit.
    """
    processes = sorted({dot.process for dot in dots})
    every = max(1, len(processes) // (6 if narrow else 16))
    x = alt.X(
        "x:Q",
        title="Process",
        scale=alt.Scale(domain=[processes[0] - 0.6, processes[-1] + 0.6], nice=False, zero=False),
        axis=alt.Axis(values=processes[::every], grid=False, format="d", tickMinStep=1),
    )
    y = alt.Y(
        "y:Q",
        title=y_title,
        scale=alt.Scale(domain=list(domain), nice=False, zero=False),
        axis=alt.Axis(tickCount=5, format="~r"),
    )
    rows = [
        {"x": dot.x, "y": dot.y, "about": dot.about, "series": str(dot.process)}
        | {"shape": _SHAPES.get(dot.outside, "cross" if dot.state == "refused" else "circle")}
        | {"ink": _INK[dot.state], "fill": "transparent" if dot.state == "warm-up" else _INK[dot.state]}
        for dot in dots
    ]
    layers = []
    if band:
        ends = {"x": processes[0] - 0.6, "x2": processes[-1] + 0.6, "y": band[0], "y2": band[1]}
        layers.append(
            chart([ends])
            .mark_rect(color=SERIES[0], opacity=0.12)
            .encode(x=x, x2=alt.X2("x2:Q"), y=y, y2=alt.Y2("y2:Q"))
        )
    bars = [{"x": process - 0.42, "x2": process + 0.42, "y": value} for process, value in medians.items()]
    layers.append(
        chart(bars).mark_rule(strokeWidth=2, color=SERIES[0], opacity=0.9).encode(x=x, x2=alt.X2("x2:Q"), y=y)
    )
    layers.append(
        chart(rows)
        .mark_point(size=48, opacity=1, strokeWidth=1.6)
        .encode(
            x=x,
            y=y,
            shape=alt.Shape("shape:N", scale=None),
            stroke=alt.Stroke("ink:N", scale=None),
            fill=alt.Fill("fill:N", scale=None),
        )
        .properties(name=POINTS)
    )
    layers += [names.encode(x=x, y=y, text=alt.Text("label:N")) for names in _names(dots)]
    return layer(*layers)


def _names(dots: Sequence[Dot]) -> tuple[Any, ...]:
    """The state beside the first dot of each that does not count; below it at the upper edge."""
    firsts = {dot.state: dot for dot in reversed(dots) if dot.state != "counted"}
    rows = [
        {"x": dot.x, "y": dot.y, "label": state, "edge": dot.outside == "high"}
        for state, dot in firsts.items()
    ]
    base = chart(rows)
    return (
        base.transform_filter("!datum.edge").mark_text(align="left", baseline="middle", dx=8),
        base.transform_filter("datum.edge").mark_text(align="left", baseline="top", dx=-5, dy=9),
    )
