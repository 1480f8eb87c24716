"""The one error of publishing and its one printed form. No checks live here.

Every error names where it is, what was expected, what was found and what mends it, so that a failed
build can be mended without reading this code.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Place:
    """A position in a file that a person can open: a page, a data file, a notebook's cell."""

    file: str
    line: int | None = None
    cell: int | None = None

    def __str__(self) -> str:
        text = self.file
        if self.cell is not None:
            text += f", cell {self.cell}"
            return text if self.line is None else f"{text}, line {self.line}"
        return text if self.line is None else f"{text}:{self.line}"


@dataclass(frozen=True)
class Report:
    """What an error says, part by part. Parts left empty are not printed."""

    what: str
    place: Place | None = None
    used_at: Place | None = None
    sentence: str | None = None
    expression: str | None = None
    values: tuple[str, ...] = ()
    expected: str | None = None
    found: str | None = None
    nearest: str | None = None
    mend: str | None = None

    def __str__(self) -> str:
        head = f"{self.place}: {self.what}" if self.place else self.what
        parts = [
            ("used at", self.used_at),
            ("sentence", self.sentence),
            ("claim", self.expression),
            *(("value", value) for value in self.values),
            ("expected", self.expected),
            ("found", self.found),
            ("nearest known", self.nearest),
            ("mend", self.mend),
        ]
        lines = [head, *(f"  {name}: {text}" for name, text in parts if text)]
        return "\n".join(lines)


class PublishError(Exception):
    """Something that must not be published.

    Args:
        what: One line that says what is wrong.
        **parts: Any other field of `Report`.
    """

    def __init__(self, what: str, **parts: object) -> None:
        self.report = Report(what, **parts)  # type: ignore[arg-type]
        super().__init__(str(self.report))

    def __str__(self) -> str:
        return str(self.report)

    def at(self, place: Place) -> PublishError:
        """The same error, seen from the page that ran into it.

        An error that already names a data file keeps it, and says where that file was used.
        """
        if self.report.place is None:
            report = replace(self.report, place=place)
        elif self.report.used_at is None and self.report.place != place:
            report = replace(self.report, used_at=place)
        else:
            return self
        error = PublishError(report.what)
        error.report = report
        return error


class PublishErrors(Exception):
    """All that is wrong with a page or a build, in the order in which a reader meets it."""

    def __init__(self, errors: Iterable[PublishError]) -> None:
        self.errors = tuple(errors)
        super().__init__(str(self))

    def __str__(self) -> str:
        return "\n\n".join(str(error) for error in self.errors)


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known words most like `word`, at most three, joined by commas; None where nothing is like it."""
    found: Sequence[str] = difflib.get_close_matches(word, sorted(known), n=3, cutoff=0.6)
    return ", ".join(found) or None
