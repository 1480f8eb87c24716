"""Our style sheets and scripts as readers load them: without comments and needless space. Renames and bundles nothing.

Names stay as they are in docs/assets/, so what a browser's tools show of a script can be found in its source. A comment
that begins with an exclamation mark stays, since licences are written so.
"""

from __future__ import annotations

from collections.abc import Callable

from rcssmin import cssmin
from rjsmin import jsmin

_MINIFIERS: dict[str, Callable[..., str]] = {".css": cssmin, ".js": jsmin}

SUFFIXES = tuple(_MINIFIERS)
"""Ends of the names of files that are minified."""


def minified(name: str, text: str) -> str:
    """The text of the style sheet or script with this name, saying the same in fewer characters."""
    minify = _MINIFIERS[name[name.rindex(".") :]]
    return minify(text, keep_bang_comments=True)
