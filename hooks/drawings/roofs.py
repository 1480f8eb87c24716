"""Ceilings of a roofline: bands where they were measured, dashed lines where they are cited. Draws no points."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from hooks.drawings.marks import Roof, Spot
from hooks.drawings.parts import chart, layer

_LETTER_PX = 7.2
_PLOT_PX = {False: 600, True: 265}
"""About how wide a letter of a name is, and the plot on a wide and on a narrow screen."""


@dataclass(frozen=True)
class Frame:
    """The ends of both axes, in their own units."""

    left: float
    right: float
    bottom: float
    top: float


def frame(spots: Sequence[Spot], roofs: Sequence[Roof], narrow: bool) -> Frame:
    """Room for all points, for the corner of the measured roof, and for the names left of the slopes."""
    left, right = min(spot.x for spot in spots) / 2.2, max(spot.x for spot in spots) * 2.5
    slopes, flats = _measured(roofs)
    if slopes and flats:
        right = max(right, 2 * flats[0].high / slopes[0].low)
    tops = [spot.high or spot.y for spot in spots] + [roof.high for roof in roofs if not roof.slope]
    top = max(tops) * (5 if any(roof.cited for roof in roofs) or not flats else 2.2)
    for roof in roofs:
        if roof.slope:
            share = min(0.5, (len(_label(roof, narrow)) * _LETTER_PX + 16) / _PLOT_PX[narrow])
            at = _name_at(roof, flats, top) / roof.high
            # Of the axis' logarithmic length, `share` lies left of the name's end.
            left = min(left, math.exp((math.log(at) - share * math.log(right)) / (1 - share)))
    lows = [end for spot in spots if (end := spot.low or spot.y) > 0]
    return Frame(left, right, min(lows) / 2, top)


def roofs_of(roofs: Sequence[Roof], inside: Frame, narrow: bool, x: Any, y: Any) -> list[Any]:
    """The layers of all ceilings, with their names: of a flat one above its end, of a slope to its left."""
    slopes, flats = _measured(roofs)
    layers = [_band(slopes, flats, inside, x, y)] if slopes or flats else []
    for roof in roofs:
        label, at = _label(roof, narrow), _name_at(roof, flats, inside.top)
        if roof.cited:
            rows = [{"x": end, "y": _height(roof, end)} for end in (inside.left, inside.right)]
            line = {"color": "currentColor", "opacity": 0.6, "strokeWidth": 1, "strokeDash": [5, 4]}
            layers.append(chart(rows).mark_line(clip=True, **line).encode(x=x, y=y))
        if roof.slope:
            name = chart([{"x": at / roof.high, "y": at, "label": label}]).mark_text(align="right", dx=-8)
        else:
            name = chart([{"x": inside.right, "y": at, "label": label}]).mark_text(
                align="right", baseline="bottom", dx=-2, dy=-4
            )
        layers.append(name.encode(x=x, y=y, text=alt.Text("label:N")))
    return layers


def _measured(roofs: Sequence[Roof]) -> tuple[list[Roof], list[Roof]]:
    own = [roof for roof in roofs if not roof.cited]
    return [roof for roof in own if roof.slope], [roof for roof in own if not roof.slope]


def _height(roof: Roof, x: float) -> float:
    return roof.high * x if roof.slope else roof.high


def _label(roof: Roof, narrow: bool) -> str:
    return roof.short if narrow else roof.label


def _name_at(roof: Roof, flats: Sequence[Roof], top: float) -> float:
    """How high a ceiling's name stands: measured slopes below the flat roof, cited ones above it."""
    if not roof.slope:
        return roof.high
    if roof.cited:
        return top / 1.35
    return min([flat.low for flat in flats], default=top) / 1.5


def _band(slopes: Sequence[Roof], flats: Sequence[Roof], inside: Frame, x: Any, y: Any) -> Any:
    """Between the lowest and the highest roof that the two ceilings made, with a line along the highest."""

    def roof(at: float, end: str) -> float:
        ends = [getattr(each, end) * at for each in slopes] + [getattr(each, end) for each in flats]
        return float(min(ends))

    corners = [
        corner
        for slope in slopes
        for flat in flats
        for corner in (flat.low / slope.low, flat.high / slope.high)
        if inside.left < corner < inside.right
    ]
    ends = sorted({inside.left, inside.right, *corners})
    band = chart([{"x": at, "y": roof(at, "low"), "y2": roof(at, "high")} for at in ends]).encode(x=x)
    return layer(
        band.mark_area(color="currentColor", opacity=0.16, clip=True).encode(y=y, y2=alt.Y2("y2:Q")),
        band.mark_line(color="currentColor", opacity=0.55, strokeWidth=1, clip=True).encode(y=alt.Y("y2:Q")),
    )
