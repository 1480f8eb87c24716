"""Raw samples as dots, one column for each process. Knows neither the book nor a chart's name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from hooks.drawings.drawing import Strip
from hooks.drawings.marks import POINTS, SERIES, Dot
from hooks.drawings.parts import chart, layer

_INK = {"counted": SERIES[0], "warm-up": "currentColor", "refused": SERIES[1]}
_SHAPES = {"high": "triangle-up", "low": "triangle-down"}


def strip(drawing: Strip) -> Any:
    """The Altair chart of such a drawing."""
    dots, band = drawing.dots, drawing.band
    processes = sorted({dot.process for dot in dots})
    every = max(1, len(processes) // (6 if drawing.narrow else 16))
    x = alt.X(
        "x:Q",
        title="Process",
        scale=alt.Scale(domain=[processes[0] - 0.6, processes[-1] + 0.6], nice=False, zero=False),
        axis=alt.Axis(values=processes[::every], grid=False, format="d", tickMinStep=1),
    )
    y = alt.Y(
        "y:Q",
        title=drawing.y_title,
        scale=alt.Scale(domain=list(drawing.domain), nice=False, zero=False),
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
    bars = [{"x": process - 0.42, "x2": process + 0.42, "y": value} for process, value in drawing.medians]
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
