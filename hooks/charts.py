"""Charts by name, one function each: what is drawn, and what it shows in words. Turns none into HTML.

A chart states its finding with numbers from the same book as the text, draws the uncertainty, labels its
lines directly, and comes with the table that it draws. `hooks.figures` puts it on a page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hooks import drawings, formatting
from hooks.book import Book
from hooks.drawings import Point, Row
from hooks.errors import PublishError, nearest
from hooks.estimates import through
from hooks.readings import Reading


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
        draw=lambda narrow: drawings.lines(points, narrow, log=True),
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
        draw=lambda narrow: drawings.lines(points, narrow, log=False),
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
        draw=lambda narrow: drawings.shares(rows, narrow),
    )


CHARTS: dict[str, Callable[[Book, str], Chart]] = {
    "time-per-token": _time_per_token,
    "decode-by-depth": _decode_by_depth,
    "kv-cache-against-weights": _kv_cache_against_weights,
}
"""Every chart that a page can place."""


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


def _fact(book: Book, model: str, fact: str) -> float:
    value = book.read(f"model.{model}.{fact}").value
    assert value is not None
    return value


def _and(items: Sequence[str]) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"
