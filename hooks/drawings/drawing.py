"""Drawings as data: what each kind is given, and the text that tells it to another process. Draws nothing.

Altair takes a quarter of a second to be imported. A page therefore has only the text of a drawing, and the process that
paints it makes an Altair chart of that.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass
from importlib import import_module
from typing import Any

from hooks.drawings.marks import Dot, Line, Mark, Roof, Spot


@dataclass(frozen=True)
class Lines:
    """Lines over tokens, with points and interval bars, each named beside its last point.

    Args:
        lines: At least one, each with at least one point.
        narrow: For a narrow screen.
        x_title: What the tokens are.
        y_title: What the values are, with their unit.
        log: Whether the vertical axis is logarithmic.
        limit: A value that no point should pass, and its name; drawn as a dotted rule.
    """

    lines: Sequence[Line]
    narrow: bool
    x_title: str
    y_title: str
    log: bool = False
    limit: tuple[float, str] | None = None


@dataclass(frozen=True)
class Roofline:
    """Points with interval bars under bands of ceilings, all named where they are.

    Args:
        spots: At least one.
        roofs: Measured ceilings as bands, cited ones as dashed lines; in the unit of the vertical axis, a slope in
            that unit for each operation a byte.
        narrow: For a narrow screen.
        y_title: The unit of the vertical axis.
    """

    spots: Sequence[Spot]
    roofs: Sequence[Roof]
    narrow: bool
    y_title: str


@dataclass(frozen=True)
class Shares:
    """One line for each model, dashed beyond its longest context, and a rule where cache and weights are equal.

    Args:
        lines: Each model's line (tokens, cache ÷ weights), smallest model first, with its longest context in tokens.
        narrow: For a narrow screen.
    """

    lines: Sequence[tuple[Line, int]]
    narrow: bool


@dataclass(frozen=True)
class Strip:
    """Dots by process, a bar at each process' median, and a band across.

    Args:
        dots: At least one; those that lie outside of `domain` are at its edge and point outwards.
        medians: Each process that has a median, with it.
        band: An interval for all, behind the dots.
        narrow: For a narrow screen.
        domain: The ends of the value axis.
        y_title: What the values are, with their unit.
    """

    dots: Sequence[Dot]
    medians: Sequence[tuple[int, float]]
    band: tuple[float, float] | None
    narrow: bool
    domain: tuple[float, float]
    y_title: str


Drawing = Lines | Roofline | Shares | Strip

_DRAWN_BY = {
    Lines: ("lines", "over_tokens"),
    Roofline: ("roofline", "roofline"),
    Shares: ("shares", "shares"),
    Strip: ("strip", "strip"),
}
"""Module of this package and function that make an Altair chart of each."""

_PARTS = {kind.__name__: kind for kind in (*_DRAWN_BY, Dot, Line, Mark, Roof, Spot)}
_KIND = "kind"
"""Names the class of an object in the text; no part has a field of that name."""


def text(drawing: Drawing, width: int, height: int) -> str:
    """A drawing of a size, in CSS pixels, as JSON text; the same for the same drawing."""
    wanted = {"drawing": drawing, "width": width, "height": height}
    return json.dumps(wanted, default=_plain, sort_keys=True, ensure_ascii=False)


def read(text: str) -> dict[str, Any]:
    """What `text` was told: `drawing`, `width` and `height`."""
    found: dict[str, Any] = json.loads(text, object_hook=_part)
    return found


def is_drawing(text: str) -> bool:
    """Whether `text` made it; else it is a Vega-Lite specification."""
    return text.startswith('{"drawing": ')


def draw(drawing: Drawing) -> Any:
    """The Altair chart of a drawing."""
    module, function = _DRAWN_BY[type(drawing)]
    return getattr(import_module(f"hooks.drawings.{module}"), function)(drawing)


def _plain(value: Any) -> dict[str, Any]:
    assert is_dataclass(value), value
    return {_KIND: type(value).__name__} | {item.name: getattr(value, item.name) for item in fields(value)}


def _part(found: dict[str, Any]) -> Any:
    return _PARTS[found.pop(_KIND)](**found) if _KIND in found else found
