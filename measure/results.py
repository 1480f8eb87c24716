"""The table of a run's results for people: one row a cell. What the samples say is read in quantities.py."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from rich.box import SIMPLE
from rich.table import Table

from measure.plan import Cell, PlannedCell
from measure.quantities import (
    CACHE,
    FLOP_RATE,
    JOULES,
    READ_RATE,
    READ_SHARE,
    SECONDS,
    WATTS,
    Quantity,
    Readings,
)
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
    readings = Readings(samples)
    for planned in map(PlannedCell.from_json, run["plan"]["cells"]):
        table.add_row(planned.cell.label(), *_row(planned.cell, readings))
    return table


def by_cell(samples: Iterable[Json]) -> dict[Cell, list[Json]]:
    """The samples of each cell."""
    cells: dict[Cell, list[Json]] = {}
    for sample in samples:
        cells.setdefault(cell_of(sample), []).append(sample)
    return cells


def _row(cell: Cell, readings: Readings) -> tuple[str, ...]:
    quantity, show = _told(cell)
    values = readings.values(quantity, cell)
    if values.value is None:
        return (readings.refused(cell) or "not measured", "", "", "", "", "0")
    spread = between(min(values.medians), max(values.medians), show)
    count = f"{values.samples} in {len(values.medians)}"
    if quantity is CACHE:
        return (show(values.value), "", "", "", "", count)
    if quantity is not SECONDS:
        return (show(values.value), spread, "", "", "", count)
    rate = f"{1 / values.value:,.1f}"
    return (show(values.value), spread, rate, _share(cell, readings), _energy(cell, readings), count)


def _told(cell: Cell) -> tuple[Quantity, Callable[[float], str]]:
    """What is told of a cell, and how people read it."""
    if cell.experiment == "kv_cache":
        return CACHE, lambda size: f"{size:,.0f} bytes"
    if cell.experiment == "idle":
        return WATTS, lambda watts: f"{watts:.3g} W"
    if cell.experiment == "ceilings":
        if cell.mode == "read":
            return READ_RATE, lambda rate: f"{rate / 1e9:,.1f} GB/s"
        return FLOP_RATE, lambda rate: f"{rate / 1e9:,.1f} GFLOP/s"
    return SECONDS, seconds


def _share(cell: Cell, readings: Readings) -> str:
    """The share of the ceiling that the cell comes nearer to."""
    nearer = readings.nearer_ceiling(cell)
    if nearer is None:
        return ""
    return f"{readings.values(nearer, cell).value:.0%} {'read' if nearer is READ_SHARE else 'gemm'}"


def _energy(cell: Cell, readings: Readings) -> str:
    value = readings.values(JOULES, cell).value
    return readings.energy_refused(cell) or "" if value is None else f"{value:.3g} J"


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
