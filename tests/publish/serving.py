"""A server that previews a project, and edits of every kind with what must then be on its pages. Asserts nothing."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.publish import fixture_data

PATIENCE_S = 60
"""How long to wait for a change. A test that hangs must end; how fast it is the benchmark says."""


@dataclass(frozen=True)
class Edit:
    """A change that an author makes while the server runs, the page to look at, and what then stands on it."""

    kind: str
    make: Callable[[Path], None]
    page: str
    shows: str


def edits() -> Iterator[Edit]:
    """One of each kind. Each leaves its mark, so that a later page cannot pass for an earlier one."""
    yield Edit("a page", _replace("docs/index.md", "Decode takes longer", "Decode takes much longer"),
               "index.html", "Decode takes much longer")  # fmt: skip
    yield Edit("a sample", _slower, "index.html", "430\N{NARROW NO-BREAK SPACE}ms")
    yield Edit(
        "a sample, on the notebook's page", _slower_again, "notes/note.html", "500\N{NARROW NO-BREAK SPACE}ms"
    )
    yield Edit("a quantity", _replace("docs/quantities.toml", '"Decode, 500 tokens deep"', '"Decode, renamed"'),
               "index.html", "Decode, renamed")  # fmt: skip
    yield Edit("a hook", _replace("hooks/writing/provenance.py", '"Definition", reading', '"What it is", reading'),
               "index.html", "What it is: ")  # fmt: skip
    told = _replace("hooks/notebook.py", 'f"<p>{tostring', 'f"<p>told: {tostring')
    yield Edit("a hook, on the notebook's page", told, "notes/note.html", "<p>told: ")
    yield Edit("a notebook", _replace("docs/notes/note.ipynb", "value * 500:.3f} s", "value * 500:.3f} seconds"),
               "notes/note.html", " seconds &lt;b&gt;")  # fmt: skip
    yield Edit("the adapter", _replace("hooks/host.py", "return code_blocks.counted(html)",
               "return code_blocks.counted(html) + '<i>adapted</i>'"), "index.html", "<i>adapted</i>")  # fmt: skip
    call = '"""Handed on."""\n    return {}_host().on_post_page('
    yield Edit("the hook that MkDocs loads", _replace("hooks/site.py", call.format(""),
               call.format('"<!-- new -->" + ')), "index.html", "<!-- new -->")  # fmt: skip


def _replace(name: str, old: str, new: str) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        path = folder / name
        text = path.read_text(encoding="utf-8")
        assert old in text, f"{name} has no {old!r}"
        path.write_text(text.replace(old, new), encoding="utf-8")

    return edit


def _write(folder: Path, factor: float) -> None:
    time = fixture_data.seconds_per_token
    records = fixture_data.samples(lambda *cell: time(*cell) * (factor if cell[0] == "decode" else 1))
    fixture_data.write_run(folder / "site_data", records=records)


def _slower(folder: Path) -> None:
    _write(folder, 1.2)


def _slower_again(folder: Path) -> None:
    _write(folder, 1.4)


class Server:
    """`mkdocs serve` in a project's folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{free.getsockname()[1]}"
        self.log = folder / "serve.log"
        environment = {
            key: value for key, value in os.environ.items() if key not in ("SITE_DATA", "PYTHONPATH")
        }
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "mkdocs", "serve", "--dev-addr", self.address],
                cwd=folder,
                env=environment | {"NO_MKDOCS_2_WARNING": "1"},
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def page(self, name: str) -> str:
        """A page as it is served now; empty where nothing answers."""
        try:
            with urllib.request.urlopen(f"http://{self.address}/{name}", timeout=5) as answer:
                text: str = answer.read().decode()
                return text
        except (OSError, urllib.error.URLError):
            return ""

    def wait(self, name: str, shows: str) -> float:
        """Seconds until a page shows a text; infinite where it does not come."""
        begin = time.perf_counter()
        while time.perf_counter() - begin < PATIENCE_S and self.process.poll() is None:
            if shows in self.page(name):
                return time.perf_counter() - begin
            time.sleep(0.02)
        return float("inf")

    def stop(self) -> None:
        """End the server."""
        self.process.terminate()
        self.process.wait(10)


@contextmanager
def serving(folder: Path) -> Iterator[Server]:
    """A server that has built the project once."""
    server = Server(folder)
    try:
        server.wait("index.html", "</html>")
        yield server
    finally:
        server.stop()
