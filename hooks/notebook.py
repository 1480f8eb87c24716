"""What a notebook's cells import: the site's samples, runs, quantities and charts. Changes nothing.

    from hooks.notebook import samples, run, quantity, chart

It reads the folder and the quantities that the build reads (SPLICED_SITE_DATA and SPLICED_QUANTITIES); in an
editor, where nothing sets them, those of the repository that the notebook lies in. What the cells ask for is noted, so
that a build executes a notebook again when that has changed, and only then.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import tostring

import pandas as pd

from hooks import charts
from hooks.caching import opened, quantiles, reads
from hooks.caching.cache import Cache, file_digest
from hooks.data import store
from hooks.data.records import CELL_KEYS, Record, Refusal, Sample
from hooks.numbers import formatting, quantities
from hooks.numbers.book import Book
from hooks.numbers.readings import Reading
from hooks.pictures import explorer, figures, svg
from hooks.writing import provenance
from hooks.writing.pages import PageState

__all__ = ["chart", "picture", "quantity", "run", "samples"]

pd.set_option("display.max_colwidth", None)  # a table on a page keeps its texts whole

SEEN: opened.Seen = {}
"""What the cells have asked for so far."""


@dataclass(frozen=True)
class Quantity:
    """A number for a cell: compute with `value`, `low` and `high` (in `unit`); shown last, it prints its text."""

    reading: Reading
    label: str | None = None

    @property
    def value(self) -> float | None:
        """The value in `unit`; None for a refusal and a range."""
        return self.reading.value

    @property
    def low(self) -> float | None:
        """Lower end of the interval or range, in `unit`; None where there is none."""
        return self.reading.low

    @property
    def high(self) -> float | None:
        """Upper end of the interval or range, in `unit`; None where there is none."""
        return self.reading.high

    @property
    def unit(self) -> str:
        """The unit, before any prefix."""
        return self.reading.unit

    def __str__(self) -> str:
        return self.reading.text()

    def __repr__(self) -> str:
        return f"{self.reading.id} = {self.reading.text()}"

    def _repr_html_(self) -> str:
        made = provenance.number(
            self.reading, PageState("notebook"), style=None, digits=None, label=self.label, popover=False
        )
        for item in made.iter():
            item.attrib.pop("id", None)
        return f"<p>{tostring(made, encoding='unicode', method='html')}</p>"


@dataclass(frozen=True)
class Figure:
    """A chart for a cell; shown last, it is the same figure as on other pages."""

    name: str
    html: str

    def __repr__(self) -> str:
        return f"chart {self.name}"

    def _repr_html_(self) -> str:
        return self.html


def samples(alias: str | None = None, **cells: str | int | None) -> pd.DataFrame:
    """Samples of the run that the alias stands for, warm-ups and refused ones too, in the order taken.

    Args:
        alias: The run; the first alias where it is None.
        **cells: Values of `experiment`, `batch`, `prompt_tokens`, `context_tokens`, `dtype` or `mode` that the samples
            must have. A notebook that asks for fewer is executed again less often.

    Returns:
        Columns are the fields of a sample in site_data/schema.json (seconds, bytes, joules), and `round`, by
        which processes are counted. A refusal is its kind, or missing.
    """
    unknown = set(cells) - set(CELL_KEYS)
    if unknown:
        raise TypeError(f"samples() takes {', '.join(CELL_KEYS)}, and not {', '.join(sorted(unknown))}")
    names = [item.name for item in fields(Sample)]
    found = reads.note_samples(SEEN, _book(), alias, cells)
    columns = {name: [_plain(getattr(sample, name)) for sample in found] for name in names}
    return pd.DataFrame(columns, columns=names)


def _plain(value: Any) -> Any:
    return value.kind if isinstance(value, Refusal) else value


def run(alias: str | None = None) -> pd.DataFrame:
    """The run's provenance in words: one row a fact."""
    found = reads.note_record(SEEN, _book(), alias)
    record = found.record
    facts = {
        "Run": found.id,
        "Finished": found.finished_at,
        "Machine": found.machine,
        "Model": record["model"]["name"],
        "Weights": found.weights,
        "Element type": record["model"]["dtype"],
        "Plan": found.plan,
        "Processes": len({process["round"] for process in record["processes"]}),
        "Samples": record["samples"],
        "Energy meter": _meter(record["meter"]),
        "Software": ", ".join(f"{name} {version}" for name, version in record["software"].items() if version),
    }
    return pd.DataFrame({"Value": map(str, facts.values())}, index=list(facts))


def _meter(meter: Record) -> str:
    """What metered the run's energy, or why nothing did."""
    if meter["refusal"]:
        return f"none: {meter['refusal']['reason']}"
    words = [str(meter["kind"])]
    if meter.get("tick_s"):
        words.append(f"a reading every {formatting.number(meter['tick_s'], 's')}")
    if meter.get("gain_error_share"):
        off = formatting.number(meter["gain_error_share"], "1", digits=1, style="percent")
        words.append(f"all readings may be off together by {off}")
    if meter.get("second_reading"):
        words.append(f"second reading: {meter['second_reading']}")
    return "; ".join(words)


def quantity(id_: str, alias: str | None = None) -> Quantity:
    """A number of docs/quantities.toml, a model fact or a cited value, as pages state it.

    Raises:
        PublishError: As on a page: the id is unknown, or has neither samples nor a refusal.
    """
    book = _book()
    reading = reads.note_call(SEEN, book, "read", id_, alias)
    return Quantity(reading, provenance.label(reading, book.definitions.main))


def chart(name: str, alias: str | None = None, **options: str) -> Figure:
    """A chart by name, with its options. Prefer a chart placeholder in a Markdown cell: it also publishes the CSV."""
    return _figure(charts.build(name, reads.watched(_book(), SEEN), alias, options))


def picture(drawing: Any, *, name: str, title: str, finding: str, table: pd.DataFrame) -> Figure:
    """A notebook's own Altair chart as a figure like all others, with the table that it draws inside.

    `finding` says in a sentence what the chart shows. Column names are the headings, and carry the units.
    """
    columns = tuple(charts.Column(str(column), str(column)) for column in table.columns)
    rows = tuple(
        dict(zip(map(str, table.columns), row, strict=True)) for row in table.itertuples(index=False)
    )
    made = charts.Chart(
        name=name,
        title=title,
        finding=formatting.unbroken(finding),
        note="",
        columns=columns,
        rows=rows,
        shown=tuple(tuple(map(str, row.values())) for row in rows),
        readings=(),
        draw=lambda narrow: drawing,
        key=name,
    )
    return _figure(made)


_shown: Counter[str] = Counter()
"""How often this notebook has shown each chart in a cell."""


def _figure(made: charts.Chart) -> Figure:
    """The figure, with its data inside: a cell cannot write files into the site."""
    name = f"cell-{made.name}"
    _shown[name] += 1
    html = figures.figure(
        replace(made, name=name),
        figures.specifications(made),
        "",
        occurrence=_shown[name],
        csv=figures.csv_inside(made),
        explore=explorer.LATER if _in_build() else None,
        picture=svg.slot if _in_build() else svg.render,
    )
    return Figure(made.name, html.replace(f'data-chart="{name}"', f'data-chart="{made.name}"', 1))


def _in_build() -> bool:
    """In a build the pictures are painted by the build, which has a painter already and keeps pictures."""
    return bool(os.environ.get("SPLICED_SITE_DATA"))


def _book() -> Book:
    data: Any = os.environ.get("SPLICED_SITE_DATA")
    listed: Any = os.environ.get("SPLICED_QUANTITIES")
    if not data or not listed:
        root = next(folder for folder in Path.cwd().resolve().parents if (folder / "site_data").is_dir())
        data, listed = data or root / "site_data", listed or root / "docs/quantities.toml"
    with opened.unwatched():
        return _opened_book(Path(data), Path(listed))


_books: dict[tuple[int, str | None], Book] = {}


def _opened_book(data: Path, listed: Path) -> Book:
    """The book, opened again only where a file of it has changed."""
    folder = os.environ.get("SPLICED_CACHE")
    kept = Cache(Path(folder)) if folder else None
    read = store.load_cached(data, kept)
    key = id(read), file_digest(listed)
    if key not in _books:
        if kept is not None:
            quantiles.recall(kept)
        _books.clear()
        _books[key] = Book(read, quantities.read(listed))
    return _books[key]
