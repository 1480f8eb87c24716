"""Sentences and tables that charts share: comparisons, what is missing, where it was measured. Draws nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hooks.charts.chart import Asked, Column
from hooks.data.records import Run
from hooks.numbers import formatting
from hooks.numbers.estimates import Estimate, through
from hooks.numbers.readings import Reading


def ratio(over: Reading, under: Reading) -> Estimate:
    """One number divided by another, process by process. Both have values."""
    assert over.estimate and under.estimate
    return through(lambda values: values["o"] / values["u"], {"o": over.estimate, "u": under.estimate})


def times(found: Estimate) -> str:
    """A ratio as people read it, rounded as its interval asks: `13.7 times`."""
    interval = found.interval
    half = (interval.high - interval.low) / 2 if interval else None
    return f"{formatting.number(found.value, '1', half=half or None, digits=None if interval else 2)} times"


def doubt(found: Estimate) -> str:
    """What must be said beside a ratio that may be 1 by chance; nothing where its interval leaves 1 out."""
    interval = found.interval
    if interval is None:
        return " (too few processes to tell such a ratio from chance)"
    if interval.low <= 1 <= interval.high:
        return ", no more than the spread between processes can explain"
    return ""


def missing(points: Iterable[tuple[str, str, Reading]]) -> str:
    """Names the points that are not drawn and why, from (series, where in it, reading); empty where all are there."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for series, where, reading in points:
        if reading.refusal:
            reasons.setdefault((series, reading.refusal.reason), []).append(where)
    parts = [f"{series} at {listed(places)} ({reason})" for (series, reason), places in reasons.items()]
    return f"Not drawn: {'; '.join(parts)}. " if parts else ""


def not_counted(readings: Iterable[Reading]) -> str:
    """Tells how many samples were refused among those behind the points; empty for none."""
    count = sum(source.refused for reading in readings if not reading.refusal for source in reading.sources)
    if not count:
        return ""
    return f"Not counted: {count:,} refused {plural('sample', count)}. "


def bars(readings: Iterable[Reading]) -> str:
    """What the bars are, or why there are none."""
    found = [reading for reading in readings if reading.value is not None]
    if any(reading.low is not None for reading in found):
        return f"Bars: 95{formatting.SPACE}% prediction interval over processes. "
    return "No intervals: fewer than 3 processes. "


def where(asked: Asked) -> str:
    """Model, weights, machine and date of the run; of an imported one also where it comes from."""
    run = asked.run
    origin = run.origin
    imported = ""
    if origin:
        version = f" {origin['version']}" if origin.get("version") else ""
        imported = (
            f"Imported from {origin['program']}{version} ({origin['file']}), not measured by this site. "
        )
    return (
        f"{imported}{asked.book.title_of(run.model)} with {run.weights}; "
        f"{formatting.unbroken(run.machine)}; {run.date}."
    )


def titled(title: str, run: Run) -> str:
    """A chart's title, which says so where its run is imported."""
    return f"{title}, imported from {run.program}" if run.program else title


def listed(items: Sequence[str]) -> str:
    """Items in a sentence: `64, 500 and 1,000`."""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"


def plural(word: str, count: int) -> str:
    """A word beside a count: `1 warm-up`, `2 warm-ups`, `3 processes`, `3 refused`."""
    if count == 1 or word.endswith("ed"):
        return word
    return f"{word}es" if word.endswith("s") else f"{word}s"


def end(reading: Reading, value: float | None, style: str = "si") -> str:
    """An end of a number's interval, rounded like the number."""
    if value is None:
        return "none"
    return formatting.number(value, reading.unit, half=reading.half or None, style=style)


def about(name: str, reading: Reading, style: str | None = None) -> str:
    """One point in a line of text, for those who point at it."""
    interval = reading.interval_text(style)
    interval = f" ({interval})" if interval else ""
    processes = f"{reading.processes} {plural('process', reading.processes)}"
    samples = f"{reading.samples} {plural('sample', reading.samples)}"
    return f"{name}: {reading.text(style)}{interval}, {processes}, {samples}"


def counts() -> tuple[Column, ...]:
    """The columns that say how well a row is founded."""
    return Column("processes", "Processes"), Column("samples", "Samples"), Column("run", "Run")


def counted(reading: Reading) -> dict[str, object]:
    """A row's cells of these columns."""
    return {"processes": reading.processes, "samples": reading.samples, "run": reading.runs[0].id}
