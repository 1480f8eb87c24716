"""The replay: starts when asked, keeps the measured times, can be paused; its text is there without scripts."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from .conftest import Open, Site

pytestmark = pytest.mark.browser

PAGE = "feel-of-speed.html"
SHOWN = "tokens => tokens.filter(token => getComputedStyle(token).opacity === '1').length"
MOST_S = 3600


def shown(lane: Locator) -> int:
    """Tokens of the lane that a reader sees."""
    return int(lane.locator(".token").evaluate_all(SHOWN))


def times(lane: Locator) -> tuple[float, float]:
    """Seconds until the first and until the last token."""
    first, whole = (float(lane.get_attribute(name) or "nan") for name in ("data-first-s", "data-whole-s"))
    assert 0 < first < whole < MOST_S
    return first, whole


def tokens_of(lane: Locator) -> int:
    ids = lane.locator(".token").evaluate_all("tokens => tokens.map(token => token.dataset.tokenId)")
    return sum(len(str(one).split()) for one in ids)


def run_for(page: Page, seconds: float) -> None:
    page.clock.run_for(round(seconds * 1000))


def test_it_writes_at_the_measured_pace_when_asked(site: Site, visit: Open) -> None:
    window = visit()
    page = window.page
    page.clock.install(time=0)
    page.goto(site.url + PAGE)
    page.locator(".replay.is-ready").wait_for()
    page.clock.pause_at(600)  # from here on only `run_for` lets time pass
    lanes = page.locator(".replay-lane")
    assert lanes.count() >= 3
    lane = lanes.first
    count, (first, whole) = lane.locator(".token").count(), times(lanes.first)
    run_for(page, 60)
    assert [shown(one) for one in lanes.all()] == [count] * lanes.count(), (
        "nothing happens before it is asked for"
    )

    page.get_by_role("button", name="Start", exact=True).click()
    assert [shown(one) for one in lanes.all()] == [0] * lanes.count()
    run_for(page, first - 0.1)
    assert shown(lane) == 0
    expect(lane.locator(".replay-state")).to_contain_text("reads the prompt")
    run_for(page, 0.2)
    assert shown(lane) == 1
    assert f"{lane.get_attribute('data-name')}: begins to write" in (
        page.get_by_role("status").text_content() or ""
    )
    step = (whole - first) / (tokens_of(lane) - 1)
    run_for(page, 10 * step)
    assert shown(lane) == 11

    page.get_by_role("button", name="Pause").click()
    clock = page.locator(".replay-clock").text_content()
    run_for(page, 30)
    assert shown(lane) == 11
    assert page.locator(".replay-clock").text_content() == clock
    page.get_by_role("button", name="Go on").click()
    run_for(page, step)
    assert shown(lane) == 12

    page.get_by_role("button", name="From the start").click()
    assert shown(lane) == 0
    run_for(page, max(times(one)[1] for one in lanes.all()) + 1)
    assert [shown(one) for one in lanes.all()] == [count] * lanes.count()
    for one in lanes.all():
        assert f"done after {times(one)[1]:.1f} s" in (one.locator(".replay-state").text_content() or "")
    expect(page.get_by_role("button", name="Start", exact=True)).to_be_visible()
    assert window.complaints == []


def test_with_reduced_motion_it_still_waits_to_be_asked(site: Site, visit: Open) -> None:
    page = visit(reduced_motion="reduce").page
    page.clock.install(time=0)
    page.goto(site.url + PAGE)
    page.locator(".replay.is-ready").wait_for()
    page.clock.pause_at(600)  # from here on only `run_for` lets time pass
    before = page.locator(".replay").bounding_box()
    run_for(page, 60)
    lane = page.locator(".replay-lane").first
    assert shown(lane) == lane.locator(".token").count()
    page.get_by_role("button", name="Start", exact=True).press("Enter")
    run_for(page, 1)
    assert shown(lane) == 0
    assert page.locator(".replay").bounding_box() == before, "nothing shifts"


def test_cuts_show_only_when_wanted(site: Site, visit: Open) -> None:
    page = visit().page
    page.goto(site.url + PAGE)
    tokens = page.locator(".replay-lane").first.locator(".token")
    color = "node => getComputedStyle(node).backgroundColor"
    assert tokens.nth(1).evaluate(color) == "rgba(0, 0, 0, 0)"
    page.get_by_label("Show where the tokens are cut").check()
    assert tokens.nth(1).evaluate(color) != "rgba(0, 0, 0, 0)"
    assert tokens.nth(1).evaluate(color) != tokens.nth(2).evaluate(color)


def test_ears_hear_the_text_once(site: Site, visit: Open) -> None:
    page = visit().page
    page.goto(site.url + PAGE)
    tree = page.locator(".replay").aria_snapshot()
    text = page.locator(".replay-answer .tokens").text_content() or ""
    assert len(text) > 100
    assert tree.count(text[:40]) == 1, "the lanes repeat it for eyes only"
    assert "group" in tree and "status" in tree and "columnheader" in tree


def test_without_scripts_text_and_numbers_are_there(site: Site, visit: Open) -> None:
    page = visit(java_script_enabled=False, width=320).page
    page.goto(site.url + PAGE)
    expect(page.locator(".replay-answer")).to_be_visible()
    assert (page.locator(".replay-answer").bounding_box() or {"height": 0})["height"] > 100
    expect(page.locator(".replay-rates")).to_be_visible()
    expect(page.locator(".replay-lanes")).not_to_be_visible()
    expect(page.locator(".replay-start")).not_to_be_visible()
    rows = page.locator(".replay-rates tbody tr")
    assert rows.count() >= 4
    assert all(
        re.search(r"\d", row.text_content() or "")
        for row in rows.filter(has_not=page.locator(".refused")).all()
    )


def test_leaving_the_page_ends_it(site: Site, visit: Open) -> None:
    window = visit()
    page = window.page
    page.goto(site.url + PAGE)
    page.get_by_role("button", name="Start", exact=True).click()
    page.locator(".md-content a[href*='2-why-decode']").first.click()
    page.wait_for_url("**/2-why-decode-is-slow*")
    page.go_back()
    page.locator(".replay").wait_for()
    expect(page.get_by_role("button", name="Start", exact=True)).to_be_visible()
    lane = page.locator(".replay-lane").first
    assert shown(lane) == lane.locator(".token").count()
    page.get_by_role("button", name="Start", exact=True).click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    assert window.complaints == []
