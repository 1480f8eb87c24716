"""Conditions with a name: what they hold of, over numbers and series, and what makes no sense."""

from __future__ import annotations

import markdown
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hooks.errors import PublishError, PublishErrors
from hooks.extension import Site, SplicedExtension
from hooks.numbers.book import Book
from hooks.numbers.expressions import parse
from hooks.numbers.predicates import falling, rising

VALUES = {"a.b": 23.0, "c.d": 26.0, "e.f": 30.0, "s.up": (1.0, 2.0, 5.0), "s.flat": (1.0, 2.0, 2.0)}


@pytest.mark.parametrize(
    ("source", "holds"),
    [
        ("about(a.b, 24, 10%)", True),
        ("about(a.b, 24, 4%)", False),
        ("about(a.b, c.d, 12.5 %)", True),
        ("about(a.b - 46, 0 - 24, 10%)", True),
        ("within(a.b, 20, 35)", True),
        ("within(a.b, 24, 35)", False),
        ("within(s.up, 1, 5)", True),
        ("within(s.up, 1.5, 5)", False),
        ("rising(a.b, c.d, e.f)", True),
        ("rising(c.d, a.b, e.f)", False),
        ("rising(s.up)", True),
        ("rising(s.flat)", False),
        ("rising(s.up, a.b)", True),
        ("falling(e.f, c.d, a.b)", True),
        ("falling(s.up)", False),
        ("not falling(s.up) and about(a.b, 23, 1%)", True),
        ("a.b > 10% * 200", True),
    ],
)
def test_what_holds(source: str, holds: bool) -> None:
    expression = parse(source)
    assert expression.is_condition
    assert expression.evaluate({name: VALUES[name] for name in expression.ids}) is holds


@given(st.lists(st.floats(-1e9, 1e9), min_size=2, max_size=6, unique=True))
def test_a_series_rises_exactly_if_it_is_in_order(values: list[float]) -> None:
    assert rising(tuple(values)) == (values == sorted(values)) == rising(*values)
    assert falling(tuple(reversed(values))) == rising(tuple(values))


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("about(a.b, 24, 10)", "a tolerance of 10"),
        ("about(a.b, 24, 0%)", "a tolerance of 0"),
        ("within(a.b, 35, 20)", "from 35 to 20"),
        ("rising(a.b)", "one number alone"),
    ],
)
def test_what_makes_no_sense_says_how_it_is_written(source: str, found: str) -> None:
    with pytest.raises(PublishError) as caught:
        parse(source).evaluate(VALUES)
    assert found in str(caught.value) and "expected: about(ID, 24, 10%)" in str(caught.value)


@pytest.mark.parametrize(
    "source", ["about(a.b, 24)", "within(a.b)", "about(a.b, c.d, 1, 2)", "rising(a=a.b)"]
)
def test_wrong_arguments_are_refused_when_it_is_read(source: str) -> None:
    with pytest.raises(PublishError):
        parse(source)


def test_where_a_series_may_stand() -> None:
    assert parse("rising(s.up) and within(s.up, a.b, 3)").scalars & {"s.up", "a.b"} == {"a.b"}
    assert "s.up" in parse("rising(s.up) and s.up > 1").scalars
    assert "s.up" in parse("about(s.up, 2, 10%)").scalars


def test_a_series_that_rests_on_a_refusal_is_not_checked(book: Book) -> None:
    verdict = book.evaluate("rising(decode.joules_per_token.by_depth)")
    assert verdict.result is None and verdict.refusal is not None


def test_a_claim_on_another_run_that_fails_says_what_was_published_of_it(site: Site) -> None:
    published = {
        "decode.seconds_per_token": "1 ms",
        "decode.seconds_per_token run=real-weights": "2 ms",
    }
    extension = SplicedExtension(page="page.md")
    extension.site = Site(site.book, published)
    text = "Slow. {{ claim about(decode.seconds_per_token, 2, 10%) run=real-weights }}"
    with pytest.raises(PublishErrors) as caught:
        markdown.markdown(text, extensions=[extension])
    assert "last published: 2 ms" in str(caught.value) and "1 ms" not in str(caught.value)
