"""The command line: run, list, show, check; the rest is in commands.py. Says what to do; the work is done elsewhere."""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path
from types import FrameType

from measure import commands as other_commands
from measure import record
from measure.begin import Request
from measure.cards import REHEARSAL, rehearsed
from measure.code import REPOSITORY
from measure.console import console
from measure.errors import MeasureError, UsageError
from measure.plan import PLAN_NAMES, parse_budget
from measure.progress import ProgressReport
from measure.session import Session

DEFAULT_MODEL = "qwen2.5-1.5b"
INTERRUPTED = 130


def parser() -> argparse.ArgumentParser:
    """The parser of `python -m measure`."""
    top = argparse.ArgumentParser(
        prog="python -m measure", description="Measure how this machine runs a language model."
    )
    commands = top.add_subparsers(
        dest="command",
        required=True,
        metavar=" | ".join(("run", "list", "show", "check", *other_commands.NAMES)),
    )
    run = commands.add_parser("run", help="measure this machine and write a run into site_data/runs/")
    run.add_argument(
        "--model",
        metavar="NAME",
        default=DEFAULT_MODEL,
        help="a model of site_data/models/ (default: %(default)s)",
    )
    run.add_argument(
        "--plan",
        choices=PLAN_NAMES,
        default="standard",
        help="which cells and how often: quick is under 3 minutes, standard is what the pages use, "
        "gpu is for a graphics card (default: %(default)s)",
    )
    run.add_argument(
        "--device",
        metavar="auto|cpu|cuda:N|GPU-UUID",
        default="auto",
        help="where the model runs; auto takes the first GPU, or the CPU where there is none (default: %(default)s)",
    )
    run.add_argument(
        "--weights",
        metavar="random|hub|PATH",
        default="random",
        help="random: the real shapes, seeded values; hub: the published checkpoint; PATH: a .gguf file or a "
        "folder with a checkpoint (default: %(default)s)",
    )
    run.add_argument(
        "--budget",
        metavar="TIME",
        type=_budget,
        help="end cleanly within this time, such as 8m or 90s; the most important cells come first "
        "(default: the plan's own; quick has 165s)",
    )
    run.add_argument("--resume", metavar="RUN-ID", help="finish an unfinished run; its own settings apply")
    _add_site_data(run)
    _add_site_data(commands.add_parser("list", help="list all runs, unfinished ones too"))
    show = commands.add_parser("show", help="show one run: provenance and results")
    show.add_argument("run_id", metavar="RUN-ID", help="a run's id, or enough of its beginning")
    _add_site_data(show)
    _add_site_data(commands.add_parser("check", help="validate all of site_data against schema.json"))
    other_commands.add(commands, _add_site_data, DEFAULT_MODEL)
    return top


def main(argv: list[str] | None = None) -> int:
    """Run one command; returns its exit code."""
    arguments = sys.argv[1:] if argv is None else argv
    options = parser().parse_args(arguments)
    try:
        match options.command:
            case "run":
                return _run(options, arguments)
            case "list":
                return _list(options)
            case "show":
                return _show(options)
            case "check":
                return _check(options)
            case _:
                return int(options.act(options))
    except MeasureError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code


def _run(options: argparse.Namespace, arguments: list[str]) -> int:
    site_data: Path = options.site_data
    if not (site_data / "schema.json").is_file():
        raise UsageError(
            f"--site-data {site_data}: expected a folder with schema.json and models/, found none; "
            "run from the root of the repository, or name the folder"
        )
    if rehearsed(options.device) and site_data.resolve() == (REPOSITORY / "site_data").resolve():
        raise UsageError(
            f"--device {options.device}: a rehearsal's figures are no measurements, and {site_data} is published. "
            "Name a folder of its own with --site-data"
        )
    signal.signal(signal.SIGTERM, _interrupt)
    with record.only_run(site_data), ProgressReport() as report:
        session = _session(options, arguments, report)
        try:
            folder = session.run()
        except KeyboardInterrupt:
            report.say(_stopped(site_data, session))
            return INTERRUPTED
    from measure import summary

    run, samples = record.load(site_data, folder.name)
    summary.print_run(console(), run, samples)
    console().print(f"complete: {folder}\nrebuild the site with: make site", soft_wrap=True)
    return 0


def _session(options: argparse.Namespace, arguments: list[str], report: ProgressReport) -> Session:
    if not options.resume:
        request = Request(
            site_data=options.site_data,
            model=options.model,
            plan=options.plan,
            device=options.device,
            weights=options.weights,
            budget_s=options.budget,
            argv=tuple(_without_folders(arguments)),
        )
        return Session(request, None, report)
    resumed = record.RunRecord.resume(options.site_data, options.resume)
    weights = resumed.run["model"]["weights"]
    if weights["kind"] == "file" and options.weights == "random":
        raise UsageError(
            f"--resume {options.resume}: this run uses {weights['file']}; say again where it is, with --weights PATH"
        )
    request = Request(
        site_data=options.site_data,
        model=resumed.run["model"]["name"],
        plan=resumed.run["plan"]["name"],
        device=_device_of(resumed.run),
        weights=options.weights if weights["kind"] == "file" else weights["kind"],
        budget_s=options.budget,
        argv=tuple(resumed.run["argv"]),
    )
    return Session(request, resumed, report)


def _device_of(run: record.Json) -> str:
    """The `--device` that names the one on which a run began."""
    accelerator = run["machine"]["accelerator"]
    if not accelerator:
        return "cpu"
    return (REHEARSAL if run.get("rehearsal") else "") + str(accelerator["uuid"])


def _list(options: argparse.Namespace) -> int:
    from measure import summary

    console().print(summary.runs_table(options.site_data))
    return 0


def _show(options: argparse.Namespace) -> int:
    from measure import summary

    run, samples = record.load(options.site_data, options.run_id)
    summary.print_run(console(), run, samples)
    return 0


def _check(options: argparse.Namespace) -> int:
    from measure.check import Checker

    problems = list(Checker(options.site_data).problems())
    for problem in problems:
        print(problem, file=sys.stderr)
    if problems:
        plural = "problem" if len(problems) == 1 else "problems"
        print(
            f"{len(problems)} {plural} in {options.site_data}. A run that was complete is mended with "
            f"`git checkout -- {options.site_data}`, not by hand",
            file=sys.stderr,
        )
        return 1
    runs = [p for p in record.run_folders(options.site_data) if p.parent.name == "runs"]
    plural = "run" if len(runs) == 1 else "runs"
    print(f"{options.site_data}: {len(runs)} {plural}, all as schema.json says")
    return 0


def _stopped(site_data: Path, session: Session) -> str:
    if session.record is None:
        return "stopped before the first sample; nothing was written"
    kept = len(session.record.samples)
    command = record.resume_command(site_data, session.record.run_id)
    if session.record.run["model"]["weights"]["kind"] == "file":
        command += " --weights PATH"
    return f"stopped; {kept} samples are kept. Finish the run with:\n  {command}"


def _interrupt(signum: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _budget(text: str) -> float:
    try:
        return parse_budget(text)
    except UsageError as error:
        raise argparse.ArgumentTypeError(str(error).removeprefix("--budget: ")) from error


def _without_folders(arguments: list[str]) -> list[str]:
    """The arguments with paths cut to their last part: a run is published, the machine's folders are not."""
    return [Path(a).name if "/" in a and Path(a).exists() else a for a in arguments]


def _add_site_data(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--site-data",
        metavar="DIR",
        type=Path,
        default=Path("site_data"),
        help="where models, runs and the schema are (default: %(default)s)",
    )
