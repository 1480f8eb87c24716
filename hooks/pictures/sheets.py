"""Rows as CSV that any spreadsheet takes as data: no text becomes a formula, no line end a new row. Writes no file."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

_FORMULA = (*"=+-@\t\r\n＝＋－＠",)
"""Beginnings that a spreadsheet may take for a formula; the full-width ones in East Asian editions."""


def text(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """The CSV's text, lines ending in a line feed. None is an empty cell; numbers are printed in full.

    Text that begins as a formula does is preceded by an apostrophe, which spreadsheets do not show.
    """
    return "".join(_line([_inert(cell) for cell in row]) for row in (head, *rows))


def _line(cells: Sequence[object]) -> str:
    # Told that lines end in CR and LF, the writer quotes cells that hold either.
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator="\r\n").writerow(cells)
    return out.getvalue().removesuffix("\r\n") + "\n"


def _inert(value: object) -> object:
    if isinstance(value, str) and value.startswith(_FORMULA):
        return f"'{value}"
    return "" if value is None else value
