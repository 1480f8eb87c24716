"""From Vega's SVG to one that can stand in a page. Knows no data and no chart by name.

The SVG takes the page's font and both palettes without a script: colours are CSS variables or `currentColor`.
Its ids are made the chart's own, since vl-convert gives every chart the same ones.

A picture is painted at once (`render`), or it leaves a slot in the HTML that is filled later (`slot`, `fill`), so
that a build goes on while another process paints.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import lru_cache
from html import escape, unescape

from hooks.markup import escaped
from hooks.pictures import painting


def render(spec: str, *, name: str, label: str) -> str:
    """The picture of a specification as an `<svg>` element.

    Args:
        spec: A Vega-Lite specification, or what `drawing.text` gave.
        name: Unique on the page; prefixes every id inside.
        label: The finding in one sentence, for people who do not see the chart.

    Raises:
        ValueError: Vega cannot draw it.
    """
    return finished(_painted(spec), name, label)


def slot(spec: str, *, name: str, label: str) -> str:
    """What `render` gives, left open and with all that is wanted in it: `fill` replaces it by the picture."""
    return open_slot(json.dumps([spec, name, label]))


def open_slot(text: str) -> str:
    """An element that `fill` replaces by what it makes of a text."""
    return f'<svg data-slot="{_quoted(text)}"></svg>'


def fill(html: str, made: Callable[[str], str]) -> str:
    """The HTML with each slot replaced by the `<svg>` element made of its text.

    Other attributes that a slot's element got before its own pass to that element.
    """

    def put(match: re.Match[str]) -> str:
        return made(unescape(match["quoted"][1:-1])).replace("<svg", f"<svg{match['before']}", 1)

    return _SLOT.sub(put, html)


def slots(html: str) -> list[str]:
    """The specifications in all slots that `slot` made."""
    return [json.loads(unescape(match["quoted"][1:-1]))[0] for match in _SLOT.finditer(html)]


@lru_cache(maxsize=256)
def _painted(spec: str) -> str:
    made = painting.paint(spec)
    if made.startswith("!"):
        raise ValueError(made[1:])
    svg: str = json.loads(made)["svg"]
    return svg


# BeautifulSoup, through which the HTML of a notebook's cells goes, takes single quotes where a text has double ones.
_SLOT = re.compile(r"""<svg(?P<before>[^<>]*?) data-slot=(?P<quoted>"[^"]*"|'[^']*')></svg>""")


def _quoted(text: str) -> str:
    """Text for an attribute, without braces that would look like a placeholder that nobody resolved."""
    return escape(text).replace("{", "&#123;").replace("}", "&#125;")


_LONG = re.compile(r"-?\d+\.\d{3,}")


def _shorter(match: re.Match[str]) -> str:
    return f"{float(match[0]):.2f}".rstrip("0").rstrip(".")


_TEXT = re.compile(r">([^<>]*[^<>\s][^<>]*)<")


def finished(svg: str, name: str, label: str) -> str:
    """Vega's SVG as it can stand in a page; `render` says what name and label are."""
    svg = svg[svg.index("<svg") :]
    # Words between the tags are set aside, since they may look like anything; no XML has the mark in their place.
    words = [match[1] for match in _TEXT.finditer(svg)]
    svg = _TEXT.sub(">\0<", svg)
    # One label for the whole picture; Vega's own labels of axes and marks would be read one by one.
    svg = re.sub(r' (?:aria-[a-z]+|role)="[^"]*"', "", svg)
    svg = re.sub(r' font-family="[^"]*"', "", svg)
    svg = re.sub(r'="[^"]*"', lambda match: _LONG.sub(_shorter, match[0]), svg)
    # Vega counts its ids on from chart to chart, so they are counted anew: the same chart is always the same text.
    ids = {id_: f"{name}-{number}" for number, id_ in enumerate(re.findall(r'\bid="([^"]*)"', svg), 1)}
    svg = re.sub(r'\bid="([^"]*)"', lambda match: f'id="{ids[match[1]]}"', svg)
    svg = re.sub(r"url\(#([^)]*)\)", lambda match: f"url(#{ids.get(match[1], match[1])})", svg)
    svg = re.sub(r"\s*\n\s*", " ", svg)
    head = f'<svg role="img" aria-labelledby="{name}-title" data-search-exclude focusable="false"'
    title = f'<title id="{name}-title">{escaped(label)}</title>'
    svg = svg.replace("<svg", head, 1)
    end = svg.index(">") + 1
    rest = iter(words)
    return svg[:end] + title + re.sub("\0", lambda _: next(rest), svg[end:])
