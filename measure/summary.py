"""What a person reads of runs: the table of results, the provenance, the list. Reads records, writes none."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from measure import record
from measure.plan import Cell, PlannedCell
from measure.record import Json, cell_of

BUSY_SHARE = 0.10
"""Above this share of the processor taken by others, a person should know."""


def print_run(console: Console, run: Json, samples: Sequence[Json]) -> None:
    """Provenance and results of one run."""
    _print_provenance(console, run)
    console.print(results_table(run, samples))
    for line in remarks(run, samples):
        console.print(line, soft_wrap=True)


def results_table(run: Json, samples: Sequence[Json]) -> Table:
    """One row a cell: time and energy per token, and how much the processes differ."""
    table = Table(title=f"{run['run_id']} ({run['status']})", title_justify="left", box=SIMPLE)
    table.add_column("cell")
    for heading in ("per token", "by process", "tokens/s", "energy", "samples", "processes"):
        table.add_column(heading, justify="right")
    for planned in map(PlannedCell.from_json, run["plan"]["cells"]):
        table.add_row(planned.cell.label(), *_results(planned.cell, samples))
    return table


def remarks(run: Json, samples: Sequence[Json]) -> list[str]:
    """What a reader of the table must know besides."""
    lines = [
        f"left out: {Cell(**item['cell']).label()}: {item['taken']} of {item['planned']} samples; "
        + item["reason"]
        for item in run["plan"]["left_out"]
    ]
    if run["meter"]["refusal"]:
        lines.append(f"energy {run['meter']['refusal']['kind']}: {run['meter']['refusal']['reason']}")
    shares = [s["foreign_cpu_share"] for s in samples if s["foreign_cpu_share"] is not None]
    busy = sum(share > BUSY_SHARE for share in shares)
    if busy:
        lines.append(
            f"not quiet: in {busy} of {len(shares)} windows other processes used more than "
            f"{BUSY_SHARE:.0%} of the processor, at most {max(shares):.0%}"
        )
    return lines


def runs_table(site_data: Path) -> Table:
    """All runs of `site_data`, unfinished ones too."""
    table = Table(title=f"runs in {site_data}", title_justify="left", box=SIMPLE)
    table.add_column("run", no_wrap=True)  # to be copied into other commands
    for heading in ("status", "model", "weights", "plan", "machine", "samples"):
        table.add_column(heading, overflow="fold")
    for folder in record.run_folders(site_data):
        run, samples = record.load(site_data, folder.name)
        table.add_row(
            run["run_id"],
            run["status"],
            run["model"]["name"],
            run["model"]["weights"]["kind"],
            run["plan"]["name"],
            run["machine"]["label"],
            str(len(samples)),
        )
    return table


def _print_provenance(console: Console, run: Json) -> None:
    code = run["code"]
    commit = (code["commit"] or "no commit")[:12] + (" with changes" if code["changed"] else "")
    software, model = run["software"], run["model"]
    facts = {
        "model": f"{model['name']}, {model['parameters']:,} parameters, {model['dtype']}",
        "weights": model["weights"]["label"],
        "machine": run["machine"]["label"],
        "software": f"Python {software['python']}, torch {software['torch']}, "
        f"transformers {software['transformers']}, {software.get('threads')} threads",
        "code": commit,
        "time": f"{run['started_at']} to {run['finished_at'] or '(unfinished)'}",
        "processes": f"{len(run['processes'])} (plan {run['plan']['name']}: {run['plan']['rounds']} rounds)",
    }
    for name, fact in facts.items():
        console.print(f"{name:>10}  {fact}", soft_wrap=True)


def _results(cell: Cell, samples: Sequence[Json]) -> tuple[str, ...]:
    own = [s for s in samples if cell_of(s) == cell]
    refusal = next((s["refusal"] for s in own if s["refusal"]), None)
    timed = [s for s in own if not s["warm_up"] and not s["refusal"]]
    if refusal and not timed:
        return (refusal["kind"], "", "", "", "0", "0")
    if not timed:
        return ("not measured", "", "", "", "0", "0")
    if cell.experiment == "kv_cache":
        per_token = statistics.median(s["kv_cache_bytes"] / s["tokens"] for s in timed)
        return (f"{per_token:,.0f} bytes", "", "", "", str(len(timed)), str(len(_processes(timed))))
    medians = process_medians(timed, "duration_s")
    middle = statistics.median(medians)
    return (
        seconds(middle),
        between(min(medians), max(medians)),
        f"{1 / middle:,.1f}",
        _energy(timed),
        str(len(timed)),
        str(len(medians)),
    )


def process_medians(timed: Iterable[Json], field: str) -> list[float]:
    """For each process, the median of `field` per token over its samples."""
    by_process: dict[int, list[float]] = {}
    for sample in timed:
        by_process.setdefault(sample["process"], []).append(sample[field] / sample["tokens"])
    return [statistics.median(values) for values in by_process.values()]


def _energy(timed: Sequence[Json]) -> str:
    metered = [s for s in timed if s["energy_joules"] is not None]
    if not metered:
        return str(timed[-1]["energy_refusal"]["kind"])
    return f"{statistics.median(process_medians(metered, 'energy_joules')):.3g} J"


def _processes(timed: Iterable[Json]) -> set[int]:
    return {sample["process"] for sample in timed}


def seconds(value_s: float) -> str:
    """A time for people, three figures."""
    factor, unit = _unit(value_s)
    return f"{value_s * factor:.3g} {unit}"


def between(low_s: float, high_s: float) -> str:
    """Two times for people, in the unit of the longer."""
    factor, unit = _unit(high_s)
    return f"{low_s * factor:.3g}–{high_s * factor:.3g} {unit}"


def _unit(value_s: float) -> tuple[float, str]:
    for factor, unit in ((1.0, "s"), (1e3, "ms"), (1e6, "µs")):
        if value_s * factor >= 1:
            return factor, unit
    return 1e9, "ns"
