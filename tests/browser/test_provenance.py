"""Where a number comes from: shown by hover, by tap and by keyboard, with and without scripts, inside the window."""

from __future__ import annotations

import json
import re
import tomllib

import pytest
from playwright.sync_api import Locator, Page, expect

from .conftest import ROOT, SITE_DATA, Open, Site

pytestmark = pytest.mark.browser

PRIMER = "primers/1-what-a-model-is.html"
REFUSALS = {"unavailable", "unresolved", "contaminated", "did_not_fit"}
NUMBER = "decode.seconds_per_token"


def popover_of(number: Locator) -> Locator:
    return number.locator('xpath=following-sibling::*[@role="tooltip"]')


def number_on(page: Page) -> tuple[Locator, Locator]:
    """The first number of the primer's running text, and the element that holds its provenance."""
    number = page.locator(f'.md-content .quantity[data-quantity="{NUMBER}"]').first
    return number, popover_of(number)


def expected_parts(number: Locator) -> list[str]:
    """What must be shown, read from the data itself and not from the program that publishes it."""
    run_id = number.get_attribute("data-run")
    folder = SITE_DATA / "runs" / str(run_id)
    run = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    quantities = tomllib.loads((ROOT / "docs" / "quantities.toml").read_text(encoding="utf-8"))
    definition = quantities["quantity"][NUMBER]
    cell = {key: value for key, value in definition["measured"].items() if key != "field"}
    lines = (folder / "samples.jsonl").read_text(encoding="utf-8").splitlines()
    samples = [sample for sample in map(json.loads, lines) if cell.items() <= sample.items()]
    used = [sample for sample in samples if not sample["warm_up"] and not sample["refusal"]]
    # A round that was resumed has two processes; the site counts it once.
    round_of = {process["process"]: process["round"] for process in run["processes"]}
    processes = {round_of[sample["process"]] for sample in used}
    assert len(processes) >= 3, "the run behind the primer has too few processes for an interval"
    return [
        number.text_content() or "",
        f"{len(processes)} processes",
        f"{len(used)} samples",
        run["run_id"],
        run["machine"]["label"],
        run["finished_at"][:10],
        run["model"]["weights"]["label"],
        definition["meaning"],
    ]


def assert_tells_all(popover: Locator, number: Locator) -> None:
    expect(popover).to_be_visible()
    text = " ".join((popover.text_content() or "").split())
    for part in expected_parts(number):
        assert " ".join(part.split()) in text
    assert re.search(r"\d\S* to \d\S*\s\S+", text), f"no interval in: {text}"


def assert_inside(page: Page, popover: Locator) -> None:
    box = popover.bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= page.evaluate("document.documentElement.clientWidth")
    assert box["height"] >= 60, "squeezed: nobody can read it"


def assert_apart(popover: Locator, number: Locator) -> None:
    """A reader still sees the number whose provenance is shown."""
    over, under = popover.bounding_box(), number.bounding_box()
    assert over is not None
    assert under is not None
    assert over["y"] + over["height"] <= under["y"] or over["y"] >= under["y"] + under["height"]


@pytest.mark.parametrize("java_script_enabled", [True, False], ids=["js", "no-js"])
def test_hover_shows_the_provenance(site: Site, visit: Open, java_script_enabled: bool) -> None:
    page = visit(java_script_enabled=java_script_enabled).page
    page.goto(site.url + PRIMER)
    number, popover = number_on(page)
    expect(popover).not_to_be_visible()
    number.hover()
    assert_tells_all(popover, number)
    page.mouse.move(0, 0)
    expect(popover).not_to_be_visible()


@pytest.mark.parametrize("java_script_enabled", [True, False], ids=["js", "no-js"])
def test_keyboard_focus_shows_the_provenance(site: Site, visit: Open, java_script_enabled: bool) -> None:
    page = visit(java_script_enabled=java_script_enabled).page
    page.goto(site.url + PRIMER)
    number, popover = number_on(page)
    focused = "node => document.activeElement === node"
    for _ in range(300):
        page.keyboard.press("Tab")
        if number.evaluate(focused):
            break
    assert number.evaluate(focused), "the number cannot be reached with Tab"
    assert_tells_all(popover, number)


def test_escape_dismisses_the_provenance(site: Site, visit: Open) -> None:
    page = visit().page
    page.goto(site.url + PRIMER)
    number, popover = number_on(page)
    number.focus()
    expect(popover).to_be_visible()
    page.keyboard.press("Escape")
    expect(popover).not_to_be_visible()
    number.blur()
    number.focus()
    expect(popover).to_be_visible()


@pytest.mark.parametrize("width", [320, 390])
def test_tap_shows_and_hides_the_provenance(site: Site, visit: Open, width: int) -> None:
    page = visit(width=width, has_touch=True, is_mobile=True).page
    page.goto(site.url + PRIMER)
    number, popover = number_on(page)
    number.tap()
    assert_tells_all(popover, number)
    assert_inside(page, popover)
    assert_apart(popover, number)
    number.tap()
    expect(popover).not_to_be_visible()
    number.tap()
    expect(popover).to_be_visible()
    page.locator("h2").first.tap()
    expect(popover).not_to_be_visible()


@pytest.mark.parametrize("java_script_enabled", [True, False], ids=["js", "no-js"])
@pytest.mark.parametrize("width", [320, 1280])
def test_every_popover_stays_inside_the_window(
    site: Site, visit: Open, width: int, java_script_enabled: bool
) -> None:
    page = visit(width=width, java_script_enabled=java_script_enabled).page
    for path in ("index.html", PRIMER):
        page.goto(site.url + path)
        for number in page.locator(".md-content .quantity[tabindex], .md-content .claim-mark").all():
            number.focus()
            popover = popover_of(number)
            expect(popover).to_be_visible()
            assert_inside(page, popover)


def test_refusal_says_why(site: Site, visit: Open) -> None:
    page = visit().page
    page.goto(site.url)
    for refused in page.locator(".quantity.refused").all():
        assert len(refused.text_content() or "") > 20
        assert refused.get_attribute("data-refusal") in REFUSALS
        refused.focus()
        expect(popover_of(refused)).to_be_visible()
