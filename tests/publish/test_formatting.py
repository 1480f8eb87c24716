"""Numbers as people read them: examples, and what must hold for any value and interval."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hooks.numbers.formatting import SPACE, UNITS, interval, is_below_resolution, number, plus_minus, span

EXAMPLES = [
    ((0.3502, "s", {"half": 0.012}), "350 ms"),
    ((0.355, "s", {"half": 0.017}), "355 ms"),
    ((0.355, "s", {"half": 0.03}), "360 ms"),
    ((0.99996, "s", {"half": 0.0031}), "1.000 s"),
    ((0.9996, "s", {"digits": 3}), "1.00 s"),
    ((26.4e-6, "s", {"half": 3e-6}), "26 µs"),
    ((120.0, "s", {"half": 4.0}), "120 s"),
    ((1543714304, "1", {"style": "exact"}), "1,543,714,304"),
    ((1543714304, "1", {"style": "short"}), "1.54 billion"),
    ((134515008, "1", {"style": "short"}), "135 million"),
    ((28672, "bytes", {"style": "exact"}), "28,672 bytes"),
    ((28672, "bytes", {}), "28.7 kB"),
    ((28672, "bytes", {"style": "binary"}), "28.0 KiB"),
    ((3087428608, "bytes", {}), "3.09 GB"),
    ((0.563, "1", {"style": "percent", "half": 0.02}), "56 %"),
    ((13.46, "1", {"half": 0.8}), "13.5"),
    ((3.0, "1", {"half": 4.0}), "under 7"),
    ((-0.1e6, "bytes", {"half": 0.3e6}), "under 400 kB"),
    ((0.00004, "s", {"half": 0.000131}), "under 180 µs"),
    ((0.0, "s", {"half": 0.00199}), "under 2 ms"),
    ((0.001, "1", {"half": 0.002, "style": "percent"}), "under 0.3 %"),
    ((-0.005, "s", {"half": 0.002}), "−5 ms"),
    ((107681, "tokens", {"style": "exact"}), "107,681 tokens"),
    ((2.5e11, "flop/s", {"digits": 2}), "250 GFLOP/s"),
    ((-1.2e-5, "s", {"digits": 2}), "−12 µs"),
    ((7.0, "bushels", {"digits": 2}), "7.0 bushels"),
]


@pytest.mark.parametrize(("given_", "expected"), EXAMPLES)
def test_examples(given_: tuple[float, str, dict[str, object]], expected: str) -> None:
    value, unit, options = given_
    found = number(value, unit, **options)  # type: ignore[arg-type]
    assert found.replace(SPACE, " ") == expected
    assert SPACE in found or " " not in found.removeprefix("under ")


def test_an_interval_has_one_unit_and_one_more_digit() -> None:
    assert interval(0.3383, 0.3617, "s", half=0.0117) == f"338 to 362{SPACE}ms"


def test_an_interval_beside_its_number_is_not_a_range() -> None:
    assert plus_minus(0.355, 0.0171, "s").replace(SPACE, " ") == "355 ± 18 ms"
    assert plus_minus(0.355, 0.031, "s").replace(SPACE, " ") == "360 ± 40 ms"
    assert plus_minus(0.43, 0.012, "1", style="percent").replace(SPACE, " ") == "43.0 ± 1.2 %"
    assert plus_minus(0.1, 0.2, "s").replace(SPACE, " ") == "under 300 ms"


def test_a_range_is_one_number_where_both_ends_print_alike() -> None:
    assert span(20, 35, "1") == "20 to 35"
    assert span(0.0261, 0.0262, "s", half=0.003) == f"26{SPACE}ms"


PREFIXES = {"n": -9, "µ": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15}


def parsed(text: str, unit: str) -> float:
    digits, _, symbol = text.partition(SPACE)
    prefix = symbol.removesuffix(UNITS[unit].symbol)
    return float(digits.replace(",", "").replace("−", "-")) * 10.0 ** PREFIXES[prefix]


@given(
    value=st.floats(1e-8, 1e14),
    share=st.floats(1e-6, 5),
    unit=st.sampled_from(["s", "bytes", "J", "W", "1", "bytes/s"]),
)
def test_the_text_parses_back_to_within_the_interval(value: float, share: float, unit: str) -> None:
    half = value * share
    text = number(value, unit, half=half)
    found = parsed(text.removeprefix("under "), unit)
    if is_below_resolution(value, half):
        assert text.startswith("under ")
        assert value + half <= found * (1 + 1e-9) and found <= 1.1 * (value + half)
    else:
        assert abs(found - value) <= half * (1 + 1e-9)


@given(value=st.floats(-1e12, 1e12), unit=st.sampled_from(sorted(UNITS)), digits=st.integers(1, 9))
def test_any_number_prints_its_digits(value: float, unit: str, digits: int) -> None:
    text = number(value, unit, digits=digits)
    assert re.match(r"−?\d[\d,]*(\.\d+)?", text)
    if abs(value) > 1e-9:
        assert abs(parsed(text, unit) - value) <= abs(value) * 10.0 ** (1 - digits)
