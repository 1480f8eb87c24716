"""Altair drawings, each for a wide or a narrow screen. Knows neither the book nor a chart's name."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from hooks import formatting
from hooks.readings import Reading
from hooks.svg import SERIES

Row = Mapping[str, Any]

Point = tuple[str, int, Reading]
"""Series, tokens, number."""

_TOKENS = {
    ("prefill", "decode"): "Tokens in the prompt or in the cache",
    ("prefill",): "Tokens in the prompt",
    ("decode",): "Tokens in the cache",
}


def lines(points: Sequence[Point], narrow: bool, *, log: bool) -> Any:
    """Lines with points and interval bars, labelled at their last points; the reason where nothing has a value."""
    drawn = [(series, tokens, reading) for series, tokens, reading in points if reading.value is not None]
    if not drawn:
        return _chart([{}]).mark_text(text=points[0][2].text())
    ends = [
        end
        for _, _, reading in drawn
        for end in (reading.low, reading.value, reading.high)
        if end and end > 0
    ]
    scale, symbol = formatting.scale(max(ends), "s")
    least, greatest = min(ends) / scale, max(ends) / scale
    domain = [least / 1.6, greatest * 1.9] if log else [0.0, greatest * 1.15]
    rows = [_bar(*point, scale, domain[0]) for point in drawn]
    names = list(dict.fromkeys(series for series, _, _ in drawn))
    ticks = sorted({tokens for _, tokens, _ in drawn})
    if narrow:
        ticks = [tick for index, tick in enumerate(ticks) if index in (0, len(ticks) // 2, len(ticks) - 1)]
    x = alt.X(
        "tokens:Q",
        title=_TOKENS[tuple(names)],
        scale=alt.Scale(domain=[0, ticks[-1] * 1.04], nice=False),
        axis=alt.Axis(values=ticks, grid=False, format=",d", labelOverlap="greedy"),
    )
    y = alt.Y(
        "value:Q",
        title=f"{symbol} per token",
        scale=alt.Scale(type="log" if log else "linear", domain=domain, nice=False),
        axis=alt.Axis(values=_ticks(*domain), format="~r") if log else alt.Axis(tickCount=4, format="~r"),
    )
    color = _colors("series", names)
    last = {row["series"]: {**row, "label": row["series"].capitalize()} for row in rows}
    base = _chart(rows).encode(x=x, color=color)
    bars = base.transform_filter("isValid(datum.low)").mark_rule(strokeWidth=1.5)
    return alt.layer(
        base.mark_line(strokeWidth=2).encode(y=y),
        bars.encode(y=alt.Y("low:Q"), y2="high:Q"),
        base.mark_point(filled=True, size=55, opacity=1).encode(
            y=y, shape=alt.Shape("series:N", legend=None)
        ),
        _labels(list(last.values()), align="right", baseline="bottom", dx=-8, dy=-8).encode(
            x=x, y=y, color=color
        ),
    )


def _bar(series: str, tokens: int, reading: Reading, scale: float, floor: float) -> Row:
    """A point with the ends of its interval; a bar that reaches below the axis ends there."""
    assert reading.value is not None
    return {
        "series": series,
        "tokens": tokens,
        "value": reading.value / scale,
        "low": None if reading.low is None else max(reading.low / scale, floor),
        "high": None if reading.high is None else reading.high / scale,
    }


def shares(rows: Sequence[Row], narrow: bool) -> Any:
    """One line for each model, dashed beyond its longest context, and a rule where cache and weights are equal."""
    names = list(dict.fromkeys(row["model"] for row in rows))
    data = []
    for row in rows:
        share = row["kv_cache_bytes"] / row["weights_bytes"]
        point = {"model": row["model"], "tokens": row["context_tokens"], "share": share}
        data.append({**point, "part": "within" if row["within_context"] else "beyond"})
    for name in names:  # the dashed part begins where the whole line ends
        within = [point for point in data if point["model"] == name and point["part"] == "within"]
        if within:
            data.append({**within[-1], "part": "beyond"})
    highest = 4
    x = alt.X(
        "tokens:Q",
        title="Tokens of context",
        scale=alt.Scale(type="log", nice=False),
        axis=alt.Axis(
            values=[1e3, 1e4, 1e5] if narrow else [1e3, 3e3, 1e4, 3e4, 1e5, 3e5],
            labelExpr="datum.value >= 1000 ? format(datum.value / 1000, ',d') + 'k' : datum.label",
            grid=False,
        ),
    )
    y = alt.Y(
        "share:Q",
        title="KV cache ÷ weights",
        scale=alt.Scale(type="log", domain=[0.001, highest], nice=False),
        axis=alt.Axis(values=[0.001, 0.01, 0.1, 1], format="~g"),
    )
    color = _colors("model", names)
    base = _chart(data).encode(x=x, y=y, color=color)
    # The last line has free space below it, the others above.
    labels = [
        {
            **_nearest([point for point in data if point["model"] == name], share),
            "label": name.partition("-")[0] if narrow else name,
        }
        for name, share in zip(names, [0.35, *[0.15] * (len(names) - 2), 0.008], strict=True)
    ]
    rule = _chart([{"share": 1, "label": "equal" if narrow else "as large as the weights"}]).encode(y=y)
    return alt.layer(
        rule.mark_rule(strokeDash=[2, 3], opacity=0.8),
        rule.mark_text(align="left", baseline="bottom", dy=-4, x=4).encode(text="label:N"),
        base.transform_filter("datum.part == 'within'").mark_line(strokeWidth=2, clip=True),
        base.transform_filter("datum.part == 'beyond'").mark_line(
            strokeWidth=1.5, strokeDash=[5, 4], clip=True
        ),
        _labels(labels[:-1], align="right", baseline="bottom", dx=-6, dy=-4).encode(x=x, y=y, color=color),
        _labels(labels[-1:], align="left", baseline="top", dx=6, dy=4).encode(x=x, y=y, color=color),
    )


def _nearest(line: Sequence[Row], share: float) -> Row:
    return min(line, key=lambda point: abs(float(point["share"]) - share))


def _chart(rows: Sequence[Row]) -> Any:
    return alt.Chart(alt.InlineData(values=list(rows)))


def _colors(field: str, names: Sequence[str]) -> Any:
    scale = alt.Scale(domain=list(names), range=list(SERIES[: len(names)]))
    return alt.Color(f"{field}:N", scale=scale, legend=None)


def _labels(rows: Sequence[Row], **place: Any) -> Any:
    return _chart(rows).mark_text(fontWeight="bold", **place).encode(text="label:N")


def _ticks(low: float, high: float) -> list[float]:
    """1, 2 and 5 of each decade between the ends of a logarithmic axis."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return [
        step * 10.0**decade for decade in decades for step in (1, 2, 5) if low <= step * 10.0**decade <= high
    ]
