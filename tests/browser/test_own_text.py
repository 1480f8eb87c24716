"""A reader's own text: cut in the browser as the build cuts it, also from a file; by keyboard; loaded when wanted."""

from __future__ import annotations

import random
import unicodedata

import pytest
from playwright.sync_api import Locator, Page, expect
from wcwidth import iter_graphemes

from hooks.data import store
from hooks.writing import tokens

from .conftest import SITE_DATA, Open, Site

pytestmark = pytest.mark.browser

PAGE = "primers/1-what-a-model-is.html"


def texts() -> list[str]:
    """Fixture texts: what is known to be hard, and random characters, the same at each run."""
    chance = random.Random(4)
    every = [chr(code) for code in range(1, 0x30000) if not 0xD800 <= code < 0xE000]
    marks = [character for character in every if unicodedata.combining(character)]
    pools = (every, [*every[:0x3000], *marks * 20], every[:0x250], every[0x4E00:0x9FFF], every[0x600:0x700])
    drawn = ["".join(chance.choices(chance.choice(pools), k=chance.randint(1, 30))) for _ in range(200)]
    return [
        "Spliced inference",
        "naïve nai\u0308ve Å \u212b ﬁ 각 \u1100\u1161\u11a8",
        "👩‍👩‍👧‍👦 🇩🇪🏳️‍🌈 🦭🦔",
        "don'ſ I'LL x'ſ 'S ٣٤٥ Ⅷ 1234567",
        "<|im_start|>\u0338a<|im_end|> <tool_call>",
        "constructor __proto__ toString hasOwnProperty",
        " \t \n\n \u00a0\u2003\u2028\x85\ufeff x",
        "नमस्ते 日本語 שלום สวัสดี",
        "\U00011383\U000113c9 \U00016d67\U00016d67 \u0898a \U00031350",  # newer than the tokenizer's Unicode
        "ab" * 3000,
        *drawn,
    ]


CUT = """texts => {
    const segmenter = new Intl.Segmenter("en", { granularity: "grapheme" });
    return [
        texts.map((text) => splicedCutters["qwen2.5"](text)),
        texts.map((text) => Array.from(segmenter.segment(text), ({ segment }) => segment)),
    ];
}"""


def loaded(page: Page, address: str) -> Locator:
    """The element on the page, its tokenizer loaded by its button."""
    page.goto(address)
    element = page.locator(".own-text").first
    element.get_by_role("button").click()
    expect(element).to_have_class("own-text is-ready is-loaded")
    return element


@pytest.mark.parametrize("where", ["served", "file"])
def test_any_text_is_cut_as_at_build(site: Site, visit: Open, where: str) -> None:
    window = visit()
    loaded(window.page, (site.url + PAGE) if where == "served" else (site.folder / PAGE).as_uri())
    data = store.load_cached(SITE_DATA)
    asked = texts() if where == "served" else texts()[:12]
    found, graphemes = window.page.evaluate(CUT, asked)
    alike = 0
    for text, pieces, browsers in zip(asked, found, graphemes, strict=True):
        expected = [[piece.text, list(piece.ids)] for piece in tokens.tokenize(text, data)]
        assert [id_ for _, ids in pieces for id_ in ids] == [id_ for _, ids in expected for id_ in ids], (
            ascii(text)
        )
        if browsers == list(iter_graphemes(text)):  # a browser's Unicode may be another one than the build's
            assert pieces == expected, ascii(text)
            alike += 1
    assert alike > 0.9 * len(asked)
    assert window.foreign == []
    # From a file, the browser refuses to load the face of the headings ahead of the style sheet that asks for it.
    assert [text for text in window.complaints if "font" not in text and "ERR_FAILED" not in text] == []


def test_it_is_loaded_when_wanted_and_its_size_is_said_before(site: Site, visit: Open) -> None:
    window = visit()
    page = window.page
    page.goto(site.url + PAGE)
    element = page.locator(".own-text")
    page.wait_for_load_state("networkidle")
    script = element.get_attribute("data-cutter") or ""
    name = script.rpartition("/")[2]
    assert not [url for url in window.requests if name in url]
    said = element.get_by_role("button").text_content() or ""
    (served,) = [path for path in site.folder.rglob("*.js") if path.name == name]
    assert "kB" in said and 300 < int("".join(filter(str.isdigit, said))) < served.stat().st_size / 1000
    element.get_by_label("Your text").fill("Other text")
    expect(element.locator(".own-text-status")).to_contain_text("Load the tokenizer")
    page.route(f"**/{name}", lambda route: route.abort())
    element.get_by_role("button").click()
    expect(element.locator(".own-text-status")).to_contain_text("could not be loaded")
    page.unroute(f"**/{name}")
    element.get_by_role("button").click()
    expect(element.locator(".own-text-status")).to_have_text("2 tokens for 10 characters")
    assert [token.text_content() for token in element.locator(".token").all()] == ["Other", " text"]


def test_by_keyboard_alone(site: Site, visit: Open) -> None:
    page = visit().page
    page.goto(site.url + PAGE)
    element = page.locator(".own-text")
    element.get_by_label("Your text").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(element.get_by_label("Your text")).to_be_focused()
    page.keyboard.press("Control+A")
    page.keyboard.type("naïve 🦭\nend")
    shown = element.locator(".token")
    expect(shown).to_have_count(6)
    assert "".join(token.text_content() or "" for token in shown.all()) == "naïve 🦭\nend"
    seal = shown.filter(has_text="🦭")
    assert len((seal.get_attribute("data-token-id") or "").split()) > 1
    page.keyboard.press("Tab")
    expect(shown.first).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(shown.nth(1)).to_be_focused()
    page.keyboard.press("End")
    expect(shown.last).to_be_focused()
    expect(element.locator(".own-text-status")).to_have_text("8 tokens for 11 characters")


def test_what_has_no_tokens_is_said(site: Site, visit: Open) -> None:
    window = visit()
    element = loaded(window.page, site.url + PAGE)
    field, status = element.get_by_label("Your text"), element.locator(".own-text-status")
    field.evaluate(
        "field => { field.value = 'a\\ud800b'; field.dispatchEvent(new Event('input', {bubbles: true})); }"
    )
    expect(status).to_contain_text("half a character")
    field.fill("")
    expect(status).to_have_text("0 tokens for 0 characters")
    field.fill("e\u0301")
    expect(status).to_contain_text("put together")
    field.fill("word " * 2500)
    expect(status).to_contain_text("The first 2,000 pieces are shown")
    assert window.complaints == []


def test_it_begins_anew_after_instant_navigation(site: Site, visit: Open) -> None:
    window = visit()
    page = window.page
    page.goto(site.url)
    page.evaluate("window.sameDocument = true")
    page.locator(".md-content a[href*='1-what-a-model-is']").first.click()
    element = page.locator(".own-text.is-ready")
    element.get_by_role("button").click()
    expect(page.locator(".own-text.is-loaded")).to_be_visible()
    page.locator(".md-content a[href*='2-why-decode']").first.click()
    page.wait_for_url("**/2-why-decode*")
    page.go_back()
    again = page.locator(".own-text.is-loaded")
    again.get_by_label("Your text").fill("Spliced")
    expect(again.locator(".token")).to_have_count(2)
    assert page.evaluate("window.sameDocument === true")
    assert window.complaints == []


def test_without_scripts_the_example_stands(site: Site, visit: Open) -> None:
    page = visit(width=320, java_script_enabled=False).page
    page.goto(site.url + PAGE)
    element = page.locator(".own-text")
    expect(element.locator(".token").first).to_be_visible()
    expect(element.locator("textarea")).not_to_be_visible()
    expect(element.locator(".own-text-status")).to_contain_text("tokens for")
    assert page.evaluate("document.documentElement.scrollWidth") <= 320


def test_a_narrow_window_holds_any_token(site: Site, visit: Open) -> None:
    page = visit(width=320).page
    element = loaded(page, site.url + PAGE)
    element.get_by_label("Your text").fill("=" * 500 + " " + "الإنسان" * 9 + " 🦭" * 30)
    expect(element.locator(".own-text-status")).to_contain_text("tokens for")
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
