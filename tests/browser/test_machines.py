"""The machine switch: another machine's figures in place, by keyboard and by address, from a file, on paper."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from .conftest import Open, Site, Visit

pytestmark = pytest.mark.browser

MAIN, GPU, SMALL = "fixture-main", "fixture-gpu", "fixture-small"
CONTENT = "document.querySelector('article').innerHTML"


def goto(window: Visit, site: Site, address: str = "machines.html") -> Page:
    window.page.goto(site.url + address)
    expect(window.page.locator(".machine-choice select")).to_be_visible()
    return window.page


def choose(page: Page, run: str) -> None:
    page.locator(".machine-choice select").select_option(run)
    expect(page.locator(".machine-status")).to_contain_text(
        "Marked figures are of" if run != MAIN else "main machine again"
    )


def number(page: Page) -> str:
    return page.locator("[data-quantity='decode.seconds_per_token']").first.inner_text()


def files(window: Visit) -> list[str]:
    return [re.sub(r".*/data/machines/|\?.*", "", url) for url in window.requests if "/data/machines/" in url]


def test_all_that_a_page_says_is_of_the_machine_that_is_shown(chart_site: Site, visit: Open) -> None:
    window = visit()
    page = goto(window, chart_site)
    before = page.evaluate(CONTENT)
    assert number(page).startswith("358") and files(window) == [], "nothing is loaded before it is wanted"

    choose(page, GPU)
    article = page.locator("article")
    assert files(window) == [f"machines/{GPU}.js"]
    assert number(page).startswith("7.1")
    expect(article).to_contain_text("Energy was measured")
    expect(article).not_to_contain_text("Energy was not measured")
    expect(page.locator("figure.chart figcaption")).to_contain_text("fixture machine with a GPU")
    assert page.locator("figure.chart svg:visible").count() == 1
    expect(page.locator(".claim-contradicted .claim-mark")).to_have_text(
        re.compile("does not hold on fixture machine with a GPU")
    )
    expect(page.locator(".machine-status")).to_contain_text("1 sentence does not hold there, and says so.")
    heading = page.locator("h2#depth").inner_text().removesuffix("¶")
    assert heading in page.locator(".md-nav--secondary").last.inner_text()
    assert page.locator(".pace").get_attribute("data-seconds-per-token") == "0.0071\u202fs"
    assert page.locator("[data-quantity='model.qwen2.5-1.5b.layers'].is-elsewhere").count() == 0
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map((each) => each.id)")
    assert len(ids) == len(set(ids))

    page.locator("[data-quantity='decode.seconds_per_token']").first.focus()
    expect(page.locator(".provenance:visible")).to_contain_text("fixture machine with a GPU")

    choose(page, SMALL)
    expect(article).to_contain_text("Energy was not measured")
    expect(page.locator(".machine-status")).to_contain_text("They are of another model, SmolLM2-135M.")
    choose(page, MAIN)
    page.locator(".machine-status").evaluate("(status) => status.replaceChildren()")
    assert page.evaluate(CONTENT) == before, "everything is as it was"
    assert window.complaints == [] and window.foreign == []


def test_by_keyboard_and_announced(chart_site: Site, visit: Open) -> None:
    page = goto(visit(), chart_site)
    select = page.get_by_role("combobox", name="Figures of")
    select.focus()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("status")).to_contain_text("Marked figures are of fixture machine with a GPU")
    expect(select).to_be_focused()
    expect(page.locator(".machine-switch.is-elsewhere")).to_have_count(1)


def test_the_choice_goes_from_page_to_page_and_stands_in_the_address(chart_site: Site, visit: Open) -> None:
    window = visit()
    page = goto(window, chart_site)
    choose(page, GPU)
    assert page.url.endswith(f"machines.html?run={GPU}")
    page.evaluate("window.same = true")
    page.get_by_role("link", name="Other", exact=True).last.click()
    expect(page.locator("h1")).to_contain_text("Other")
    expect(page.locator(".machine-status")).to_contain_text("fixture machine with a GPU")
    assert page.evaluate("window.same") and number(page).startswith("7.1"), "without a full load"
    assert page.url.endswith(f"other.html?run={GPU}")
    page.go_back()
    expect(page.locator("h1")).to_contain_text("Machines")
    expect(page.locator(".machine-status")).to_contain_text("fixture machine with a GPU")
    page.reload()
    expect(page.locator(".machine-status")).to_contain_text("fixture machine with a GPU")
    choose(page, MAIN)
    assert page.url.endswith("machines.html")
    page.goto(chart_site.url + "other.html")
    expect(page.locator(".machine-choice select")).to_have_value(MAIN)
    assert number(page).startswith("358") and window.complaints == []


def test_an_address_names_a_run(chart_site: Site, visit: Open) -> None:
    page = goto(visit(), chart_site, f"machines.html?run={SMALL}#depth")
    expect(page.locator(".machine-choice select")).to_have_value(SMALL)
    expect(page.locator("h2#depth")).to_be_in_viewport()
    page = goto(visit(), chart_site, "machines.html?run=nobody-knows")
    expect(page.locator(".machine-status")).to_contain_text("no figures of the run nobody-knows")
    assert number(page).startswith("358")


def test_what_does_not_load_leaves_the_page_as_it_is(chart_site: Site, visit: Open) -> None:
    page = goto(visit(), chart_site)
    page.route("**/data/machines/**", lambda route: route.abort())
    page.locator(".machine-choice select").select_option(GPU)
    expect(page.locator(".machine-status")).to_contain_text("could not be loaded")
    expect(page.locator(".machine-choice select")).to_have_value(MAIN)
    page.unroute("**/data/machines/**")
    page.route(
        "**/data/machines/**",
        lambda route: route.fulfill(
            body=f'window.splicedRuns = {{"machines.md {GPU}": {{edition: "old"}}}};'
        ),
    )
    page.locator(".machine-choice select").select_option(GPU)
    expect(page.locator(".machine-status")).to_contain_text("could not be loaded")
    assert number(page).startswith("358") and "run=" not in page.url


def test_from_a_file(chart_site: Site, visit: Open) -> None:
    window = visit()
    window.page.goto((chart_site.folder / "machines.html").as_uri())
    choose(window.page, GPU)
    assert number(window.page).startswith("7.1")
    assert not [text for text in window.complaints if "machines" in text]


def test_without_scripts_and_on_paper(chart_site: Site, visit: Open) -> None:
    plain = visit(java_script_enabled=False).page
    plain.goto(chart_site.url + "machines.html")
    expect(plain.locator(".machine-shown")).to_have_text(
        re.compile("Figures of fixture machine .* Qwen2.5-1.5B · 2026-01-02")
    )
    expect(plain.locator(".machine-choice")).to_be_hidden()

    page = goto(visit(), chart_site)
    choose(page, GPU)
    page.emulate_media(media="print")
    expect(page.locator(".machine-shown")).to_contain_text("fixture machine with a GPU")
    expect(page.locator(".machine-shown")).to_be_visible()
    expect(page.locator(".machine-choice")).to_be_hidden()
    expect(page.locator(".machine-status")).to_be_visible()
    expect(page.locator(".claim-contradicted .claim-mark")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_narrow_screen(chart_site: Site, visit: Open, scheme: str) -> None:
    page = goto(visit(width=320, height=700, color_scheme=scheme), chart_site)
    choose(page, GPU)
    page.mouse.wheel(0, 900)
    bar = page.locator(".machine-bar")
    expect(bar).to_be_in_viewport()
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    assert bar.evaluate("(bar) => bar.getBoundingClientRect().height") < 60
