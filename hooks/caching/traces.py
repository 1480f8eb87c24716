"""What was asked of the samples while something was made. Reads none itself, and keeps no answer but in memory.

A page is made of few numbers, and a site may have hundreds, of hundreds of runs. What knows the numbers behind it need
not be made again when a sample has changed and they have not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Asked = tuple[Any, ...]
"""A question, in hashable values that mean the same in every build."""


@dataclass(frozen=True)
class Answer:
    """What was answered, and the runs whose samples that was made of."""

    value: Any
    runs: frozenset[str]


@dataclass
class Trace:
    """What something was made of: answers, by who gave them and by the question; and the ids of runs whose samples were
    read past all answers."""

    answers: dict[tuple[str, Asked], Answer] = field(default_factory=dict)
    runs: set[str] = field(default_factory=set)

    @property
    def behind(self) -> frozenset[str]:
        """All runs whose samples count."""
        return frozenset(self.runs).union(*(answer.runs for answer in self.answers.values()))


_open: list[Trace] = []


def begin() -> Trace:
    """Collect from now on what is asked and read, until `end`."""
    trace = Trace()
    _open.append(trace)
    return trace


def end(trace: Trace) -> None:
    """Collect no more; what was begun before and is still open has all of it, too."""
    _drop(trace)
    if _open:
        _open[-1].answers |= trace.answers
        _open[-1].runs |= trace.runs


def note(run: str) -> None:
    """The samples of this run are read now."""
    if _open:
        _open[-1].runs.add(run)


def _drop(trace: Trace) -> None:
    _open[:] = [other for other in _open if other is not trace]


class Remembered:
    """Answers, each made once. Whoever is given one depends on it, and no further on the samples behind it.

    Args:
        name: Of who gives them.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._made: dict[Asked, Answer] = {}

    def get(self, asked: Asked, make: Callable[[], Any]) -> Any:
        """The answer, made where there is none yet. Where that raises, whoever asked has read the samples itself."""
        if asked not in self._made:
            trace = begin()
            try:
                value = make()
            except BaseException:
                end(trace)
                raise
            _drop(trace)
            self._made[asked] = Answer(value, trace.behind)
        answer = self._made[asked]
        if _open:
            _open[-1].answers[self.name, asked] = answer
        return answer.value
