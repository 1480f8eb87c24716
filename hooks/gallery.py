"""The charts of a build: specifications kept between builds, pictures painted beside it. Draws none itself.

Altair takes a quarter of a second to be imported and some hundredths for a chart, Vega as much again. A build therefore
draws a chart only where something that it was made of has changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path

from hooks import charts, figures, reads, svg
from hooks.book import Book
from hooks.cache import Cache, digest, sources
from hooks.charts import Chart
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
            specs = figures.specifications(chart)
            self.kept.put("chart", key, specs)
        return chart, specs

    def picture(self, spec: str, *, name: str, label: str) -> str:
        """The picture of a specification, or a slot for it while it is painted."""
        if self.painter is None:
            return svg.render(spec, name=name, label=label)
        self.painter.start(spec)
        return svg.slot(spec, name=name, label=label)

    def begin(self, html: str) -> None:
        """Begin to paint what the slots of a text want."""
        if self.painter is not None:
            for spec in svg.slots(html):
                self.painter.start(spec)

    def fill(self, html: str) -> str:
        """The HTML with each slot replaced by its picture; waits for them."""
        return html if self.painter is None else svg.fill(html, self.painter.picture)


@cache
def _made_with() -> str:
    """A hash of the code that draws: all of this package, Altair and what it is built on."""
    here = Path(__file__).resolve().parent
    return digest(sources(here), *(version(name) for name in ("altair", "narwhals", "vl-convert-python")))
