"""Citing in a browser: blocks with and without scripts, copy, download, a single number, and what Zotero is told."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urljoin

import pytest
from playwright.sync_api import Locator, Page, expect

from .conftest import Open, Site

pytestmark = pytest.mark.browser

PRIMER = "primers/1-what-a-model-is.html"
NUMBER = "decode.seconds_per_token"
CLIPBOARD = {"permissions": ["clipboard-read", "clipboard-write"]}
NO_CLIPBOARD = """
window.ownClipboard = navigator.clipboard;
Object.defineProperty(navigator, 'clipboard', { value: undefined });
"""
TOLD = """
document.addEventListener('ZoteroItemUpdated', () => {
  (window.told ??= []).push(document.querySelector('[name=citation_title]').content);
});
"""
"""Notes what a reference manager finds at the moment at which it is told to look."""


def block_of_page(page: Page) -> Locator:
    return page.locator(".page-end > details.cite")


def clipboard(page: Page) -> str:
    return str(page.evaluate("navigator.clipboard.readText()"))


def test_a_block_copies_and_downloads_each_format(site: Site, visit: Open) -> None:
    window = visit(**CLIPBOARD)
    page = window.page
    page.goto(site.url + PRIMER)
    block = block_of_page(page)
    block.locator("summary").click()
    formats = block.locator(".cite-format")
    assert formats.count() == 4
    for each in formats.all():
        text = each.locator(".cite-text").text_content()
        each.get_by_role("button", name="Copy").click()
        expect(each.get_by_role("button", name="Copied")).to_be_visible()
        assert clipboard(page) == text
        with page.expect_download() as waiting:
            each.get_by_role("button", name="Download").click()
        assert waiting.value.suggested_filename == each.get_attribute("data-file")
        assert Path(waiting.value.path()).read_text(encoding="utf-8") == text
    (item,) = json.loads(block.locator('[data-format="csl-json"] .cite-text').text_content() or "")
    assert item["URL"] == site.url + PRIMER
    assert window.complaints == [] and window.foreign == []


def test_the_older_way_of_copying_works_where_there_is_no_clipboard(site: Site, visit: Open) -> None:
    page = visit(**CLIPBOARD).page
    page.add_init_script(NO_CLIPBOARD)
    page.goto(site.url + PRIMER)
    block_of_page(page).locator("summary").click()
    first = block_of_page(page).locator(".cite-format").first
    first.get_by_role("button", name="Copy").click()
    expect(first.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("window.ownClipboard.readText()") == first.locator(".cite-text").text_content()


@pytest.mark.parametrize("how", ["served", "file"])
def test_a_number_is_cited_from_its_popover(site: Site, visit: Open, how: str) -> None:
    window = visit(**(CLIPBOARD if how == "served" else {}))
    page = window.page
    base = site.url if how == "served" else site.folder.as_uri() + "/"
    page.goto(base + PRIMER)
    number = page.locator(f'.md-content .quantity[id="n-{NUMBER}"]').first
    page.evaluate("window.copied = []; document.addEventListener('copy', () => window.copied.push(1))")
    assert not any(url.endswith(".cite.js") for url in window.requests)
    number.focus()
    box = number.locator("xpath=../*[@role='tooltip']")
    expect(box).to_be_visible()
    copy = box.locator(".provenance-cite button").first
    copy.focus()
    page.keyboard.press("Enter")
    expect(copy).to_have_text("Copied")
    assert [url for url in window.requests if url.endswith(".cite.js")] == [
        urljoin(base + PRIMER, "1-what-a-model-is.cite.js")
    ]
    if how == "served":
        text = clipboard(page)
        run = number.get_attribute("data-run") or ""
        shown = (number.text_content() or "").replace("\N{NARROW NO-BREAK SPACE}", " ")
        assert shown in text and run in text and "95 % prediction interval" in text
        address = text.split()[-1]
        assert re.fullmatch(
            rf"{re.escape(site.url + PRIMER)}(\?published=[\d.-]+)?#n-{re.escape(NUMBER)}", address
        )
        other = box.locator('button[title="Copy as BibTeX"]')
        other.click()
        expect(other).to_have_text("Copied")
        assert clipboard(page).startswith("@techreport{")
        page.goto(address)
        expect(page.locator(":target")).to_have_text(number.text_content() or "")
        assert window.complaints == []


def test_zotero_is_told_of_a_page_that_came_without_a_load(site: Site, visit: Open) -> None:
    page = visit().page
    page.add_init_script(TOLD)
    page.goto(site.url + PRIMER)
    page.wait_for_load_state("networkidle")
    page.evaluate("window.stayed = true")
    assert page.evaluate("window.told") is None
    page.locator('.md-content a[href*="2-why-decode-is-slow.html"]').first.click()
    page.wait_for_url("**/2-why-decode-is-slow.html")
    # wait_for_function would evaluate text, which the policy refuses.
    page.evaluate(
        """new Promise((done, fail) => {
          const look = () => window.told ? done() : setTimeout(look, 20);
          look();
          setTimeout(() => fail(new Error("nobody was told")), 10000);
        })"""
    )
    assert page.evaluate("window.stayed") is True
    assert page.evaluate("window.told") == ["Why decode is slow"]
    tags = page.locator('head > meta[name^="citation_"]').evaluate_all(
        "all => all.map(each => [each.name, each.content])"
    )
    names = [name for name, _ in tags]
    assert len(set(names) - {"citation_author"}) == len([name for name in names if name != "citation_author"])
    assert dict(tags)["citation_public_url"] == page.url
    # And what came with the new page is that page's: its block has buttons, its numbers their citations.
    block_of_page(page).locator("summary").click()
    expect(block_of_page(page).get_by_role("button", name="Copy").first).to_be_visible()
    assert "Why decode is slow" in (block_of_page(page).locator(".cite-text").first.text_content() or "")


class _Metas(HTMLParser):
    """What the tags of a head say, by name or property."""

    def __init__(self, head: str) -> None:
        super().__init__()
        self.found: dict[str, str] = {}
        self.feed(head)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag == "meta":
            self.found[values.get("name") or values.get("property") or ""] = values.get("content") or ""


def test_every_page_has_its_tags_and_no_vocabulary_that_would_hide_them(site: Site) -> None:
    """Of link previews' types only `article` leaves the report a report; home may be a web page."""
    for path in site.pages:
        html = (site.folder / path).read_text(encoding="utf-8")
        found = _Metas(html.partition("</head>")[0]).found
        for name in ("title", "author", "publication_date", "technical_report_institution", "public_url"):
            assert found.get(f"citation_{name}"), f"{path}: citation_{name}"
        assert found["citation_public_url"] == site.url + path
        others = [name for name in found if re.match(r"(dc|dcterms|prism|eprints|bepress)[._:]", name, re.I)]
        assert others == [], path
        assert found.get("og:type") in {None, "article"} or path == "index.html"
        assert "application/ld+json" not in html and "Z3988" not in html
        assert html.count('<div class="page-end"') == 1, path


def test_without_scripts_a_citation_can_be_selected(site: Site, visit: Open) -> None:
    page = visit(java_script_enabled=False, width=320).page
    page.goto(site.url + PRIMER)
    block = block_of_page(page)
    block.locator("summary").focus()
    page.keyboard.press("Enter")
    texts = block.locator(".cite-text")
    expect(texts.first).to_be_visible()
    assert page.get_by_role("button", name="Copy").count() == 0
    for text in texts.all():
        box = text.bounding_box()
        assert box is not None and box["x"] >= 0 and box["x"] + box["width"] <= 320
    chart = page.locator("figure.chart details.cite").first
    chart.locator("summary").click()
    expect(chart.locator(".cite-text").first).to_contain_text("[Chart;")


def test_references_lead_to_the_list_and_back(site: Site, visit: Open) -> None:
    page = visit(java_script_enabled=False).page
    page.goto(site.url + "reference/citing.html")
    label = page.locator('.reference a[href="#ref-williams2009roofline"]').first
    expect(label).to_have_text("Williams et al., 2009")
    label.click()
    item = page.locator("li#ref-williams2009roofline")
    expect(item).to_be_in_viewport()
    assert item.locator('a[href="https://doi.org/10.1145/1498765.1498785"]').count() == 1
    item.locator(".reference-back").click()
    expect(label).to_be_in_viewport()
