"""What a chart is before it is a picture: words, table, and how it is drawn. Knows no chart by name, writes no HTML."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hooks.data.records import Refusal, Run
from hooks.drawings.marks import Row
from hooks.numbers.book import Book
from hooks.numbers.readings import Reading


@dataclass(frozen=True)
class Column:
    """A column of the chart's table. `key` is also the heading in the CSV, with the unit as its suffix."""

    key: str
    heading: str


@dataclass(frozen=True)
class Chart:
    """A chart, before it is a picture.

    `finding` is the text alternative. `draw` makes the drawing, for a narrow screen if it is told so; of a
    notebook's own chart it is an Altair chart. It is not called where `refusal` says why there is nothing to draw.
    `rows` are in base units, as in the CSV; `shown` are the same rows for people. `key` is the name with the
    options that it was asked for, and names its files.
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
    refusal: Refusal | None = None
    key: str = ""


NOTHING = Refusal("unavailable", "this run measured nothing that the chart draws")
"""Why there is nothing to draw from a run that has no cell of a chart, and no refusal either."""


@dataclass(frozen=True)
class Asked:
    """What a page asked of a chart: the run, and options by name."""

    book: Book
    alias: str
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def run(self) -> Run:
        """The run that the chart is drawn from."""
        return self.book.run(self.alias)


@dataclass(frozen=True)
class Kind:
    """A chart that a page can place: the function that makes it, its title, and the options it takes beside `run`."""

    make: Callable[[Asked], Chart]
    title: str
    options: tuple[str, ...] = ()
    of_run: bool = True
