"""Which other runs a reader can have a page speak of: the newest of each other machine and model. Writes no HTML.

A page states the numbers of the site's main run. A reader asks what these figures would be on another machine. So there
is one choice for each machine and model that was measured, and none for an older run of the same two: those are
repetitions, which the data pages set side by side. Runs of other machines come first, since the text speaks of the main
run's model by name; another model is offered, and said to be one. Imported runs are left out: they have a fraction of
the cells, and one process.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from hooks.data.records import Refusal, Run
from hooks.errors import PublishError
from hooks.numbers.book import Book
from hooks.numbers.formatting import unbroken

MOST = 12
"""Choices at most. A reader looks through no more, and each costs every build some time."""


@dataclass(frozen=True)
class Choice:
    """A run that pages can show in the place of the main one, and the book in which it stands there."""

    run: Run
    model: str
    same_model: bool
    book: Book

    @property
    def name(self) -> str:
        """What claims call it: the machine, and the model where it is another one."""
        return self.run.machine if self.same_model else f"{self.run.machine}, with {self.model}"

    @property
    def label(self) -> str:
        """Machine, model and date, as the switch lists them."""
        return label(self.run, self.book)


def label(run: Run, book: Book) -> str:
    """Machine, model and date of a run, for people."""
    return f"{unbroken(run.machine)} · {book.title_of(run.model)} · {run.date}"


def choices(book: Book) -> tuple[Choice, ...]:
    """The other runs, those of the main run's model first, newer ones before older ones; none without a main run."""
    try:
        main = book.find(book.definitions.main)
    except PublishError:
        return ()  # each page that states a number says what is wrong
    if isinstance(main, Refusal):
        return ()
    plans = book.alias(book.definitions.main).plans
    best: dict[tuple[str, str], Run] = {}
    for run in _eligible(book):
        best[_kind(run)] = max(best.get(_kind(run), run), run, key=lambda each: _rank(each, plans))
    best.pop(_kind(main), None)
    found = sorted(best.values(), key=lambda run: (run.finished_at, run.id), reverse=True)
    found.sort(key=lambda run: run.model != main.model)
    return tuple(
        Choice(run, book.title_of(run.model), run.model == main.model, book.standing_in(run))
        for run in found[:MOST]
    )


def _eligible(book: Book) -> Iterable[Run]:
    return (run for run in book.store.runs.values() if run.program is None and run.model in book.store.models)


def _kind(run: Run) -> tuple[str, str]:
    return str(run.record["machine"]["id"]), run.model


def _rank(run: Run, plans: tuple[str, ...]) -> tuple[bool, str, str]:
    """A plan made for the pages counts before a shorter one, which lacks most of their cells; then the date does."""
    return run.plan in plans, run.finished_at, run.id
