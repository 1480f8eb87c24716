"""The documented security header holds for the whole site, and breaking it would be noticed."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, Route, expect

from .conftest import Open, Site, documented_policy, served

pytestmark = pytest.mark.browser


def test_the_documented_header_is_the_one_that_the_build_writes(site: Site) -> None:
    (written,) = re.findall(
        r"^  Content-Security-Policy: (.+)$", (site.folder / "_headers").read_text(), re.MULTILINE
    )
    assert documented_policy(site.folder) == written
    assert "unsafe" not in written and written.count("'sha256-") >= 3


def test_every_page_works_under_it(site: Site, visit: Open) -> None:
    window = visit()
    for path in [*site.pages, "404.html"]:
        answer = window.page.goto(site.url + path)
        assert answer is not None
        assert answer.headers["content-security-policy"] == documented_policy(site.folder)
        window.page.evaluate("window.scrollTo(0, document.body.scrollHeight)")
    window.page.wait_for_load_state("networkidle")
    assert window.complaints == []


def test_search_and_the_palette_work_under_it(site: Site, visit: Open) -> None:
    window = visit(color_scheme="light")
    page = window.page
    page.goto(site.url)
    page.locator(".md-search__input").click()
    page.locator(".md-search__input").press_sequentially("prefill")
    expect(page.locator(".md-search-result__link").first).to_be_visible()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Dark palette").click()
    expect(page.locator("html")).to_have_attribute("data-palette", "dark")
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-palette", "dark")
    assert window.complaints == []


@pytest.mark.parametrize("part", ["'sha256-", "style-src"])
def test_a_stricter_header_would_be_noticed(site: Site, visit: Open, part: str) -> None:
    window = visit()

    def stricter(route: Route) -> None:
        answer = route.fetch()
        policy = documented_policy(site.folder)
        policy = re.sub(r" 'sha256-[^']+'", "", policy) if part == "'sha256-" else policy
        policy = policy.replace("style-src 'self'", "style-src 'none'") if part == "style-src" else policy
        route.fulfill(response=answer, headers={**answer.headers, "content-security-policy": policy})

    window.page.route("**/*.html", stricter)
    window.page.goto(f"{site.url}index.html")
    assert any("Content Security Policy" in complaint for complaint in window.complaints)


def follow(page: Page, url: str) -> bool:
    """Click from the home page to a primer; whether the document stayed the same."""
    page.goto(url)
    page.evaluate("window.sameDocument = true")
    page.locator(".md-content a[href*='1-what-a-model-is']").first.click()
    page.wait_for_url("**/1-what-a-model-is*")
    page.locator("#what-a-model-is").wait_for()
    return bool(page.evaluate("window.sameDocument === true"))


def test_navigation_is_instant_only_at_the_address_that_was_built_for(site: Site, visit: Open) -> None:
    """At any other address the theme loads whole pages, which would hide what breaks in instant navigation."""
    assert follow(visit().page, site.url)
    with served(site.folder) as elsewhere:
        window = visit()
        assert not follow(window.page, elsewhere)
        assert window.complaints == []
