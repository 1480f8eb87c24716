"""Where results are printed: as wide as the terminal, or wide enough for the tables. Prints nothing itself."""

from __future__ import annotations

import sys

from rich.console import Console

PLAIN_WIDTH = 120


def console() -> Console:
    """A console on standard output that takes text from data as it is: brackets in it mean nothing."""
    return Console(
        highlight=False, markup=False, emoji=False, width=None if sys.stdout.isatty() else PLAIN_WIDTH
    )
