"""Whose samples were read while something was made. Reads none itself, and keeps no result but in memory.

A page is made of few runs, and a site may have hundreds. What knows the runs behind it need not be made again, nor
any of their samples read, when those of another run have changed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")

_open: list[set[str]] = []


def begin() -> set[str]:
    """Collect from now on the ids of the runs whose samples are read, until `end`."""
    trace: set[str] = set()
    _open.append(trace)
    return trace


def end(trace: set[str]) -> None:
    """Collect no more."""
    _open[:] = [other for other in _open if other is not trace]


def note(run: str) -> None:
    """The samples of this run are read now."""
    for trace in _open:
        trace.add(run)


class Remembered(Generic[Key, Value]):
    """Values made once, each with the runs behind it: whoever is given it again is told of them, too."""

    def __init__(self) -> None:
        self._made: dict[Key, tuple[Value, frozenset[str]]] = {}

    def get(self, key: Key, make: Callable[[], Value]) -> Value:
        """The value under a key, made where there is none yet."""
        if key not in self._made:
            trace = begin()
            try:
                value = make()
            finally:
                end(trace)
            self._made[key] = value, frozenset(trace)
        value, behind = self._made[key]
        for run in behind:
            note(run)
        return value
