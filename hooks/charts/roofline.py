"""The roofline: measured points under the ceilings that the same run measured. Draws no roof itself."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hooks.charts import words
from hooks.charts.ceilings import as_cited, bands, roofs
from hooks.charts.ceilings import cited as cited_by
from hooks.charts.chart import NOTHING, Asked, Chart, Column
from hooks.charts.series import capital, color_of, main_of
from hooks.data.records import CELL_KEYS, Run
from hooks.drawings.drawing import Roofline
from hooks.drawings.marks import Spot
from hooks.numbers import formatting
from hooks.numbers.ceilings import Ceiling
from hooks.numbers.readings import Reading, cell_words

PHASES = ("prefill", "decode")


TITLE = "The two ceilings of this machine, and how close each phase comes"


@dataclass(frozen=True)
class Point:
    """A cell on the roofline. `intensity` is in operations for each byte; None where the rates are refused."""

    cell: Mapping[str, Any]
    rate: Reading
    intensity: float | None
    shares: Mapping[str, Reading]

    @property
    def series(self) -> str:
        """Its phase, with its mode for decode and for a faster prefill."""
        plain = self.cell["experiment"] == "prefill" and self.cell["mode"] in ("eager", "imported")
        return "prefill" if plain else f"{self.cell['experiment']}, {self.cell['mode']}"

    @property
    def nearest(self) -> tuple[str, Reading] | None:
        """The ceiling that it comes closest to, and its share of that; None where neither share is known."""
        known = [(name, share) for name, share in self.shares.items() if share.value is not None]
        return max(known, key=lambda item: item[1].value or 0, default=None)

    @property
    def tokens(self) -> int:
        """Length of the prompt, or depth."""
        return int(self.cell["prompt_tokens"] or self.cell["context_tokens"])


def roofline(asked: Asked) -> Chart:
    """Operations a second of each cell over its operations for each byte, under the run's own ceilings."""
    points = [_point(asked, cell) for cell in _cells(asked.run)]
    ceilings = asked.book.ceilings(asked.alias)
    cited = cited_by(asked)
    drawn = [point for point in points if point.intensity is not None]
    refusal = None if drawn else next((point.rate.refusal for point in points if point.rate.refusal), NOTHING)
    notes = (
        words.bars([point.rate for point in points]),
        bands(ceilings),
        "Both axes are logarithmic. Operations and bytes are counted from the model’s sizes. ",
        f"Dashed: {cited.meaning} ({as_cited(cited)}), cited and not measured. " if cited else "",
        words.missing((point.series, _where(point), point.rate) for point in points),
        words.not_counted(point.rate for point in points),
    )
    return Chart(
        name="roofline",
        title=words.titled(TITLE, asked.run),
        finding=_finding(drawn, points),
        note=("" if refusal else "".join(notes)) + words.where(asked),
        columns=(
            Column("what", "What"),
            Column("batch", "Batch"),
            Column("tokens", "Tokens"),
            Column("flop_per_byte", "Operations for each byte"),
            Column("value_flop_per_s", "Operations a second"),
            Column("low_flop_per_s", "From"),
            Column("high_flop_per_s", "To"),
            Column("value_bytes_per_s", "Bytes a second"),
            Column("low_bytes_per_s", "From"),
            Column("high_bytes_per_s", "To"),
            *words.counts(),
        ),
        rows=tuple(row for row, _ in _table(points, ceilings, cited, asked.run)),
        shown=tuple(shown for _, shown in _table(points, ceilings, cited, asked.run)),
        readings=(
            *(point.rate for point in points),
            *(share for point in points for share in point.shares.values()),
            *filter(None, [cited]),
        ),
        refusal=refusal,
        draw=lambda narrow: _draw(asked.run, drawn, ceilings, cited, narrow),
    )


def _cells(run: Run) -> list[dict[str, Any]]:
    """The planned cells of both phases: prefill by length, then each mode of decode by batch and depth."""
    cells = [
        {key: cell[key] for key in CELL_KEYS}
        for cell in run.record["plan"]["cells"]
        if cell["experiment"] in PHASES
    ]
    return sorted(
        cells,
        key=lambda cell: (
            PHASES.index(cell["experiment"]),
            cell["mode"] not in ("eager", "imported"),
            cell["batch"],
            cell["prompt_tokens"] or cell["context_tokens"],
        ),
    )


def _point(asked: Asked, cell: Mapping[str, Any]) -> Point:
    def read(field: str) -> Reading:
        return asked.book.cell(asked.alias, cell, field)

    rate, bandwidth = read("flop_per_s"), read("bytes_per_s")
    known = rate.value is not None and bandwidth.value is not None
    # Both rates are of the same windows, so the durations cancel.
    intensity = rate.value / bandwidth.value if known else None  # type: ignore[operator]
    shares = {
        "read": read("share_of_read_ceiling"),
        "arithmetic": read("share_of_flop_ceiling"),
    }
    return Point(cell, rate, intensity, shares)


def _finding(drawn: Sequence[Point], points: Sequence[Point]) -> str:
    if not drawn:
        refused = next((point.rate for point in points if point.rate.refusal), None)
        return f"There is nothing to draw: {refused.text()}." if refused else "There is nothing to draw."
    told: dict[str, list[Point]] = {}
    for series in dict.fromkeys(point.series for point in drawn):
        at_one = [point for point in drawn if point.series == series and point.cell["batch"] == 1]
        if at_one:
            tokens = main_of([point.tokens for point in at_one])
            one = next(point for point in at_one if point.tokens == tokens)
            told.setdefault(one.cell["experiment"], []).append(one)
    return " ".join(sentence for modes in told.values() for sentence in _modes(modes))


def _modes(points: Sequence[Point]) -> list[str]:
    """What the modes of a phase reach: in one sentence where they are alike in all but their shares."""
    first, nearest = points[0], [point.nearest for point in points]
    alike = {
        (point.tokens, _operations(point), each and each[0])
        for point, each in zip(points, nearest, strict=True)
    }
    if len(alike) > 1 or not nearest[0]:
        return [_reached(point) for point in points]
    shares = [
        f"{each[1].text('percent')} in {point.cell['mode']} mode"
        for point, each in zip(points, nearest, strict=True)
        if each
    ]
    return [
        f"{_does(first)}. It comes closest to the {nearest[0][0]} ceiling, of which it reaches {words.listed(shares)}."
    ]


def _reached(point: Point) -> str:
    """Which ceiling a cell comes closest to, and how close."""
    does = f"{_does(point)} in {point.cell['mode']} mode"
    if not point.nearest:
        return f"{does}. Its share of the ceilings is not known: {next(iter(point.shares.values())).text()}."
    name, share = point.nearest
    return f"{does}. It comes closest to the {name} ceiling, of which it reaches {share.text('percent')}."


def _does(point: Point) -> str:
    decode = point.cell["experiment"] == "decode"
    what = (
        f"Decode with {point.tokens:,} tokens in the cache"
        if decode
        else f"Prefill of {point.tokens:,} tokens"
    )
    return f"{what} does {_operations(point)} for each byte that it must read"


def _operations(point: Point) -> str:
    assert point.intensity is not None
    return f"{formatting.number(point.intensity, '1', digits=2)} operations"


def _where(point: Point) -> str:
    batch = f" at batch {point.cell['batch']}" if point.cell["batch"] > 1 else ""
    return f"{point.tokens:,} tokens{batch}"


Lines = list[tuple[dict[str, Any], tuple[str, ...]]]


def _table(points: Sequence[Point], ceilings: Sequence[Ceiling], cited: Reading | None, run: Run) -> Lines:
    """The rows in base units and for people: cells first, then the ceilings."""
    lines: Lines = []
    empty = dict.fromkeys(
        (
            *("batch", "tokens", "flop_per_byte", "value_flop_per_s", "low_flop_per_s", "high_flop_per_s"),
            *("value_bytes_per_s", "low_bytes_per_s", "high_bytes_per_s", "processes", "samples"),
        )
    )
    for point in points:
        rate, cell = point.rate, point.cell
        row = {"what": point.series, **empty, "batch": cell["batch"], "tokens": point.tokens}
        row |= {"flop_per_byte": point.intensity, "value_flop_per_s": rate.value, **words.counted(rate)}
        row |= {"low_flop_per_s": rate.low, "high_flop_per_s": rate.high}
        intensity = "none" if point.intensity is None else formatting.number(point.intensity, "1", digits=3)
        ends = words.end(rate, rate.low), words.end(rate, rate.high)
        shown = (
            point.series,
            str(cell["batch"]),
            f"{point.tokens:,}",
            intensity,
            rate.text(),
            *ends,
            "",
            "",
            "",
        )
        lines.append((row, (*shown, str(rate.processes), str(rate.samples), run.id)))
    for ceiling in ceilings:
        suffix = "flop_per_s" if ceiling.unit == "flop/s" else "bytes_per_s"
        middle, (low, high) = statistics.median(ceiling.values), ceiling.ends
        row = {"what": f"ceiling: {ceiling.name}", **empty, "samples": len(ceiling.values), "run": run.id}
        row |= {f"value_{suffix}": middle, f"low_{suffix}": low, f"high_{suffix}": high}
        texts = [formatting.number(value, ceiling.unit, digits=3) for value in (middle, low, high)]
        texts = [*texts, "", "", ""] if suffix == "flop_per_s" else ["", "", "", *texts]
        lines.append(
            (row, (f"ceiling: {ceiling.name}", "", "", "", *texts, "", str(len(ceiling.values)), run.id))
        )
    if cited:
        suffix = "flop_per_s" if cited.unit == "flop/s" else "bytes_per_s"
        row = {"what": f"cited: {cited.meaning}", **empty, "run": None, f"value_{suffix}": cited.value}
        texts = [as_cited(cited), "", "", "", "", ""]
        texts = texts if suffix == "flop_per_s" else ["", "", "", *texts[:3]]
        lines.append((row, (f"cited: {cited.meaning}", "", "", "", *texts, "", "", "")))
    return lines


def _draw(
    run: Run, drawn: Sequence[Point], ceilings: Sequence[Ceiling], cited: Reading | None, narrow: bool
) -> Roofline:
    rates = [point.rate.value or 0.0 for point in drawn]
    tops = [ceiling.ends[1] for ceiling in ceilings if ceiling.unit == "flop/s"]
    divide, symbol = formatting.scale(max([*rates, *tops]), "flop/s")
    seen: set[tuple[str, int]] = set()
    spots = [_spot(run, point, divide, seen) for point in drawn]
    return Roofline(spots, roofs(ceilings, cited, divide), narrow, y_title=symbol)


def _spot(run: Run, point: Point, divide: float, told: set[tuple[str, int]]) -> Spot:
    """The point as it is drawn; of several at one batch only the first has it written beside."""
    rate, batch = point.rate, point.cell["batch"]
    assert point.intensity is not None and rate.value is not None
    beside = "" if batch == 1 or (point.series, batch) in told else f"batch {batch}"
    told.add((point.series, batch))
    reached = ""
    if point.nearest:
        name, share = point.nearest
        reached = f"; {share.text('percent', 2)} of the {name} ceiling"
    return Spot(
        series=capital(point.series),
        color=color_of(run, point.cell["experiment"], point.cell["mode"]),
        x=point.intensity,
        y=rate.value / divide,
        low=None if rate.low is None else rate.low / divide,
        high=None if rate.high is None else rate.high / divide,
        about=words.about(capital(cell_words(point.cell)), rate) + reached,
        beside=beside if point.cell["experiment"] != "prefill" else "",
        below=f"{point.tokens:,}" if batch == 1 and point.series == "prefill" else "",
    )
