"""What a first visit loads: a primer's page with three charts, before anybody touches anything."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import ThreadingHTTPServer
from urllib.parse import urljoin

import pytest
from playwright.sync_api import Page

from .conftest import ROOT, SITE_DATA, Open, _Handler

pytestmark = pytest.mark.browser

PRIMER = "primers/1-what-a-model-is"
CHARTS = ("time-per-token", "decode-by-depth", "kv-cache-against-weights")

ALL_BYTES = 350 * 1024
OUR_BYTES = 60 * 1024

THEME = re.compile(r"/assets/(?:javascripts|stylesheets)/|/sitemap")
"""What Material brings, and the map of the site that its navigation loads; all of it counts in the whole."""

INDEX = "search/search_index.json"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The repository's own site, its first primer made to have three charts."""
    folder = tmp_path_factory.mktemp("weight")
    for part in ("docs", "hooks"):
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "mkdocs.yml", folder)
    page = folder / f"docs/{PRIMER}.md"
    text = page.read_text(encoding="utf-8")
    missing = [name for name in CHARTS if f"{{{{ chart {name} " not in text]
    page.write_text(text + "".join(f"\n\n{{{{ chart {name} }}}}\n" for name in missing))
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, directory=str(folder / "site")))
    url = f"http://127.0.0.1:{server.server_address[1]}/"
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict"],
        cwd=folder,
        env=os.environ | {"SITE_URL": url, "SITE_DATA": str(SITE_DATA)},
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield url
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_primer_with_three_charts_is_light(address: str, visit: Open) -> None:
    window = visit()
    loaded: dict[str, int] = {}
    window.page.on(
        "response", lambda answer: loaded.update({answer.url: len(gzip.compress(answer.body(), 6, mtime=0))})
    )
    window.page.goto(f"{address}{PRIMER}.html")
    window.page.wait_for_load_state("networkidle")
    window.page.wait_for_timeout(500)
    assert window.page.locator("figure.chart").count() >= 3
    assert len(loaded) >= 5
    sizes = "\n".join(f"{size:8} {url.removeprefix(address)}" for url, size in loaded.items())
    ours = sum(size for url, size in loaded.items() if not THEME.search(url))
    assert ours <= OUR_BYTES, sizes
    assert sum(loaded.values()) <= ALL_BYTES, sizes
    assert not [url for url in loaded if "vega" in url], "the interactive charts wait until they are wanted"
    assert f"{address}{INDEX}" not in loaded, "the search index waits until a reader turns to the search"
    window.page.keyboard.press("s")
    window.page.keyboard.type("prefill")
    window.page.locator(".md-search-result__link").first.wait_for()
    assert f"{address}{INDEX}" in loaded


def test_a_search_by_address_and_by_pointer_has_its_index(address: str, visit: Open) -> None:
    for how in ("?q=prefill", ""):
        page = visit().page
        page.goto(f"{address}index.html{how}")
        if not how:
            page.locator(".md-search").hover()
            page.locator(".md-search__input").press_sequentially("prefill")  # the theme listens to keys
        page.locator(".md-search-result__link").first.wait_for()


def test_a_page_made_of_a_notebook_is_light(address: str, visit: Open) -> None:
    window = visit()
    answer = window.page.goto(f"{address}notes/1-prefill-against-decode.html")
    assert answer is not None
    window.page.wait_for_load_state("networkidle")
    assert len(answer.body()) <= 150_000
    assert window.page.locator("figure.chart").count() >= 2
    assert window.foreign == []


SHEETS = "link[rel=stylesheet]"
WRITTEN = "links => links.map((link) => [link.getAttribute('href'), link.href])"
"""Addresses as they stand in the page, and whole."""

REMEMBER = f"globalThis.remembered = document.querySelector('{SHEETS}[href$=\"/site.css\"]')"
KEPT = "globalThis.remembered?.isConnected"


def at_work(page: Page, open_it: Callable[[], object]) -> None:
    """Open a page, and wait until the theme's script knows the pages of the site: before that it leaves links alone."""
    with page.expect_response(lambda answer: answer.url.endswith("/sitemap.xml")):
        open_it()
    page.wait_for_load_state("networkidle")


def test_style_sheets_stay_in_use_while_a_page_loads(address: str, visit: Open) -> None:
    """The theme's script gives links whole addresses; to a style sheet in use, that lays the whole page out again."""
    page = visit().page
    sheets = page.locator(SHEETS)
    at_work(page, lambda: page.goto(f"{address}{PRIMER}.html"))
    icons = page.locator("link[rel=icon]").evaluate_all(WRITTEN)
    assert icons and all(href == whole for href, whole in icons), "the theme's script was at work"
    before = sheets.evaluate_all(WRITTEN)
    assert len(before) >= 4
    assert all(whole == urljoin(page.url, href) != href for href, whole in before)


def test_style_sheets_outlast_the_page(address: str, visit: Open) -> None:
    """After a link within it, one to another folder, and going back."""
    page = visit().page
    sheets = page.locator(SHEETS)
    at_work(page, lambda: page.goto(f"{address}{PRIMER}.html"))
    everywhere = {whole for _, whole in sheets.evaluate_all(WRITTEN) if "own-text" not in whole}
    page.evaluate(REMEMBER)
    page.locator("h2 a.headerlink").first.click()
    page.wait_for_timeout(500)
    assert page.evaluate(KEPT)

    # A link followed while the theme still fetches for the one before loads a whole page: the theme's own doing.
    at_work(page, page.reload)
    page.evaluate(REMEMBER)
    page.locator("a.md-logo").first.evaluate("link => link.click()")
    page.locator(".hero").wait_for()
    assert page.evaluate(KEPT), "no page was loaded anew, and no style sheet"
    assert everywhere < {whole for href, whole in sheets.evaluate_all(WRITTEN) if href == whole}

    at_work(page, page.reload)  # so that going back is the first that happens on the page
    page.evaluate(REMEMBER)
    page.go_back()
    page.locator(".own-text").wait_for()
    assert page.evaluate(KEPT), "no page was loaded anew, and no style sheet"
    assert everywhere <= {whole for href, whole in sheets.evaluate_all(WRITTEN) if href == whole}


def test_a_minified_style_sheet_has_the_rules_of_its_source(address: str, visit: Open) -> None:
    page = visit().page
    page.goto(f"{address}{PRIMER}.html")
    sources = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "docs/assets").glob("*.css")}
    different = page.evaluate(
        """async ([folder, sources]) => {
          const rules = (text) => {
            const sheet = new CSSStyleSheet();
            sheet.replaceSync(text);
            // Values with variables stand there as they were typed.
            const typed = (css) => css.replace(/\\s+/g, " ").replace(/([,:]) /g, "$1");
            return [...sheet.cssRules].map((rule) => typed(rule.cssText));
          };
          const found = [];
          for (const [name, source] of Object.entries(sources)) {
            const written = await (await fetch(folder + name)).text();
            if (written.length >= source.length) found.push(`${name}: not minified`);
            const [is, was] = [rules(written), rules(source)];
            was.forEach((rule, at) => { if (rule !== is[at]) found.push(`${name}: ${rule} became ${is[at]}`); });
            if (is.length !== was.length) found.push(`${name}: ${was.length} rules became ${is.length}`);
          }
          return found;
        }""",
        [f"{address}assets/", sources],
    )
    assert sources and different == []
