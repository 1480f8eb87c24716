"""Words of the glossary explain themselves to a pointer, a finger and a keyboard; the way from page to page."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from .conftest import ROOT, Open, Site
from .test_provenance import assert_apart, assert_inside, popover_of

pytestmark = pytest.mark.browser

PAGE = "primers/3-the-kv-cache.html"


def first_term(page: Page) -> tuple[Locator, Locator]:
    """The first marked word of the page, and the element that holds its meaning."""
    term = page.locator(".md-content a.term").first
    return term, popover_of(term)


def meaning_of(term: Locator) -> str:
    """What the glossary's source says of a term."""
    anchor = (term.get_attribute("href") or "").rpartition("#")[2]
    source = (ROOT / "docs/glossary.md").read_text(encoding="utf-8")
    (said,) = re.findall(rf"^## .*\{{#{anchor}[ }}].*\n\n((?:.+\n)+)", source, re.MULTILINE)
    return " ".join(said.split())


@pytest.mark.parametrize("java_script_enabled", [True, False], ids=["js", "no-js"])
def test_a_word_explains_itself_and_is_a_link(site: Site, visit: Open, java_script_enabled: bool) -> None:
    page = visit(java_script_enabled=java_script_enabled).page
    page.goto(site.url + PAGE)
    term, popover = first_term(page)
    expect(popover).not_to_be_visible()
    term.hover()
    expect(popover).to_be_visible()
    assert meaning_of(term) in " ".join((popover.text_content() or "").split())
    page.mouse.move(0, 0)
    expect(popover).not_to_be_visible()
    term.focus()
    expect(popover).to_be_visible()
    assert popover.get_attribute("id") == term.get_attribute("aria-describedby")
    anchor = (term.get_attribute("href") or "").rpartition("#")[2]
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{site.url}glossary.html#{anchor}")
    expect(page.locator(f'[id="{anchor}"]')).to_be_in_viewport()


@pytest.mark.parametrize("width", [320, 390])
def test_a_tap_explains_and_stays_on_the_page(site: Site, visit: Open, width: int) -> None:
    page = visit(width=width, has_touch=True, is_mobile=True).page
    page.goto(site.url + PAGE)
    term, popover = first_term(page)
    term.tap()
    expect(popover).to_be_visible()
    box = popover.bounding_box()
    assert box is not None and box["x"] >= 0 and box["x"] + box["width"] <= width
    assert_apart(popover, term)
    term.tap()
    expect(popover).not_to_be_visible()
    term.tap()
    expect(popover).to_be_visible()
    page.locator(".md-content .quantity").first.tap()
    expect(popover).not_to_be_visible()
    assert page.url == site.url + PAGE


def test_every_meaning_stays_inside_the_window(site: Site, visit: Open) -> None:
    page = visit(width=1280).page
    page.goto(site.url + PAGE)
    terms = page.locator(".md-content a.term").all()
    assert len(terms) > 20
    for term in terms[::3]:
        term.focus()
        expect(popover_of(term)).to_be_visible()
        assert_inside(page, popover_of(term))
    assert page.locator(":is(h1, h2, h3, code, .quantity, .provenance, table.numbers) a.term").count() == 0


def test_a_reader_knows_how_long_it_takes_and_where_it_goes_on(site: Site, visit: Open) -> None:
    page = visit(width=390).page
    page.goto(site.url + PAGE)
    expect(page.locator("h1 + .reading-time")).to_have_text(
        re.compile(r"^\d+ minutes to read, [\d,]+ words$")
    )
    for direction, title in (("prev", "Why decode is slow"), ("next", None)):
        link = page.locator(f".md-footer__link--{direction}")
        expect(link.locator(".md-footer__title")).to_be_visible()
        if title:
            expect(link).to_contain_text(title)
    page.locator(".md-footer__link--prev").click()
    expect(page).to_have_url(f"{site.url}primers/2-why-decode-is-slow.html")
