"""The table of a run's results for people: one row a cell. Computes what it shows; provenance is in summary.py."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence

from rich.box import SIMPLE
from rich.table import Table

from measure.plan import Cell, PlannedCell
from measure.record import Json, cell_of

HEADINGS = ("result", "by process", "tokens/s", "of ceiling", "energy", "samples")


def results_table(run: Json, samples: Sequence[Json]) -> Table:
    """Time and energy per token or what else the cell measures, its spread, and its share of the nearer ceiling."""
    table = Table(
        title=f"{run['run_id']} ({run['status']})",
        title_justify="left",
        caption="times and energies are per token; samples are counted with the processes that took them",
        caption_justify="left",
        box=SIMPLE,
        padding=(0, 1, 0, 0),
    )
    table.add_column("cell", no_wrap=True)
    for heading in HEADINGS:
        table.add_column(heading, justify="right", no_wrap=True)
    cells = by_cell(samples)
    for planned in map(PlannedCell.from_json, run["plan"]["cells"]):
        table.add_row(planned.cell.label(), *_row(planned.cell, cells.get(planned.cell, [])))
    return table


def by_cell(samples: Iterable[Json]) -> dict[Cell, list[Json]]:
    """The samples of each cell."""
    cells: dict[Cell, list[Json]] = {}
    for sample in samples:
        cells.setdefault(cell_of(sample), []).append(sample)
    return cells


def good(samples: Iterable[Json]) -> list[Json]:
    """The samples that count."""
    return [s for s in samples if not s["warm_up"] and s["refusal"] is None]


def _row(cell: Cell, own: Sequence[Json]) -> tuple[str, ...]:
    timed = good(own)
    if not timed:
        refusal = next((s["refusal"] for s in own if s["refusal"]), None)
        return (refusal["kind"] if refusal else "not measured", "", "", "", "", "0")
    count = f"{len(timed)} in {len({s['process'] for s in timed})}"
    if cell.experiment == "kv_cache":
        per_token = statistics.median(s["kv_cache_bytes"] / s["tokens"] for s in timed)
        return (f"{per_token:,.0f} bytes", "", "", "", "", count)
    value, show = _value(cell)
    medians = process_medians(timed, value)
    middle = statistics.median(medians)
    spread = between(min(medians), max(medians), show)
    if cell.experiment in ("idle", "ceilings"):
        return (show(middle), spread, "", "", "", count)
    return (show(middle), spread, f"{1 / middle:,.1f}", _share(timed), _energy(timed), count)


def _value(cell: Cell) -> tuple[Callable[[Json], float], Callable[[float], str]]:
    """What a sample of the cell says, and how people read it."""
    if cell.experiment == "idle":
        return lambda s: s["energy_joules"] / s["duration_s"], lambda watts: f"{watts:.3g} W"
    if cell.experiment == "ceilings":
        if cell.mode == "read":
            return lambda s: s["work_bytes"] / s["duration_s"], lambda rate: f"{rate / 1e9:,.1f} GB/s"
        return lambda s: s["work_flop"] / s["duration_s"], lambda rate: f"{rate / 1e9:,.1f} GFLOP/s"
    return lambda s: s["duration_s"] / s["tokens"], seconds


def process_medians(timed: Iterable[Json], value: Callable[[Json], float]) -> list[float]:
    """For each process, the median of `value` over its samples."""
    by_process: dict[int, list[float]] = {}
    for sample in timed:
        by_process.setdefault(sample["process"], []).append(value(sample))
    return [statistics.median(values) for values in by_process.values()]


def _share(timed: Sequence[Json]) -> str:
    """The share of the ceiling that the cell comes nearer to."""
    shares = {}
    for what, work, ceiling in (
        ("read", "work_bytes", "ceiling_bytes_per_s"),
        ("gemm", "work_flop", "ceiling_flop_per_s"),
    ):
        probed = [s for s in timed if s.get(work) and s.get(ceiling)]
        if probed:
            medians = process_medians(probed, lambda s, w=work, c=ceiling: s[w] / s["duration_s"] / s[c])  # type: ignore[misc]
            shares[what] = statistics.median(medians)
    if not shares:
        return ""
    nearer = max(shares, key=lambda what: shares[what])
    return f"{shares[nearer]:.0%} {nearer}"


def _energy(timed: Sequence[Json]) -> str:
    metered = [s for s in timed if s["energy_joules"] is not None]
    if not metered:
        return str(timed[-1]["energy_refusal"]["kind"])
    medians = process_medians(metered, lambda s: s["energy_joules"] / s["tokens"])
    return f"{statistics.median(medians):.3g} J"


def seconds(value_s: float) -> str:
    """A time for people, three figures."""
    for factor, unit in ((1.0, "s"), (1e3, "ms"), (1e6, "µs")):
        if value_s * factor >= 1:
            return f"{value_s * factor:.3g} {unit}"
    return f"{value_s * 1e9:.3g} ns"


def between(low: float, high: float, show: Callable[[float], str]) -> str:
    """Two values for people, the unit once where they share it."""
    low_words, unit = show(low).rsplit(" ", 1)
    return f"{low_words}–{show(high)}" if show(high).endswith(f" {unit}") else f"{show(low)}–{show(high)}"
