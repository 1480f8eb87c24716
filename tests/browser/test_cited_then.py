"""A permalink that carries a version: what the number was then stands beside it, and nothing else changes."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from hooks.publication.ledger import permalink

from .chart_site import PUBLISHED
from .conftest import Open, Site

pytestmark = pytest.mark.browser

DECODE, PREFILL = "decode.seconds_per_token", "prefill.seconds_per_token"


def test_old_and_new_stand_beside_the_number(visit: Open, chart_site: Site) -> None:
    window = visit()
    page = window.page
    page.goto(chart_site.url + permalink("machines.html", DECODE, PUBLISHED))
    note = page.locator(".cited-then")
    expect(note).to_have_text(
        re.compile(r"^cited as 500 ms <b> on 2 January 2026; now 3\d\d\sms \(not yet published\)$")
    )
    number = page.locator(f'[id="n-{DECODE}"]')
    expect(number).to_be_in_viewport()
    assert note.evaluate(
        "(note, id) => note.previousElementSibling.contains(document.getElementById(id))", f"n-{DECODE}"
    )
    expect(page.locator(".cited-then b")).to_have_count(0)  # what the data say is text
    page.evaluate("location.hash = '#n-prefill.seconds_per_token'")
    expect(note).to_have_text("unchanged since 2 January 2026")
    page.evaluate("location.hash = '#n-prefill.seconds_per_token:gpu'")
    expect(note.first).to_contain_text("is not on this page any more: Nothing is known here of this number")
    page.get_by_role(
        "link", name="Other"
    ).first.click()  # the theme replaces the content, and the address has no version
    expect(page.get_by_role("heading", name="Other")).to_be_visible()
    expect(note).to_have_count(0)
    page.go_back()
    page.evaluate("location.hash = '#n-decode.seconds_per_token'")
    expect(note).to_contain_text("cited as 500 ms")
    page.goto(chart_site.url + permalink("other.html", DECODE, "2031-01-01.1"))
    expect(note).to_have_text(f"Version 2031-01-01.1 is not known here; the last is {PUBLISHED}.")
    page.goto(chart_site.url + permalink("other.html", DECODE, "2025-01-01.1"))
    expect(note).to_have_text("First published on 2 January 2026, after version 2025-01-01.1.")
    page.goto(chart_site.url + permalink("index.html", DECODE, PUBLISHED))
    expect(note.first).to_contain_text("is not on this page any more: cited as 500 ms")
    assert not window.complaints and not window.foreign


def test_it_stands_there_after_a_click_too(visit: Open, chart_site: Site) -> None:
    """The theme replaces the content: the script is loaded then, and later begins anew."""
    window = visit()
    page, note = window.page, window.page.locator(".cited-then")
    page.goto(chart_site.url + "index.html")
    page.evaluate("window.sameDocument = true")
    for name, heading in (("machines.html", "Machines"), ("other.html", "Other")):
        page.evaluate(
            """address => {
              const link = Object.assign(document.createElement("a"), { href: address, textContent: "Cited" });
              document.querySelector("article h1").after(link);
            }""",
            permalink(chart_site.url + name, DECODE, PUBLISHED),
        )
        page.get_by_role("link", name="Cited", exact=True).click()
        expect(page.get_by_role("heading", name=heading)).to_be_visible()
        expect(note).to_contain_text("cited as 500 ms")
    assert page.evaluate("window.sameDocument"), "a full load: instant navigation is not at work"
    assert not window.complaints


def test_only_a_permalink_loads_anything(visit: Open, chart_site: Site) -> None:
    window = visit()
    window.page.goto(f"{chart_site.url}other.html#n-{DECODE}", wait_until="networkidle")
    assert not [url for url in window.requests if "cited-then" in url or "data/ledger" in url]


def test_it_works_from_a_file_and_leads_there_without_scripts(visit: Open, chart_site: Site) -> None:
    address = permalink((chart_site.folder / "machines.html").as_uri(), DECODE, PUBLISHED)
    page = visit().page
    page.goto(address)
    expect(page.locator(".cited-then")).to_contain_text("cited as 500 ms <b> on 2 January 2026; now ")
    page = visit(java_script_enabled=False).page
    page.goto(address)
    expect(page.locator(f'[id="n-{DECODE}"]')).to_be_in_viewport()
