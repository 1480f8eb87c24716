"""The chart of the modes of decode: how close each comes to the read bandwidth measured beside it. Draws no lines."""

from __future__ import annotations

from collections.abc import Sequence

from hooks.charts import words
from hooks.charts.chart import NOTHING, Asked, Chart, Column
from hooks.charts.series import Series, axis_title, capital, decode, main_of
from hooks.drawings.drawing import Lines
from hooks.numbers import formatting

PERCENT = 0.01


TITLE = "How close decode comes to the read bandwidth"


def decode_modes(asked: Asked) -> Chart:
    """The share of the read ceiling that each mode of decode reaches, by tokens in the cache, with its time."""
    shares = decode(asked, "share_of_read_ceiling")
    times = decode(asked, "seconds_per_token")
    points = [
        (share.name, tokens, reading, dict(time.points)[tokens])
        for share, time in zip(shares, times, strict=True)
        for tokens, reading in share.points
    ]
    readings = [reading for _, _, reading, _ in points]
    refusal = (
        None
        if any(line.good for line in shares)
        else next((r.refusal for r in readings if r.refusal), NOTHING)
    )
    notes = (
        words.bars(readings),
        "The ceiling is the read bandwidth probed right before and right after each sample. ",
        words.missing((line, f"{tokens:,} tokens", share) for line, tokens, share, _ in points),
        words.not_counted(readings),
    )
    return Chart(
        name="decode-modes",
        title=words.titled(TITLE, asked.run),
        finding=" ".join(_reached(shares, times)),
        note=("" if refusal else "".join(notes)) + words.where(asked),
        columns=(
            Column("experiment", "Mode"),
            Column("context_tokens", "Tokens in the cache"),
            Column("share_of_ceiling", "Share of the read ceiling"),
            Column("low", "Interval from"),
            Column("high", "Interval to"),
            Column("time_s", "Time per token"),
            Column("time_low_s", "Interval from"),
            Column("time_high_s", "Interval to"),
            *words.counts(),
        ),
        rows=tuple(
            {
                "experiment": line,
                "context_tokens": tokens,
                "share_of_ceiling": share.value,
                "low": share.low,
                "high": share.high,
                "time_s": time.value,
                "time_low_s": time.low,
                "time_high_s": time.high,
                **words.counted(share),
            }
            for line, tokens, share, time in points
        ),
        shown=tuple(
            (
                line,
                formatting.number(tokens, "1", style="exact"),
                share.text("percent"),
                words.end(share, share.low, "percent"),
                words.end(share, share.high, "percent"),
                time.text(),
                words.end(time, time.low),
                words.end(time, time.high),
                str(share.processes),
                str(share.samples),
                share.runs[0].id,
            )
            for line, tokens, share, time in points
        ),
        readings=tuple(reading for _, _, share, time in points for reading in (share, time)),
        refusal=refusal,
        draw=lambda narrow: _draw(shares, narrow),
    )


def _reached(shares: Sequence[Series], times: Sequence[Series]) -> list[str]:
    """The finding: what each mode reaches and takes at one depth, and the ratio of the times of two."""
    known = [tokens for tokens in shares[0].good if all(tokens in line.good for line in [*shares, *times])]
    if not known:
        return [_alone(share) for share in shares]
    tokens = main_of(known)
    told = [
        f"{_step(share.name)} takes {time.good[tokens].text()} and reaches "
        f"{share.good[tokens].text('percent')} of the read bandwidth measured beside it."
        for share, time in zip(shares, times, strict=True)
    ]
    told[0] = f"With {tokens:,} tokens in the cache, {told[0][0].lower()}{told[0][1:]}"
    for other in times[1:]:
        found = words.ratio(times[0].good[tokens], other.good[tokens])
        told.append(
            f"{capital(_mode(times[0].name))} takes {words.times(found)} as long as "
            f"{_mode(other.name)}{words.doubt(found)}."
        )
    return told


def _alone(share: Series) -> str:
    """What there is of a mode that cannot be set beside the others."""
    if not share.good:
        return share.nothing()
    tokens = main_of(list(share.good))
    step, reached = _step(share.name), share.good[tokens].text("percent")
    return f"With {tokens:,} tokens in the cache, {step[0].lower()}{step[1:]} reaches {reached}."


def _mode(name: str) -> str:
    return name.removeprefix("decode").removeprefix(", ") or "decode"


def _step(name: str) -> str:
    mode = name.removeprefix("decode").removeprefix(", ")
    return f"A step in {mode} mode" if mode else "A decode step"


def _draw(shares: Sequence[Series], narrow: bool) -> Lines:
    drawn = [line for line in shares if line.good]
    return Lines(
        [line.line(PERCENT, "percent") for line in drawn],
        narrow,
        x_title=axis_title(drawn),
        y_title="% of the read ceiling" if narrow else "% of the read ceiling measured beside it",
        limit=(100, "all of it"),
    )
