"""The roofline: operations a second over operations for each byte, both logarithmic. Knows neither book nor chart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import altair as alt

from hooks.drawings.drawing import Roofline
from hooks.drawings.marks import POINTS, Line, Row, Spot
from hooks.drawings.parts import chart, colors, labels, layer, log_ticks, shapes
from hooks.drawings.roofs import frame, roofs_of


def roofline(drawing: Roofline) -> Any:
    """The Altair chart of such a drawing."""
    spots, roofs, narrow = drawing.spots, drawing.roofs, drawing.narrow
    inside = frame(spots, roofs, narrow)
    x = alt.X(
        "x:Q",
        title="Operations for each byte",
        scale=alt.Scale(type="log", domain=[inside.left, inside.right], nice=False),
        axis=alt.Axis(values=log_ticks(inside.left, inside.right, (1,)), grid=False, format=",~g"),
    )
    y = alt.Y(
        "y:Q",
        title=drawing.y_title,
        scale=alt.Scale(type="log", domain=[inside.bottom, inside.top], nice=False),
        axis=alt.Axis(values=log_ticks(inside.bottom, inside.top, (1,)), format=",~r"),
    )
    layers = roofs_of(roofs, inside, narrow, x, y)
    lines = [
        Line(name, color, ()) for name, color in dict.fromkeys((spot.series, spot.color) for spot in spots)
    ]
    color = colors(lines)
    base = chart([_row(spot, inside.bottom) for spot in spots]).encode(x=x, color=color)
    layers += [
        base.transform_filter("isValid(datum.low)")
        .mark_rule(strokeWidth=1.5)
        .encode(y=alt.Y("low:Q"), y2=alt.Y2("high:Q")),
        base.mark_point(filled=True, size=55, opacity=1)
        .encode(y=y, shape=shapes(lines))
        .properties(name=POINTS),
    ]
    layers += [_names(spots, x, y, color), *_told(spots, narrow, x, y, color)]
    return layer(*layers)


def _row(spot: Spot, floor: float) -> Row:
    return {
        "series": spot.series,
        "x": spot.x,
        "y": spot.y,
        "low": None if spot.low is None else max(spot.low, floor),
        "high": spot.high,
        "about": spot.about,
    }


def _names(spots: Sequence[Spot], x: Any, y: Any, color: Any) -> Any:
    """Each series' name to the right of its first points, or under the words that stand below its last one.

    Where such words belong to another series at the same place, what is other in its name stands to the left.
    """
    beside: list[dict[str, Any]] = []
    below: list[dict[str, Any]] = []
    left: list[dict[str, Any]] = []
    for name in dict.fromkeys(spot.series for spot in spots):
        own = [spot for spot in spots if spot.series == name]
        first = min(own, key=lambda spot: (spot.x, spot.y))
        row = {"series": name, "label": name, "x": first.x, "y": first.low or first.y}
        if first.below:
            last = max(own, key=lambda spot: spot.x)
            below.append(row | {"x": last.x, "y": last.low or last.y})
        elif any(spot.below and math.isclose(spot.x, first.x, rel_tol=0.01) for spot in spots):
            left.append(row | {"y": first.y, "label": name.rpartition(", ")[2]})
        else:
            beside.append(row | {"y": min(spot.y for spot in own if spot.x < first.x * 1.5)})
    beside.sort(key=lambda row: -float(row["y"]))  # the highest has its name a little above, the others below
    places = (
        (beside[:1], "left", "bottom", 9, 5),
        (beside[1:], "left", "top", 9, -5),
        (below, "right", "top", 17, 24),
        (left, "right", "middle", -8, 0),
    )
    return layer(
        *(
            labels(rows, align=align, baseline=baseline, dx=dx, dy=dy).encode(x=x, y=y, color=color)
            for rows, align, baseline, dx, dy in places
            if rows
        )
    )


def _told(spots: Sequence[Spot], narrow: bool, x: Any, y: Any, color: Any) -> list[Any]:
    """What tells points of one series apart; on a narrow screen only at the ends of those with words below."""
    beside = [{"series": s.series, "x": s.x, "y": s.y, "label": s.beside} for s in spots if s.beside]
    below = [{"series": s.series, "x": s.x, "y": s.low or s.y, "label": s.below} for s in spots if s.below]
    if narrow:
        beside, below = [], below[:1] + below[1:][-1:]
    layers = []
    if beside:
        layers.append(chart(beside).mark_text(align="left", baseline="middle", dx=9))
    if below:
        layers.append(chart(below).mark_text(align="center", baseline="top", dy=8))
    return [layer.encode(x=x, y=y, color=color, text=alt.Text("label:N")) for layer in layers]
