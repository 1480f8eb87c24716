"""A comparison as people read it: what differs, a table of ratios, what to make of it. Computes no ratio."""

from __future__ import annotations

from collections.abc import Iterator

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table
from rich.text import Text

from measure.compare import EQUAL, Comparison, Row
from measure.plan import Cell
from measure.quantities import Values
from measure.ratio import LEVEL

NAMES = {
    "seconds_per_token": "time per token",
    "joules_per_token": "energy per token",
    "net_joules_per_token": "net energy per token",
    "share_of_flop_ceiling": "share of arithmetic",
    "share_of_read_ceiling": "share of bandwidth",
    "kv_bytes_per_token": "cache per token",
    "bytes_per_s": "read bandwidth",
    "flop_per_s": "arithmetic rate",
    "watts": "power",
}
UNITS = {"s": "s", "J": "J", "W": "W", "bytes": "B", "bytes/s": "B/s", "flop/s": "FLOP/s"}
PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"))


def print_comparison(console: Console, comparison: Comparison) -> None:
    """All of it, differences of the environment first."""
    for line in _head(comparison):
        console.print(Text(line), soft_wrap=True)
    console.print(_table(comparison))
    for line in _remarks(comparison):
        console.print(Text(line), soft_wrap=True)


def _head(comparison: Comparison) -> Iterator[str]:
    yield f"first:  {comparison.first['run_id']}"
    yield f"second: {comparison.second['run_id']}"
    if comparison.first["run_id"] == comparison.second["run_id"]:
        yield "\nBoth are the same run."
        return
    if not comparison.differences:
        yield "\nThe environment of both runs is the same, as far as it is recorded."
        return
    yield "\nWhat differs around them (first | second):"
    width = max(len(difference.what) for difference in comparison.differences)
    for difference in comparison.differences:
        yield f"  {difference.what:<{width}}  {difference.first} | {difference.second}"


def _table(comparison: Comparison) -> Table:
    table = Table(box=SIMPLE, title_justify="left")
    table.add_column("cell")
    table.add_column("quantity")
    for heading in ("first", "second", f"second / first ({LEVEL:.0%})"):
        table.add_column(heading, justify="right")
    table.add_column("second is")
    for row in comparison.rows:
        if row.ratio is None:
            continue  # told among the remarks
        table.add_row(
            *(
                Text(part)
                for part in (
                    _cell(row),
                    NAMES[row.quantity.name],
                    _value(row.first, row.quantity.unit),
                    _value(row.second, row.quantity.unit),
                    _ratio(row),
                    row.verdict,
                )
            )
        )
    return table


def _remarks(comparison: Comparison) -> Iterator[str]:
    told: dict[tuple[str, str], list[Row]] = {}
    for row in comparison.rows:
        if row.reason:
            told.setdefault((NAMES[row.quantity.name], row.reason), []).append(row)
    for (name, reason), rows in told.items():
        where = _cell(rows[0]) if len(rows) == 1 else f"{len(rows)} cells"
        yield f"{name}, {where}: {reason}"
    for row in comparison.rows:
        if row.cell.experiment == "ceilings" and row.ratio is not None and row.ratio.resolved:
            yield (
                f"The machine itself differed: its {NAMES[row.quantity.name]} was {row.ratio.value:.3g} times the "
                "first run's. Shares of the ceilings tell what is left of a difference."
            )
    for run, cells in (
        (comparison.first, comparison.only_first),
        (comparison.second, comparison.only_second),
    ):
        if cells:
            yield f"only in {run['run_id']}: {'; '.join(_label(cell) for cell in cells)}"
    if not comparison.rows:
        yield "No cell is in both runs, so there is nothing to compare."
    if comparison.judged:
        yield (
            f"{comparison.resolved} of {comparison.judged} rows that chance can decide are resolved. "
            f"Were the runs equal, about {(1 - LEVEL) * comparison.judged:.1f} would be."
        )


def _cell(row: Row) -> str:
    one, other = _label(row.cell), _label(row.second_cell)
    if one == other:
        return one
    return f"{one}, {row.cell.dtype} {row.cell.mode} | {row.second_cell.dtype} {row.second_cell.mode}"


def _label(cell: Cell) -> str:
    return cell.label()


def _ratio(row: Row) -> str:
    if row.ratio is None:
        return "–"
    value, low, high = row.ratio.value, row.ratio.low, row.ratio.high
    if low is None or high is None or row.verdict == EQUAL or low == high:
        return f"{value:.3g}"
    return f"{value:.3f} ({low:.3f}–{high:.3f})"


def _value(values: Values, unit: str) -> str:
    return "–" if values.value is None else quantity_text(values.value, unit)


def quantity_text(value: float, unit: str) -> str:
    """A value for people, three figures with a prefix; a share in per cent."""
    if unit == "1":
        return f"{value:.1%}"
    for factor, prefix in PREFIXES:
        if abs(value) >= factor or factor == PREFIXES[-1][0]:
            return f"{value / factor:.3g} {prefix}{UNITS[unit]}"
    raise AssertionError("the last prefix takes every value")
