"""The colours of the charts, computed: contrast with the page, and distance for colour-blind readers.

Colour blindness is simulated by the matrices of Machado, Oliveira and Fernandes (2009), severity 1.0, in linear RGB;
the distance is Euclidean in Oklab (Ottosson, 2020); contrast is WCAG 2's.
"""

from __future__ import annotations

import itertools
import re

import pytest

from hooks.drawings.marks import SERIES
from tests.publish.fixture_data import ROOT

RGB = tuple[float, float, float]

SIGHT = {
    "all cones": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}

APART = 0.1
"""Least distance in Oklab of two series, for every kind of sight; 0.02 is about what the eye just tells apart."""


def linear(colour: str) -> RGB:
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return red, green, blue


def seen(colour: RGB, sight: str) -> RGB:
    red, green, blue = (
        min(1.0, max(0.0, sum(part * channel for part, channel in zip(row, colour, strict=True))))
        for row in SIGHT[sight]
    )
    return red, green, blue


def oklab(colour: RGB) -> RGB:
    r, g, b = colour
    long = (0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b) ** (1 / 3)
    middle = (0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b) ** (1 / 3)
    short = (0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b) ** (1 / 3)
    return (
        0.2104542553 * long + 0.7936177850 * middle - 0.0040720468 * short,
        1.9779984951 * long - 2.4285922050 * middle + 0.4505937099 * short,
        0.0259040371 * long + 0.7827717662 * middle - 0.8086757660 * short,
    )


def distance(first: str, second: str, sight: str) -> float:
    pairs = zip(*(oklab(seen(linear(colour), sight)) for colour in (first, second)), strict=True)
    return float(sum((a - b) ** 2 for a, b in pairs) ** 0.5)


def contrast(first: str, second: str) -> float:
    lights = sorted(
        sum(part * channel for part, channel in zip((0.2126, 0.7152, 0.0722), linear(colour), strict=True))
        + 0.05
        for colour in (first, second)
    )
    return lights[1] / lights[0]


def palettes() -> dict[str, dict[str, str]]:
    """Every colour of the style sheet that has a light and a dark form, by palette; and those without a style sheet."""
    css = (ROOT / "docs/assets/site.css").read_text(encoding="utf-8")
    found = re.findall(r"--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)", css)
    fallback = dict(re.findall(r"--(chart-\d), (#[0-9a-f]{6})", " ".join(SERIES)))
    return {
        "light": {name: light for name, light, _ in found},
        "dark": {name: dark for name, _, dark in found},
        "without style sheet": fallback | {"paper": "#ffffff"},
    }


@pytest.mark.parametrize("sight", SIGHT)
@pytest.mark.parametrize("palette", ["light", "dark", "without style sheet"])
def test_series_are_apart_for_every_kind_of_sight(palette: str, sight: str) -> None:
    colours = [palettes()[palette][f"chart-{number}"] for number in range(1, len(SERIES) + 1)]
    for first, second in itertools.combinations(colours, 2):
        assert distance(first, second, sight) >= APART, f"{first} and {second}"


def test_a_page_without_style_sheet_has_the_light_colours() -> None:
    found = palettes()
    fallback = found["without style sheet"]
    assert fallback == {**{name: found["light"][name] for name in fallback}, "paper": "#ffffff"}


@pytest.mark.parametrize("palette", ["light", "dark"])
def test_series_and_their_names_can_be_read_on_the_page(palette: str) -> None:
    """Names of series are bold text in their colours, so the limit for text holds."""
    colours = palettes()[palette]
    for number in range(1, len(SERIES) + 1):
        assert contrast(colours[f"chart-{number}"], colours["paper"]) >= 4.5
    assert contrast(colours["ink-soft"], colours["paper"]) >= 4.5


def test_the_formulas_know_what_is_known() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert oklab(linear("#ffffff")) == pytest.approx((1, 0, 0), abs=1e-3)
    assert distance("#ff0000", "#ff0000", "protanopia") == 0
    # Red and a green of the same lightness, which deuteranopes confuse.
    assert distance("#c04040", "#6f7d20", "all cones") > 3 * distance("#c04040", "#6f7d20", "deuteranopia")
