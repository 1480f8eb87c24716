"""A process of its own that runs vl-convert beside the build: pictures, PNG files, the script of interactive charts.

It makes no chart and knows no page.

vl-convert holds Python's lock while it works, so only another process lets the build go on meanwhile. It is
started when the first picture is wanted that the cache does not have. Where it cannot run, pictures are
made in this process. A preview has one painter for all its builds, since Vega takes half a second to start.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from base64 import b64decode, b64encode
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import IO, Any

from hooks.caching.cache import Cache, digest, file_digest, of_environment, version

VEGA_LITE = "6.4"
"""The version of Vega-Lite that Altair 6.3 writes for; a test holds the two together."""

_ROOT = Path(__file__).resolve().parents[2]


class Painter:
    """Pictures by their specification, and scripts by what they keep of Vega, each made once.

    Args:
        cache: Where finished pictures are kept between builds.
    """

    def __init__(self, cache: Cache) -> None:
        self.cache = cache
        self._made: dict[str, str] = {}
        self._waiting: set[str] = set()
        self._process: subprocess.Popen[str] | None = None
        self._news = threading.Condition()
        self.ended = False
        """Whether the process is gone: from then on pictures are made in this one."""

    def start(self, text: str, kind: str = "picture") -> None:
        """Begin on a specification (JSON text) or on another kind of work; returns at once."""
        key = self._key(kind, text)
        with self._news:
            if key in self._made or key in self._waiting:
                return
            kept = self._cache(kind).get(kind, key)
            if isinstance(kept, str):
                self._made[key] = kept
                return
            self._waiting.add(key)
        self._send(kind, key, text)

    def warm(self) -> None:
        """Have the process ready before a picture is wanted: Vega takes half a second to start."""
        self._send("picture", "warm", '{"data": {"values": []}, "mark": "point"}')

    def picture(self, spec: str) -> str:
        """The SVG of a specification; waits for it.

        Raises:
            ValueError: Vega cannot draw it.
        """
        svg: str = json.loads(self._wait("picture", spec))["svg"]
        return svg

    def compiled(self, spec: str) -> dict[str, Any]:
        """The Vega specification that the same picture is drawn from; waits for it.

        Raises:
            ValueError: Vega cannot draw it.
        """
        vega: dict[str, Any] = json.loads(self._wait("picture", spec))["vega"]
        return vega

    def png(self, job: str) -> bytes:
        """The PNG that `png_job` asks for; waits for it.

        Raises:
            ValueError: The SVG cannot be drawn.
        """
        return b64decode(self._wait("png", job))

    def bundle(self, snippet: str) -> str:
        """The script that `bundle` makes; waits for it.

        Raises:
            ValueError: The snippet wants what vl-convert does not have.
        """
        return self._wait("bundle", snippet)

    def forget(self) -> None:
        """Let go of what earlier builds wanted; the cache has it."""
        with self._news:
            self._made.clear()

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

    def _cache(self, kind: str) -> Cache:
        """A bundle is made of vl-convert alone, in a second or two."""
        return of_environment(self.cache) if kind == "bundle" else self.cache

    def _key(self, kind: str, text: str) -> str:
        return digest(self._versions, kind, text)

    def _wait(self, kind: str, text: str) -> str:
        self.start(text, kind)
        key = self._key(kind, text)
        with self._news:
            self._news.wait_for(lambda: key in self._made or self.ended)
            if key not in self._made:
                self._keep(kind, key, KINDS[kind](text))
        found = self._made[key]
        if found.startswith("!"):
            raise ValueError(found[1:])
        return found

    def _keep(self, kind: str, key: str, made: str) -> None:
        self._made[key] = made
        self._waiting.discard(key)
        if not made.startswith("!"):
            self._cache(kind).put(kind, key, made)

    def _send(self, kind: str, key: str, text: str) -> None:
        try:
            if self._process is None and not self.ended:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", "hooks.pictures.painter"],
                    cwd=_ROOT,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                    encoding="utf-8",
                )
                threading.Thread(target=self._listen, args=(self._process,), daemon=True).start()
            if self._process is not None and self._process.stdin is not None:
                self._process.stdin.write(json.dumps([kind, key, text]) + "\n")
                self._process.stdin.flush()
        except OSError:
            self._end()

    def _listen(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        with suppress(ValueError, OSError):
            for line in process.stdout:
                kind, key, made = json.loads(line)
                with self._news:
                    self._keep(kind, key, made)
                    self._news.notify_all()
        self._end()

    def _end(self) -> None:
        with self._news:
            self.ended = True
            self._news.notify_all()


def paint(spec: str) -> str:
    """A Vega-Lite specification as JSON text with `svg` and, as it is drawn from, `vega`.

    A text that begins with `!` says why there is none.
    """
    import vl_convert  # 60 MB that a build with nothing to paint does not need

    try:
        # In two steps, since the first result is wanted, too; together they take as long as one.
        vega = vl_convert.vegalite_to_vega(_drawable(json.loads(spec)), vl_version=VEGA_LITE)
        return json.dumps({"svg": vl_convert.vega_to_svg(vega), "vega": vega})
    except ValueError as error:
        return f"!{error}"


_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def _drawable(spec: Any) -> Any:
    """The specification without characters that XML forbids: each of them would end this process, not raise."""
    if isinstance(spec, str):
        return _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", spec)
    if isinstance(spec, dict):
        return {key: _drawable(value) for key, value in spec.items()}
    return [_drawable(item) for item in spec] if isinstance(spec, list) else spec


def bundle(snippet: str) -> str:
    """A script with as much of Vega as the snippet uses, from vl-convert's own copy: nothing is fetched.

    A text that begins with `!` says why there is none.
    """
    import vl_convert

    try:
        script: str = vl_convert.javascript_bundle(snippet, vl_version=VEGA_LITE)
    except ValueError as error:
        return f"!{error}"
    return script


def png_job(svg: str, fonts: Path, width: int | None = None) -> str:
    """What `png` is to do, as text that is another where its result would be.

    Args:
        svg: The picture.
        fonts: A folder with the faces that it may name, as TrueType files.
        width: Of the result, in pixels, where it is not that of the SVG.
    """
    faces = {path.name: file_digest(path) for path in sorted(fonts.glob("*.ttf"))}
    return json.dumps({"svg": svg, "fonts": str(fonts), "faces": faces, "width": width})


def png(job: str) -> str:
    """An SVG as PNG, in base64. A text that begins with `!` says why there is none."""
    import vl_convert

    wanted = json.loads(job)
    svg = _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", wanted["svg"])
    if wanted["faces"]:
        vl_convert.register_font_directory(wanted["fonts"])
    drawn = re.search(r'viewBox="0 0 (\d+) \d+"', svg)
    scale = wanted["width"] / int(drawn[1]) if wanted["width"] and drawn else 1
    try:
        return b64encode(vl_convert.svg_to_png(svg, scale=scale)).decode()
    except (ValueError, RuntimeError) as error:
        return f"!{str(error).splitlines()[0]}"  # the rest is a trace of the library's own


KINDS = {"picture": paint, "png": png, "bundle": bundle}
"""What the process can make, by the name that messages and the cache have for it."""


def main(incoming: IO[str] = sys.stdin, outgoing: IO[str] = sys.stdout) -> None:
    """Make what is asked for, one JSON line `[kind, key, text]` each, until nothing more comes or nobody listens."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever stops the build closes the input
    try:
        for line in incoming:
            kind, key, text = json.loads(line)
            outgoing.write(json.dumps([kind, key, KINDS[kind](text)]) + "\n")
            outgoing.flush()
    except BrokenPipeError:
        os._exit(0)  # Python would try once more to write, and say that it cannot


if __name__ == "__main__":
    main()
