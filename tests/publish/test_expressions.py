"""Formulas and conditions: ids with digits and dashes work, anything beyond arithmetic is refused."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hooks.errors import PublishError
from hooks.numbers.expressions import parse


@pytest.mark.parametrize(
    ("source", "ids"),
    [
        ("model.qwen2.5-1.5b.parameters", ("model.qwen2.5-1.5b.parameters",)),
        ("a.b.low - a.b.high", ("a.b.low", "a.b.high")),
        (
            "cite.earlier-notes.decode-over-prefill-energy.high > 2",
            ("cite.earlier-notes.decode-over-prefill-energy.high",),
        ),
        ("1.5 * x.at_500 + 1e9", ("x.at_500",)),
        ("a.b<c.d", ("a.b", "c.d")),
    ],
)
def test_ids(source: str, ids: tuple[str, ...]) -> None:
    assert parse(source).ids == ids


@pytest.mark.parametrize(
    ("source", "result"),
    [
        ("a.b - c.d", 5),
        ("(a.b + c.d) / 3 * 2", 6),
        ("a.b > c.d and not c.d >= 3", True),
        ("1 < c.d < 3", True),
        ("abs(c.d - a.b) <= 5 or a.b == 0", True),
        ("max(a.b, c.d) - min(a.b, c.d)", 5),
    ],
)
def test_results(source: str, result: float) -> None:
    assert parse(source).evaluate({"a.b": 7, "c.d": 2}) == result


@pytest.mark.parametrize(
    "source",
    [
        "a.b ** 9", "a.b // 2", "a.b % 2", "'text'", "a.b if a.b else 1", "[1]", "lambda: 1", "__import__('os')",
        "(1).__class__", "a.b.c()", "open(a.b)", "x := 1", "a.b;1", "f'{1}'", "True", "1 +", "", "a.b c.d", "min.b(1)",
        "a.b is 1", "1 in 2", "~1", "a.b >> 1",
    ],
)  # fmt: skip
def test_everything_else_is_refused(source: str) -> None:
    with pytest.raises(PublishError):
        parse(source).evaluate({"a.b": 1, "c.d": 1, "a.b.c": 1, "min.b": 1})


def test_a_division_by_zero_is_an_error_with_the_formula() -> None:
    with pytest.raises(PublishError, match=r"`1 / a\.b` cannot be computed"):
        parse("1 / a.b").evaluate({"a.b": 0})


def test_a_name_without_a_dot_is_no_id() -> None:
    with pytest.raises(PublishError, match="names `decode`"):
        parse("decode > 1")


def test_a_very_long_expression_is_refused() -> None:
    with pytest.raises(PublishError, match="at most"):
        parse("1 + " * 200 + "1")


def test_what_is_a_condition() -> None:
    assert parse("a.b > 1 and not a.b > 2").is_condition
    assert not parse("a.b").is_condition
    assert not parse("a.b > 1 or a.b").is_condition


@given(st.text(max_size=60))
def test_any_text_is_an_expression_or_a_publish_error(text: str) -> None:
    with contextlib.suppress(PublishError):
        parse(text)
