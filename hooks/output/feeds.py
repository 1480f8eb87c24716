"""Feeds of notes and of changed numbers, as Atom and as JSON Feed. Looks nothing up, opens no file.

Ids are made of the site's name and stay the same wherever it stands, so that a reader's program knows what it has seen.
Addresses need the site's own; where the build was not told it, entries have none, and the feed says so.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

FOLDER = "feeds"
TYPES = {"atom.xml": "application/atom+xml", "json": "application/feed+json"}
"""Endings of the files, and what they are."""

NO_ADDRESS = "The site was built without its address (SITE_URL), so entries have no links."

_NOT_XML = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


@dataclass(frozen=True)
class Entry:
    """One thing in a feed. `path` is below the site's address; `html` its content, escaped already."""

    name: str
    title: str
    path: str
    updated: datetime
    published: datetime
    html: str
    summary: str | None = None


@dataclass(frozen=True)
class Feed:
    """A feed. `name` is that of its files; `page` the path of the page that shows the same."""

    name: str
    title: str
    description: str
    page: str
    entries: Sequence[Entry]


@dataclass(frozen=True)
class Publisher:
    """Who publishes: the site's name, its authors, its address ending in a slash, and the time of the build."""

    site: str
    authors: tuple[str, ...]
    address: str | None
    date: datetime


def files(feed: Feed, publisher: Publisher) -> dict[str, str]:
    """Both forms of a feed by their path in the site."""
    return {
        path(feed.name, "atom.xml"): atom(feed, publisher),
        path(feed.name, "json"): json_feed(feed, publisher),
    }


def path(name: str, ending: str) -> str:
    """Where a feed lies."""
    return f"{FOLDER}/{name}.{ending}"


def atom(feed: Feed, publisher: Publisher) -> str:
    """The feed as Atom (RFC 4287)."""
    from feedgen.feed import FeedGenerator  # with lxml, a tenth of a second

    made = FeedGenerator()
    made.id(_id(publisher, feed.name))
    made.title(_plain(f"{publisher.site}: {feed.title}"))
    made.subtitle(_plain(_description(feed, publisher)))
    made.updated(max((entry.updated for entry in feed.entries), default=publisher.date))
    made.author([{"name": _plain(name)} for name in publisher.authors])
    made.generator(_plain(publisher.site))
    made.language("en")
    if publisher.address:
        made.link(href=publisher.address + path(feed.name, "atom.xml"), rel="self", type=TYPES["atom.xml"])
        made.link(href=publisher.address + feed.page, rel="alternate", type="text/html")
    for entry in feed.entries:
        item = made.add_entry(order="append")
        item.id(_id(publisher, feed.name, entry.name))
        item.title(_plain(entry.title))
        item.updated(entry.updated)
        item.published(entry.published)
        item.content(_plain(_html(entry, publisher)), type="html")
        if entry.summary:
            item.summary(_plain(entry.summary))
        if publisher.address:
            item.link(href=publisher.address + entry.path, rel="alternate", type="text/html")
    return str(made.atom_str(pretty=True).decode())


def json_feed(feed: Feed, publisher: Publisher) -> str:
    """The feed as JSON Feed 1.1."""
    found = {
        "version": "https://jsonfeed.org/version/1.1",
        "title": f"{publisher.site}: {feed.title}",
        "description": _description(feed, publisher),
        "language": "en",
        "authors": [{"name": name} for name in publisher.authors],
        "items": [_item(entry, feed, publisher) for entry in feed.entries],
    }
    if publisher.address:
        found["home_page_url"] = publisher.address + feed.page
        found["feed_url"] = publisher.address + path(feed.name, "json")
    return json.dumps(found, ensure_ascii=False, indent=1) + "\n"


def _item(entry: Entry, feed: Feed, publisher: Publisher) -> dict[str, object]:
    found: dict[str, object] = {
        "id": _id(publisher, feed.name, entry.name),
        "title": entry.title,
        "content_html": _html(entry, publisher),
        "date_published": entry.published.isoformat(),
        "date_modified": entry.updated.isoformat(),
    }
    if entry.summary:
        found["summary"] = entry.summary
    if publisher.address:
        found["url"] = publisher.address + entry.path
    return found


def _html(entry: Entry, publisher: Publisher) -> str:
    """The content with its links made whole, or with none: a feed is read elsewhere."""
    if publisher.address:
        return _RELATIVE.sub(lambda match: f'<a href="{publisher.address}{match["path"]}">', entry.html)
    return _RELATIVE_LINK.sub(lambda match: match["text"], entry.html)


_RELATIVE = re.compile(r'<a href="(?P<path>[^":]*)">')
_RELATIVE_LINK = re.compile(r'<a href="[^":]*">(?P<text>.*?)</a>', re.DOTALL)


def _description(feed: Feed, publisher: Publisher) -> str:
    return feed.description if publisher.address else f"{feed.description} {NO_ADDRESS}"


def _id(publisher: Publisher, *names: str) -> str:
    """An id that depends on names alone."""
    return uuid.uuid5(uuid.NAMESPACE_URL, "/".join((publisher.site, *names))).urn


def _plain(text: str) -> str:
    """Text without what XML cannot hold."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)


def newest(entries: Iterable[Entry], count: int) -> tuple[Entry, ...]:
    """The newest entries, newest first."""
    return tuple(sorted(entries, key=lambda entry: (entry.published, entry.name), reverse=True)[:count])
