"""Blocks of code tell a browser how many lines they have. How tall a line is stands in the style sheet, not here.

Lines of code do not wrap, so their number is the block's height, and a browser that knows it can leave a block that is
far from the window alone: in a note, most elements stand in its code.
"""

from __future__ import annotations

import re

_BLOCK = re.compile(
    r"(<div class=\"highlight\"><pre)(><span></span><code>)(.*?)(\n*</code></pre>)", re.DOTALL
)


def counted(html: str) -> str:
    """The page; each highlighted block has `data-lines`."""
    return _BLOCK.sub(_counted, html)


def _counted(block: re.Match[str]) -> str:
    opened, begun, code, ended = block.groups()
    lines = code.count("\n") + 1
    return f'{opened} data-lines="{lines}"{begun}{code}{ended}'
