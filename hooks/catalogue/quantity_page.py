"""The page of one number: definition, value today, every run, samples, pages that state it, history. Reads no file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from markupsafe import Markup

from hooks.catalogue import timeline
from hooks.catalogue.entries import KINDS, Entry
from hooks.catalogue.render import formula, link, quantity_path, render, run_path
from hooks.catalogue.values import Value
from hooks.data.records import Run
from hooks.markup import escaped
from hooks.numbers import formatting
from hooks.writing import provenance

ROWS = 100
"""Runs that the page lists; its files have all."""

_ELSEWHERE = {"Value", "Interval", "Formula", "Definition", "Range"}
"""Rows of the popover that the page shows in places of their own."""


@dataclass(frozen=True)
class Series:
    """Runs that may be compared over time: one model in one form on one machine."""

    label: str
    machine: str


@dataclass(frozen=True)
class Link:
    """Another number, where this one's page names it."""

    id: str
    title: str
    text: str
    refused: bool


def page(
    entry: Entry,
    entries: Mapping[str, Entry],
    *,
    cite: str,
    samples: int,
    comes_from: Mapping[str, str],
    titles: Mapping[str, str],
    of: Comparable,
) -> str:
    """The content of the page.

    Args:
        entry: The number.
        entries: All of the catalogue.
        cite: The HTML that says how to cite it.
        samples: Rows of its file of samples; 0 where there is none.
        comes_from: Titles of notes that describe how it was measured, by URI.
        titles: Titles of models, by name.
        of: The series of each run.
    """
    uri = quantity_path(entry.id)
    known = set(entries)
    groups = series(entry, of)
    stated = {run.id for run in entry.now.runs}
    drawn = [(run, value) for run, value in entry.runs if value.value is not None or value.low is not None]
    return render(
        "quantity.html",
        uri=uri,
        entry=entry,
        kind=KINDS[entry.kind],
        interval=entry.now.interval_text(),
        rows=[
            (name, _linked(name, text, entry, uri))
            for name, text in provenance.rows(entry.now)
            if name not in _ELSEWHERE
        ],
        formula=formula(entry.now.formula, known, uri) if entry.now.formula else None,
        inputs=[_link(entries[name]) for name in entry.inputs if name in entries],
        used_by=[_link(entries[name]) for name in entry.used_by if name in entries],
        parts=entry.now.parts,
        picture=Markup(_picture(entry, drawn, groups, stated, of)) if drawn else None,
        legend=[
            (Markup(timeline.marker(number, stated=False)), group, _said(drawn, group, of))
            for group, number in _legend(drawn, groups, of)
        ],
        runs=[
            (run, value, run.id in stated, _marker(run, value, groups, run.id in stated, of))
            for run, value in entry.runs[:ROWS]
        ],
        timed=entry.kind != "computed",
        titles=titles,
        count=len(entry.runs),
        samples=samples,
        comes_from=comes_from,
        cite=Markup(cite),
    )


def series(entry: Entry, of: Comparable) -> dict[Series, int]:
    """The series of a number's runs, counted from the one that most of its runs are of."""
    counts: dict[Series, int] = {}
    for run, _ in entry.runs:
        counts[of[run.id]] = counts.get(of[run.id], 0) + 1
    ordered = sorted(counts, key=lambda each: (-counts[each], each.label, each.machine))
    return {each: number for number, each in enumerate(ordered)}


Comparable = Mapping[str, Series]
"""Each run's series, by the run's id."""


def series_of(run: Run, titles: Mapping[str, str]) -> Series:
    """What a run's numbers may be compared with over time."""
    model = run.record["model"]
    program = f", imported from {run.program}" if run.program else ""
    return Series(
        f"{titles.get(run.model, run.model)}, {run.weights_in_short}, {model['dtype']}{program}",
        run.machine,
    )


def moment_s(run: Run) -> float:
    """When the run was complete, seconds since 1970."""
    return datetime.fromisoformat(run.finished_at.replace("Z", "+00:00")).timestamp()


def _picture(
    entry: Entry,
    drawn: Sequence[tuple[Run, Value]],
    groups: Mapping[Series, int],
    stated: set[str],
    of: Comparable,
) -> str:
    divide, symbol = _scale(entry, drawn)
    points = [
        timeline.Point(
            moment_s(run),
            _scaled(value.value, divide),
            _scaled(value.low, divide),
            _scaled(value.high, divide),
            groups[of[run.id]],
            run.id in stated,
        )
        for run, value in drawn
    ]
    said = (
        f"{group.label}, {group.machine}: {_said(drawn, group, of)}"
        for group, _ in _legend(drawn, groups, of)
    )
    label = f"{entry.title} in every run. {'; '.join(said)}."
    title = f"{entry.title}, {symbol}" if symbol else entry.title
    short = symbol or "ratio"
    return timeline.picture(points, title, label, timeline.WIDE, "t-wide") + timeline.picture(
        points, short, label, timeline.NARROW, "t-narrow"
    )


def _scaled(end: float | None, divide: float) -> float | None:
    return None if end is None else end / divide


def _scale(entry: Entry, drawn: Sequence[tuple[Run, Value]]) -> tuple[float, str]:
    if entry.now.show == "percent":
        return 0.01, "%"
    most = max(
        abs(end) for _, value in drawn for end in (value.value, value.low, value.high) if end is not None
    )
    return formatting.scale(most, entry.unit)


def _legend(
    drawn: Sequence[tuple[Run, Value]], groups: Mapping[Series, int], of: Comparable
) -> list[tuple[Series, int]]:
    there = {of[run.id] for run, _ in drawn}
    return [(group, number) for group, number in groups.items() if group in there and number < 4]


def _said(drawn: Sequence[tuple[Run, Value]], group: Series, of: Comparable) -> str:
    """A series in words: `3 runs, 420 ms on 2026-01-02 and 390 ms on 2026-02-03`."""
    found = [(run, value) for run, value in drawn if of[run.id] is group]
    first, last = found[-1], found[0]
    if len(found) == 1:
        return f"one run, {last[1].text}"
    if first[1].text == last[1].text:
        return f"{len(found)} runs, {first[1].text} in the first and in the last"
    if first[0].date == last[0].date:
        return f"{len(found)} runs on {last[0].date}, {first[1].text} in the first and {last[1].text} in the last"
    return f"{len(found)} runs, {first[1].text} on {first[0].date} and {last[1].text} on {last[0].date}"


def _marker(
    run: Run, value: Value, groups: Mapping[Series, int], stated: bool, of: Comparable
) -> Markup | str:
    """The look of a run's point in the picture, for its row."""
    if value.value is None:
        return ""
    return Markup(timeline.marker(groups[of[run.id]], stated=stated))


def _linked(name: str, text: str, entry: Entry, uri: str) -> Markup | str:
    """What a row of facts says: as a link, where that is a run with a page or an address."""
    if name == "Run" and text in {run.id for run in entry.now.runs}:
        return Markup(f'<a href="{link(run_path(text), uri)}">{escaped(text)}</a>')
    if name == "Address" and text.startswith(("https://", "http://")):
        return Markup(f'<a href="{escaped(text)}">{escaped(text)}</a>')
    return text


def _link(entry: Entry) -> Link:
    return Link(entry.id, entry.title, entry.now.text(), entry.now.refusal is not None)
