"""The home page's headline: real tokens, written at the measured pace, and simply there where that is not wanted."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, Route, expect

from .conftest import Open, Site

pytestmark = pytest.mark.browser

TOKENS = [("6406", "Sp"), ("74630", "liced"), ("44378", " inference")]
OPACITIES = "tokens => tokens.map(token => Number(getComputedStyle(token).opacity))"


def opacities(page: Page) -> list[float]:
    return page.locator(".headline .token").evaluate_all(OPACITIES)


def test_headline_is_exactly_the_three_real_tokens(site: Site, visit: Open) -> None:
    page = visit(java_script_enabled=False).page
    page.goto(site.url)
    tokens = page.locator(".token")
    found = [(token.get_attribute("data-token-id"), token.text_content()) for token in tokens.all()]
    assert found == TOKENS
    assert page.locator(".headline .token").count() == 3


def test_headline_is_written_token_by_token_at_the_measured_pace(site: Site, visit: Open) -> None:
    window = visit()
    page = window.page
    page.clock.install()
    page.goto(site.url)
    measured = page.locator("[data-seconds-per-token]").get_attribute("data-seconds-per-token") or ""
    seconds = float(measured.removesuffix("s"))
    assert seconds > 0
    slowdown = page.locator(".headline-pace-change").text_content() or ""
    factor = int("".join(filter(str.isdigit, slowdown)) or 1)
    page.get_by_role("button", name="Write it again").click()
    assert opacities(page) == [0, 0, 0]
    for written in (1, 2, 3):
        page.clock.run_for(round(seconds * factor * 1000) + 2)
        assert opacities(page) == [1] * written + [0] * (3 - written)
    assert window.complaints == []


@pytest.mark.parametrize(
    ("measured", "words", "interval_s"),
    [
        ("0.004 s", "slowed 38 times", 0.152),
        ("0.4 s", "", 0.4),
        ("4 s", "sped up 3 times", 4 / 3),
    ],
)
def test_a_pace_that_nobody_could_follow_is_changed_and_says_so(
    site: Site, visit: Open, measured: str, words: str, interval_s: float
) -> None:
    page = visit().page
    page.clock.install(time=0)

    def other_pace(route: Route) -> None:
        answer = route.fetch()
        text, count = re.subn(r'(data-seconds-per-token=")[^"]+', rf"\g<1>{measured}", answer.text())
        assert count == 1
        route.fulfill(response=answer, body=text)

    page.route(f"{site.url}index.html", other_pace)
    page.goto(f"{site.url}index.html")
    page.clock.pause_at(60)
    change = page.locator(".headline-pace-change")
    expect(change).to_have_text(re.compile(words) if words else "")
    page.get_by_role("button", name="Write it again").click()
    page.clock.run_for(round(interval_s * 1000) - 5)
    assert opacities(page) == [0, 0, 0]
    page.clock.run_for(10)
    assert opacities(page) == [1, 0, 0]


def test_headline_does_not_move_while_it_is_written(site: Site, visit: Open) -> None:
    page = visit().page
    page.clock.install()
    page.goto(site.url)
    replay = page.get_by_role("button", name="Write it again")
    replay.click()
    before = page.locator(".opening").bounding_box()
    page.clock.run_for(60_000)
    assert page.locator(".opening").bounding_box() == before
    assert opacities(page) == [1, 1, 1]


@pytest.mark.parametrize(
    "options", [{"java_script_enabled": False}, {"reduced_motion": "reduce"}], ids=["no-js", "still"]
)
def test_headline_is_simply_there(site: Site, visit: Open, options: dict[str, object]) -> None:
    page = visit(**options).page
    page.goto(site.url)
    page.wait_for_load_state("networkidle")
    assert opacities(page) == [1, 1, 1]
    expect(page.locator(".headline")).to_be_visible()
    expect(page.locator(".headline-replay")).not_to_be_visible()


@pytest.mark.parametrize("java_script_enabled", [True, False], ids=["js", "no-js"])
def test_token_ids_show_on_hover_and_on_focus(site: Site, visit: Open, java_script_enabled: bool) -> None:
    page = visit(java_script_enabled=java_script_enabled, reduced_motion="reduce").page
    page.goto(site.url)
    for index, (token_id, _) in enumerate(TOKENS):
        token = page.locator(".headline .token").nth(index)
        style = "node => { const s = getComputedStyle(node, '::after'); return [s.display, s.content]; }"
        assert token.evaluate(style)[0] == "none"
        token.hover()
        assert token.evaluate(style) == ["block", f'"{token_id}"']
        page.mouse.move(0, 0)
        assert token.evaluate(style)[0] == "none"
        token.focus()
        assert token.evaluate(style) == ["block", f'"{token_id}"']


def test_token_ids_show_on_tap(site: Site, visit: Open) -> None:
    page = visit(width=390, has_touch=True, is_mobile=True, reduced_motion="reduce").page
    page.goto(site.url)
    for index, (token_id, _) in enumerate(TOKENS):
        token = page.locator(".headline .token").nth(index)
        token.tap()
        assert token.evaluate("node => getComputedStyle(node, '::after').content") == f'"{token_id}"'
        assert token.evaluate("node => getComputedStyle(node, '::after').display") == "block"
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_path_leads_through_primers_in_order(site: Site, visit: Open) -> None:
    page = visit(java_script_enabled=False).page
    page.goto(site.url)
    links = page.locator(".path a").evaluate_all("links => links.map(link => link.getAttribute('href'))")
    primers = [link for link in links if link.startswith("primers/")]
    assert primers == sorted(
        str(path.relative_to(site.folder)) for path in site.folder.glob("primers/*.html")
    )
    notes = [link for link in links if link.startswith("notes/")]
    assert sorted(notes) == sorted(
        str(path.relative_to(site.folder)) for path in site.folder.glob("notes/*.html")
    )
    measured = page.locator(".measured-in").text_content() or ""
    assert re.search(r"\d{4}-\d\d-\d\d", measured) and "cores" in measured, "machine and date of the figures"
