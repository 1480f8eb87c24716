"""What drawings are given: points with intervals, lines of them. Draws nothing, so it costs nothing to import."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Row = Mapping[str, Any]

POINTS = "points"
"""Name of the marks that the interactive version tells of; each of their rows has a text in `about`."""


SERIES = (
    "var(--chart-1, #1f7a78)",
    "var(--chart-2, #b4531f)",
    "var(--chart-3, #4a3aa8)",
    "var(--chart-4, #5b3a00)",
)
"""Colours of the series: variables of the style sheet, and its light ones where there is none. A test computes that
colour-blind readers can tell them apart."""


@dataclass(frozen=True)
class Mark:
    """A point in the unit of its axis, the ends of its interval, and what is said of it."""

    x: float
    y: float
    about: str
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Line:
    """Points that belong together, their name beside the last one, and the colour of the series (from 0)."""

    label: str
    color: int
    marks: tuple[Mark, ...]


@dataclass(frozen=True)
class Dot:
    """One sample: where it is drawn, what is said of it, its state, its process, and on which side it lies outside."""

    x: float
    y: float
    about: str
    state: str
    process: int
    outside: str = ""


@dataclass(frozen=True)
class Roof:
    """One ceiling and how far it moved: a slope in bytes a second, or a flat one in operations a second.

    `short` is its name on a narrow screen.
    """

    slope: bool
    low: float
    high: float
    label: str
    short: str
    cited: bool = False


@dataclass(frozen=True)
class Spot:
    """A point of a roofline: operations for each byte, operations a second, and the words beside it or below."""

    series: str
    color: int
    x: float
    y: float
    about: str
    low: float | None = None
    high: float | None = None
    beside: str = ""
    below: str = ""
