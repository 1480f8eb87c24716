"""What a person reads of runs: provenance, gates, refusals, the list. The table of results is in results.py."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from measure import gates, record
from measure.code import commit_with
from measure.plan import Cell
from measure.quiet import quiet_words
from measure.record import Json
from measure.results import by_cell, results_table


def print_run(console: Console, run: Json, samples: Sequence[Json]) -> None:
    """Provenance and results of one run."""
    _print_provenance(console, run)
    console.print(results_table(run, samples))
    gates_ = gates_table(samples)
    if gates_ is not None:
        console.print(gates_)
    for line in remarks(run, samples):
        console.print(line, soft_wrap=True)


def gates_table(samples: Sequence[Json]) -> Table | None:
    """How the gates went; None for a run from before there were any."""
    judged = [s["gates"] for s in samples if s.get("gates")]
    if not judged:
        return None
    table = Table(title="gates", title_justify="left", box=SIMPLE)
    table.add_column("gate")
    results = (gates.PASSED, gates.FAILED, gates.NOT_CHECKED)
    for result in results:
        table.add_column(result.replace("_", " "), justify="right")
    for name in gates.GATES:
        table.add_row(name.replace("_", " "), *(str(sum(g.get(name) == r for g in judged)) for r in results))
    return table


def refusals(samples: Sequence[Json]) -> list[str]:
    """What was refused of each cell, with how often and a reason; disturbed warm-ups apart."""
    lines = []
    for cell, own in by_cell(samples).items():
        timed = [s for s in own if not s["warm_up"] or s["duration_s"] is None]
        whats = {"": [s["refusal"] for s in timed]}
        if cell.experiment != "kv_cache":
            whats[" energy"] = [s["energy_refusal"] for s in timed if not s["refusal"]]
        for what, found in whats.items():
            for kind in sorted({r["kind"] for r in found if r}):
                reasons = Counter(r["reason"] for r in found if r and r["kind"] == kind)
                (reason, _), *others = reasons.most_common()
                such_as = "such as: " if others else ""
                count = f"{reasons.total()} of {len(timed)}"
                lines.append(f"{cell.label()}{what}: {kind} ({count}): {such_as}{reason}")
    return lines


def remarks(run: Json, samples: Sequence[Json]) -> list[str]:
    """What a reader of the table must know besides."""
    lines = list((run.get("origin") or {}).get("notes", []))
    lines += [
        f"left out: {Cell(**item['cell']).label()}: {item['taken']} of {item['planned']} samples; "
        + item["reason"]
        for item in run["plan"]["left_out"]
    ]
    lines += refusals(samples)
    unmetered = run["meter"]["refusal"]
    if unmetered:  # said once, and not for each cell
        lines = [line for line in lines if not line.endswith(unmetered["reason"])]
        lines.append(f"energy {unmetered['kind']}: {unmetered['reason']}")
    for check in run.get("mode_checks", []):
        lines.append(_mode_check(check))
    lines += quiet_words(samples)
    return lines


def _mode_check(check: Json) -> str:
    found = check["max_difference"]
    seen = "no logits" if found is None else f"logits differ by at most {found:.2g} of the largest"
    result = "as eager" if check["passed"] else "NOT as eager"
    return (
        f"{check['mode']} at depth {check['context_tokens']} computes {result}: {seen} "
        f"({check['tolerance']:.2g} allowed)"
    )


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
    model, origin = run["model"], run.get("origin")
    facts = {
        "model": f"{model['name']}, {model['parameters']:,} parameters, {model['dtype']}",
        "weights": model["weights"]["label"],
        "machine": run["machine"]["label"],
        "software": _software(run["software"]),
        "code": _code(run["code"]),
        "time": f"{run['started_at']} to {run['finished_at'] or '(unfinished)'}",
        "processes": f"{len(run['processes'])} (plan {run['plan']['name']}: {run['plan']['rounds']} rounds)",
    }
    if origin:
        program = f"{origin['program']} {origin['version'] or '(version not stated)'}"
        facts["imported"] = (
            f"from {program}, {origin['file']} ({origin['format']}), on {origin['imported_at'][:10]}"
        )
    for name, fact in facts.items():
        console.print(f"{name:>10}  {fact}", soft_wrap=True)


def _software(versions: Json) -> str:
    """The versions that decide; all that there are for a run of another program."""
    ours = [name for name in ("python", "torch", "transformers") if versions.get(name)]
    told = ours or [name for name in versions if name != "threads"]
    words = [f"{name.capitalize() if ours else name} {versions[name]}" for name in told[:1]]
    words += [f"{name} {versions[name]}" for name in told[1:]]
    return ", ".join([*words, f"{versions.get('threads') or 'unknown number of'} threads"])


def _code(code: Json | None) -> str:
    """Which code measured; one that ran without a repository is looked up in this one by its digest."""
    if code is None:
        return "(imported)"
    if code["commit"]:
        return str(code["commit"][:12]) + (" with changes" if code["changed"] else "")
    tree = code.get("tree")
    commit = tree and commit_with(tree)
    return (
        f"as commit {commit[:12]}"
        if commit
        else f"no commit here has it (tree {(tree or 'not recorded')[:12]})"
    )
