"""The real site, built once, served with a strict policy, opened in a real browser. No assertions live here."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Request, sync_playwright

from . import chart_site as chart_site_module

ROOT = Path(__file__).resolve().parents[2]
SITE_DATA = Path(os.environ.get("SITE_DATA") or ROOT / "site_data")
CHROMIUM = Path(os.environ.get("CHROMIUM", "/usr/bin/chromium"))
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


CATALOGUE = ("data/quantities/", "data/runs/")
KINDS_OF_NUMBERS = (
    "decode.seconds_per_token",
    "decode.seconds_per_token.by_depth",
    "time.decode_over_prefill",
    "energy.decode_over_prefill",
    "weights.bytes",
    "model.qwen2.5-1.5b.layers",
    "cite.earlier-notes.decode-over-prefill-energy",
)
"""Measured, a series, derived, refused, computed from a run, published, cited."""


@cache
def documented_policy(folder: Path) -> str:
    """The Content-Security-Policy of docs/reference/hosting.md, with the hashes that the build of `folder` found."""
    page = (ROOT / "docs/reference/hosting.md").read_text(encoding="utf-8")
    (header,) = re.findall(r"^Content-Security-Policy: (.+)$", page, re.MULTILINE)
    hashes = re.findall(r"'sha256-[^']+'", (folder / "_headers").read_text(encoding="utf-8"))
    return str(header).replace("HASHES", " ".join(hashes))


@dataclass(frozen=True)
class Site:
    """A built site: its folder, and the address at which it is served."""

    folder: Path
    url: str

    @property
    def pages(self) -> list[str]:
        """The pages of the site by their path, of the catalogue's hundreds a few; not the page for lost readers."""
        pages = sorted(str(page.relative_to(self.folder)) for page in self.folder.rglob("*.html"))
        listed = [page for page in pages if page.startswith(CATALOGUE) and not page.endswith("/index.html")]
        return [page for page in pages if page != "404.html" and (page not in listed or page in self.chosen)]

    @property
    def chosen(self) -> list[str]:
        """Pages of the catalogue, one for each kind of number and the newest run."""
        runs = sorted(page.name for page in (self.folder / "data/runs").glob("2*.html"))
        return [f"data/quantities/{id_}.html" for id_ in KINDS_OF_NUMBERS] + [
            f"data/runs/{name}" for name in runs[-1:]
        ]


@dataclass
class Visit:
    """A browser window that remembers what it was asked to load and what went wrong in it."""

    page: Page
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    @property
    def foreign(self) -> list[str]:
        """Requests that would have left this machine."""
        here = ("file", "data", "blob")
        parts = [urlsplit(url) for url in self.requests]
        return [part.geturl() for part in parts if part.scheme not in here and part.hostname != "127.0.0.1"]


Open = Callable[..., Visit]
"""What the fixture `visit` is: opens a window with the given options of a browser context."""


class _Handler(SimpleHTTPRequestHandler):
    def end_headers(self) -> None:
        self.send_header("Content-Security-Policy", documented_policy(Path(self.directory)))
        super().end_headers()

    def log_message(self, *args: object) -> None:
        """Silence: what a page asked for is recorded on the browser's side."""


@contextmanager
def served(folder: Path, handler: type[_Handler] = _Handler) -> Iterator[str]:
    """Serves a folder with the strict policy; gives its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("site")
    with served(folder) as url:
        built = subprocess.run(
            [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
            cwd=ROOT,
            env=os.environ | {"SITE_URL": url},
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert built.returncode == 0, built.stdout + built.stderr
        yield Site(folder, url)


@pytest.fixture(scope="session")
def chart_site(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Every chart, on fixture data. Without a browser it is not built."""
    folder = tmp_path_factory.mktemp("chart-site")
    with served(folder / "site") as url:
        chart_site_module.build(folder / "project", folder / "site", url)
        yield Site(folder / "site", url)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if not CHROMIUM.exists():
        reason = f"no browser at {CHROMIUM}: install Debian's package chromium, or name one in CHROMIUM"
        if os.environ.get("CI"):  # there, a test that is left out would pass for one that holds
            pytest.fail(reason)
        pytest.skip(reason)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture
def visit(browser: Browser) -> Iterator[Open]:
    """Opens a window with the given context options, e.g. `visit(java_script_enabled=False)`."""
    contexts: list[BrowserContext] = []

    def open_window(width: int = 1280, height: int = 900, **options: object) -> Visit:
        context = browser.new_context(viewport={"width": width, "height": height}, **options)  # type: ignore[arg-type]
        contexts.append(context)
        window = Visit(context.new_page())

        def remember(request: Request) -> None:
            window.requests.append(request.url)

        window.page.on("request", remember)
        window.page.on("pageerror", lambda error: window.complaints.append(str(error)))
        window.page.on(
            "console", lambda line: window.complaints.append(line.text) if line.type == "error" else None
        )
        return window

    yield open_window
    for context in contexts:
        context.close()
