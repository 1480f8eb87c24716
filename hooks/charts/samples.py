"""The chart of every raw sample behind one number: what counts, warm-ups, refused ones. Draws no points itself."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

from hooks.charts import words
from hooks.charts.chart import NOTHING, Asked, Chart, Column
from hooks.data.records import Sample
from hooks.drawings.drawing import Strip
from hooks.drawings.marks import Dot
from hooks.errors import PublishError, nearest
from hooks.numbers import formatting
from hooks.numbers.definitions import Measured
from hooks.numbers.fields import FIELDS, Idle
from hooks.numbers.readings import Reading

DEFAULT = "decode.seconds_per_token"
"""The number whose samples are drawn where a page names none."""

COUNTED, WARM_UP, REFUSED = "counted", "warm-up", "refused"

_SUFFIX = {"1": "", "s": "_s", "J": "_joules", "W": "_watts", "bytes": "_bytes", "bytes/s": "_bytes_per_s"}


TITLE = "Every sample"


@dataclass(frozen=True)
class Shot:
    """One sample as it is drawn: its value, also where it does not count, and why it does not."""

    process: int
    place: int
    value: float | None
    state: str
    reason: str = ""


def samples(asked: Asked) -> Chart:
    """Every sample of the cell behind the number `of`, by process, in the order in which they were taken."""
    id_ = asked.options.get("of", DEFAULT)
    reading = asked.book.read(id_, asked.alias)
    wanted = _measured(asked, id_)
    shots = _shots(asked, wanted, reading)
    drawn = [shot for shot in shots if shot.value is not None]
    unit, suffix = reading.unit, _SUFFIX.get(reading.unit, "_flop_per_s")
    return Chart(
        name="samples",
        title=words.titled(f"{TITLE}: {reading.title}", asked.run),
        finding=_finding(shots, reading),
        note=("" if not drawn else _note(shots, reading)) + words.where(asked),
        columns=(
            Column("process", "Process"),
            Column("sample", "Sample"),
            Column("state", "State"),
            Column(f"value{suffix}", reading.title),
            Column("reason", "Why it does not count"),
            Column("run", "Run"),
        ),
        rows=tuple(
            {
                "process": shot.process,
                "sample": shot.place,
                "state": shot.state,
                f"value{suffix}": shot.value,
                "reason": shot.reason,
                "run": asked.run.id,
            }
            for shot in shots
        ),
        shown=tuple(
            (
                str(shot.process),
                str(shot.place),
                shot.state,
                "none" if shot.value is None else _text(shot.value, unit),
                shot.reason,
                asked.run.id,
            )
            for shot in shots
        ),
        readings=(reading,),
        refusal=None if drawn else reading.refusal or NOTHING,
        draw=lambda narrow: _draw(drawn, reading, narrow),
    )


def _measured(asked: Asked, id_: str) -> Measured:
    definition = asked.book.definitions.quantities.get(id_)
    if definition is None or definition.measured is None or definition.measured.over is not None:
        known = [
            name
            for name, each in asked.book.definitions.quantities.items()
            if each.measured is not None and each.measured.over is None
        ]
        raise PublishError(
            f"the chart `samples` cannot draw `{id_}`",
            expected="of=ID with a quantity that is measured in one cell",
            found="a number that has no samples of its own",
            nearest=nearest(id_, known),
            mend="name one of the measured numbers that it comes from",
        )
    return definition.measured


def _shots(asked: Asked, wanted: Measured, reading: Reading) -> list[Shot]:
    cell = reading.sources[0].cell if reading.sources else None
    idle = asked.book.idle(asked.alias)
    taken: dict[int, int] = {}
    found = []
    for sample in asked.book.samples(asked.alias, cell) if cell else ():
        # Processes are told as the site counts them, and from 1.
        process = sample.round + 1
        taken[process] = taken.get(process, 0) + 1
        found.append(_shot(sample, process, taken[process], wanted.field, idle))
    return found


def _shot(sample: Sample, process: int, place: int, field: str, idle: Idle) -> Shot:
    counts, refusal = FIELDS[field].read(sample, idle)
    bare = FIELDS[field].read(replace(sample, refusal=None), idle)[0]
    if sample.warm_up:
        return Shot(process, place, bare, WARM_UP, refusal.reason if refusal else "not yet steady")
    if counts is None:
        return Shot(process, place, bare, REFUSED, refusal.reason if refusal else "")
    return Shot(process, place, counts, COUNTED)


def _finding(shots: Sequence[Shot], reading: Reading) -> str:
    by_process: dict[int, list[float]] = {}
    for shot in shots:
        if shot.state == COUNTED and shot.value is not None:
            by_process.setdefault(shot.process, []).append(shot.value)
    if not by_process:
        return f"No sample counts: {reading.text()}."
    medians = [statistics.median(values) for values in by_process.values()]
    spreads = [(max(values) - min(values)) / statistics.median(values) for values in by_process.values()]
    between = (max(medians) - min(medians)) / statistics.median(medians)
    count = sum(map(len, by_process.values()))
    text = (
        f"{count} {words.plural('sample', count)} of {len(by_process)} {words.plural('process', len(by_process))} "
        f"count; their median is {reading.text()}. "
        f"Within a process they differ by up to {_share(statistics.median(spreads))} (in the middle process)"
    )
    if len(medians) > 1:
        text += f", and the processes’ medians by up to {_share(between)}"
    numbers = {state: sum(shot.state == state for shot in shots) for state in (WARM_UP, REFUSED)}
    aside = [f"{number} {words.plural(state, number)}" for state, number in numbers.items() if number]
    return f"{text}. Not counted: {words.listed(aside)}." if aside else f"{text}."


def _share(value: float) -> str:
    return formatting.number(value, "1", digits=2, style="percent")


def _text(value: float, unit: str) -> str:
    return formatting.number(value, unit, digits=4)


def _note(shots: Sequence[Shot], reading: Reading) -> str:
    low, high = window(shots, reading)
    outside = [shot for shot in shots if shot.value is not None and not low <= shot.value <= high]
    text = "Filled: counts. Hollow: warm-up. Cross: refused. Bars: medians of the processes. "
    if reading.low is not None:
        text += f"Band: 95{formatting.SPACE}% prediction interval for the median of one more process. "
    text += "The axis does not begin at zero. "
    if outside:
        values = [shot.value for shot in outside if shot.value is not None]
        is_, lies = ("is", "lies") if len(outside) == 1 else ("are", "lie")
        text += (
            f"{len(outside)} {words.plural('sample', len(outside))} {lies} outside of the picture, up to "
            f"{_text(max(values), reading.unit)}, and {is_} drawn at its edge. "
        )
    silent = sum(shot.value is None for shot in shots)
    return text + (f"Not drawn: {silent} without a value, which the table has. " if silent else "")


def window(shots: Sequence[Shot], reading: Reading) -> tuple[float, float]:
    """The ends of the value axis: all that counts and the interval, with room; what lies far out is left out."""
    core = [shot.value for shot in shots if shot.state == COUNTED and shot.value is not None]
    core = core or [shot.value for shot in shots if shot.value is not None]
    core += [end for end in (reading.low, reading.high) if end is not None]
    low, high = min(core), max(core)
    room = 0.25 * (high - low) or 0.02 * abs(high) or 1.0
    return low - room, high + room


def _draw(shots: Sequence[Shot], reading: Reading, narrow: bool) -> Strip:
    low, high = window(shots, reading)
    divide, symbol = formatting.scale(high, reading.unit)
    last = {
        process: max(shot.place for shot in shots if shot.process == process)
        for process in {s.process for s in shots}
    }
    dots = []
    for shot in shots:
        assert shot.value is not None
        place = shot.process + 0.8 * (shot.place / (last[shot.process] + 1) - 0.5)
        about = (
            f"Process {shot.process}, sample {shot.place}: {_text(shot.value, reading.unit)}, {shot.state}"
        )
        outside = "high" if shot.value > high else "low" if shot.value < low else ""
        shown = min(max(shot.value, low), high) / divide
        dots.append(Dot(place, shown, about, shot.state, shot.process, outside))
    medians = [
        (process, statistics.median(values) / divide)
        for process in sorted({shot.process for shot in shots})
        if (
            values := [
                s.value for s in shots if s.process == process and s.state == COUNTED and s.value is not None
            ]
        )
    ]
    band = (
        None if reading.low is None or reading.high is None else (reading.low / divide, reading.high / divide)
    )
    return Strip(
        dots,
        medians,
        band,
        narrow,
        domain=(low / divide, high / divide),
        y_title=symbol or reading.title,
    )
