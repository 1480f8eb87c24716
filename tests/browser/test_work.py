"""How much of a page a browser must work out: not what is far away, and not all of it for a small change."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import Browser

from .conftest import Open, Site

pytestmark = pytest.mark.browser

NOTE = "notes/4-meter-drift-and-repeatability.html"

HEIGHTS = """() => [...document.querySelectorAll(".highlight > pre")].map((block) => {
    const apart = !block.querySelector("code").checkVisibility({ contentVisibilityAuto: true });
    const before = block.getBoundingClientRect().height;
    block.style.contentVisibility = "visible";
    return [apart, before, block.getBoundingClientRect().height];
})"""
"""Of each block of code: whether the browser leaves it alone, its height then, and when it is laid out."""


@pytest.mark.parametrize("width", [390, 1280])
def test_code_far_away_is_left_alone_and_keeps_its_height(site: Site, visit: Open, width: int) -> None:
    for path in (NOTE, "notes/1-prefill-against-decode.html", "reference/authoring.html"):
        page = visit(width=width).page
        page.goto(site.url + path)
        page.wait_for_load_state("networkidle")
        page.wait_for_timeout(100)
        blocks = page.evaluate(HEIGHTS)
        assert len(blocks) >= 5
        assert any(apart for apart, _, _ in blocks), path
        for _, before, after in blocks:
            assert before == pytest.approx(after, abs=1), path


def test_paper_has_all_code(site: Site, visit: Open) -> None:
    page = visit().page
    page.goto(site.url + NOTE)
    page.emulate_media(media="print")
    found = page.locator(".highlight > pre").evaluate_all(
        "(blocks) => blocks.map((block) => getComputedStyle(block).contentVisibility)"
    )
    assert found and set(found) == {"visible"}


def test_a_small_change_leaves_most_styles_as_they_are(
    browser: Browser, site: Site, chart_site: Site, visit: Open
) -> None:
    """A rule that asks what the whole document holds, as `body:has(…) .x`, would have all of them worked out anew."""
    for address in (site.url + NOTE, chart_site.url + "index.html"):
        page = visit().page
        page.goto(address)
        page.wait_for_load_state("networkidle")
        page.evaluate("document.body.offsetHeight")
        browser.start_tracing(page=page, categories=["devtools.timeline"])
        page.evaluate(
            """() => {
                const added = document.createElement("nav");
                added.className = "md-code__nav";
                document.querySelector("article p").append(added);
                return added.offsetHeight;
            }"""
        )
        events = json.loads(browser.stop_tracing())["traceEvents"]
        styled = sum(
            one["args"].get("elementCount", 0) for one in events if one["name"] == "UpdateLayoutTree"
        )
        assert 0 < styled < page.locator("body *").count() / 4, address
