"""Charts by name, one function each: what is drawn, and what it shows in words. Turns none into HTML.

A chart states its finding with numbers from the same book as the text, draws the uncertainty, labels its
lines directly, and comes with the table that it draws. `hooks.figures` puts it on a page.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from hooks import formatting
from hooks.book import Book, Reading
from hooks.errors import PublishError, nearest
from hooks.estimates import through
from hooks.svg import SERIES

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Column:
    """A column of the chart's table. `key` is also the heading in the CSV, with the unit as its suffix."""

    key: str
    heading: str


@dataclass(frozen=True)
class Chart:
    """A chart, before it is a picture.

    `finding` is the text alternative; `draw` makes the Altair chart, for a narrow screen if it is told so.
    `rows` are in base units, as in the CSV; `shown` are the same rows for people.
    """

    name: str
    title: str
    finding: str
    note: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    shown: tuple[tuple[str, ...], ...]
    readings: tuple[Reading, ...]
    draw: Callable[[bool], Any]


def build(name: str, book: Book, alias: str | None) -> Chart:
    """The chart of that name, drawn from the run `alias` (the first one where it is None).

    Raises:
        PublishError: There is no such chart, or the data lack something that it draws.
    """
    if name not in CHARTS:
        raise PublishError(
            f"there is no chart `{name}`",
            expected=", ".join(CHARTS),
            found=name,
            nearest=nearest(name, CHARTS),
            mend="use a known one, or add a function to hooks/charts.py",
        )
    return CHARTS[name](book, alias or book.definitions.main)


def _time_per_token(book: Book, alias: str) -> Chart:
    prefill = book.series(alias, "prefill", "seconds_per_token", "prompt_tokens")
    decode = book.series(alias, "decode", "seconds_per_token", "context_tokens")
    points = [("prefill", *point) for point in prefill] + [("decode", *point) for point in decode]
    return Chart(
        name="time-per-token",
        title="Time per token, prefill against decode",
        finding=_compare(dict(prefill), dict(decode)),
        note=f"{_bars(points)} Time on a logarithmic scale. {_where(points)}",
        **_timed(points),
        draw=lambda narrow: _lines(points, narrow, log=True),
    )


def _decode_by_depth(book: Book, alias: str) -> Chart:
    points = [
        ("decode", depth, reading)
        for depth, reading in book.series(alias, "decode", "seconds_per_token", "context_tokens")
    ]
    first, last = points[0], points[-1]
    return Chart(
        name="decode-by-depth",
        title="Time of a decode step against the tokens already in the cache",
        finding=f"A decode step takes {first[2].text()} with {first[1]:,} tokens in the cache "
        f"and {last[2].text()} with {last[1]:,}.",
        note=f"{_bars(points)} {_where(points)}",
        **_timed(points),
        draw=lambda narrow: _lines(points, narrow, log=False),
    )


def _kv_cache_against_weights(book: Book, alias: str) -> Chart:
    models = sorted(book.store.models, key=lambda name: _fact(book, name, "parameters"))
    longest = max(_fact(book, name, "kv_equals_weights_tokens") for name in models)
    readings = tuple(
        book.read(f"model.{name}.{fact}")
        for name in models
        for fact in ("weights_bytes_16bit", "kv_bytes_per_token_16bit", "kv_equals_weights_tokens")
    )
    equal = [
        f"{book.store.models[name]['title']} at {book.read(f'model.{name}.kv_equals_weights_tokens').text()}"
        for name in models
    ]
    contexts = [2**power for power in range(9, 30) if 2**power < 2 * longest]
    rows = [
        {
            "model": book.store.models[name]["title"],
            "context_tokens": context,
            "kv_cache_bytes": context * int(_fact(book, name, "kv_bytes_per_token_16bit")),
            "weights_bytes": int(_fact(book, name, "weights_bytes_16bit")),
            "within_context": context <= _fact(book, name, "max_positions"),
        }
        for name in models
        for context in contexts
    ]
    return Chart(
        name="kv-cache-against-weights",
        title="KV cache as a share of the weights, by length of the context",
        finding=f"The KV cache grows with each token. It is as large as the weights of {_and(equal)}.",
        note="Computed from published sizes at 16 bits, batch 1. Dashed: longer than the model's own longest context.",
        columns=(
            Column("model", "Model"),
            Column("context_tokens", "Context"),
            Column("kv_cache_bytes", "KV cache"),
            Column("weights_bytes", "Weights"),
            Column("within_context", "Within the model's longest context"),
        ),
        rows=tuple(rows),
        shown=tuple(
            (
                row["model"],
                formatting.number(row["context_tokens"], "tokens", style="exact"),
                formatting.number(row["kv_cache_bytes"], "bytes"),
                formatting.number(row["weights_bytes"], "bytes"),
                "yes" if row["within_context"] else "no",
            )
            for row in rows
        ),
        readings=readings,
        draw=lambda narrow: _shares(rows, narrow),
    )


CHARTS: dict[str, Callable[[Book, str], Chart]] = {
    "time-per-token": _time_per_token,
    "decode-by-depth": _decode_by_depth,
    "kv-cache-against-weights": _kv_cache_against_weights,
}
"""Every chart that a page can place."""


Point = tuple[str, int, Reading]
"""Series, tokens, number."""


def _compare(prefill: Mapping[int, Reading], decode: Mapping[int, Reading]) -> str:
    """The finding of prefill against decode at the longest length that both have."""
    shared = [length for length in prefill if length in decode]
    pairs = [(length, prefill[length], decode[length]) for length in shared]
    pairs = [pair for pair in pairs if pair[1].estimate and pair[2].estimate]
    if not pairs:
        refused = next(reading for reading in (*prefill.values(), *decode.values()) if reading.refusal)
        return f"There is nothing to compare: {refused.text()}."
    length, first, second = next((pair for pair in pairs if pair[0] == 500), pairs[-1])
    assert first.estimate and second.estimate
    ratio = through(lambda values: values["d"] / values["p"], {"p": first.estimate, "d": second.estimate})
    interval = ratio.interval
    half = (interval.high - interval.low) / 2 if interval else None
    times = formatting.number(ratio.value, "1", half=half, digits=None if interval else 2)
    return (
        f"At {length:,} tokens a decoded token takes {second.text()} and a prefilled one {first.text()}: "
        f"{times} times as long."
    )


def _timed(points: Sequence[Point]) -> dict[str, Any]:
    """Columns, rows, shown rows and readings of a chart of times."""
    return {
        "columns": (
            Column("experiment", "Phase"),
            Column("tokens", "Tokens"),
            Column("value_s", "Time per token"),
            Column("low_s", "Interval from"),
            Column("high_s", "Interval to"),
            Column("processes", "Processes"),
            Column("samples", "Samples"),
            Column("run", "Run"),
        ),
        "rows": tuple(
            {
                "experiment": series,
                "tokens": tokens,
                "value_s": reading.value,
                "low_s": reading.low,
                "high_s": reading.high,
                "processes": reading.processes,
                "samples": reading.samples,
                "run": reading.runs[0].id,
            }
            for series, tokens, reading in points
        ),
        "shown": tuple(
            (
                series,
                formatting.number(tokens, "1", style="exact"),
                reading.text(),
                _end(reading, reading.low),
                _end(reading, reading.high),
                str(reading.processes),
                str(reading.samples),
                reading.runs[0].id,
            )
            for series, tokens, reading in points
        ),
        "readings": tuple(reading for _, _, reading in points),
    }


def _end(reading: Reading, value: float | None) -> str:
    if value is None:
        return "none"
    return formatting.number(value, reading.unit, half=reading.half or None)


def _bars(points: Iterable[Point]) -> str:
    if any(reading.low is not None for _, _, reading in points):
        return "Bars: 95 % prediction interval over processes."
    return "No intervals: fewer than 3 processes."


def _where(points: Sequence[Point]) -> str:
    run = points[0][2].runs[0]
    return f"{run.record['model']['name']} ({run.weights}), {run.machine}, {run.date}."


_AXES = {
    ("prefill", "decode"): "Tokens in the prompt or in the cache",
    ("prefill",): "Tokens in the prompt",
    ("decode",): "Tokens in the cache",
}


def _lines(points: Sequence[Point], narrow: bool, *, log: bool) -> Any:
    """Lines with points and interval bars, labelled at their last points."""
    drawn = [point for point in points if point[2].value is not None]
    values = [
        value for _, _, r in drawn for value in (r.low, r.value, r.high) if value is not None and value > 0
    ]
    if not values:
        return alt.Chart(alt.Data(values=[{}])).mark_text(text=points[0][2].text())
    scale, symbol = formatting.scale(max(values), "s")
    rows = [
        {
            "series": series,
            "tokens": tokens,
            "value": reading.value / scale,
            # A bar that reaches below zero has no place on a logarithmic axis.
            "low": max(reading.low, min(values) / 2 if log else 0) / scale
            if reading.low is not None
            else None,
            "high": reading.high / scale if reading.high is not None else None,
        }
        for series, tokens, reading in drawn
        if reading.value is not None
    ]
    names = list(dict.fromkeys(series for series, _, _ in drawn))
    ticks = sorted({row["tokens"] for row in rows})
    if narrow:
        ticks = [tick for index, tick in enumerate(ticks) if index in (0, len(ticks) // 2, len(ticks) - 1)]
    x = alt.X(
        "tokens:Q",
        title="Tokens in the prompt (prefill) or the cache (decode)"
        if len(names) > 1
        else "Tokens in the cache",
        scale=alt.Scale(domain=[0, max(ticks) * 1.04], nice=False),
        axis=alt.Axis(values=ticks, grid=False, format=",d", labelOverlap="greedy"),
    )
    domain = (
        [min(values) / scale / 1.6, max(values) / scale * 1.9] if log else [0, max(values) / scale * 1.15]
    )
    y = alt.Y(
        "value:Q",
        title=f"{symbol} per token",
        scale=alt.Scale(type="log" if log else "linear", domain=domain, nice=False),
        axis=alt.Axis(values=_ticks(*domain), format="~r") if log else alt.Axis(tickCount=4, format="~r"),
    )
    color = alt.Color(
        "series:N", scale=alt.Scale(domain=names, range=list(SERIES[: len(names)])), legend=None
    )
    base = alt.Chart(alt.Data(values=rows)).encode(x=x, color=color)
    ends = [
        max((row for row in rows if row["series"] == name), key=lambda row: row["tokens"]) for name in names
    ]
    labels = [{**row, "label": row["series"].capitalize()} for row in ends]
    return alt.layer(
        base.mark_line(strokeWidth=2).encode(y=y),
        base.transform_filter("isValid(datum.low)")
        .mark_rule(strokeWidth=1.5)
        .encode(y=alt.Y("low:Q"), y2="high:Q"),
        base.mark_point(filled=True, size=55, opacity=1).encode(
            y=y, shape=alt.Shape("series:N", legend=None)
        ),
        _labels(labels, align="right", baseline="bottom", dy=-12).encode(x=x, y=y, color=color),
    )


def _shares(rows: Sequence[Row], narrow: bool) -> Any:
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
    color = alt.Color("model:N", scale=alt.Scale(domain=names, range=list(SERIES[: len(names)])), legend=None)
    base = alt.Chart(alt.Data(values=data)).encode(x=x, y=y, color=color)
    # The last line has free space below it, the others above.
    labels = [
        {
            **min(
                (point for point in data if point["model"] == name),
                key=lambda point: abs(point["share"] - share),
            ),
            "label": name.partition("-")[0] if narrow else name,
        }
        for name, share in zip(names, [*[0.15] * (len(names) - 1), 0.008], strict=True)
    ]
    rule = alt.Chart(alt.Data(values=[{"share": 1, "label": "as large as the weights"}])).encode(y=y)
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


def _labels(rows: Sequence[Row], **place: Any) -> Any:
    return alt.Chart(alt.Data(values=rows)).mark_text(fontWeight="bold", **place).encode(text="label:N")


def _ticks(low: float, high: float) -> list[float]:
    """1, 2 and 5 of each decade between the ends of a logarithmic axis."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return [
        step * 10.0**decade for decade in decades for step in (1, 2, 5) if low <= step * 10.0**decade <= high
    ]


def _fact(book: Book, model: str, fact: str) -> float:
    value = book.read(f"model.{model}.{fact}").value
    assert value is not None
    return value


def _and(items: Sequence[str]) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"
