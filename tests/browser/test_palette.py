"""The two palettes: the system's from the first frame on, until a reader chooses; and that nothing moves meanwhile."""

from __future__ import annotations

import time

import pytest
from playwright.sync_api import Page, Route, expect

from .conftest import Open, Site
from .test_charts import WATCH_SHIFTS

pytestmark = pytest.mark.browser

PRIMER = "primers/1-what-a-model-is.html"

# The paper behind each frame that was painted; the first has it before any script at the end of the page ran.
WATCH_PAPER = """
  window.papers = [];
  const look = () => {
    if (document.body && getComputedStyle(document.body).getPropertyValue("--paper"))
      window.papers.push(getComputedStyle(document.body).backgroundColor);
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
"""

DARK, LIGHT = "rgb(22, 24, 27)", "rgb(252, 251, 248)"


def paper(page: Page) -> str:
    return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))


def papers(page: Page) -> set[str]:
    """All that was painted behind the page since it was opened."""
    page.wait_for_load_state("networkidle")
    return set(page.evaluate("window.papers"))


@pytest.mark.parametrize(("scheme", "colour"), [("light", LIGHT), ("dark", DARK)])
def test_the_system_s_palette_is_there_from_the_first_frame(
    site: Site, visit: Open, scheme: str, colour: str
) -> None:
    page = visit(color_scheme=scheme).page
    page.add_init_script(WATCH_PAPER)
    page.goto(site.url + PRIMER)
    assert papers(page) == {colour}
    expect(page.locator("meta[name=theme-color]")).to_have_attribute("content", colour)


def test_a_choice_is_kept_from_the_first_frame_of_the_next_page(site: Site, visit: Open) -> None:
    window = visit(color_scheme="light")
    page = window.page
    page.goto(site.url + PRIMER)
    page.add_init_script(WATCH_PAPER)
    button = page.get_by_role("button", name="Dark palette")
    expect(button).to_have_attribute("aria-pressed", "false")
    button.focus()
    page.keyboard.press("Enter")
    expect(button).to_have_attribute("aria-pressed", "true")
    expect(button).to_be_focused()
    assert paper(page) == DARK
    page.reload()
    assert papers(page) == {DARK}
    page.evaluate("window.sameDocument = true")
    page.locator(".md-footer__link--next").click()
    page.wait_for_url("**/2-why-decode-is-slow*")
    expect(page.locator("meta[name=theme-color]")).to_have_attribute("content", DARK)
    assert page.evaluate("window.sameDocument") and paper(page) == DARK
    page.keyboard.press("Tab")
    page.get_by_role("button", name="Dark palette").press(" ")
    assert paper(page) == LIGHT
    assert window.complaints == []


def test_a_system_that_changes_its_palette_is_followed_until_one_was_chosen(site: Site, visit: Open) -> None:
    page = visit(color_scheme="light").page
    page.goto(site.url + PRIMER)
    button = page.get_by_role("button", name="Dark palette")
    expect(button).to_have_attribute("aria-pressed", "false")
    page.emulate_media(color_scheme="dark")
    expect(button).to_have_attribute("aria-pressed", "true")
    assert paper(page) == DARK
    button.click()
    page.emulate_media(color_scheme="light")
    page.emulate_media(color_scheme="dark")
    expect(button).to_have_attribute("aria-pressed", "false")
    assert paper(page) == LIGHT


def test_without_scripts_there_is_no_button(site: Site, visit: Open) -> None:
    page = visit(java_script_enabled=False, color_scheme="dark").page
    page.goto(site.url + PRIMER)
    expect(page.locator(".palette")).to_be_hidden()
    assert paper(page) == DARK


@pytest.mark.parametrize("late", ["**/mark.svg", "**/site.js", "**/*.woff2"])
def test_nothing_moves_when_a_file_comes_late(site: Site, visit: Open, late: str) -> None:
    page = visit(width=1280).page
    page.add_init_script(WATCH_SHIFTS)

    def wait(route: Route) -> None:
        time.sleep(0.3)
        route.continue_()

    page.route(late, wait)
    page.goto(site.url + "reference/authoring.html")
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(100)
    assert page.evaluate("window.shifts") == []
