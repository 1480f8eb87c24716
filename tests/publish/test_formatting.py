"""Numbers as people read them: examples, and what must hold for any value and interval."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hooks.formatting import SPACE, UNITS, interval, number, span

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
    ((3.0, "1", {"half": 40.0}), "3"),
    ((107681, "tokens", {"style": "exact"}), "107,681 tokens"),
    ((2.5e11, "flop/s", {"digits": 2}), "250 GFLOP/s"),
    ((-1.2e-5, "s", {"digits": 2}), "−12 µs"),
    ((7.0, "bushels", {"digits": 2}), "7.0 bushels"),
]


@pytest.mark.parametrize(("given_", "expected"), EXAMPLES)
def test_examples(given_: tuple[float, str, dict[str, object]], expected: str) -> None:
    value, unit, options = given_
    assert number(value, unit, **options) == expected.replace(" ", SPACE, 1)  # type: ignore[arg-type]


def test_an_interval_has_one_unit_and_one_more_digit() -> None:
    assert interval(0.3383, 0.3617, "s", half=0.0117) == f"338 to 362{SPACE}ms"


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
    found = parsed(number(value, unit, half=half), unit)
    assert abs(found - value) <= half * (1 + 1e-9)


@given(value=st.floats(-1e12, 1e12), unit=st.sampled_from(sorted(UNITS)), digits=st.integers(1, 9))
def test_any_number_prints_its_digits(value: float, unit: str, digits: int) -> None:
    text = number(value, unit, digits=digits)
    assert re.match(r"−?\d[\d,]*(\.\d+)?", text)
    if abs(value) > 1e-9:
        assert abs(parsed(text, unit) - value) <= abs(value) * 10.0 ** (1 - digits)
