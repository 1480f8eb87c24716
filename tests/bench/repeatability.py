"""Do the 95 % intervals that a run states hold the median of a later fresh process on the same machine?

Takes a complete run, measures its cells again in fresh processes here and now (same plan, same code path, another
order), and compares: for each cell and quantity the interval that pages state, against what each later process alone
gives. Prints each cell, the share of intervals that hold (target: at least 90 %), how wide they are (target: at most
15 % of the value), and whether the machine was quiet both times: on one that was not, the run says `contaminated`, and
nothing is proved either way.

    python -m tests.bench.repeatability RUN-ID [--processes 2] [--budget TIME] [--site-data site_data]

Takes the time of that many of the run's processes, or the most important cells within the budget. Writes nothing
into site_data. Exit code 1 below a target.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
from dataclasses import dataclass
from pathlib import Path

from hooks.numbers.estimates import half_width
from measure import code, record
from measure.begin import Request
from measure.errors import MeasureError
from measure.plan import parse_budget
from measure.progress import ProgressReport
from measure.quantities import CACHE, QUANTITIES, Readings
from measure.quiet import quiet_words
from measure.record import Json, RunRecord
from measure.session import Session

HOLD_TARGET = 0.90
WIDTH_TARGET = 0.15


@dataclass(frozen=True)
class Compared:
    """One quantity of one cell."""

    label: str
    width: float
    """Of the interval, as a share of the value."""
    held: list[bool]
    """For each later process, whether its median lay within."""
    off: list[float]
    """For each, how far it was from the stated value, as a share of that."""


def main() -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("run_id")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument(
        "--budget", type=parse_budget, help="time for the later processes (default: all cells)"
    )
    parser.add_argument("--site-data", type=Path, default=Path("site_data"))
    options = parser.parse_args()
    run, samples = record.load(options.site_data, options.run_id)
    with tempfile.TemporaryDirectory() as folder:
        later = measure_again(options, run, Path(folder))
    compared = compare(samples, later)
    for each in compared:
        off = " ".join(f"{share:+7.1%}" for share in each.off)
        marks = "".join("held " if held else "MISS " for held in each.held)
        print(f"{each.label:54} interval {each.width:6.1%} wide   later {off}   {marks}")
    held = [h for each in compared for h in each.held]
    widths = sorted(each.width for each in compared)
    if not held:
        print("nothing to compare: the run states no interval, or no later sample was good")
        return 1
    share, narrow = sum(held) / len(held), sum(w <= WIDTH_TARGET for w in widths)
    print(
        f"\n{share:.0%} of {len(held)} later medians lie in the stated intervals (target {HOLD_TARGET:.0%})"
    )
    print(f"{narrow} of {len(widths)} intervals are at most {WIDTH_TARGET:.0%} wide (target: all)")
    print(f"the median interval is {statistics.median(widths):.1%} wide, the widest {widths[-1]:.1%}")
    print("the run:", *quiet_words(samples))
    print("later:  ", *quiet_words(later))
    return 0 if share >= HOLD_TARGET and narrow == len(widths) else 1


def measure_again(options: argparse.Namespace, run: Json, folder: Path) -> list[Json]:
    """The samples of fresh processes with the plan of `run`. Raises MeasureError on another machine."""
    if run["model"]["weights"]["kind"] == "file":
        raise MeasureError(
            f"{run['run_id']}: measured with weights from a file, which this benchmark does not have"
        )
    scratch = folder / "site_data"
    scratch.mkdir()
    shutil.copy(options.site_data / "schema.json", scratch)
    shutil.copytree(options.site_data / "models", scratch / "models")
    again = {
        **run,
        "run_id": f"again-{run['run_id']}",
        "status": "unfinished",
        "plan": {
            **run["plan"],
            "seed": run["plan"]["seed"] + 1,
            "rounds": options.processes,
            "budget_s": options.budget,
        },
        "code": code.code(),
        "processes": [],
        "mode_checks": [],
    }
    card = run["machine"]["accelerator"]
    request = Request(
        site_data=scratch,
        model=run["model"]["name"],
        plan=run["plan"]["name"],
        device=card["uuid"] if card else "cpu",
        weights=run["model"]["weights"]["kind"],
        budget_s=None,
        argv=(),
    )
    with ProgressReport() as report:
        Session(request, RunRecord.begin(scratch, again), report).run()
    return record.load(scratch, again["run_id"])[1]


def compare(samples: list[Json], later: list[Json]) -> list[Compared]:
    """Each stated interval against the later processes."""
    compared = []
    stated, found = Readings(samples), Readings(later)
    for cell in stated.cells:
        for quantity in QUANTITIES:
            values, medians = stated.values(quantity, cell), found.values(quantity, cell).medians
            half = half_width(values.medians)
            if (
                cell.experiment not in quantity.experiments
                or quantity is CACHE
                or half is None
                or not medians
            ):
                continue
            middle = statistics.median(values.medians)
            compared.append(
                Compared(
                    f"{cell.label()} {quantity.name}",
                    2 * half / middle,
                    [abs(m - middle) <= half for m in medians],
                    [m / middle - 1 for m in medians],
                )
            )
    return compared


if __name__ == "__main__":
    raise SystemExit(main())
