"""The home page's headline: real tokens, written at the measured pace, and simply there where that is not wanted."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

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
    slowdown = page.locator(".headline-slowdown").text_content() or ""
    factor = int("".join(filter(str.isdigit, slowdown)) or 1)
    page.get_by_role("button", name="Write it again").click()
    assert opacities(page) == [0, 0, 0]
    for written in (1, 2, 3):
        page.clock.run_for(round(seconds * factor * 1000) + 2)
        assert opacities(page) == [1] * written + [0] * (3 - written)
    assert window.complaints == []


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
