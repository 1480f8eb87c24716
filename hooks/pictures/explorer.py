"""The interactive version of a chart: what docs/assets/charts.js loads when a reader asks for it. Draws nothing.

A document holds the chart as Vega, once for wide and once for narrow screens, made ready for zooming: it says by the
signals `zoom_x` and `zoom_y` which part of an axis is shown. The script holds Vega and its expression interpreter,
so that no text is evaluated as code and a strict Content-Security-Policy may stand. Both are made at build.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from hooks.caching.cache import version
from hooks.drawings.drawing import is_drawing
from hooks.drawings.marks import POINTS
from hooks.markup import relative
from hooks.pictures import svg
from hooks.pictures.painter import Painter

SUFFIX = ".explore.json"
"""Ends the name of a document among the build's files, from which `finish` makes what is written."""

# These addresses are the names that vl-convert has for its own copies. Another version of it has other copies, and
# then the build fails here; `strings` on its library finds their new names.
SNIPPET = """
import {View, parse} from "https://cdn.jsdelivr.net/npm/vega@6.2.0/+esm";
import {expressionInterpreter} from "https://cdn.jsdelivr.net/npm/vega-interpreter@2.0.0/+esm";
globalThis.splicedVega = {View, parse, expressionInterpreter};
"""

_AXES = ("x", "y")
_SILENT = ("description", "ariaRoleDescription")
"""Encodings of Vega for screen readers; the page has its own words for the whole chart."""


def script_path() -> str:
    """Where the script lies in the site. The name changes with all that it is made of."""
    made_of = f"{version('vl-convert-python')} {SNIPPET}"
    return f"assets/vega-{hashlib.sha256(made_of.encode()).hexdigest()[:12]}.js"


def script(painter: Painter) -> str:
    """The script's text; waits for it."""
    return painter.bundle(SNIPPET)


def begin(specs: Mapping[str, str]) -> str | None:
    """A document as far as a page knows it, from what a chart's pictures are painted from; None for one without points.

    All drawings have points; a notebook's own chart may have some.
    """
    if not any(is_drawing(spec) or f'"name": "{POINTS}"' in spec for spec in specs.values()):
        return None
    return json.dumps(dict(specs))


def finish(text: str, painter: Painter) -> str:
    """The document that is written, from what `begin` gave."""
    begun = json.loads(text)
    return _dump({size: zoomable(painter.compiled(spec)) for size, spec in begun.items()})


def place(html: str, uri: str, files: dict[str, str]) -> str:
    """Finished notebook cells with the documents of their charts among the build's files.

    Args:
        html: With slots (`svg.slot`) for the pictures, which hold the specifications.
        uri: Of the page, inside docs/.
        files: The build's files, which get the documents.
    """

    def put(match: re.Match[str]) -> str:
        specs = dict(zip(("wide", "narrow"), svg.slots(match[0]), strict=False))
        document = begin(specs)
        if document is None:
            return match[0].replace(_TO_COME, "", 1)
        path = f"data/charts/cell-{hashlib.sha256(document.encode()).hexdigest()[:12]}{SUFFIX}"
        files[path] = document
        address = relative(path, uri)
        return match[0].replace(_TO_COME, f' data-explore="{address}"', 1)

    return _FIGURE.sub(put, html)


LATER = "later"
"""Stands for the address of a document in a figure that `place` is to complete."""

_TO_COME = f' data-explore="{LATER}"'
_FIGURE = re.compile(rf"<figure [^>]*{re.escape(_TO_COME)}.*?</figure>", re.DOTALL)


def zoomable(vega: dict[str, Any]) -> dict[str, Any]:
    """A compiled chart whose axes can show a part of themselves.

    The signals `zoom_x` and `zoom_y` are null for the whole axis, or its two ends in the axis' own unit.
    """
    scales = [scale for scale in vega["scales"] if scale["name"] in _AXES]
    zooms = [f"zoom_{scale['name']}" for scale in scales]
    near = " || ".join(f"!!{zoom}" for zoom in zooms)
    made = {key: value for key, value in vega.items() if key != "$schema"}
    made["signals"] = [*vega.get("signals", ()), *({"name": zoom, "value": None} for zoom in zooms)]
    made["scales"] = [
        {**scale, "domainRaw": {"signal": f"zoom_{scale['name']}"}} if scale in scales else scale
        for scale in vega["scales"]
    ]
    made["axes"] = [_axis(axis, zooms) for axis in vega.get("axes", ())]
    made["marks"] = [_mark(mark, near) for mark in vega["marks"]]
    return made


def _axis(axis: dict[str, Any], zooms: list[str]) -> dict[str, Any]:
    """The axis, with ticks of its own choice wherever it shows a part."""
    made = {**axis, "aria": False}
    zoom = f"zoom_{axis['scale']}"
    if isinstance(axis.get("values"), list) and zoom in zooms:
        made["values"] = {"signal": f"{zoom} ? null : {json.dumps(axis['values'])}"}
    return made


def _mark(mark: dict[str, Any], near: str) -> dict[str, Any]:
    """The mark, clipped at the axes wherever a part is shown."""
    made = {**mark, "aria": False}
    if "marks" in mark:
        made["marks"] = [_mark(inner, near) for inner in mark["marks"]]
    elif not mark.get("clip"):
        made["clip"] = {"signal": near}
    encode = mark.get("encode", {})
    made["encode"] = {
        state: {key: value for key, value in channels.items() if key not in _SILENT}
        for state, channels in encode.items()
    }
    return made


def _dump(document: dict[str, Any]) -> str:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
