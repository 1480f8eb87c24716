"""The pages of numbers and runs as Markdown, written as such: there may be a thousand of them. Reads no file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from hooks.catalogue.entries import KINDS, Entry
from hooks.catalogue.run_page import EXPERIMENTS
from hooks.catalogue.values import CellValues, RunValues
from hooks.citation.citing import Citing
from hooks.data.records import Run, keys_of
from hooks.numbers.readings import cell_words
from hooks.output.markdown_form import document, escape
from hooks.writing import provenance

ROWS = 100
"""Runs that a number's page lists."""

_ELSEWHERE = {"Value", "Interval", "Definition", "Run", "Machine", "Date", "Weights"}


def quantity(entry: Entry, path: str, site: Citing, description: str) -> str:
    """A number's page: what it is, its value today, in every run, as published, and the pages that state it."""
    now = entry.now
    parts = [f"# {_line(entry.title)}", f"{_line(entry.meaning)}."]
    interval = now.interval_text()
    value = f"**{_line(now.text())}**" + (
        f" (95 % prediction interval {_line(interval)})" if interval else ""
    )
    facts = [("Today", value), ("Id", f"`{entry.id}`"), ("Kind", KINDS[entry.kind]), ("Unit", entry.unit)]
    facts += [(name, _line(text)) for name, text in provenance.rows(now) if name not in _ELSEWHERE]
    facts += [("Earlier called", ", ".join(f"`{id_}`" for id_ in entry.was))] if entry.was else []
    parts.append("\n".join(f"- {name}: {text}" for name, text in facts))
    for title, ids in (("Made of", entry.inputs), ("Used by", entry.used_by)):
        parts += [f"{title}: {', '.join(f'`{id_}`' for id_ in ids)}."] if ids else []
    if entry.runs:
        rows = (
            (run.date, run.id, run.machine, value.text, value.interval or "none", str(value.samples))
            for run, value in entry.runs[:ROWS]
        )
        head = ("Date", "Run", "Machine", "Value", "Interval", "Samples")
        parts += ["## In every run", _table(head, rows)]
    if entry.history:
        changes = (
            (each.version, each.number.alias or "", each.number.text, each.number.run or "")
            for each in entry.history
        )
        parts += ["## As published", _table(("Version", "Alias", "Value", "Run"), changes)]
    if entry.uses:
        parts += ["## Stated on", "\n".join(f"- {_line(use.title)}: {_line(use.text)}" for use in entry.uses)]
    return _document("\n\n".join(parts) + "\n", path, entry.title, description, site)


def run(of: Run, values: RunValues, path: str, site: Citing, title: str, description: str) -> str:
    """A run's page: where it was measured, every cell, refusals, and the numbers that it gives."""
    record = of.record
    facts = [
        ("Run", f"`{of.id}`"),
        ("Date", of.date),
        ("Machine", _line(of.machine)),
        ("Model", _line(f"{of.model}, {record['model']['dtype']}, {of.weights}")),
        ("Plan", _line(of.program or of.plan)),
        ("Samples", f"{values.samples}, and {values.warm_ups} warm-ups; {values.refused} refused"),
    ]
    parts = [f"# {_line(title)}", "\n".join(f"- {name}: {text}" for name, text in facts)]
    for experiment, words in EXPERIMENTS.items():
        cells = [cell for cell in values.cells if cell.cell[0] == experiment]
        if cells:
            parts += [f"## {_line(words)}", _table(*_cells(cells))]
    if values.refusals:
        reasons = (
            f"- {each.count}: {each.kind.replace('_', ' ')}, {_line(each.reason)}" for each in values.refusals
        )
        parts += ["## Refused", "\n".join(reasons)]
    numbers = "\n".join(
        f"| `{id_}` | {_cell(value.text)} | {_cell(value.interval or 'none')} |"
        for id_, value in values.quantities.items()
    )
    parts += ["## Numbers", f"{_table(('Quantity', 'Value', 'Interval'), ())}\n{numbers}"]
    return _document("\n\n".join(parts) + "\n", path, title, description, site)


def _cells(cells: Sequence[CellValues]) -> tuple[Sequence[str], Iterator[Sequence[str]]]:
    fields = list(dict.fromkeys(name for cell in cells for name in cell.values))
    rows = (
        (
            cell_words(keys_of(cell.cell)),
            *(cell.values[name].text if name in cell.values else "" for name in fields),
            str(cell.counted),
            str(cell.refused),
        )
        for cell in cells
    )
    return ("Cell", *(name.replace("_", " ") for name in fields), "Samples", "Refused"), rows


def _document(content: str, path: str, title: str, description: str, site: Citing) -> str:
    name = path.rpartition("/")[2]
    return document(
        content,
        {
            "title": title,
            "description": description,
            "address": f"{site.address}{path}" if site.address else name,
            "site": site.site,
            "version": site.version,
            "licence": "CC BY 4.0",
        },
    )


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [_row(head), f"| {' | '.join(['---'] * len(head))} |", *map(_row, rows)]
    return "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(_cell, cells))} |"


def _cell(text: str) -> str:
    return escape(text.replace("\n", " "), in_table=True)


def _line(text: str) -> str:
    return escape(" ".join(text.split("\n")))
