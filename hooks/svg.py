"""From an Altair chart to an SVG that can stand in a page. Knows no data and no chart by name.

The SVG takes the page's font and both palettes without a script: colours are CSS variables or `currentColor`.
Its ids are made the chart's own, since vl-convert gives every chart the same ones.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from html import escape
from typing import Any

import altair as alt
import vl_convert

VEGA_LITE = ".".join(alt.SCHEMA_VERSION.lstrip("v").split(".")[:2])

SERIES = (
    "var(--chart-1, #0072b2)",
    "var(--chart-2, #d55e00)",
    "var(--chart-3, #009e73)",
    "var(--chart-4, #cc79a7)",
)
"""Colours of the series, from a palette that colour-blind people can tell apart (Okabe and Ito, 2008)."""

_FAINT = "var(--chart-grid, #8884)"
_FONT_PX = 13


def config() -> dict[str, Any]:
    """What every chart shares: the page's text colour, faint grid lines, no frame."""
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
        },
        "range": {"category": list(SERIES)},
        "legend": {**text, "labelFontSize": _FONT_PX, "symbolOpacity": 1},
        "text": {"color": "currentColor", "fontSize": _FONT_PX},
        "rule": {"color": "currentColor"},
    }


def render(chart: Any, *, width: int, height: int, name: str, label: str) -> str:
    """The chart as an `<svg>` element.

    Args:
        chart: An Altair chart.
        width: Of the whole picture, in CSS pixels at full size.
        height: Likewise.
        name: Unique on the page; prefixes every id inside.
        label: The finding in one sentence, for people who do not see the chart.
    """
    spec = {
        **chart.properties(width=width, height=height).to_dict(),
        "config": config(),
        "autosize": {"type": "fit", "contains": "padding"},
    }
    return _tidy(_convert(json.dumps(spec, sort_keys=True)), name, label)


@lru_cache(maxsize=256)
def _convert(spec: str) -> str:
    svg: str = vl_convert.vegalite_to_svg(json.loads(spec), vl_version=VEGA_LITE)
    return svg


_LONG = re.compile(r"-?\d+\.\d{3,}")


def _shorter(match: re.Match[str]) -> str:
    return f"{float(match[0]):.2f}".rstrip("0").rstrip(".")


def _tidy(svg: str, name: str, label: str) -> str:
    svg = svg[svg.index("<svg") :]
    # One label for the whole picture; Vega's own labels of axes and marks would be read one by one.
    svg = re.sub(r' (?:aria-[a-z]+|role)="[^"]*"', "", svg)
    svg = re.sub(r' font-family="[^"]*"', "", svg)
    svg = re.sub(r'="[^"]*"', lambda match: _LONG.sub(_shorter, match[0]), svg)
    svg = re.sub(r'\bid="([^"]*)"', lambda match: f'id="{name}-{match[1]}"', svg)
    svg = re.sub(r"url\(#([^)]*)\)", lambda match: f"url(#{name}-{match[1]})", svg)
    head = f'<svg role="img" aria-labelledby="{name}-title" data-search-exclude focusable="false"'
    title = f'<title id="{name}-title">{escape(label)}</title>'
    svg = svg.replace("<svg", head, 1)
    end = svg.index(">") + 1
    return re.sub(r"\s*\n\s*", " ", svg[:end] + title + svg[end:])
