"""The page of one run: its provenance, every cell, gates and refusals in words, its downloads. Reads no sample."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from markupsafe import Markup

from hooks.catalogue.render import render, run_path
from hooks.catalogue.values import CellValues, RunValues, Value
from hooks.data.records import Record, Run, keys_of
from hooks.markup import escaped
from hooks.numbers import formatting
from hooks.numbers.readings import cell_words
from hooks.writing import provenance

Rows = list[tuple[str, str]]

EXPERIMENTS = {
    "prefill": "Prefill: the whole prompt in one pass",
    "decode": "Decode: one token at a fixed depth",
    "kv_cache": "KV cache: the size of the filled cache",
    "ceilings": "Ceilings: what the machine can do at most",
    "idle": "Idle: what the machine draws while it waits",
}
"""Experiments in the order of the page, and what each is."""

_HEADINGS = {
    "seconds_per_token": "Time per token",
    "joules_per_token": "Energy per token",
    "share_of_read_ceiling": "Share of bandwidth",
    "share_of_flop_ceiling": "Share of arithmetic",
    "kv_cache_bytes": "Cache",
    "kv_bytes_per_token": "Cache per token",
    "bytes_per_s": "Read bandwidth",
    "flop_per_s": "Matrix products",
    "watts": "Power",
}
_MODES = {"read": "read bandwidth of memory", "gemm": "rate of matrix products"}


@dataclass(frozen=True)
class Table:
    """The cells of one experiment: headings, a row for each cell, and what is in none of them, with the one reason."""

    title: str
    keys: tuple[str, ...]
    fields: tuple[str, ...]
    rows: tuple[tuple[tuple[str, ...], tuple[Value | None, ...], CellValues], ...]
    missing: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Download:
    """A file of the run: its name beside the page, what it is, and its size in words."""

    name: str
    words: str
    size: str


def page(
    run: Run,
    values: RunValues,
    links: Mapping[str, str],
    *,
    gates: Mapping[str, str],
    downloads: Sequence[Download],
    stated: Sequence[tuple[str, str]],
    model_title: str,
    cite: str,
) -> str:
    """The content of the page.

    Args:
        run: The run.
        values: What it says.
        links: HTML of a link to each number's page, by its id.
        gates: What each gate checks, by its name.
        downloads: Its files.
        stated: Pages that state a number of it: URI and title.
        model_title: Of its model.
        cite: The HTML that says how to cite it.
    """
    return render(
        "run.html",
        uri=run_path(run.id),
        run=run,
        title=title(run, model_title),
        values=values,
        summary=_summary(run, values),
        facts=list(_facts(run)),
        tables=list(tables(values)),
        ceilings=_ceilings(values),
        gates=[(name, gates.get(name, ""), _counts(counts)) for name, counts in values.gates.items()],
        refusals=values.refusals,
        checks=run.record.get("mode_checks", []),
        left_out=[(cell_words(keys_of(cell.cell)), cell.left_out) for cell in values.cells if cell.left_out],
        numbers=Markup("\n".join(_number(links[id_], value) for id_, value in values.quantities.items())),
        downloads=downloads,
        stated=stated,
        cite=Markup(cite),
    )


def title(run: Run, model_title: str) -> str:
    """A run's title: `Run of 30 November 2026: Qwen2.5-1.5B on a CPU`."""
    day = datetime.fromisoformat(run.date)
    where = "a GPU" if run.device == "gpu" else "a CPU"
    origin = f", imported from {run.program}" if run.program else ""
    return f"Run of {day.day} {day:%B} {day.year}: {model_title} on {where}{origin}"


def tables(values: RunValues) -> Iterator[Table]:
    """A table for each experiment of the run."""
    for experiment, words in EXPERIMENTS.items():
        cells = sorted((cell for cell in values.cells if cell.cell[0] == experiment), key=_order)
        if not cells:
            continue
        fields = tuple(dict.fromkeys(name for cell in cells for name in cell.values))
        silent = {name: reason for name in fields if (reason := _everywhere(cells, name))}
        shown = tuple(name for name in fields if name not in silent)
        keys = tuple(name for name in _KEYS if name != "dtype" and any(_key(cell, name) for cell in cells))
        columns: list[tuple[str, tuple[str, ...]]] = [(_HEADINGS[name], (name,)) for name in shown]
        if experiment == "ceilings":  # each cell has a rate of its own
            columns = [("Rate", shown)] if shown else []
        rows = tuple(
            (
                tuple(_key(cell, name) for name in keys),
                tuple(next((v for n in names if (v := cell.values.get(n))), None) for _, names in columns),
                cell,
            )
            for cell in cells
        )
        yield Table(
            words,
            tuple(_KEYS[name] for name in keys),
            tuple(heading for heading, _ in columns),
            rows,
            tuple((_HEADINGS[name], reason) for name, reason in silent.items()),
        )


def _order(cell: CellValues) -> tuple[str, int, int]:
    """By mode, batch and length: a plan has its cells in an order of its own."""
    _, batch, prompt_tokens, context_tokens, _, mode = cell.cell
    return mode, batch, prompt_tokens or context_tokens or 0


_KEYS = {
    "prompt_tokens": "Prompt",
    "context_tokens": "Depth",
    "batch": "Batch",
    "mode": "Mode",
    "dtype": "Type",
}


def _key(cell: CellValues, name: str) -> str:
    keys = keys_of(cell.cell)
    value = keys[name]
    if value is None or (name == "batch" and cell.cell[0] in ("ceilings", "idle")):
        return ""
    if name == "mode":
        return _MODES.get(value, str(value).replace("_", " "))
    return f"{value:,}" if isinstance(value, int) else str(value)


def _everywhere(cells: Sequence[CellValues], name: str) -> str | None:
    """The reason why a field is in no cell, where it is one and the same; else None."""
    values = [cell.values[name] for cell in cells if name in cell.values]
    reasons = {value.refusal.reason if value.refusal else None for value in values}
    return next(iter(reasons)) if len(reasons) == 1 else None


def _summary(run: Run, values: RunValues) -> str:
    cells, rounds = len(values.cells), len({process["round"] for process in run.record["processes"]})
    processes = f"{rounds} fresh process{'' if rounds == 1 else 'es'}"
    refused = f"{values.refused} refused" if values.refused else "none refused"
    return (
        f"{values.samples:,} samples of {cells} cells, taken by {processes}: "
        f"{values.warm_ups:,} warm-ups, which count in no statistic, and {refused}."
    )


def _number(link: str, value: Value) -> str:
    """A row of the table of all numbers. A run may have hundreds, and a site a thousand runs: no template for these."""
    if value.refusal:
        return f'<tr><td>{link}</td><td colspan="2" class="is-refused">{escaped(value.text)}</td></tr>'
    interval = escaped(value.interval) if value.interval else "none"
    return (
        f'<tr><td>{link}</td><td class="num">{escaped(value.text)}</td><td class="num">{interval}</td></tr>'
    )


def _counts(counts: tuple[int, int, int]) -> str:
    """How a gate went: `208 passed, 20 failed`."""
    words = ("passed", "failed", "not checked")
    return ", ".join(f"{count:,} {word}" for count, word in zip(counts, words, strict=True) if count)


def _ceilings(values: RunValues) -> list[tuple[str, Value]]:
    return [
        (_MODES[cell.cell[-1]], value)
        for cell in values.cells
        if cell.cell[0] == "ceilings"
        for value in cell.values.values()
    ]


def _facts(run: Run) -> Iterator[tuple[str, Rows]]:
    """What run.json says, in groups."""
    record = run.record
    yield "Model and weights", _model(record["model"])
    yield "Machine", _machine(record["machine"])
    yield "Plan", _plan(run)
    yield "Energy meter", _meter(record["meter"])
    if record["software"]:
        yield "Software", [(name, str(version)) for name, version in record["software"].items() if version]
    if run.origin:
        yield "Origin", _origin(run)


def _model(model: Record) -> Rows:
    weights = model["weights"]
    found = [
        ("Model", str(model["name"])),
        ("Weights", str(weights["label"])),
        ("Element type", str(model["dtype"])),
        ("Parameters", f"{model['parameters']:,}"),
        ("Bytes of the weights", formatting.number(model["weights_bytes"], "bytes", style="exact")),
    ]
    known = {"repository": "Repository", "revision": "Revision", "file": "File", "sha256": "SHA-256"}
    return found + [(words, str(weights[key])) for key, words in known.items() if weights.get(key)]


def _machine(machine: Record) -> Rows:
    found = [("Machine", str(machine["label"])), ("Id", str(machine["id"]))]
    memory = machine["memory_bytes"]
    known = {"Processor": machine["cpu"], "Cores in use": machine["cpu_cores"], "System": machine["os"]}
    found += [(words, str(value)) for words, value in known.items() if value is not None]
    if memory is not None:
        found.append(("Memory", formatting.number(memory, "bytes")))
    device = machine["accelerator"]
    if device is None:
        return [*found, ("Accelerator", "none")]
    found.append(("Accelerator", str(device["name"])))
    if device["memory_bytes"] is not None:
        found.append(("Its memory", formatting.number(device["memory_bytes"], "bytes")))
    if device["driver"] is not None:
        found.append(("Driver", str(device["driver"])))
    if device["power_limit_watts"] is not None:
        found.append(("Power limit", formatting.number(device["power_limit_watts"], "W")))
    return found


def _plan(run: Run) -> Rows:
    plan, code = run.record["plan"], run.record["code"]
    begun = datetime.fromisoformat(run.record["started_at"].replace("Z", "+00:00"))
    ended = datetime.fromisoformat(run.finished_at.replace("Z", "+00:00"))
    found = [
        ("Plan", str(plan["name"])),
        ("Begun", f"{begun:%Y-%m-%d %H:%M} UTC"),
        ("Complete", f"{ended:%Y-%m-%d %H:%M} UTC, after {_minutes((ended - begun).total_seconds())}"),
        ("Fresh processes", str(plan["rounds"])),
        ("Seed", str(plan["seed"])),
        ("Shortest window", formatting.number(plan["window_s"], "s")),
        ("Time allowed", _minutes(plan["budget_s"]) if plan["budget_s"] else "as long as it takes"),
        ("Command", " ".join(["python -m measure", *map(str, run.record["argv"])])),
    ]
    if code:
        commit = code["commit"] or "outside a repository"
        changed = {True: ", with changes", False: "", None: ""}[code["changed"]]
        found.append(("Measuring code", f"version {code['version']}, commit {commit}{changed}"))
    return found


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 120 else f"{seconds:.0f} s"


def _meter(meter: Record) -> Rows:
    if meter["refusal"]:
        return [("Meter", f"none: {meter['refusal']['reason']}")]
    names = {
        "nvml": "the GPU’s own energy counter (NVML)",
        "rapl": "the CPU package’s own energy counter (RAPL)",
    }
    found = [("Meter", names.get(meter["kind"], str(meter["kind"])))]
    if meter.get("tick_s"):
        found.append(("Its counter moves every", formatting.number(meter["tick_s"], "s")))
    for key, words in (
        ("idle_watts_before_context", "Idle before the context"),
        ("idle_watts_after_context", "Idle after it"),
    ):
        if meter.get(key) is not None:
            found.append((words, formatting.number(meter[key], "W")))
    if meter.get("domains"):
        found.append(("It covers", ", ".join(map(str, meter["domains"]))))
    if meter.get("second_reading"):
        found.append(("Second reading", str(meter["second_reading"])))
    if meter.get("gain_error_share"):
        share = formatting.number(meter["gain_error_share"], "1", digits=1, style="percent")
        found.append(("The whole may be off by", share))
    return found


def _origin(run: Run) -> Rows:
    origin: Mapping[str, Any] = run.origin or {}
    found = [("Origin", provenance.imported(run)), ("Imported", str(origin["imported_at"])[:10])]
    found.append(("SHA-256 of the file", str(origin["sha256"])))
    return found + [("Note", str(note)) for note in origin.get("notes", ())]
