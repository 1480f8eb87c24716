"""The KV cache as a share of the weights, one line for each model. Knows neither the book nor a chart's name."""

from __future__ import annotations

from typing import Any

import altair as alt

from hooks.drawings.drawing import Shares
from hooks.drawings.marks import POINTS, Line, Mark, Row
from hooks.drawings.parts import chart, colors, labels, layer, shapes

HIGHEST = 4
"""The cache is drawn up to so many times the weights."""


def shares(drawing: Shares) -> Any:
    """The Altair chart of such a drawing."""
    lines, narrow = drawing.lines, drawing.narrow
    data: list[Row] = []
    for line, longest in lines:
        within = [mark for mark in line.marks if mark.x <= longest]
        data += [_row(line, mark, "within") for mark in within]
        # The dashed part begins where the whole line ends.
        data += [_row(line, mark, "beyond") for mark in [*within[-1:], *line.marks[len(within) :]]]
    x = alt.X(
        "x:Q",
        title="Tokens of context",
        scale=alt.Scale(type="log", nice=False),
        axis=alt.Axis(
            values=[1e3, 1e4, 1e5] if narrow else [1e3, 3e3, 1e4, 3e4, 1e5, 3e5],
            labelExpr="datum.value >= 1000 ? format(datum.value / 1000, ',d') + 'k' : datum.label",
            grid=False,
        ),
    )
    y = alt.Y(
        "y:Q",
        title="KV cache ÷ weights",
        scale=alt.Scale(type="log", domain=[0.001, HIGHEST], nice=False),
        axis=alt.Axis(values=[0.001, 0.01, 0.1, 1], format="~g"),
    )
    color = colors([line for line, _ in lines])
    base = chart(data).encode(x=x, y=y, color=color)
    # The last line has free space below it, the others above.
    places = [0.35, *[0.15] * (len(lines) - 2), 0.008]
    names = [
        {
            **_row(line, _nearest(line, share), ""),
            "label": line.label.partition("-")[0] if narrow else line.label,
        }
        for (line, _), share in zip(lines, places, strict=True)
    ]
    rule = chart([{"y": 1, "label": "equal" if narrow else "as large as the weights"}]).encode(y=y)
    return layer(
        rule.mark_rule(strokeDash=[2, 3], opacity=0.8),
        rule.mark_text(align="left", baseline="bottom", dy=-4, x=4).encode(text=alt.Text("label:N")),
        base.transform_filter("datum.part == 'within'").mark_line(strokeWidth=2, clip=True),
        base.transform_filter("datum.part == 'beyond'").mark_line(
            strokeWidth=1.5, strokeDash=[5, 4], clip=True
        ),
        base.transform_filter(f"datum.part == 'within' && datum.y <= {HIGHEST}")
        .mark_point(filled=True, size=22, opacity=1, clip=True)
        .encode(shape=shapes([line for line, _ in lines]))
        .properties(name=POINTS),
        labels(names[:-1], align="right", baseline="bottom", dx=-6, dy=-4).encode(x=x, y=y, color=color),
        labels(names[-1:], align="left", baseline="top", dx=6, dy=4).encode(x=x, y=y, color=color),
    )


def _row(line: Line, mark: Mark, part: str) -> Row:
    return {"series": line.label, "x": mark.x, "y": mark.y, "about": mark.about, "part": part}


def _nearest(line: Line, share: float) -> Mark:
    return min(line.marks, key=lambda mark: abs(mark.y - share))
