"""The commands that work on runs there are, and on the machine before there is one: their flags and what they call."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from measure import record
from measure.errors import MeasureError, UsageError

if TYPE_CHECKING:
    from argparse import _SubParsersAction

    from measure.record import Json

    Parsers = _SubParsersAction[argparse.ArgumentParser]

NAMES = ("compare", "import", "machine")


def add(
    commands: Parsers, add_site_data: Callable[[argparse.ArgumentParser], None], default_model: str
) -> None:
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
    import_ = commands.add_parser(
        "import", help="make runs of what llama-bench or optimum-benchmark measured"
    )
    import_.add_argument("files", metavar="FILE", nargs="+", type=Path, help="a file that one of them wrote")
    import_.add_argument(
        "--model", metavar="NAME", required=True, help="the model of site_data/models/ that ran"
    )
    import_.add_argument(
        "--weights",
        choices=("unknown", "random", "hub", "file"),
        default="unknown",
        help="what the weights were: random values, a published checkpoint, one of your own (default: %(default)s)",
    )
    import_.add_argument(
        "--dtype",
        choices=("float32", "float16", "bfloat16"),
        help="in what type the model ran, where an optimum-benchmark file does not say",
    )
    import_.add_argument(
        "--prompt-tokens",
        metavar="N",
        type=_positive,
        help="length of the prompt, where an optimum-benchmark file does not say",
    )
    import_.add_argument(
        "--date",
        metavar="YYYY-MM-DD",
        type=_date,
        help="day of the measurement, which optimum-benchmark never says",
    )
    add_site_data(import_)
    import_.set_defaults(act=_import)
    machine = commands.add_parser(
        "machine", help="what this machine can measure, what not and why, and what to run"
    )
    machine.add_argument(
        "--model",
        metavar="NAME",
        default=default_model,
        help="the model that plans are told for (default: %(default)s)",
    )
    machine.add_argument(
        "--no-probe", action="store_true", help="time nothing; plans then rest on runs of this machine"
    )
    _add_json(machine)
    add_site_data(machine)
    machine.set_defaults(act=_machine)


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


def _import(options: argparse.Namespace) -> int:
    from measure import foreign, foreign_files
    from measure.optimum_config import Said

    said = Said(options.dtype, options.prompt_tokens, options.date)
    with record.only_run(options.site_data):
        files = foreign_files.read(options.files, options.site_data, options.model, said)
        asked = foreign.Asked(options.site_data, options.model, options.weights, tuple(_argv(options)))
        folders = foreign.write(asked, files)
    for folder in folders:
        run, samples = record.load(options.site_data, folder.name)
        print(f"{folder}: {len(samples)} samples in {len(run['plan']['cells'])} cells")
        for note in run["origin"]["notes"]:
            print(f"  {note}")
    print(
        "To show them on a page, give the run an alias in docs/quantities.toml; docs/reference/measuring.md says how."
    )
    return 0


def _machine(options: argparse.Namespace) -> int:
    from measure.capability import look
    from measure.capability_view import print_capability
    from measure.console import console

    capability = look(options.site_data, options.model, probe=not options.no_probe)
    if options.json:
        print(json.dumps(capability.as_json(), indent=2, allow_nan=False, ensure_ascii=False))
    else:
        print_capability(console(), capability)
    return 0


def _argv(options: argparse.Namespace) -> Iterator[str]:
    """The command as it is published: without the machine's folders."""
    yield "import"
    yield from (path.name for path in options.files)
    for flag in ("model", "weights", "dtype", "prompt_tokens", "date"):
        value = getattr(options, flag)
        if value is not None and (flag, value) != ("weights", "unknown"):
            yield from (f"--{flag.replace('_', '-')}", str(value))


def _positive(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < 10**9:
        raise argparse.ArgumentTypeError(f"expected a number of tokens, found {text!r}")
    return int(text)


def _date(text: str) -> str:
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"expected a day such as 2026-11-30, found {text!r}") from error


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
