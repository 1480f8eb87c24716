"""The calculator: the same words as the build's over many settings, by keyboard, in the address, without scripts."""

from __future__ import annotations

import itertools
import json
import random
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from hooks.widgets import calculator_words, footprint
from hooks.widgets.footprint import Setting

from .conftest import Open, Site

pytestmark = pytest.mark.browser

PAGE = "primers/3-the-kv-cache.html"


def settings() -> list[Setting]:
    """Fixture settings: the ends of every range, what rounds badly, and random ones, the same at each run."""
    chance = random.Random(5)
    limits = footprint.LIMITS
    ends = [
        Setting(context, batch, weights, cache)
        for context in (1, 4096, limits["context_tokens"])
        for batch in (1, limits["batch"])
        for weights in footprint.WEIGHT_BITS
        for cache in footprint.CACHE_BITS
    ]
    drawn = [
        Setting(
            int(2 ** chance.uniform(0, 20)),
            int(2 ** chance.uniform(0, 10)),
            chance.choice(footprint.WEIGHT_BITS),
            chance.choice(footprint.CACHE_BITS),
        )
        for _ in range(400)
    ]
    return ends + drawn


def test_the_browser_says_what_the_build_says(site: Site, visit: Open) -> None:
    window = visit()
    page = window.page
    page.goto(site.url + PAGE)
    data = json.loads(page.locator(".calculator").get_attribute("data-calculator") or "")
    pairs = [(model, machine) for model in data["models"] for machine in data["machines"]]
    asked = [
        {"model": model, "on": machine, "context": s.context_tokens, "batch": s.batch}
        | {"weights": s.weight_bits, "cache": s.cache_bits}
        for s, (model, machine) in zip(
            settings(), itertools.cycle(pairs)
        )  # every pair with every kind of setting
    ]
    found = page.evaluate(
        """([data, asked]) => asked.map((setting) => {
             const [model, machine] = [data.models[setting.model], data.machines[setting.on]];
             const { settingOf, results, row } = splicedCalculator;
             return [settingOf(model, setting), results(model, setting, machine), row(model, setting, machine)];
           })""",
        [data, asked],
    )
    for setting, (title, lines, row) in zip(asked, found, strict=True):
        assert (title, lines, row) == expected(data, setting), setting
    assert window.complaints == []


def expected(data: dict[str, Any], asked: dict[str, Any]) -> tuple[str, dict[str, list[str]], dict[str, str]]:
    """The build's words for what the browser was asked."""
    setting = Setting(asked["context"], asked["batch"], asked["weights"], asked["cache"])
    model, machine = data["models"][asked["model"]], data["machines"][asked["on"]]
    lines = calculator_words.results(model, setting, machine)
    row = calculator_words.machines(model, setting, {"it": machine})["it"]
    return (
        calculator_words.setting_of(model, setting),
        {line.name: [line.value, line.formula] for line in lines},
        {"fits": row.fits, "least": row.least, "speed": row.speed},
    )


def result(page: Page, name: str) -> str:
    return page.locator(f".calculator [data-result='{name}'] strong").text_content() or ""


def test_by_keyboard_and_in_the_address(site: Site, visit: Open) -> None:
    window = visit()
    page = window.page
    page.goto(site.url + PAGE)
    calculator = page.locator(".calculator.is-ready")
    before = result(page, "cache")
    calculator.get_by_label("Model").focus()
    page.keyboard.press("L")
    expect(calculator.get_by_label("Model")).to_have_value("llama-2-70b")
    page.keyboard.press("Tab")
    page.keyboard.press("Control+A")
    page.keyboard.type("2048")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    expect(calculator.get_by_label("Context, tokens of each sequence", exact=True)).to_have_value("4096")
    page.keyboard.press("Tab")
    page.keyboard.type("6")  # before the 1 that stands there is selected by Tab: it replaces it
    calculator.get_by_label("Weights").select_option("8")
    assert result(page, "cache") != before
    page.wait_for_url("**/*model=llama-2-70b*weights=8*#calculator")
    assert "context=" not in page.url, "what is as at the start is left out"
    kept = calculator.locator(".calculator-results").inner_text()
    other = visit().page
    other.goto(page.url)
    assert other.locator(".calculator.is-ready .calculator-results").inner_text() == kept
    assert window.complaints == []


def test_senseless_settings_are_refused_and_mended(site: Site, visit: Open) -> None:
    page = visit().page
    page.goto(f"{site.url}{PAGE}?model=none&batch=0&context=9999999999&weights=7&on=h200")
    calculator = page.locator(".calculator.is-ready")
    batch = calculator.get_by_label("Batch, sequences at once", exact=True)
    expect(batch).to_have_value("1")
    expect(calculator.get_by_label("Weights")).to_have_value("16")
    expect(calculator.get_by_label("Time on")).to_have_value("h200")
    expect(calculator.locator("[data-result='least'] dt")).to_contain_text("H200")
    before = result(page, "cache")
    batch.fill("0")
    expect(batch).to_have_attribute("aria-invalid", "true")
    assert result(page, "cache") == before
    batch.blur()
    expect(batch).to_have_value("1")
    expect(batch).not_to_have_attribute("aria-invalid", "true")


def test_from_a_file_and_after_instant_navigation(site: Site, visit: Open) -> None:
    window = visit()
    page = window.page
    page.goto(f"{(site.folder / PAGE).as_uri()}?model=llama-2-70b")
    expect(page.locator(".calculator.is-ready").get_by_label("Model")).to_have_value("llama-2-70b")
    page.locator(".calculator").get_by_label("Weights").select_option("4")
    page.wait_for_timeout(300)
    # From a file, the browser refuses to load the face of the headings ahead of the style sheet that asks for it.
    assert [text for text in window.complaints if "font" not in text and "ERR_FAILED" not in text] == []
    window.complaints.clear()
    page.goto(f"{site.url}{PAGE}")
    page.evaluate("window.sameDocument = true")
    page.locator(".calculator").get_by_label("Weights").select_option("4")
    page.wait_for_url("**weights=4*")
    page.locator(".md-content a[href*='2-why-decode']").first.click()
    page.wait_for_url("**/2-why-decode*")
    page.go_back()
    expect(page.locator(".calculator.is-ready").get_by_label("Weights")).to_have_value("4")
    assert page.evaluate("window.sameDocument === true")
    assert window.complaints == []


def test_without_scripts_a_table_of_settings_stands(site: Site, visit: Open) -> None:
    page = visit(width=320, java_script_enabled=False).page
    page.goto(site.url + PAGE)
    calculator = page.locator(".calculator")
    expect(calculator.locator(".calculator-form")).not_to_be_visible()
    assert calculator.locator(".calculator-few tbody tr").count() >= 6
    for line in calculator.locator("[data-result]").all():
        expect(line.locator("strong")).to_be_visible()
        expect(line.locator(".calculator-formula")).to_be_visible()
    number = calculator.locator("[data-machine] .quantity").first
    number.focus()
    expect(number.locator("xpath=..").locator(".provenance")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 320


def test_it_fits_narrow_windows_and_print(site: Site, visit: Open) -> None:
    page = visit(width=320).page
    page.goto(site.url + PAGE)
    expect(page.locator(".calculator.is-ready .calculator-form")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    page.emulate_media(media="print")
    expect(page.locator(".calculator-form")).not_to_be_visible()
    expect(page.locator(".calculator-setting")).to_be_visible()
    expect(page.locator(".calculator-results")).to_be_visible()
