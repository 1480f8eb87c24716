"""Charts as figures on a page: picture, caption, table, link to the data. Draws nothing.

The picture comes twice, for wide and for narrow screens, since text in a scaled picture would not read; the
style sheet shows one. docs/reference/html.md is the contract.
"""

from __future__ import annotations

import csv
import hashlib
import io
import posixpath
from collections.abc import Callable

from hooks import svg
from hooks.charts import Chart
from hooks.markup import escaped

WIDE = (680, 340)
NARROW = (340, 280)
"""Width and height of the pictures, in CSS pixels."""


def csv_path(chart: Chart, alias: str | None) -> str:
    """Where the chart's data lie in the site."""
    return f"data/charts/{chart.name}{f'.{alias}' if alias else ''}.csv"


def csv_text(chart: Chart) -> str:
    """The chart's rows in base units; the columns' names carry the units."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([column.key for column in chart.columns])
    for row in chart.rows:
        writer.writerow([_inert(row[column.key]) for column in chart.columns])
    return out.getvalue()


def figure(
    chart: Chart,
    uri: str,
    alias: str | None = None,
    *,
    link: str | None = None,
    picture: Callable[..., str] = svg.render,
) -> str:
    """The figure's HTML for the page at `uri`.

    Args:
        chart: What to show.
        uri: Of the page, inside docs/.
        alias: The run that the page asked for; None where it said none.
        link: Where the CSV is, if not where the build writes it.
        picture: `svg.render`, or `svg.slot` to have the pictures painted later.
    """
    digest = hashlib.sha256(f"{uri} {chart.name} {alias}".encode()).hexdigest()[:8]
    pictures = "".join(
        picture(
            chart.draw(narrow),
            width=size[0],
            height=size[1],
            name=f"c{digest}{'n' if narrow else 'w'}",
            label=chart.finding,
        ).replace("<svg ", f'<svg data-size="{"narrow" if narrow else "wide"}" ', 1)
        for narrow, size in ((False, WIDE), (True, NARROW))
    )
    link = link or posixpath.relpath(csv_path(chart, alias), posixpath.dirname(uri) or ".")
    return (
        f'<figure class="chart" id="chart-{escaped(chart.name)}" data-chart="{escaped(chart.name)}">'
        f'<div class="chart-picture" data-search-exclude>{pictures}</div>'
        f"<figcaption><strong>{escaped(chart.title)}.</strong> {escaped(chart.finding)} "
        f'<span class="chart-note">{escaped(chart.note)}</span></figcaption>'
        f'<details class="chart-data" data-search-exclude><summary>Data of this chart</summary>{_table(chart)}'
        f'<p><a href="{escaped(link)}" download="{escaped(chart.name)}.csv">Download as CSV</a></p></details></figure>'
    )


def _table(chart: Chart) -> str:
    head = "".join(f'<th scope="col">{escaped(column.heading)}</th>' for column in chart.columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{escaped(text)}</td>" for text in row) + "</tr>" for row in chart.shown
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _inert(value: object) -> object:
    """A cell that a spreadsheet takes as text, whatever the data hold."""
    if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r"):
        return f"'{value}"
    return "" if value is None else value
