"""The charts of a build: specifications kept between builds, pictures painted beside it. Draws none itself.

Altair takes a quarter of a second to be imported and some hundredths for a chart, Vega as much again. A build therefore
draws a chart only where something that it was made of has changed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path

from hooks import charts, figures, reads, svg
from hooks.book import Book
from hooks.cache import Cache, digest, sources
from hooks.charts import Chart
from hooks.errors import PublishError
from hooks.opened import Seen
from hooks.painter import Painter


class Gallery:
    """Charts for the pages of one build.

    Args:
        kept: Specifications of earlier builds.
        painter: Paints pictures beside the build, into slots that `fill` fills; None paints each at once.
    """

    def __init__(self, kept: Cache | None = None, painter: Painter | None = None) -> None:
        self.kept = kept or Cache(None)
        self.painter = painter
        self._wanted: list[tuple[str, str, str]] = []

    def chart(
        self, name: str, book: Book, alias: str | None, options: Mapping[str, str]
    ) -> tuple[Chart, dict[str, str]]:
        """The chart of that name and its specifications by size.

        Raises:
            PublishError: As `charts.build` does.
        """
        seen: Seen = {}
        chart = charts.build(name, reads.watched(book, seen), alias, options)
        words = (chart.title, chart.finding, chart.note, chart.rows, chart.shown, str(chart.refusal))
        key = digest("chart", _made_with(), name, alias, dict(options), seen, reads.fingerprint(words))
        specs = self.kept.get("chart", key)
        if specs is None:
            specs = figures.specifications(chart, checked=False)
            self.kept.put("chart", key, specs)
        return chart, specs

    def picture(self, spec: str, *, name: str, label: str) -> str:
        """The picture of a specification, or a slot for it while it is painted."""
        if self.painter is None:
            return svg.render(spec, name=name, label=label)
        self.painter.start(spec)
        self._wanted.append((spec, name, label))
        return svg.open_slot(str(len(self._wanted) - 1))

    def take(self, html: str) -> str:
        """HTML of a notebook's cell, whose slots hold all that is wanted, with slots or pictures of this gallery."""

        def picture(text: str) -> str:
            spec, name, label = json.loads(text)
            return self.picture(spec, name=name, label=label)

        return svg.fill(html, picture)

    def fill(self, html: str) -> str:
        """A page's HTML with each slot replaced by its picture; waits for them.

        A slot is a number until the page is written, so that the theme, the search index and all that looks at the page
        before have a few bytes in the place of thousands.

        Raises:
            PublishError: Vega cannot draw one.
        """
        painter = self.painter
        if painter is None:
            return html

        def picture(text: str) -> str:
            spec, name, label = self._wanted[int(text)]
            try:
                return svg.finished(painter.picture(spec), name, label)
            except ValueError as error:
                raise PublishError(
                    "a chart cannot be drawn",
                    expected="a specification that Vega-Lite takes",
                    found=str(error).strip().splitlines()[0][:200],
                    mend=f"mend the drawing of the chart that says “{label}”",
                ) from error

        return svg.fill(html, picture)


@cache
def _made_with() -> str:
    """A hash of the code that draws: all of this package, Altair and what it is built on."""
    here = Path(__file__).resolve().parent
    return digest(sources(here), *(version(name) for name in ("altair", "narwhals", "vl-convert-python")))
