"""Every page: no foreign request, no sideways scrolling, charts in plain sight, navigation by click and back."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from .conftest import Open, Site

pytestmark = pytest.mark.browser

OVERFLOW = """() => {
  const width = document.documentElement.clientWidth;
  return [document.scrollingElement.scrollWidth - width, ...[...document.querySelectorAll('.md-content *')]
    .filter(node => node.getBoundingClientRect().right > width + 1 && getComputedStyle(node).visibility !== 'hidden'
      && !node.closest('.provenance') && !scrolls(node)).map(node => node.outerHTML.slice(0, 120))];
  function scrolls(node) {
    for (let at = node.parentElement; at && !at.matches('.md-content'); at = at.parentElement)
      if (['auto', 'scroll', 'hidden'].includes(getComputedStyle(at).overflowX)) return true;
    return false;
  }
}"""


UNREACHED = """async () => {
  document.querySelectorAll('details').forEach((each) => { each.open = true; });
  for (let frame = 0; frame < 3; frame++) await new Promise(requestAnimationFrame);
  return [...document.querySelectorAll('.md-content *')].filter((node) => node.scrollWidth > node.clientWidth
    && ['auto', 'scroll'].includes(getComputedStyle(node).overflowX) && node.checkVisibility()
    && !node.matches('[tabindex="0"]') && !node.querySelector('a[href], button, input, select, [tabindex]'))
    .map((node) => node.outerHTML.slice(0, 120));
}"""
"""What scrolls sideways and no key reaches, with all unfolded that unfolds."""


@pytest.mark.parametrize("java_script_enabled", [True, False], ids=["js", "no-js"])
@pytest.mark.parametrize("how", ["served", "file"])
def test_no_page_asks_another_host(site: Site, visit: Open, how: str, java_script_enabled: bool) -> None:
    window = visit(java_script_enabled=java_script_enabled)
    base = site.url if how == "served" else site.folder.as_uri() + "/"
    assert len(site.pages) >= 5
    for path in site.pages:
        window.page.goto(base + path)
        window.page.evaluate("window.scrollTo(0, document.body.scrollHeight)")
    window.page.wait_for_load_state("networkidle")
    assert window.foreign == []
    assert len(window.requests) > len(site.pages)
    if how == "served":
        assert window.complaints == []


@pytest.mark.parametrize(
    ("width", "java_script_enabled"),
    [(320, True), (390, True), (1280, True), (2560, True), (320, False), (390, False)],
)
def test_no_page_scrolls_sideways(site: Site, visit: Open, width: int, java_script_enabled: bool) -> None:
    page = visit(width=width, java_script_enabled=java_script_enabled).page
    for path in site.pages:
        page.goto(site.url + path)
        assert page.evaluate(OVERFLOW) == [0], path
        if width == 390 and java_script_enabled:
            assert page.evaluate(UNREACHED) == [], path


def charts(page: Page) -> list[str]:
    """Names of the charts on a page whose drawing can be seen."""
    return page.locator("figure.chart").evaluate_all(
        """figures => figures.filter(figure => {
             const seen = [...figure.querySelectorAll('svg')].map(svg => svg.getBoundingClientRect())
               .filter(box => box.width > 200 && box.height > 80);
             return seen.length === 1;
           }).map(figure => figure.dataset.chart)"""
    )


@pytest.mark.parametrize("color_scheme", ["light", "dark"])
@pytest.mark.parametrize("java_script_enabled", [True, False], ids=["js", "no-js"])
def test_charts_are_drawn_and_can_be_read(
    site: Site, visit: Open, java_script_enabled: bool, color_scheme: str
) -> None:
    window = visit(java_script_enabled=java_script_enabled, color_scheme=color_scheme)
    with_charts = 0
    for path in site.pages:
        window.page.goto(site.url + path)
        figures = window.page.locator("figure.chart")
        names = figures.evaluate_all("figures => figures.map(figure => figure.dataset.chart)")
        assert charts(window.page) == names, path
        with_charts += bool(names)
        for figure in figures.all():
            assert figure.locator("figcaption").is_visible()
            assert figure.locator("table").count() >= 1
            assert figure.locator('a[href$=".csv"], a[href^="data:text/csv"]').count() == 1
            for contrast in figure.locator("svg text").evaluate_all(CONTRAST):
                assert contrast >= 4.5, f"{path}: text in a chart has a contrast of {contrast:.1f}"
    assert with_charts >= 2


# Contrast of each text in the drawing with the page behind it, by the formula of WCAG 2.
CONTRAST = """texts => {
  const channel = value => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  const rgb = color => color.match(/[\\d.]+/g).slice(0, 3).map(Number);
  const light = color => {
    const [r, g, b] = rgb(color).map(value => channel(value / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const paper = light(getComputedStyle(document.body).backgroundColor);
  return texts.filter(text => text.textContent.trim() && text.checkVisibility()).map(text => {
    const ink = light(getComputedStyle(text).fill);
    return (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
  });
}"""


def test_charts_and_numbers_survive_navigation_by_click_and_back(site: Site, visit: Open) -> None:
    window = visit()
    page = window.page
    page.goto(site.url)
    page.evaluate("window.sameDocument = true")
    page.locator(".path a", has_text="What a model is").click()
    page.wait_for_url("**/1-what-a-model-is*")
    page.locator("figure.chart svg").first.wait_for()
    assert page.evaluate("window.sameDocument"), "a full load: instant navigation is not at work"
    assert len(charts(page)) >= 1
    number = page.locator(".md-content .quantity").first
    number.hover()
    assert page.locator(".provenance:visible").count() == 1
    page.locator('.md-content a[href*="prefill-against-decode"]').first.click()
    page.wait_for_url("**/1-prefill-against-decode*")
    page.locator("figure.chart svg").first.wait_for()
    assert len(charts(page)) >= 1
    page.go_back()
    page.wait_for_url("**/1-what-a-model-is*")
    page.locator("#kv-cache").wait_for()
    assert len(charts(page)) >= 1
    page.go_back()
    page.locator(".headline").wait_for()
    page.get_by_role("button", name="Write it again").wait_for()
    assert page.evaluate("window.sameDocument")
    assert window.complaints == []
