"""How long a page takes to read: counts the words of its text and says the minutes. Knows nothing of what they say."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from xml.etree.ElementTree import Element

from markdown.util import ETX, STX

from hooks.markup import element

WORDS_PER_MINUTE = 238
"""Silent reading of English non-fiction by adults, the mean over studies: Brysbaert, How many words do we read per
minute?, Journal of Memory and Language 109 (2019)."""

_SKIPPED = {"bdi", "figure", "pre", "script", "style", "svg", "table"}
_KEPT = re.compile(f"{STX}[^{ETX}]*{ETX}")
"""What Python-Markdown holds back until the end, code among it; or one character in another spelling."""
_INLINE = {"a", "abbr", "code", "em", "span", "strong", "sub", "sup"}
"""What may end in the middle of a word. Whatever else ends, ends a word."""


def put(root: Element) -> None:
    """Say below the page's title how long the page takes; a page without a title says nothing."""
    children = list(root)
    title = next((index for index, child in enumerate(children) if child.tag == "h1"), None)
    if title is None:
        return
    words = count(root)
    minutes = math.ceil(words / WORDS_PER_MINUTE)
    said = f"{minutes} minute{'' if minutes == 1 else 's'} to read, {words:,} words"
    root.insert(title + 1, element("p", {"class": "reading-time", "data-search-exclude": ""}, said))


def count(root: Element) -> int:
    """Words of the text below `root`; popovers, code, tables and charts left out."""
    return len(_KEPT.sub("", "".join(_texts(root))).split())


def _texts(item: Element) -> Iterator[str]:
    yield item.text or ""
    for child in item:
        if child.tag not in _SKIPPED:
            yield from _texts(child)
        if child.tag not in _INLINE:
            yield " "
        yield child.tail or ""
