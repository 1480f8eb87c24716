"""Charts of what a token takes over the length of prompt or context: time, and energy. Draws no lines itself."""

from __future__ import annotations

from collections.abc import Sequence

from hooks.charts import words
from hooks.charts.chart import NOTHING, Asked, Chart, Column
from hooks.charts.series import Series, axis_title, decode, main_of, prefill, scale
from hooks.drawings.drawing import Lines
from hooks.numbers import formatting

TIME = "Time per token, prefill against decode"
ENERGY = "Energy per token, prefill against decode"
DEPTH = "Time of a decode step against the tokens already in the cache"


def time_per_token(asked: Asked) -> Chart:
    """Time per token of prefill and of plain decode, by length."""
    both = [prefill(asked, "seconds_per_token"), _plain(asked, "seconds_per_token")]
    return _chart(
        asked,
        both,
        name="time-per-token",
        title=TIME,
        finding=_compare(both, "as long"),
        column=Column("value_s", "Time per token"),
        log=True,
    )


def energy_per_token(asked: Asked) -> Chart:
    """Gross energy per token of prefill and of plain decode, by length."""
    both = [prefill(asked, "joules_per_token"), _plain(asked, "joules_per_token")]
    gain = asked.run.record["meter"].get("gain_error_share")
    return _chart(
        asked,
        both,
        name="energy-per-token",
        title=ENERGY,
        finding=_compare(both, "as much energy"),
        column=Column("value_joules", "Energy per token"),
        log=True,
        note="Gross energy, idle draw included. "
        + (
            f"All may be off together by {formatting.number(gain, '1', digits=1, style='percent')}. "
            if gain
            else ""
        ),
    )


def decode_by_depth(asked: Asked) -> Chart:
    """Time of a decode step in each mode, by tokens in the cache."""
    series = decode(asked, "seconds_per_token")
    return _chart(
        asked,
        series,
        name="decode-by-depth",
        title=DEPTH,
        finding=" ".join(map(_growth, series)),
        column=Column("value_s", "Time per token"),
        log=False,
    )


def _plain(asked: Asked, field: str) -> Series:
    first = decode(asked, field)[0]
    return Series("decode", first.color, first.points)


def _chart(
    asked: Asked,
    series: Sequence[Series],
    *,
    name: str,
    title: str,
    finding: str,
    column: Column,
    log: bool,
    note: str = "",
) -> Chart:
    points = [(line.name, tokens, reading) for line in series for tokens, reading in line.points]
    readings = tuple(reading for _, _, reading in points)
    refusal = (
        None
        if any(line.good for line in series)
        else next((r.refusal for r in readings if r.refusal), NOTHING)
    )
    suffix = column.key.removeprefix("value")
    notes = (
        words.bars(readings),
        "Logarithmic scale. " if log else "",
        note,
        words.missing((line, f"{tokens:,} tokens", reading) for line, tokens, reading in points),
        words.not_counted(readings),
    )
    return Chart(
        name=name,
        title=words.titled(title, asked.run),
        finding=finding,
        note=("" if refusal else "".join(notes)) + words.where(asked),
        columns=(
            Column("experiment", "Phase"),
            Column("tokens", "Tokens"),
            column,
            Column(f"low{suffix}", "Interval from"),
            Column(f"high{suffix}", "Interval to"),
            *words.counts(),
        ),
        rows=tuple(
            {
                "experiment": line,
                "tokens": tokens,
                column.key: reading.value,
                f"low{suffix}": reading.low,
                f"high{suffix}": reading.high,
                **words.counted(reading),
            }
            for line, tokens, reading in points
        ),
        shown=tuple(
            (
                line,
                formatting.number(tokens, "1", style="exact"),
                reading.text(),
                words.end(reading, reading.low),
                words.end(reading, reading.high),
                str(reading.processes),
                str(reading.samples),
                reading.runs[0].id,
            )
            for line, tokens, reading in points
        ),
        readings=readings,
        refusal=refusal,
        draw=lambda narrow: _draw(series, narrow, log),
    )


def _draw(series: Sequence[Series], narrow: bool, log: bool) -> Lines:
    drawn = [line for line in series if line.good]
    divide, symbol = scale([reading for line in drawn for reading in line.good.values()])
    return Lines(
        [line.line(divide) for line in drawn],
        narrow,
        x_title=axis_title(drawn),
        y_title=f"{symbol} per token",
        log=log,
    )


def _compare(series: Sequence[Series], as_much: str) -> str:
    """The finding of prefill against decode: at 500 tokens, or at the greatest length that both have."""
    first, second = series
    shared = [tokens for tokens in first.good if tokens in second.good]
    if not shared:
        return " ".join(dict.fromkeys(map(_alone, series)))
    tokens = main_of(shared)
    under, over = first.good[tokens], second.good[tokens]
    found = words.ratio(over, under)
    return (
        f"At {tokens:,} tokens a decoded token takes {over.text()} and a prefilled one {under.text()}: "
        f"{words.times(found)} {as_much}{words.doubt(found)}."
    )


def _alone(series: Series) -> str:
    """What there is of a series that has nothing to be compared with."""
    if not series.good:
        refused = next((reading for _, reading in series.points if reading.refusal), None)
        return f"There is nothing to compare: {refused.text()}." if refused else series.nothing()
    tokens = main_of(list(series.good))
    what = "prefilled" if series.name == "prefill" else "decoded"
    return f"At {tokens:,} tokens a {what} token takes {series.good[tokens].text()}."


def _growth(series: Series) -> str:
    """The finding of one line over its depths."""
    if not series.good:
        return series.nothing()
    mode = series.name.removeprefix("decode").removeprefix(", ")
    step = f"A decode step in {mode} mode" if mode else "A decode step"
    (shallow, first), *_ = sorted(series.good.items())
    deep, last = max(series.good.items())
    if shallow == deep:
        return f"{step} takes {first.text()} with {shallow:,} tokens in the cache."
    found = words.ratio(last, first)
    return (
        f"{step} takes {first.text()} with {shallow:,} tokens in the cache and {last.text()} "
        f"with {deep:,}: {words.times(found)} as long{words.doubt(found)}."
    )
