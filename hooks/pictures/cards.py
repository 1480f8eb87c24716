"""The card of a page: the picture that other places show where they link to it. Paints none and writes no file.

A card is an SVG with the page's title and description, for `hooks.pictures.painting` to make a PNG of, since no place
that shows cards takes an SVG.
"""

from __future__ import annotations

import textwrap
from pathlib import PurePosixPath

from hooks.markup import escaped

SIZE = (1200, 630)
"""Width and height in pixels: the ratio that places crop to."""

FOLDER = "assets/cards"

FACE = "'Newsreader 16pt'"
"""The face of the headings, as its file calls itself; quoted, since a word of it begins with a digit."""

_MARGIN = 84
_TITLE = ((92, 22, 1), (84, 24, 2), (70, 29, 3))
"""Sizes of the title in pixels, each with the letters that fit into a line and the lines that may be."""
_LEADING = 1.12
_TEXT = (31, 62, 4)
"""The same for the description: one size."""

_PAPER, _INK, _SOFT = "#fcfbf8", "#1f1d1a", "#5b564e"
_TOKENS = (("#b98a3a", 0, 300), ("#4c8a86", 300, 640), ("#b98a3a", 640, 1200))
"""The rule below: three tokens, cut as in the site's mark; colour, begin and end in pixels."""


def path(url: str) -> str:
    """Where the card of the page at `url` lies in the site."""
    return str(PurePosixPath(FOLDER) / PurePosixPath(url or "index.html").with_suffix(".png"))


def svg(title: str, description: str, site_name: str) -> str:
    """The card: title, description, name of the site. What does not fit ends in an ellipsis."""
    size, lines = _title(title)
    top = _MARGIN + size
    texts = [_line(line, top + index * size * _LEADING, size, FACE, _INK) for index, line in enumerate(lines)]
    small, letters, most = _TEXT
    below = top + (len(lines) - 1) * size * _LEADING + 74
    texts += [
        _line(line, below + index * small * 1.45, small, "Liberation Sans", _SOFT)
        for index, line in enumerate(textwrap.wrap(description, letters, max_lines=most, placeholder=" …"))
    ]
    width, height = SIZE
    texts.append(_line(site_name, height - 62, 30, FACE, _INK))
    bars = "".join(
        f'<path fill="{color}" d="M{begin - 6} {height}l12 -24H{end + 4}l-12 24z"/>'
        for color, begin, end in _TOKENS
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">'
        f'<rect width="{width}" height="{height}" fill="{_PAPER}"/>{bars}{"".join(texts)}</svg>'
    )


def _title(title: str) -> tuple[int, list[str]]:
    """The title's size in pixels and its lines: the largest size at which it fits."""
    for size, letters, most in _TITLE:
        lines = textwrap.wrap(title, letters)
        if len(lines) <= most:
            return size, lines
    return size, textwrap.wrap(title, letters, max_lines=most, placeholder=" …")


def _line(text: str, y: float, size: int, family: str, color: str) -> str:
    place = f'x="{_MARGIN}" y="{y:.0f}" font-family="{family}" font-size="{size}"'
    return f'<text {place} fill="{color}">{escaped(text)}</text>'
