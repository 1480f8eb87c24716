"""Which pages of a site cite a page: those that link to it, and those whose numbers it explains. Writes no page.

A page explains a number where docs/quantities.toml names it as the number's note.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import unescape
from urllib.parse import unquote

from hooks import markup
from hooks.markup import escaped

_LINK = re.compile(r"""<a\b[^>]*?\bhref=["']([^"'?#]+)""")


@dataclass(frozen=True)
class SitePage:
    """A page of the site as rendered.

    Args:
        uri: Its source inside docs/.
        url: Its address below the site's.
        title: As its reader sees it.
        html: Its content.
        cites: Whether it counts as citing what it links to. Home and generated lists do not: they link to everything.
        explained: How many of its numbers each note explains, by the note's URI.
    """

    uri: str
    url: str
    title: str
    html: str
    cites: bool = True
    explained: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Backlink:
    """A page that cites another; `numbers` of its numbers are explained there."""

    page: SitePage
    numbers: int


def find(pages: Sequence[SitePage]) -> Mapping[str, tuple[Backlink, ...]]:
    """For each page, by URI, the pages that cite it, in the order of the site."""
    by_url = {_plain(page.url): page.uri for page in pages}
    found: dict[str, list[Backlink]] = {}
    for page in pages:
        if not page.cites:
            continue
        linked = {by_url[url] for url in _targets(page) if url in by_url}
        for uri in sorted((linked | set(page.explained)) - {page.uri}):
            found.setdefault(uri, []).append(Backlink(page, page.explained.get(uri, 0)))
    return {uri: tuple(links) for uri, links in found.items()}


def html(links: Iterable[Backlink], url: str) -> str:
    """The links for the foot of the page at `url`; nothing where there are none."""
    items = [_item(link, url) for link in links]
    if not items:
        return ""
    return f'<p class="backlinks" data-search-exclude>Cited in: {"; ".join(items)}.</p>'


def relative(url: str, seen_from: str) -> str:
    """An address below the site's, as a link on the page at `seen_from` has it."""
    made = markup.relative(url or ".", seen_from)
    return f"{made}/" if url.endswith("/") or not url else made


def _item(link: Backlink, url: str) -> str:
    count = f" ({link.numbers} number{'s' * (link.numbers > 1)})" if link.numbers else ""
    return f'<a href="{escaped(relative(link.page.url, url))}">{escaped(link.page.title)}</a>{count}'


def _targets(page: SitePage) -> Iterable[str]:
    folder = page.url if page.url.endswith("/") else posixpath.dirname(page.url)
    for href in set(_LINK.findall(page.html)):
        if ":" not in href and not href.startswith("/"):
            yield _plain(posixpath.join(folder, unquote(unescape(href))))


def _plain(url: str) -> str:
    """One form for `a/`, `a/index.html` and `./a`."""
    path = posixpath.normpath(url.removesuffix("index.html") or ".")
    return path
