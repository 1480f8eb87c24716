"""The Data section in a real browser: its lists are filtered by keyboard, and every page is near to home."""

from __future__ import annotations

import re
from collections import deque
from html import unescape
from urllib.parse import unquote, urldefrag, urljoin

import pytest
from playwright.sync_api import expect

from .conftest import Open, Site

pytestmark = pytest.mark.browser

INDEX = "data/quantities/index.html"
MOST_CLICKS = 3


def test_every_page_is_within_three_clicks_from_home(site: Site) -> None:
    """By the links of the pages themselves, popovers among them; without a script."""
    pages = {path.relative_to(site.folder).as_posix() for path in site.folder.rglob("*.html")} - {"404.html"}
    clicks = {"index.html": 0}
    waiting = deque(["index.html"])
    while waiting:
        page = waiting.popleft()
        if clicks[page] == MOST_CLICKS:
            continue
        html = (site.folder / page).read_text(encoding="utf-8")
        for href in re.findall(r'<a\b[^>]*?\bhref="([^"]+)"', html):
            target = urldefrag(urljoin(f"/{page}", unquote(unescape(href)).partition("?")[0]))[0].lstrip("/")
            target = f"{target}index.html" if target.endswith("/") or not target else target
            if target in pages and target not in clicks:
                clicks[target] = clicks[page] + 1
                waiting.append(target)
    assert len(pages) > 200
    assert pages - set(clicks) == set()


def test_the_site_map_has_the_catalogue_and_the_search_has_not(site: Site) -> None:
    sitemap = (site.folder / "sitemap.xml").read_text(encoding="utf-8")
    listed = {address.removeprefix(site.url) for address in re.findall(r"<loc>([^<]+)</loc>", sitemap)}
    pages = {path.relative_to(site.folder).as_posix() for path in (site.folder / "data").rglob("*.html")}
    assert len(pages) > 200
    assert {page for page in pages if not page.endswith("index.html")} <= {unquote(page) for page in listed}
    search = (site.folder / "search/search_index.json").read_text(encoding="utf-8")
    assert "decode.seconds_per_token.by_depth.html" not in search
    assert "data/quantities/index.html" in search


def test_a_reader_finds_a_number_by_keyboard_and_comes_to_its_page(site: Site, visit: Open) -> None:
    window = visit()
    page = window.page
    page.goto(site.url + INDEX)
    page.evaluate("window.sameDocument = true")
    rows = page.locator(".data-group li:visible")
    everything = rows.count()
    box = page.get_by_role("searchbox", name="Filter")
    box.focus()
    page.keyboard.type("decode 500 tokens deep measured")
    assert 0 < rows.count() < everything
    assert re.fullmatch(
        rf"{rows.count()} of {everything} numbers", page.locator("#data-filter-count").inner_text()
    )
    assert page.locator(".data-group h2:visible").count() <= 2, "headings without a row are hidden"
    page.keyboard.press("Escape")
    assert rows.count() == everything and box.input_value() == ""
    page.keyboard.type("zzz")
    assert rows.count() == 0 and page.locator(".data-nothing").is_visible()
    page.keyboard.press("Escape")
    page.keyboard.type("decode.seconds_per_token.by_depth")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url("**/decode.seconds_per_token.by_depth.html")
    page.get_by_role("heading", level=1, name="Decode by depth").wait_for()
    assert page.evaluate("window.sameDocument"), "a full load: the theme's navigation does not know the page"
    page.locator(".data-timeline .chart-picture svg:visible").wait_for()
    assert page.title().startswith("Decode by depth - ")
    page.locator(".crumbs a", has_text="All numbers").click()
    page.locator("#data-filter").wait_for()
    page.locator("#data-filter").fill("prefill")
    expect(page.locator("#data-filter-count")).to_contain_text(" of ")
    assert window.complaints == []


def test_lists_are_whole_without_a_script(site: Site, visit: Open) -> None:
    page = visit(java_script_enabled=False).page
    page.goto(site.url + INDEX)
    assert not page.locator(".data-filter").is_visible()
    assert page.locator(".data-group li:visible").count() > 200


def test_a_number_leads_from_its_popover_to_its_page(site: Site, visit: Open) -> None:
    page = visit().page
    page.goto(f"{site.url}primers/1-what-a-model-is.html")
    number = page.locator(".md-content .quantity[data-quantity='decode.seconds_per_token']").first
    number.focus()
    link = page.locator(".has-provenance:focus-within .provenance-more a")
    link.wait_for()
    link.focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/data/quantities/decode.seconds_per_token.html")
    page.locator(".data-value", has_text=re.compile(r"\d")).wait_for()
    assert page.locator(".data-facts a[href*='/runs/']").count() == 1
