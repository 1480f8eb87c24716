"""The site for other programs, of one build: Markdown of each page, feeds, llms.txt, histories. Renders no page.

Everything is made of what the build has rendered and looked up already.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from hooks.caching.cache import Cache
from hooks.citation.backlinks import SitePage, relative
from hooks.citation.citations import Author
from hooks.citation.citing import Description
from hooks.markup import escaped
from hooks.numbers.book import Book
from hooks.output import feeds, llms, markdown_form
from hooks.publication import committed, ledger_file, ledger_pages
from hooks.publication.ledger import Ledger, Number, Publication

NOTES = "notes/"
"""The folder of pages that come one after another, so that a reader can be told of a new one."""

NEWEST = 50
"""Entries in a feed."""

LISTED = 100
"""Numbers that one entry of a feed lists."""

_FEEDS = {"notes": "Notes", "numbers": "Changed numbers"}


@dataclass(frozen=True)
class Outline:
    """What a host knows of all pages together.

    Args:
        docs: The folder of the pages.
        words: One sentence on the site.
        sections: The section of the navigation of each page in it, in its order, by URI.
        described: Descriptions of pages, by URI, of those that have one.
    """

    docs: Path
    words: str
    sections: Mapping[str, str]
    described: Mapping[str, str]


def make(
    pages: Sequence[SitePage],
    outline: Outline,
    site: Description,
    version: str,
    ledger: Ledger,
    numbers: Sequence[Number],
    book: Book,
) -> dict[str, str]:
    """The files of the whole site by their path in it; of the pages only titles and addresses are read.

    Args:
        pages: All pages.
        outline: What is known of them together.
        site: What is known of the site.
        version: Of its numbers.
        ledger: What was published.
        numbers: Every number that the site states.
        book: The same, to be looked up.
    """
    day = datetime.fromisoformat(site.date).replace(tzinfo=UTC)
    publisher = feeds.Publisher(site.site, tuple(map(_name, site.authors)), site.address, day)
    found = {llms.FILE: llms.text(site.site, outline.words, version, _links(pages, outline), site.address)}
    found |= feeds.files(_notes(pages, outline, day), publisher)
    found |= feeds.files(
        _numbers(ledger, book, linked=any(page.uri == ledger_pages.URI for page in pages)), publisher
    )
    found |= ledger_pages.scripts(ledger, numbers, book.definitions)
    path = book.store.folder / ledger_file.FILE
    # Before the first publication it has no lines; the page of changes links it all the same.
    found[ledger_pages.FILE] = path.read_text(encoding="utf-8") if path.is_file() else ""
    return found


def markdown(
    page: SitePage, outline: Outline, site: Description, version: str, paths: frozenset[str], kept: Cache
) -> tuple[str, str]:
    """A finished page as Markdown: path in the site and text.

    Args:
        page: The page.
        outline: What is known of all pages together.
        site: What is known of the site.
        version: Of its numbers.
        paths: Of the HTML of all pages that have a Markdown form.
        kept: Results of earlier builds.
    """
    path = html_path(page.url)
    head = {
        "title": page.title,
        "description": outline.described.get(page.uri),
        "address": f"{site.address}{page.url}" if site.address else posixpath.basename(path),
        "site": site.site,
        "version": version,
        "licence": "CC BY 4.0",
    }
    content = markdown_form.convert(page.html, path, paths, kept)
    return markdown_form.path_of(path), markdown_form.document(content, head)


def markdown_link(path: str) -> str:
    """The link in the head of a page to its Markdown; `path` is that of its HTML in the site."""
    return _link("text/markdown", "This page as Markdown", posixpath.basename(markdown_form.path_of(path)))


def head(url: str) -> str:
    """The links in a page's head to its other forms; `url` is the page's address below the site's."""
    links = [
        _link(kind, title, relative(feeds.path(name, ending), url))
        for name, title in _FEEDS.items()
        for ending, kind in feeds.TYPES.items()
    ]
    return markdown_link(html_path(url)) + "".join(links)


def _link(kind: str, title: str, path: str) -> str:
    # Material asks for a sitemap beside whatever `[rel=alternate]` finds, as if it were a translation of the site. The
    # space keeps these links out of that; to every reader of `rel`, a set of words, it means nothing.
    return f'<link rel="alternate " type="{kind}" title="{escaped(title)}" href="{escaped(path)}">'


def html_path(url: str) -> str:
    """The path of a page's file in the site, from its address."""
    url = url.removeprefix("./")
    return f"{url}index.html" if url.endswith("/") or not url else url


def _name(author: Author) -> str:
    return f"{author.given} {author.name}" if author.given else author.name


def _links(pages: Sequence[SitePage], outline: Outline) -> list[llms.Link]:
    known = {page.uri: page for page in pages}
    return [
        llms.Link(
            section,
            known[uri].title,
            markdown_form.path_of(html_path(known[uri].url)),
            outline.described.get(uri),
        )
        for uri, section in outline.sections.items()
        if uri in known
    ]


def _notes(pages: Sequence[SitePage], outline: Outline, day: datetime) -> feeds.Feed:
    """The notes, dated by the commits that brought and changed them; one that is in none has the build's date."""
    notes = [page for page in pages if page.uri.startswith(NOTES)]
    dates = committed.dates(outline.docs / NOTES) if notes else {}
    entries = []
    for page in notes:
        first, last = dates.get(page.uri.removeprefix(NOTES), (day, day))
        words = outline.described.get(page.uri) or page.title
        html = f'<p>{escaped(words)}</p><p><a href="{escaped(page.url)}">Read the note</a></p>'
        entries.append(feeds.Entry(page.uri, page.title, page.url, last, first, html))
    description = "Notes on what was measured, new ones and changed ones."
    return feeds.Feed("notes", _FEEDS["notes"], description, "index.html", feeds.newest(entries, NEWEST))


def _numbers(ledger: Ledger, book: Book, *, linked: bool) -> feeds.Feed:
    names = ledger_pages.Names(book, "data/", linked=linked)
    recent = ledger.publications[::-1][:NEWEST]
    path = ledger_pages.URI.removesuffix(".md") + ".html" if linked else "index.html"
    entries = tuple(_publication(publication, ledger, names, path) for publication in recent)
    description = "What each publication of the site changed, number by number."
    return feeds.Feed("numbers", _FEEDS["numbers"], description, path, entries)


def _publication(
    publication: Publication, ledger: Ledger, names: ledger_pages.Names, path: str
) -> feeds.Entry:
    rows = ledger_pages.changes(ledger, [publication.key])[publication.key]
    count = "1 number" if len(rows) == 1 else f"{len(rows):,} numbers"
    title = f"{count} changed" if publication.after else f"The first publication: {count}"
    items = "".join(
        f"<li>{names.html(number)}: {escaped(after if before == ledger_pages.NEW else f'{before} → {after}')}</li>"
        for number, before, after in rows[:LISTED]
    )
    more = f"<p>And {len(rows) - LISTED:,} more.</p>" if len(rows) > LISTED else ""
    day = datetime.fromisoformat(publication.date).replace(tzinfo=UTC)
    return feeds.Entry(
        name=publication.key,
        title=f"{title} (version {publication.version})",
        path=f"{path}#{ledger_pages.anchor(publication)}",
        updated=day,
        published=day,
        html=f"<ul>{items}</ul>{more}",
    )
