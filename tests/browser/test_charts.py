"""Charts that answer: loaded only when wanted, without moving the page, through all that a page goes through."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from .chart_site import CHARTS
from .conftest import Open, Site, Visit, _Handler, served
from .test_pages import CONTRAST

pytestmark = pytest.mark.browser

# Every shift of the layout since the page was opened, those soon after a click included.
WATCH_SHIFTS = """
  window.shifts = [];
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      const at = ({ x, y, width, height }) => [x, y, width, height].map(Math.round).join(" ");
      const moved = ({ node, previousRect, currentRect }) =>
        `${node?.className ?? node?.nodeName}: ${at(previousRect)} became ${at(currentRect)}`;
      window.shifts.push([entry.value, Math.round(entry.startTime), entry.sources.map(moved)]);
    }
  }).observe({ type: "layout-shift", buffered: true });
"""


def figure(page: Page, name: str = "time-per-token") -> Locator:
    return page.locator(f'figure.chart[data-chart="{name}"]').first


def canvas(one: Locator) -> Locator:
    return one.locator(".chart-canvas svg")


def explore(one: Locator) -> Locator:
    """Presses the figure's button and waits for the chart."""
    one.locator(".chart-explore").click()
    canvas(one).wait_for()
    return canvas(one)


def loaded(window: Visit) -> list[str]:
    """What was loaded for charts that answer: `vega`, and the documents by name."""
    names = [re.sub(r".*/", "", url) for url in window.requests]
    return [
        "vega" if name.startswith("vega-") else name
        for name in names
        if re.search(r"^vega-|explore\.json$", name)
    ]


def ticks(one: Locator) -> list[str]:
    """The labels of both axes; Vega may draw the same ones in another order."""
    return sorted(canvas(one).locator(".role-axis-label text").all_text_contents())


def points(one: Locator) -> Locator:
    return canvas(one).locator(".points_marks path")


def middle(thing: Locator) -> tuple[float, float]:
    box = thing.bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


# ---------------------------------------------------------------- loading


def test_nothing_is_loaded_for_a_reader_who_only_scrolls(chart_site: Site, visit: Open) -> None:
    window = visit()
    window.page.goto(chart_site.url + "charts.html")
    for one in window.page.locator("figure.chart").all():
        one.scroll_into_view_if_needed()
    window.page.wait_for_load_state("networkidle")
    window.page.wait_for_timeout(600)
    assert loaded(window) == [] and window.page.locator(".chart-live").count() == 0


def test_the_button_loads_the_script_once_and_each_chart_once(chart_site: Site, visit: Open) -> None:
    window = visit()
    page = window.page
    page.goto(chart_site.url + "charts.html")
    for one in page.locator("figure.chart[data-explore]").all():
        explore(one)
        assert points(one).count() > 0
    wanted = loaded(window)
    assert wanted.count("vega") == 1
    assert len(wanted) == 1 + page.locator("figure.chart[data-explore]").count() == len(CHARTS)
    assert window.foreign == [] and window.complaints == []


def test_resting_the_mouse_on_a_picture_is_enough(chart_site: Site, visit: Open) -> None:
    page = visit().page
    page.goto(chart_site.url + "charts.html")
    figure(page).locator(".chart-picture").hover()
    canvas(figure(page)).wait_for()


@pytest.mark.parametrize("connection", [{"saveData": True}, {"effectiveType": "2g"}], ids=["save-data", "2g"])
def test_a_reader_who_saves_data_is_asked_first(
    chart_site: Site, visit: Open, connection: dict[str, Any]
) -> None:
    window = visit()
    window.page.add_init_script(
        f"Object.defineProperty(Navigator.prototype, 'connection', {{ get: () => ({connection!s}) }})".replace(
            "True", "true"
        )
    )
    window.page.goto(chart_site.url + "charts.html")
    figure(window.page).locator(".chart-picture").hover()
    window.page.wait_for_timeout(800)
    assert loaded(window) == []
    explore(figure(window.page))


def test_a_finger_that_touches_a_picture_loads_nothing(chart_site: Site, visit: Open) -> None:
    window = visit(width=390, height=800, has_touch=True, is_mobile=True)
    window.page.goto(chart_site.url + "charts.html")
    figure(window.page).locator(".chart-picture").tap()
    window.page.wait_for_timeout(800)
    assert loaded(window) == []
    figure(window.page).locator(".chart-explore").tap()
    canvas(figure(window.page)).wait_for()
    box = points(figure(window.page)).first.bounding_box()
    assert box is not None
    window.page.touchscreen.tap(box["x"] + 2, box["y"] + 2)
    expect(figure(window.page).locator(".chart-tip")).to_be_visible()


def test_where_loading_fails_the_picture_stays_and_a_second_try_works(chart_site: Site, visit: Open) -> None:
    page = visit().page
    page.goto(chart_site.url + "charts.html")
    page.route("**/*.explore.json", lambda route: route.abort())
    one = figure(page)
    one.locator(".chart-explore").click()
    expect(one.locator(".chart-explore")).to_contain_text("could not be loaded")
    expect(one.locator('.chart-picture > svg[data-size="wide"]')).to_be_visible()
    page.unroute("**/*.explore.json")
    explore(one)


def test_from_a_file_the_charts_stay_still(chart_site: Site, visit: Open) -> None:
    window = visit()
    page = window.page
    page.goto((chart_site.folder / "charts.html").as_uri())
    one = figure(page)
    expect(one.locator('.chart-picture > svg[data-size="wide"]')).to_be_visible()
    expect(one.locator(".chart-explore")).not_to_be_visible()
    one.locator(".chart-picture").hover()
    page.wait_for_timeout(600)
    assert loaded(window) == [] and page.locator(".chart-live").count() == 0


# ---------------------------------------------------------------- staying in place


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_moves_while_charts_come_answer_and_go(chart_site: Site, visit: Open, width: int) -> None:
    page = visit(width=width).page
    page.add_init_script(WATCH_SHIFTS)
    page.goto(chart_site.url + "charts.html")
    page.wait_for_load_state("networkidle")
    for one in page.locator("figure.chart[data-explore]").all():
        one.scroll_into_view_if_needed()
        before = one.bounding_box()
        explore(one)
        one.get_by_role("button", name="Zoom in").click()
        assert one.bounding_box() == before
        one.locator(".chart-explore").click()
        expect(canvas(one)).to_have_count(0)
        assert one.bounding_box() == before
    page.wait_for_timeout(300)
    assert page.evaluate("window.shifts") == []


class _Halting(_Handler):
    """Sends a page up to its first caption, and the rest a while later, as a slow network does."""

    def copyfile(self, source: Any, outputfile: Any) -> None:
        content = source.read()
        at = content.find(b"<figcaption")
        if self.path.endswith(".html") and at > 0:
            outputfile.write(content[:at])
            outputfile.flush()
            time.sleep(1)
            content = content[at:]
        outputfile.write(content)


def test_nothing_moves_when_a_caption_comes_late(chart_site: Site, visit: Open) -> None:
    """It stands above the data of the chart and comes after them, as the last in the figure."""
    page = visit().page
    page.add_init_script(WATCH_SHIFTS)
    with served(chart_site.folder, _Halting) as address:
        page.goto(f"{address}charts.html", wait_until="commit")
        expect(page.locator(".chart-picture").first).to_be_visible()
        assert page.locator("figcaption").count() == 0, "the page has come at once"
        expect(page.locator(".chart-data").first).to_be_visible()
        page.wait_for_load_state("networkidle")
        assert page.evaluate("window.shifts") == []


def test_the_chart_lies_exactly_on_its_picture(chart_site: Site, visit: Open) -> None:
    for width in (390, 700, 1280):
        page = visit(width=width).page
        page.goto(chart_site.url + "charts.html")
        one = figure(page)
        still = one.locator(".chart-picture > svg:visible").bounding_box()
        drawn = explore(one).bounding_box()
        assert still is not None and drawn is not None
        for key in ("x", "y", "width", "height"):
            assert drawn[key] == pytest.approx(still[key], abs=1.5), (width, key)


def test_arriving_at_an_anchor_is_not_disturbed(chart_site: Site, visit: Open) -> None:
    page = visit().page
    page.goto(chart_site.url + "more.html#below")
    page.wait_for_load_state("networkidle")
    before = page.evaluate("[scrollY, document.querySelector('#below').getBoundingClientRect().top]")
    assert before[0] > 500
    explore(figure(page, "time-per-token"))
    assert page.evaluate("[scrollY, document.querySelector('#below').getBoundingClientRect().top]") == before


# ---------------------------------------------------------------- answering


def test_a_point_tells_what_the_table_has(chart_site: Site, visit: Open) -> None:
    page = visit().page
    page.goto(chart_site.url + "charts.html")
    one = figure(page, "decode-by-depth")
    explore(one)
    tip = one.locator(".chart-tip")
    expect(tip).not_to_be_visible()
    rows = [row.locator("td").all_text_contents() for row in one.locator("tbody tr").all()]
    assert points(one).count() == len(rows)
    for index, row in enumerate(rows):
        at = middle(points(one).nth(index))
        page.mouse.move(at[0] + 3, at[1] - 3)
        expect(tip).to_be_visible()
        text = tip.text_content() or ""
        assert text.lower().startswith(f"{row[0]}, {row[1]} tokens: {row[2]}".lower()), (text, row)
        ring = middle(one.locator(".chart-ring"))
        assert ring == pytest.approx(at, abs=2)
    page.mouse.move(0, 0)
    expect(tip).not_to_be_visible()


def test_tips_stay_on_the_picture(chart_site: Site, visit: Open) -> None:
    for width in (390, 1280):
        page = visit(width=width).page
        page.goto(chart_site.url + "charts.html")
        one = figure(page, "roofline")
        explore(one)
        host = one.locator(".chart-live").bounding_box()
        assert host is not None
        one.locator(".chart-live").focus()
        for _ in range(points(one).count()):
            page.keyboard.press("ArrowRight")
            box = one.locator(".chart-tip").bounding_box()
            assert box is not None
            assert box["x"] >= host["x"] - 1 and box["x"] + box["width"] <= host["x"] + host["width"] + 1


def test_zoom_by_wheel_buttons_and_drag(chart_site: Site, visit: Open) -> None:
    window = visit()
    page = window.page
    page.goto(chart_site.url + "charts.html")
    one = figure(page)
    explore(one)
    whole = ticks(one)
    at = middle(one.locator(".chart-live"))
    page.mouse.move(*at)
    scrolled = page.evaluate("scrollY")
    page.mouse.wheel(0, 200)
    page.wait_for_timeout(300)
    assert page.evaluate("scrollY") > scrolled
    assert ticks(one) == whole, "the wheel alone scrolls the page"
    page.mouse.move(*middle(one.locator(".chart-live")))
    page.keyboard.down("Control")
    page.mouse.wheel(0, -300)
    page.keyboard.up("Control")
    zoomed = ticks(one)
    assert zoomed != whole and len(zoomed) >= 3
    x, y = middle(one.locator(".chart-live"))
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 150, y + 30, steps=4)
    page.mouse.up()
    assert ticks(one) not in (zoomed, whole)
    one.get_by_role("button", name="Show all").click()
    assert ticks(one) == whole
    one.get_by_role("button", name="Zoom in").click()
    assert ticks(one) != whole
    one.get_by_role("button", name="Zoom out").click()
    assert ticks(one) == whole
    assert window.complaints == []


def test_all_of_it_by_keyboard(chart_site: Site, visit: Open) -> None:
    page = visit().page
    page.goto(chart_site.url + "charts.html")
    one = figure(page)
    button = one.locator(".chart-explore")
    for _ in range(200):
        page.keyboard.press("Tab")
        if button.evaluate("node => document.activeElement === node"):
            break
    page.keyboard.press("Enter")
    canvas(one).wait_for()
    host = one.locator(".chart-live")
    expect(host).to_be_focused()
    name = host.get_attribute("aria-label") or ""
    assert one.locator("svg title").first.text_content() in name and "arrows" in name
    told = []
    for key in ("ArrowRight", "ArrowRight", "ArrowDown"):
        page.keyboard.press(key)
        told.append(one.locator(".chart-said").text_content() or "")
    assert len(set(told)) == 3 and all("tokens:" in text for text in told)
    assert told[0].split(",")[0] == told[1].split(",")[0] != told[2].split(",")[0], (
        "down goes to the line below"
    )
    whole = ticks(one)
    page.keyboard.press("+")
    assert ticks(one) != whole
    page.keyboard.press("0")
    assert ticks(one) == whole
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Escape")
    expect(one.locator(".chart-tip")).not_to_be_visible()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Tab")
    expect(host).to_be_focused()


# ---------------------------------------------------------------- what a page goes through


def test_navigation_by_click_and_back_keeps_charts_answering(chart_site: Site, visit: Open) -> None:
    window = visit()
    page = window.page
    page.goto(chart_site.url + "charts.html")
    page.evaluate("window.sameDocument = true")
    explore(figure(page))
    page.locator(".md-content a", has_text="More").first.click()
    page.wait_for_url("**/more.html")
    page.locator("#below").wait_for(state="attached")
    expect(page.locator(".chart-live")).to_have_count(0)
    explore(figure(page, "decode-by-depth"))
    page.go_back()
    page.wait_for_url("**/charts.html")
    page.locator("#at-3").wait_for(state="attached")
    one = figure(page)
    if one.locator(".chart-live").count() == 0:
        expect(one.locator('.chart-picture > svg[data-size="wide"]')).to_be_visible()
        explore(one)
    page.go_forward()
    page.wait_for_url("**/more.html")
    page.locator("#below").wait_for(state="attached")
    one = figure(page, "time-per-token")
    explore(one)
    one.locator(".chart-live").focus()
    page.keyboard.press("ArrowRight")
    expect(one.locator(".chart-tip")).to_be_visible()
    assert page.evaluate("window.sameDocument"), "a full load: instant navigation is not at work"
    assert loaded(window).count("vega") == 1
    assert window.complaints == []


def test_a_chart_in_something_folded_has_its_size_when_it_unfolds(chart_site: Site, visit: Open) -> None:
    window = visit(width=1280)
    page = window.page
    page.goto(chart_site.url + "more.html")
    fold = page.locator("details:has(figure)").last
    one = fold.locator("figure.chart")
    fold.locator("> summary").click()
    before = explore(one).bounding_box()
    fold.locator("> summary").click()
    expect(one).not_to_be_visible()
    page.set_viewport_size({"width": 320, "height": 900})
    fold.locator("> summary").click()
    page.wait_for_timeout(200)
    still = one.locator('.chart-picture > svg[data-size="narrow"]').bounding_box()
    drawn = canvas(one).bounding_box()
    assert still is not None and drawn is not None and before is not None
    assert drawn["width"] == pytest.approx(still["width"], abs=1.5)
    assert drawn["width"] < before["width"] - 20, "it had another size"
    assert window.complaints == []


def test_a_window_that_gets_narrow_gets_the_narrow_chart(chart_site: Site, visit: Open) -> None:
    page = visit(width=1280).page
    page.goto(chart_site.url + "charts.html")
    one = figure(page, "kv-cache-against-weights")
    explore(one)
    assert any("weights" in text for text in canvas(one).locator("text").all_text_contents())
    page.set_viewport_size({"width": 390, "height": 800})
    page.wait_for_timeout(200)
    assert not any(
        "weights" in text and "as large" in text for text in canvas(one).locator("text").all_text_contents()
    )
    box = canvas(one).bounding_box()
    assert box is not None and box["x"] + box["width"] <= 390


def test_a_chart_that_answers_follows_the_palette(chart_site: Site, visit: Open) -> None:
    page = visit(color_scheme="light").page
    page.goto(chart_site.url + "charts.html")
    one = figure(page)
    explore(one)
    ink = "node => [getComputedStyle(node).stroke, getComputedStyle(node.closest('svg').querySelector('text')).fill]"
    line = canvas(one).locator(".mark-line path").first
    before = line.evaluate(ink)
    page.get_by_role("button", name="Dark palette").click()
    after = line.evaluate(ink)
    assert before[0] != after[0] and before[1] != after[1]
    for contrast in canvas(one).locator("text").evaluate_all(CONTRAST):
        assert contrast >= 4.5


def test_print_has_the_static_picture(chart_site: Site, visit: Open) -> None:
    page = visit().page
    page.goto(chart_site.url + "charts.html")
    one = figure(page)
    explore(one)
    still = one.locator('.chart-picture > svg[data-size="wide"]')
    assert still.evaluate("node => getComputedStyle(node).visibility") == "hidden"
    page.emulate_media(media="print")
    assert still.evaluate("node => getComputedStyle(node).visibility") == "visible"
    expect(one.locator(".chart-live")).not_to_be_visible()
    expect(one.locator(".chart-explore")).not_to_be_visible()


def test_with_reduced_motion_nothing_is_animated(chart_site: Site, visit: Open) -> None:
    page = visit(reduced_motion="reduce").page
    page.goto(chart_site.url + "charts.html")
    one = figure(page)
    explore(one)
    one.get_by_role("button", name="Zoom in").click()
    running = "() => document.getAnimations().filter(a => a.effect?.target?.closest?.('figure')).length"
    assert page.evaluate(running) == 0


# ---------------------------------------------------------------- without scripts


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("color_scheme", ["light", "dark"])
def test_without_scripts_the_page_follows_the_system_s_palette(
    chart_site: Site, visit: Open, color_scheme: str, width: int
) -> None:
    page = visit(width=width, java_script_enabled=False, color_scheme=color_scheme).page
    page.goto(chart_site.url + "charts.html")
    red, green, blue = page.evaluate(
        "getComputedStyle(document.body).backgroundColor.match(/[0-9.]+/g).map(Number)"
    )[:3]
    assert (red + green + blue < 3 * 60) == (color_scheme == "dark")
    for one in page.locator("figure.chart").all():
        if one.locator(".chart-refused").count():
            expect(one.locator(".chart-refused")).to_be_visible()
        else:
            assert one.locator(".chart-picture > svg:visible").count() == 1
        expect(one.locator("figcaption")).to_be_visible()
    expect(page.locator(".chart-explore").first).not_to_be_visible()
    for contrast in page.locator("figure svg text, figcaption, h2, .chart-refused").evaluate_all(INK):
        assert contrast >= 4.5


# Like CONTRAST, for HTML too.
INK = CONTRAST.replace(
    "getComputedStyle(text).fill",
    "(text.closest('svg') ? getComputedStyle(text).fill : getComputedStyle(text).color)",
)


def test_a_refused_chart_shows_its_reason_in_the_picture_s_place(chart_site: Site, visit: Open) -> None:
    page = visit().page
    page.goto(chart_site.url + "charts.html")
    refused = page.locator("figure.chart:has(.chart-refused)")
    assert refused.count() == 1
    expect(refused.locator(".chart-refused")).to_contain_text("no energy meter")
    assert refused.locator("svg").count() == 0 and refused.locator(".chart-explore").count() == 0
    assert refused.locator("tbody tr").count() > 0
