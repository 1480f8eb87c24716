"""From an Altair chart to a Vega-Lite specification in the look of all. Knows no data and no chart by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hooks.caching.cache import digest, file_digest, sources, version
from hooks.drawings import drawing
from hooks.drawings.marks import SERIES

_FAINT = "var(--chart-grid, #8884)"
_FONT_PX = 13


def config() -> dict[str, Any]:
    """What every chart shares: the page's text colour, faint grid lines, no frame, no label cut off.

    To see whether it must cut a label off, Vega measures it once more, and measuring is most of what it does.
    """
    text = {"labelColor": "currentColor", "titleColor": "currentColor"}
    return {
        "background": None,
        "view": {"stroke": None},
        "axis": {
            **text,
            "gridColor": _FAINT,
            "domainColor": "currentColor",
            "tickColor": "currentColor",
            "labelFontSize": _FONT_PX,
            "titleFontSize": _FONT_PX,
            "titleFontWeight": "normal",
            "titlePadding": 8,
            "domainOpacity": 0.5,
            "tickOpacity": 0.5,
            "labelLimit": 0,
        },
        "range": {"category": list(SERIES)},
        "legend": {**text, "labelFontSize": _FONT_PX, "symbolOpacity": 1, "labelLimit": 0},
        "text": {"color": "currentColor", "fontSize": _FONT_PX},
        "rule": {"color": "currentColor"},
    }


def of_drawing(text: str, *, checked: bool = False) -> str:
    """The specification of what `drawing.text` was told.

    Args:
        text: The drawing.
        checked: Whether Altair holds each part to the schema of Vega-Lite, which takes most of its time; the drawings
            of this package are checked by its tests.
    """
    from altair.utils.schemapi import debug_mode  # Altair, which only drawing needs

    wanted = drawing.read(text)
    with debug_mode(checked):
        chart = drawing.draw(wanted["drawing"])
        return of_chart(chart, width=wanted["width"], height=wanted["height"], checked=checked)


def of_chart(chart: Any, *, width: int, height: int, checked: bool = True) -> str:
    """The Vega-Lite specification of a chart in the look of all, JSON text; the same for the same chart.

    Args:
        chart: An Altair chart.
        width: Of the whole picture, in CSS pixels at full size.
        height: Likewise.
        checked: Whether Altair holds the whole to the schema of Vega-Lite.
    """
    spec = {
        **chart.to_dict(validate=checked),
        "width": width,
        "height": height,
        "config": config(),
        "autosize": {"type": "fit", "contains": "padding"},
    }
    return json.dumps(spec, sort_keys=True)


def made_with() -> str:
    """A hash of the code that makes a specification of a drawing, Altair and what it is built on among it."""
    code = sources(Path(drawing.__file__).parent), file_digest(__file__)
    return digest(code, *(version(name) for name in ("altair", "narwhals")))
