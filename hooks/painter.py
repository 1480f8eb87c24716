"""A process of its own that turns Vega-Lite into SVG, beside the build. Makes no chart and knows no page.

vl-convert holds Python's lock while it works, so only another process lets the build go on meanwhile. It is
started when the first picture is wanted that the cache does not have. Where it cannot run, pictures are
made in this process.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from contextlib import suppress
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import IO

from hooks.cache import Cache, digest

VEGA_LITE = "6.4"
"""The version of Vega-Lite that Altair 6.3 writes for; a test holds the two together."""

_ROOT = Path(__file__).resolve().parent.parent


class Painter:
    """Pictures by their specification, each painted once.

    Args:
        cache: Where finished pictures are kept between builds.
    """

    def __init__(self, cache: Cache) -> None:
        self.cache = cache
        self._pictures: dict[str, str] = {}
        self._waiting: dict[str, str] = {}
        self._process: subprocess.Popen[str] | None = None
        self._news = threading.Condition()
        self._ended = False

    def start(self, spec: str) -> None:
        """Begin to paint a specification (JSON text); returns at once."""
        key = self._key(spec)
        with self._news:
            if key in self._pictures or key in self._waiting:
                return
            kept = self.cache.get("svg", key)
            if isinstance(kept, str):
                self._pictures[key] = kept
                return
            self._waiting[key] = spec
        self._send(key, spec)

    def picture(self, spec: str) -> str:
        """The SVG of a specification; waits for it.

        Raises:
            ValueError: Vega cannot draw it.
        """
        self.start(spec)
        key = self._key(spec)
        with self._news:
            self._news.wait_for(lambda: key in self._pictures or self._ended)
            if key not in self._pictures:
                self._keep(key, paint(spec))
        found = self._pictures[key]
        if found.startswith("!"):
            raise ValueError(found[1:])
        return found

    def close(self) -> None:
        """End the process, without waiting for pictures that nobody asked for."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    with suppress(OSError):
                        stream.close()

    @cached_property
    def _versions(self) -> str:
        return f"{VEGA_LITE} {version('vl-convert-python')}"

    def _key(self, spec: str) -> str:
        return digest(self._versions, spec)

    def _keep(self, key: str, svg: str) -> None:
        self._pictures[key] = svg
        self._waiting.pop(key, None)
        if not svg.startswith("!"):
            self.cache.put("svg", key, svg)

    def _send(self, key: str, spec: str) -> None:
        try:
            if self._process is None and not self._ended:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", "hooks.painter"],
                    cwd=_ROOT,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                    encoding="utf-8",
                )
                threading.Thread(target=self._listen, args=(self._process,), daemon=True).start()
            if self._process is not None and self._process.stdin is not None:
                self._process.stdin.write(json.dumps([key, spec]) + "\n")
                self._process.stdin.flush()
        except OSError:
            self._end()

    def _listen(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        with suppress(ValueError, OSError):
            for line in process.stdout:
                key, svg = json.loads(line)
                with self._news:
                    self._keep(key, svg)
                    self._news.notify_all()
        self._end()

    def _end(self) -> None:
        with self._news:
            self._ended = True
            self._news.notify_all()


def paint(spec: str) -> str:
    """The SVG of a Vega-Lite specification; a text that begins with `!` says why there is none."""
    import vl_convert  # 60 MB that a build with nothing to paint does not need

    try:
        svg: str = vl_convert.vegalite_to_svg(json.loads(spec), vl_version=VEGA_LITE)
    except ValueError as error:
        return f"!{error}"
    return svg


def main(incoming: IO[str] = sys.stdin, outgoing: IO[str] = sys.stdout) -> None:
    """Paint what comes in, one JSON line `[key, spec]` each, until nothing more does."""
    for line in incoming:
        key, spec = json.loads(line)
        outgoing.write(json.dumps([key, paint(spec)]) + "\n")
        outgoing.flush()


if __name__ == "__main__":
    main()
