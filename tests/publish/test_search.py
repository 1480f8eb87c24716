"""The search has the same entries whether they were kept or made, and none that is old."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from material.plugins.search.plugin import SearchIndex  # type: ignore[import-untyped]

from hooks.caching.cache import Cache
from hooks.output import search

HTML = '<h1 id="a">One &amp; two</h1><p>Text é.</p><h2 id="b">Three</h2><p data-search-exclude>No.</p><p>Yes.</p>'


@dataclass
class Item:
    id: str
    url: str
    children: list[Item] = field(default_factory=list)


@dataclass
class Page:
    content: str = HTML
    url: str = "page.html"
    title: str = "Page"
    meta: dict[str, Any] = field(default_factory=dict)
    toc: list[Item] = field(default_factory=lambda: [Item("a", "#a", [Item("b", "#b")])])


@dataclass
class Plugin:
    search_index: SearchIndex = field(default_factory=SearchIndex)


def entries(page: Page, kept: Cache | None, made: list[Page] | None = None) -> list[dict[str, Any]]:
    plugin = Plugin()
    if made is not None:
        original = plugin.search_index.create_entry_for_section

        def create(section: Any, toc: Any, url: str, of: Page) -> None:
            made.append(of)
            original(section, toc, url, of)

        plugin.search_index.create_entry_for_section = create
    if kept is not None:
        search.keep(plugin, kept)
    plugin.search_index.entries.append({"location": "before.html"})
    plugin.search_index.add_entry_from_context(page)
    found: list[dict[str, Any]] = plugin.search_index.entries
    first, *rest = found
    assert first == {"location": "before.html"}
    return rest


CHANGED: dict[str, Any] = {
    "content": HTML.replace("Text", "Other text"),
    "url": "other.html",
    "meta": {"title": "Other"},
    "toc": [Item("a", "#a", [Item("b", "#another")])],
}


def test_entries_that_were_kept_are_those_that_are_made(tmp_path: Path) -> None:
    kept, page = Cache(tmp_path), Page()
    plain = entries(page, None)
    assert [entry["location"] for entry in plain] == ["page.html", "page.html#b"]
    made: list[Page] = []
    assert entries(page, kept, made) == plain and made
    made.clear()
    assert entries(page, kept, made) == plain and not made


@pytest.mark.parametrize("name", CHANGED)
def test_a_page_that_changed_has_new_entries(name: str, tmp_path: Path) -> None:
    kept = Cache(tmp_path)
    entries(Page(), kept)
    changed, made = Page(**{name: CHANGED[name]}), list[Page]()
    assert entries(changed, kept, made) == entries(changed, None) and made


@pytest.mark.parametrize(
    "meta", [{"search": {"exclude": True}}, {"search": {"boost": 2}}, {"tags": ["a", 1]}]
)
def test_front_matter_counts(meta: dict[str, Any], tmp_path: Path) -> None:
    kept = Cache(tmp_path)
    entries(Page(), kept)
    for _ in range(2):
        assert entries(Page(meta=meta), kept) == entries(Page(meta=meta), None)


@pytest.mark.parametrize("other", [None, object()])
def test_another_search_is_left_alone(other: object, tmp_path: Path) -> None:
    search.keep(other, Cache(tmp_path))
