"""The charts of a build: pictures painted beside it and kept between builds. Draws none itself.

Altair takes a quarter of a second to be imported and some hundredths for a chart, Vega as much again. A picture is
therefore painted only where its drawing has changed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

from markdown.serializers import to_html_string
from markdown.util import AMP_SUBSTITUTE

from hooks import charts
from hooks.caching.cache import Cache, digest, sources, version
from hooks.charts import Chart
from hooks.errors import PublishError
from hooks.numbers.book import Book
from hooks.pictures import explorer, figures, svg
from hooks.pictures.painter import Painter

_POPOVER = re.compile(r'<bdi data-slot="([0-9a-f]+)"></bdi>')


@dataclass(frozen=True)
class Picture:
    """A picture that a page wants: its drawing or Vega-Lite specification, its name on the page, and its label."""

    spec: str
    name: str
    label: str


Part = str | Picture
"""What stands in a slot of a page until the page is written: finished HTML, or a picture that is being painted."""


class Gallery:
    """Charts for the pages of one build.

    Args:
        kept: Pictures of earlier builds.
        painter: Paints pictures beside the build, into slots that `fill` fills; None paints each at once.
    """

    def __init__(self, kept: Cache | None = None, painter: Painter | None = None) -> None:
        self.kept = kept or Cache(None)
        self.painter = painter
        self.parts: dict[str, Part] = {}
        self._finished: dict[Picture, str] = {}
        self._new: list[tuple[str, str, Any]] = []

    def chart(
        self, name: str, book: Book, alias: str | None, options: Mapping[str, str]
    ) -> tuple[Chart, dict[str, str]]:
        """The chart of that name and what its pictures are painted from, by size.

        Raises:
            PublishError: As `charts.build` does.
        """
        chart = charts.build(name, book, alias, options)
        return chart, figures.specifications(chart)

    def picture(self, spec: str, *, name: str, label: str) -> str:
        """The picture of a drawing or specification, or a slot for it while it is painted."""
        if self.painter is None:
            return svg.render(spec, name=name, label=label)
        return svg.open_slot(self._slot(Picture(spec, name, label)))

    def _slot(self, part: Part) -> str:
        """The name of a slot for a part, which says all that is in it."""
        name = digest(part if isinstance(part, str) else astuple(part))[:20]
        self.restore({name: part})
        return name

    def restore(self, parts: Mapping[str, Part]) -> None:
        """Have these parts for the slots of a page, and begin to paint what pictures there are none of."""
        self.parts |= parts
        for part in parts.values():
            if isinstance(part, Picture) and part not in self._finished:
                kept = self.kept.get("finished", _key(part))
                if isinstance(kept, str):
                    self._finished[part] = kept
                elif self.painter is not None:
                    self.painter.start(part.spec)

    def _html(self, part: Part) -> str:
        if isinstance(part, str):
            return part
        if part not in self._finished:
            self._finished[part] = self._painted(part)
        return self._finished[part]

    def _painted(self, picture: Picture) -> str:
        assert self.painter is not None
        try:
            made = svg.finished(self.painter.picture(picture.spec), picture.name, picture.label)
        except ValueError as error:
            raise PublishError(
                "a chart cannot be drawn",
                expected="a specification that Vega-Lite takes",
                found=" ".join(str(error).split())[:200],
                mend=f"mend the drawing of the chart that says “{picture.label}”",
            ) from error
        self._new.append(("finished", _key(picture), made))
        return made

    def set_aside(self, root: Element) -> None:
        """Take the popovers out of a page's tree until the page is written, as the pictures are.

        They are most of its elements; nothing that looks at a page before that wants them.
        """
        if self.painter is None:
            return
        for item in root.iter("bdi"):
            if item.get("class") == "provenance":
                tail, item.tail = item.tail, None
                html = to_html_string(item).replace(AMP_SUBSTITUTE, "&")
                item.clear()
                item.tail = tail
                item.set("data-slot", self._slot(html))

    def explorer(self, text: str) -> str:
        """The document of an interactive chart, from what a page knew of it; waits for the painter."""
        assert self.painter is not None
        key = digest("explorer", _MADE_WITH, text)
        kept = self.kept.get("explorer", key)
        if isinstance(kept, str):
            return kept
        made = explorer.finish(text, self.painter)
        self._new.append(("explorer", key, made))
        return made

    def take(self, html: str) -> str:
        """HTML of a notebook's cell, whose slots hold all that is wanted, with slots or pictures of this gallery."""

        def picture(text: str) -> str:
            spec, name, label = json.loads(text)
            return self.picture(spec, name=name, label=label)

        return svg.fill(html, picture)

    def fill(self, html: str) -> str:
        """A page's HTML with each slot replaced by its picture or popover; waits for the pictures.

        A slot is a name until the page is written, so that the theme, the search index and all that looks at the page
        before have a few bytes in the place of thousands.

        Raises:
            PublishError: Vega cannot draw one.
        """
        if self.painter is None:
            return html
        html = _POPOVER.sub(lambda match: self._html(self.parts[match[1]]), html)
        return svg.fill(html, lambda name: self._html(self.parts[name]))

    def keep(self) -> None:
        """Keep what was made, unless the code was changed meanwhile: then nobody knows which code made it."""
        if _made_with() == _MADE_WITH:
            for kind, key, value in self._new:
                self.kept.put(kind, key, value)
        self._new.clear()


def _key(picture: Picture) -> str:
    return digest("finished", _MADE_WITH, astuple(picture))


def _made_with() -> str:
    """A hash of the code that draws: all of `hooks`, Altair and what it is built on."""
    here = Path(__file__).resolve().parents[1]
    return digest(sources(here), *(version(name) for name in ("altair", "narwhals", "vl-convert-python")))


_MADE_WITH = _made_with()
