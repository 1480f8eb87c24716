"""What the theme's search knows of each page, kept between builds. Makes no entry itself: the theme's plugin does.

The plugin reads the HTML of every page again at every build, which takes a tenth of a build of unchanged pages.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from typing import Any

from hooks.caching.cache import Cache, digest, versions

_FRONT_MATTER = ("title", "tags", "search")
"""What the plugin reads of a page's front matter."""


def keep(plugin: Any, kept: Cache) -> None:
    """Have the plugin take the entries of pages that are as they were from those of earlier builds.

    Args:
        plugin: Material's search; any other is left alone.
        kept: Results of earlier builds.
    """
    index: Any = getattr(plugin, "search_index", None)
    if isinstance(getattr(index, "entries", None), list) and hasattr(index, "add_entry_from_context"):
        index.add_entry_from_context = partial(_add, index, index.add_entry_from_context, kept)


def _add(index: Any, make: Any, kept: Cache, page: Any) -> None:
    """Add a page's entries: known ones, or what the plugin makes of it."""
    front_matter = {name: page.meta.get(name) for name in _FRONT_MATTER}
    anchors = list(_anchors(page.toc))
    key = digest("search", versions(), page.url, str(page.title), front_matter, anchors, page.content)
    entries = kept.get("search", key)
    if entries is None:
        before = len(index.entries)
        make(page)
        with suppress(TypeError):  # what front matter holds need not be JSON
            kept.put("search", key, index.entries[before:])
    else:
        index.entries += entries


def _anchors(items: Any) -> Iterator[tuple[str, str]]:
    """The ids of a table of contents and where they lead."""
    for item in items:
        yield item.id, item.url
        yield from _anchors(item.children)
