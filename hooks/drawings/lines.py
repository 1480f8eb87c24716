"""Lines over tokens with points and interval bars, and lines of shares. Knows neither the book nor a chart's name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import altair as alt

from hooks.drawings.drawing import Lines
from hooks.drawings.marks import POINTS, Line, Row
from hooks.drawings.parts import ROOM, chart, colors, is_wide, labels, layer, log_ticks, shapes, tokens_axis


def over_tokens(drawing: Lines) -> Any:
    """The Altair chart of such a drawing."""
    lines, narrow, log, limit = drawing.lines, drawing.narrow, drawing.log, drawing.limit
    tokens = sorted({int(mark.x) for line in lines for mark in line.marks})
    lines = _apart(lines, tokens)
    marks = [mark for line in lines for mark in line.marks]
    ends = [end for mark in marks for end in (mark.low, mark.y, mark.high) if end and end > 0]
    least, greatest = min(ends), max([*ends, limit[0] if limit else 0])
    domain = [least / 1.6, greatest * 1.9] if log else [0.0, greatest * ROOM]
    x = tokens_axis(tokens, drawing.x_title, narrow)
    y = alt.Y(
        "y:Q",
        title=drawing.y_title,
        scale=alt.Scale(type="log" if log else "linear", domain=domain, nice=False),
        axis=alt.Axis(values=log_ticks(domain[0], domain[1]), format="~r")
        if log
        else alt.Axis(tickCount=4, format="~r"),
    )
    color = colors(lines)
    base = chart(_rows(lines, domain[0])).encode(x=x, color=color)
    bars = base.transform_filter("isValid(datum.low)").mark_rule(strokeWidth=1.5)
    layers = [
        base.mark_line(strokeWidth=2).encode(y=y),
        bars.encode(y=alt.Y("low:Q"), y2=alt.Y2("high:Q")),
        base.mark_point(filled=True, size=55, opacity=1)
        .encode(y=y, shape=shapes(lines))
        .properties(name=POINTS),
    ]
    # The highest line has its name above, the others below: so no two names meet.
    last = sorted((_last(line) for line in lines), key=lambda row: -float(row["y"]))
    if narrow:
        last = _shortened(last)
    layers.append(_named(last[:1], "bottom", -8).encode(x=x, y=y, color=color))
    if last[1:]:
        layers.append(_named(last[1:], "top", 9).encode(x=x, y=y, color=color))
    if limit:
        rule = chart([{"y": limit[0], "label": limit[1]}]).encode(y=y)
        layers += [
            rule.mark_rule(strokeDash=[2, 3], opacity=0.8),
            rule.mark_text(align="left", baseline="bottom", dy=-4, x=4).encode(text=alt.Text("label:N")),
        ]
    return layer(*layers)


def _apart(lines: Sequence[Line], tokens: Sequence[int]) -> list[Line]:
    """The lines, each moved a little to the side where bars of several would lie on one another."""
    bars = [
        [(m.x, m.low, m.high) for m in line.marks if m.low is not None and m.high is not None]
        for line in lines
    ]
    meet = any(
        x == other and low <= top and bottom <= high
        for index, own in enumerate(bars)
        for x, low, high in own
        for others in bars[index + 1 :]
        for other, bottom, top in others
    )
    if not meet:
        return list(lines)
    moved = []
    for index, line in enumerate(lines):
        by = index - (len(lines) - 1) / 2
        if is_wide(tokens):
            marks = tuple(replace(mark, x=mark.x * 1.06**by) for mark in line.marks)
        else:
            marks = tuple(replace(mark, x=mark.x + 0.012 * by * tokens[-1]) for mark in line.marks)
        moved.append(replace(line, marks=marks))
    return moved


def _rows(lines: Sequence[Line], floor: float) -> list[Row]:
    """One row a point; a bar that reaches below the axis ends there."""
    return [
        {
            "series": line.label,
            "x": mark.x,
            "y": mark.y,
            "low": None if mark.low is None else max(mark.low, floor),
            "high": mark.high,
            "about": mark.about,
        }
        for line in lines
        for mark in line.marks
    ]


def _last(line: Line) -> Row:
    mark = max(line.marks, key=lambda mark: mark.x)
    return {"series": line.label, "label": line.label, "x": mark.x, "y": mark.y}


def _shortened(rows: Sequence[Row]) -> list[Row]:
    """Names without the word that all begin with: it would push them over the bars to their left."""
    heads = {str(row["label"]).partition(", ")[0] for row in rows}
    if len(rows) < 2 or len(heads) > 1:
        return list(rows)
    return [{**row, "label": str(row["label"]).partition(", ")[2] or row["label"]} for row in rows]


def _named(rows: Sequence[Row], baseline: str, dy: int) -> Any:
    return labels(rows, align="right", baseline=baseline, dx=-8, dy=dy)
