"""Conditions with a name, for claims: about, within, rising, falling. Knows no ids; pure.

A value is a number, or a series: the numbers of a range over cells, in the order of the cells.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise


class PredicateError(ValueError):
    """A condition that makes no sense, whatever the data say."""


Value = float | tuple[float, ...]


def about(value: float, target: float, tolerance: float) -> bool:
    """Whether `value` is `target`, give or take `tolerance`, a share of the target.

    Raises:
        PredicateError: The tolerance is no share.
    """
    if not 0 < tolerance < 1:
        raise PredicateError(f"a tolerance of {tolerance:.4g}; write a share of the target, such as 10%")
    return abs(value - target) <= tolerance * abs(target)


def within(value: Value, low: float, high: float) -> bool:
    """Whether `value`, or every number of a series, is from `low` to `high`.

    Raises:
        PredicateError: The ends are the wrong way round.
    """
    if low > high:
        raise PredicateError(f"from {low:.4g} to {high:.4g}; write the lower end first")
    return all(low <= number <= high for number in _flat(value))


def rising(*values: Value) -> bool:
    """Whether each number is greater than the one before it.

    Raises:
        PredicateError: There are fewer than two.
    """
    return all(first < second for first, second in pairwise(_several(values)))


def falling(*values: Value) -> bool:
    """Whether each number is less than the one before it.

    Raises:
        PredicateError: There are fewer than two.
    """
    return all(first > second for first, second in pairwise(_several(values)))


def _flat(*values: Value) -> list[float]:
    return [number for value in values for number in (value if isinstance(value, tuple) else (value,))]


def _several(values: tuple[Value, ...]) -> list[float]:
    numbers = _flat(*values)
    if len(numbers) < 2:
        raise PredicateError("one number alone neither rises nor falls; name two, or a series")
    return numbers


PREDICATES: dict[str, tuple[Callable[..., bool], str, int | None]] = {
    "about": (about, "about(ID, 24, 10%)", 3),
    "within": (within, "within(ID, 20, 35)", 3),
    "rising": (rising, "rising(ID, ID, …)", None),
    "falling": (falling, "falling(ID, ID, …)", None),
}
"""Each with how it is written, and how many arguments it takes if that is fixed."""

OVER_SERIES = ("within", "rising", "falling")
"""Those that take a series."""
