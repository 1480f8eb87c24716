"""What vl-convert makes: pictures, PNG files, the script of interactive charts. And the process that does nothing else.

It makes no chart, knows no page, and keeps nothing.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys
from base64 import b64encode
from pathlib import Path
from typing import IO, Any

from hooks.caching.cache import file_digest
from hooks.drawings.drawing import is_drawing
from hooks.pictures import specification

VEGA_LITE = "6.4"
"""The version of Vega-Lite that Altair 6.3 writes for; a test holds the two together."""


def paint(wanted: str) -> str:
    """A drawing, or a Vega-Lite specification, as JSON text with `svg` and, as it is drawn from, `vega`.

    A text that begins with `!` says why there is none.
    """
    import vl_convert  # 60 MB that a build with nothing to paint does not need

    try:
        spec = specification.of_drawing(wanted) if is_drawing(wanted) else wanted
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
