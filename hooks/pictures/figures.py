"""Charts as figures on a page: picture, caption, table, link to the data. Draws nothing.

The picture comes twice, for wide and for narrow screens, since text in a scaled picture would not read; the
style sheet shows one. A chart whose data are refused shows the reason in its place. docs/reference/html.md is the
contract.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

from hooks.charts import Chart
from hooks.drawings import drawing
from hooks.drawings.drawing import Drawing
from hooks.markup import escaped, relative
from hooks.pictures import explorer, sheets, specification, svg

WIDE = (680, 340)
NARROW = (340, 280)
"""Width and height of the pictures, in CSS pixels."""

_SIZES = {"wide": WIDE, "narrow": NARROW}


def csv_path(chart: Chart) -> str:
    """Where the chart's data lie in the site."""
    return f"data/charts/{chart.key}.csv"


def explorer_path(chart: Chart) -> str:
    """Where the chart's interactive version lies in the site."""
    return f"data/charts/{chart.key}{explorer.SUFFIX}"


def csv_text(chart: Chart) -> str:
    """The chart's rows in base units; the columns' names carry the units."""
    keys = [column.key for column in chart.columns]
    return sheets.text(keys, ([row[key] for key in keys] for row in chart.rows))


def csv_inside(chart: Chart) -> str:
    """The chart's CSV as an address that holds it, for pages beside which no file is written."""
    return f"data:text/csv;charset=utf-8,{quote(csv_text(chart))}"


def specifications(chart: Chart) -> dict[str, str]:
    """What the chart's pictures, `wide` and `narrow`, are painted from; none for a refused chart.

    That is the text of a drawing, or a Vega-Lite specification where the chart is an Altair chart.
    """
    if chart.refusal:
        return {}
    return {name: _specification(chart.draw(name == "narrow"), *size) for name, size in _SIZES.items()}


def _specification(drawn: Any, width: int, height: int) -> str:
    if isinstance(drawn, Drawing):
        return drawing.text(drawn, width, height)
    return specification.of_chart(drawn, width=width, height=height)


def figure(
    chart: Chart,
    specs: Mapping[str, str],
    uri: str,
    *,
    occurrence: int = 1,
    csv: str | None = None,
    explore: str | None = None,
    picture: Callable[..., str] = svg.render,
) -> str:
    """The figure's HTML for the page at `uri`.

    Args:
        chart: What to show.
        specs: What `specifications` gave.
        uri: Of the page, inside docs/.
        occurrence: How often a chart of this name has been on the page, this time counted: ids stay unique.
        csv: Where the CSV is, if not where the build writes it.
        explore: Where the interactive version is; None where there is none.
        picture: `svg.render`, or `svg.slot` to have the pictures painted later.
    """
    id_ = f"chart-{chart.name}{f'-{occurrence}' if occurrence > 1 else ''}"
    digest = hashlib.sha256(f"{uri} {id_} {chart.key}".encode()).hexdigest()[:8]
    pictures = "".join(
        picture(spec, name=f"c{digest}{size[0]}", label=chart.finding).replace(
            "<svg ", f'<svg data-size="{size}" ', 1
        )
        for size, spec in specs.items()
    )
    csv = csv or relative(csv_path(chart), uri)
    runs = " ".join(dict.fromkeys(run.id for reading in chart.readings for run in reading.runs))
    runs = f' data-run="{escaped(runs)}"' if runs else ""
    interactive, tools = "", ""
    if explore and pictures:
        interactive = f' data-explore="{escaped(explore)}" data-vega="{explorer.script_path()}"'
        tools = _TOOLS
    return (
        f'<figure class="chart" id="{escaped(id_)}" data-chart="{escaped(chart.name)}"{runs}{interactive}>'
        f'<div class="chart-picture" data-search-exclude>{pictures or _refused(chart)}</div>{tools}'
        f'<details class="chart-data" data-search-exclude><summary>Data of this chart</summary>{_table(chart)}'
        f'<p><a href="{escaped(csv)}" download="{escaped(chart.key)}.csv">Download as CSV</a></p></details>'
        # The standard has a caption first or last in a figure; the style sheet shows it below the picture.
        f"<figcaption><strong>{escaped(chart.title)}.</strong> {escaped(chart.finding)} "
        f'<span class="chart-note">{escaped(chart.note)}</span></figcaption></figure>'
    )


_TOOLS = (
    '<div class="chart-tools" data-search-exclude>'
    '<button type="button" class="chart-explore" aria-pressed="false">Explore</button></div>'
)


def _refused(chart: Chart) -> str:
    assert chart.refusal is not None
    return (
        f'<p class="chart-refused" data-refusal="{escaped(chart.refusal.kind)}">'
        f"Nothing to draw: {escaped(chart.refusal.reason)}</p>"
    )


def _table(chart: Chart) -> str:
    head = "".join(f'<th scope="col">{escaped(column.heading)}</th>' for column in chart.columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{escaped(text)}</td>" for text in row) + "</tr>" for row in chart.shown
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
