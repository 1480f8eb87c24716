"""Pages on paper and at odd sizes: what is printed, in which colours; how long lines are; the page for lost readers."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from .conftest import Open, Site

pytestmark = pytest.mark.browser

PRIMER = "primers/2-why-decode-is-slow.html"

LINES = """() => {
  const counts = [];
  for (const paragraph of document.querySelectorAll('.md-content__inner > p')) {
    const lines = new Map();
    const walker = document.createTreeWalker(paragraph, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      if (node.parentElement.closest('.provenance, .claim-mark')) continue;
      for (let at = 0; at < node.length; at++) {
        const range = new Range();
        range.setStart(node, at);
        range.setEnd(node, at + 1);
        const { bottom, width } = range.getBoundingClientRect();
        if (width) lines.set(Math.round(bottom / 12), (lines.get(Math.round(bottom / 12)) ?? 0) + 1);
      }
    }
    counts.push(...[...lines.values()].slice(0, -1).filter(count => count > 20));
  }
  return counts.sort((a, b) => a - b);
}"""


@pytest.mark.parametrize("width", [1280, 2560])
def test_lines_have_60_to_75_characters(site: Site, visit: Open, width: int) -> None:
    page = visit(width=width).page
    page.goto(site.url + PRIMER)
    page.evaluate("document.fonts.ready")
    counts = page.evaluate(LINES)
    assert len(counts) > 30
    assert 60 <= counts[len(counts) // 2] <= 75, counts


def test_a_page_on_paper(site: Site, visit: Open) -> None:
    """From the dark palette, since paper is white whatever the screen is."""
    page = visit(width=700, color_scheme="dark").page
    page.goto(site.url + PRIMER)
    page.emulate_media(media="print")
    luminance = "node => getComputedStyle(node).backgroundColor.match(/[\\d.]+/g).slice(0, 3).map(Number)"
    assert min(page.locator("body").evaluate(luminance)) >= 250
    ink = page.locator("#two-ceilings + p").evaluate(
        "node => getComputedStyle(node).color.match(/\\d+/g).map(Number)"
    )
    assert max(ink[:3]) < 60
    for hidden in (".md-header", ".md-sidebar", ".md-footer", ".claim-mark", ".headerlink", ".chart-tools"):
        for part in page.locator(hidden).all():
            expect(part).not_to_be_visible()
    expect(page.locator("h1")).to_be_visible()
    expect(page.locator("figure.chart figcaption").first).to_be_visible()
    expect(page.locator(".measured-in")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 700
    sheets = len(re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4", prefer_css_page_size=True)))
    assert 3 <= sheets <= 8
    page.goto(site.url + "feel-of-speed.html")
    assert (page.locator(".replay-answer").bounding_box() or {"height": 0})["height"] > 30
    expect(page.locator(".replay-lanes")).not_to_be_visible()


def test_lost_readers_find_the_nearest_page(site: Site, visit: Open) -> None:
    window = visit(width=320)
    page = window.page
    html = (site.folder / "404.html").read_text(encoding="utf-8")
    page.route(
        "**/why-decode-is-slo*", lambda route: route.fulfill(status=404, content_type="text/html", body=html)
    )
    page.goto(f"{site.url}primers/why-decode-is-slo.htm")
    expect(page.get_by_role("heading", level=1)).to_have_text("There is no such page")
    expect(page.locator(".lost-nearest a")).to_have_text("Why decode is slow")
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    for link in page.locator(".lost-pages a").all():
        address = str(link.evaluate("link => link.href"))
        assert (site.folder / address.removeprefix(site.url)).is_file(), address
    page.locator(".lost-nearest a").click()
    page.wait_for_url("**/2-why-decode-is-slow.html")


def test_an_address_like_no_page_names_none(site: Site, visit: Open) -> None:
    page = visit().page
    html = (site.folder / "404.html").read_text(encoding="utf-8")
    page.route("**/zzzzqqqq", lambda route: route.fulfill(status=404, content_type="text/html", body=html))
    page.goto(f"{site.url}zzzzqqqq")
    expect(page.locator(".lost-address")).to_contain_text("/zzzzqqqq")
    expect(page.locator(".lost-nearest")).not_to_be_visible()
