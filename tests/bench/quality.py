"""What do other people's checkers say of the built site? `python -m tests.bench.quality SITE TOOLS`

SITE is a built site whose SITE_URL was http://127.0.0.1:8377/ ; TOOLS is a folder in which these were installed:

    npm install lighthouse@12 axe-core@4 vnu-jar linkinator@7

and Java, Node and Debian's package chromium are on the machine (or a browser is named in CHROMIUM). The site is served
there compressed and under its own security header, as a host does. Four checks, each of which `--only NAME` runs alone:

- html: the Nu HTML checker, on every page;
- links: linkinator, from the home page on, anchors too. Links that leave the site are not followed;
- axe: axe-core on every page, in both palettes, then with popovers open one after another; and that no page asks
  another host for anything;
- lighthouse: as on a phone (its defaults), on the pages named by `--pages`, or else on home, the primers, the first
  note and the page of the data. Its performance means something only while nothing else runs.

Prints what is wrong, and the scores. Exit code 1 where a checker finds something, or a score is too low: less than 100,
for performance less than 95.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

from tests.browser.conftest import CHROMIUM, FLAGS

PORT = 8377
URL = f"http://127.0.0.1:{PORT}/"
OPEN_POPOVERS = 8
"""So many of a page's popovers are opened for axe: they are all made alike."""

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
    return re.findall(r"^  Content-Security-Policy: (.+)$", text, re.MULTILINE)[0]


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
            "node",
            tools / "node_modules/linkinator/build/src/cli.js",
            URL,
            f"{URL}404.html",
            "--recurse",
            "--check-fragments",
            "--concurrency",
            "20",
            "--format",
            "json",
            "--skip",
            f"^(?!{URL})",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    found = json.loads(done.stdout)["links"]
    for link in found:
        if link["state"] == "BROKEN":
            yield f"{link.get('parent')} leads to {link['url']} ({link.get('status')})"
    reached = {link["url"].partition("#")[0].removeprefix(URL) for link in found}
    yield from (f"nothing leads to {page}" for page in pages if page not in reached and page != "404.html")
    print(f"  {sum(link['state'] == 'OK' for link in found):,} links")


def axe(site: Path, tools: Path, pages: Pages) -> Iterator[str]:
    """Violations, and requests to other hosts."""
    source = (tools / "node_modules/axe-core/axe.min.js").read_text(encoding="utf-8")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        for palette in ("light", "dark"):
            context = browser.new_context(color_scheme=palette, viewport={"width": 1280, "height": 900})
            page = context.new_page()
            foreign: set[str] = set()
            page.on(
                "request", lambda one, seen=foreign: None if one.url.startswith(URL) else seen.add(one.url)
            )
            for path in pages:
                page.goto(URL + path)
                page.wait_for_load_state("networkidle")
                page.evaluate(source)
                yield from (f"{palette} {path}: {text}" for text in _violations(page, "document"))
                yield from (f"{palette} {path}, popover: {text}" for text in _popovers(page))
            yield from (f"{palette}: a page asks for {url}" for url in sorted(foreign))
        browser.close()


def _violations(page: Page, context: str) -> list[str]:
    found = page.evaluate(
        f"axe.run({context}, {{resultTypes: ['violations']}}).then((found) => found.violations)"
    )
    return [
        f"{one['id']} ({len(one['nodes'])}): {one['help']}\n    {one['nodes'][0]['html'][:200]}\n    "
        f"{one['nodes'][0]['failureSummary'].splitlines()[-1].strip()}"
        for one in found
    ]


def _popovers(page: Page) -> Iterator[str]:
    """With one popover open at a time."""
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    for index in range(OPEN_POPOVERS):
        if not page.evaluate(OPEN, index):
            return
        yield from _violations(page, "globalThis.opened")


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
