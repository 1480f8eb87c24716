"""Errors that a person can act on, and the exit code of each. No other module decides on exit codes."""

from __future__ import annotations


class MeasureError(Exception):
    """Something that the user can mend: says what was expected, what was found, and the command that mends it."""

    exit_code = 1


class UsageError(MeasureError):
    """The command line asks for something that does not exist."""

    exit_code = 2


def first_line(error: BaseException) -> str:
    """What `error` says in its first line, or its type where it says nothing."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
