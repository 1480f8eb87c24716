"""The commands that work on runs there are, and on the machine before there is one: their flags and what they call."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from measure import record
from measure.errors import MeasureError, UsageError

if TYPE_CHECKING:
    from argparse import _SubParsersAction

    from measure.record import Json

    Parsers = _SubParsersAction[argparse.ArgumentParser]

NAMES = ("compare", "import", "machine")


def add(commands: Parsers, add_site_data: Callable[[argparse.ArgumentParser], None]) -> None:
    """Add the parsers; each sets `act`, which takes the options and returns the exit code."""
    compare = commands.add_parser("compare", help="the ratio of each quantity of two runs, with its interval")
    compare.add_argument("first", metavar="RUN", help="a run's id, or enough of its beginning")
    compare.add_argument(
        "second", metavar="RUN", help="the run that is told to be faster, slower, or neither"
    )
    compare.add_argument(
        "--across",
        action="store_true",
        help="compare runs of different machines, models, weights or dtypes all the same",
    )
    _add_json(compare)
    add_site_data(compare)
    compare.set_defaults(act=_compare)


def _add_json(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", action="store_true", help="print JSON for programs in place of a table")


def _compare(options: argparse.Namespace) -> int:
    from measure.compare import compare
    from measure.comparison_view import print_comparison
    from measure.console import console

    first, second = (_whole_run(options.site_data, name) for name in (options.first, options.second))
    comparison = compare(first, second, across=options.across)
    if options.json:
        print(json.dumps(comparison.as_json(), indent=2, allow_nan=False, ensure_ascii=False))
    else:
        print_comparison(console(), comparison)
    return 0


def _whole_run(site_data: Path, name: str) -> tuple[Json, list[Json]]:
    """A complete run that is as the contract has it: a wrong line would give a wrong ratio."""
    from measure.check import Checker

    folder = record.find(site_data, name)
    if folder.parent != record.runs_folder(site_data):
        raise UsageError(
            f"compare: expected complete runs, found {folder.name}, which is unfinished; finish it with:\n"
            f"  {record.resume_command(site_data, folder.name)}"
        )
    problems = list(Checker(site_data).run_problems(folder))
    if problems:
        more = f"\n… and {len(problems) - 5} more" if len(problems) > 5 else ""
        raise MeasureError(
            f"compare: {folder.name} is not as schema.json says:\n"
            + "\n".join(map(str, problems[:5]))
            + more
            + f"\nA run that was complete is mended with `git checkout -- {folder}`"
        )
    return record.load(site_data, folder.name)
