"""Two runs side by side: what differs around them, and the ratio of each quantity that both have. Prints nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

from measure.errors import UsageError
from measure.plan import Cell
from measure.quantities import FLOP_SHARE, QUANTITIES, READ_SHARE, Quantity, Readings, Values
from measure.ratio import FEWEST_PROCESSES, LEVEL, Ratio, prediction_ends, ratio_of
from measure.record import Json

COMPARISON_VERSION = 1
"""Of `as_json`; raised when a key goes or changes its meaning."""

EXPERIMENTS = ("ceilings", "idle", "prefill", "decode", "kv_cache")
"""The order in which people are told."""

NOT_RESOLVABLE, EQUAL = "not resolvable", "equal"


@dataclass(frozen=True)
class Difference:
    """A fact of the environment in which two runs differ; one that is `across` forbids comparing them unasked."""

    what: str
    first: str
    second: str
    across: bool = False


@dataclass(frozen=True)
class Row:
    """One quantity in one cell of both runs. `ratio` is the second over the first; None where one has no value."""

    cell: Cell
    """The first run's cell; the second's may differ in dtype and mode."""
    second_cell: Cell
    quantity: Quantity
    first: Values
    second: Values
    ratio: Ratio | None
    verdict: str
    reason: str | None
    """Why there is no interval or no ratio, in words."""

    @property
    def by_chance(self) -> bool:
        """Whether chance can make the verdict: the interval has a width."""
        return self.ratio is not None and self.ratio.low != self.ratio.high


@dataclass(frozen=True)
class Comparison:
    """The whole of it."""

    first: Json
    second: Json
    differences: tuple[Difference, ...]
    rows: tuple[Row, ...]
    only_first: tuple[Cell, ...]
    only_second: tuple[Cell, ...]

    @property
    def judged(self) -> int:
        """Rows with an interval that has a width, each of which may be wrong by chance."""
        return sum(row.by_chance for row in self.rows)

    @property
    def resolved(self) -> int:
        """Those of them whose interval leaves out 1."""
        return sum(row.by_chance and row.ratio is not None and row.ratio.resolved for row in self.rows)

    def as_json(self) -> dict[str, Any]:
        """For programs; docs/reference/measuring.md explains every key."""
        return {
            "comparison_version": COMPARISON_VERSION,
            "first": self.first["run_id"],
            "second": self.second["run_id"],
            "level": LEVEL,
            "differences": [asdict(difference) for difference in self.differences],
            "quantities": [_row_json(row) for row in self.rows],
            "only_in_first": [asdict(cell) for cell in self.only_first],
            "only_in_second": [asdict(cell) for cell in self.only_second],
            "expected_false_alarms": round((1 - LEVEL) * self.judged, 3),
        }


def compare(first: tuple[Json, list[Json]], second: tuple[Json, list[Json]], *, across: bool) -> Comparison:
    """Compare two runs, each with its samples.

    Raises UsageError where machine, model, weights or dtype differ and `across` is not set.
    """
    runs = first[0], second[0]
    differences = tuple(_differences(*runs))
    forbidding = [d for d in differences if d.across]
    if forbidding and not across:
        told = "\n".join(f"  {d.what}: {d.first} | {d.second}" for d in forbidding)
        raise UsageError(
            f"compare {runs[0]['run_id']} {runs[1]['run_id']}: expected two runs of one machine, model, weights and "
            f"dtype, found\n{told}\nA difference between their results may be one of these. "
            "To compare them all the same, add --across"
        )
    readings = Readings(first[1]), Readings(second[1])
    pairs = sorted(_pairs(readings[0].cells, readings[1].cells), key=_order)
    rows = tuple(_rows(runs, readings, pairs))
    matched = {cell for cell, _ in pairs}, {cell for _, cell in pairs}
    only = [tuple(cell for cell in r.cells if cell not in m) for r, m in zip(readings, matched, strict=True)]
    return Comparison(*runs, differences, rows, *only)


def _pairs(first: list[Cell], second: list[Cell]) -> Iterator[tuple[Cell, Cell]]:
    """Cells that ask the same of both machines.

    Their dtypes may differ where their runs' do, and a cell of an imported run, which ran as its own program does, is
    held against each mode of the other run's.
    """
    for one in first:
        for other in second:
            same = replace(one, dtype="", mode="") == replace(other, dtype="", mode="")
            if same and (one.mode == other.mode or "imported" in (one.mode, other.mode)):
                yield one, other


def _order(pair: tuple[Cell, Cell]) -> tuple[object, ...]:
    """By experiment and size, plain eager before faster modes."""
    first, second = pair
    modes = (first.mode != "eager", first.mode, second.mode != "eager", second.mode)
    return EXPERIMENTS.index(first.experiment), first.batch, first.length, *modes


def _rows(
    runs: tuple[Json, Json], readings: tuple[Readings, Readings], pairs: list[tuple[Cell, Cell]]
) -> Iterator[Row]:
    for quantity in QUANTITIES:
        for one, other in pairs:
            nearer = readings[0].nearer_ceiling(one) or readings[1].nearer_ceiling(other)
            farther = quantity in (READ_SHARE, FLOP_SHARE) and quantity is not nearer
            if one.experiment in quantity.experiments and not farther:
                first, second = readings[0].values(quantity, one), readings[1].values(quantity, other)
                if first.by_process or second.by_process:
                    yield _row(runs, quantity, (one, other), first, second)


def _row(
    runs: tuple[Json, Json], quantity: Quantity, cells: tuple[Cell, Cell], first: Values, second: Values
) -> Row:
    missing = [
        f"{run['run_id']}: {v.missing}" for run, v in zip(runs, (first, second), strict=True) if v.missing
    ]
    if missing:
        return Row(*cells, quantity, first, second, None, NOT_RESOLVABLE, "; ".join(missing))
    if quantity.energy and _meter(runs[0]) != _meter(runs[1]):
        reason = f"the meters cover different things: {_meter(runs[0])} | {_meter(runs[1])}"
        return Row(*cells, quantity, first, second, None, NOT_RESOLVABLE, reason)
    gains = _gain_errors(runs) if quantity.energy else ()
    if None in gains:
        reason = "sensors of two boards differ by a share that these runs do not state"
        return Row(*cells, quantity, first, second, None, NOT_RESOLVABLE, reason)
    ratio = ratio_of(first.medians, second.medians, [gain for gain in gains if gain is not None])
    if ratio.low is None:
        return Row(*cells, quantity, first, second, ratio, NOT_RESOLVABLE, _no_interval(runs, first, second))
    if ratio.resolved:
        verdict = quantity.lower if ratio.value < 1 else quantity.higher
    else:
        verdict = EQUAL if ratio.low == ratio.high else NOT_RESOLVABLE
    return Row(*cells, quantity, first, second, ratio, verdict, None)


def _no_interval(runs: tuple[Json, Json], first: Values, second: Values) -> str:
    """Why there is no interval, and what can be said instead."""
    values = first, second
    few = [
        f"{run['run_id']} has {_count(len(v.medians), 'process')}"
        for run, v in zip(runs, values, strict=True)
        if len(v.medians) < FEWEST_PROCESSES
    ]
    said = f"no interval: {' and '.join(few)}, and it takes {FEWEST_PROCESSES}"
    for run, many, other in ((runs[0], first, second), (runs[1], second, first)):
        ends = prediction_ends(many.medians)
        if ends is not None and other.value is not None:
            where = "within" if ends[0] <= other.value <= ends[1] else "outside"
            said += f"; the other value lies {where} what one more process of {run['run_id']} would give"
    return said


def _gain_errors(runs: tuple[Json, Json]) -> tuple[float | None, ...]:
    """What the boards' sensors may be off, which cancels in a ratio of one board's energies."""
    if runs[0]["machine"]["id"] == runs[1]["machine"]["id"]:
        return ()
    return tuple(run["meter"].get("gain_error_share") for run in runs)


def _meter(run: Json) -> str:
    domains = run["meter"].get("domains")
    return str(run["meter"]["kind"]) + (f" ({', '.join(sorted(domains))})" if domains else "")


def _differences(first: Json, second: Json) -> Iterator[Difference]:
    """Everything around the samples that differs, what forbids a comparison first."""
    facts = one, other = _facts(first), _facts(second)
    own = [name for name in one if name not in other], [name for name in other if name not in one]
    for side, names in zip(facts, own, strict=True):
        told = [f"{name.removeprefix('software ')} {_words(side.pop(name))}" for name in names]
        side["other software"] = ", ".join(told) or None
    kinds = [run["model"]["weights"]["kind"] for run in (first, second)]
    unknown = "unknown" in kinds and first["run_id"] != second["run_id"]
    for what in one:
        left, right = _words(one[what]), _words(other[what])
        if left != right or (unknown and what == "weights"):
            yield Difference(what, left, right, across=what in ("machine", "model", "weights", "dtype"))


def _facts(run: Json) -> dict[str, Any]:
    """What must be the same for a difference to be one of speed, by name and in words; what decides stands first."""
    machine, model, plan, code = run["machine"], run["model"], run["plan"], run["code"]
    accelerator, weights, origin = machine["accelerator"] or {}, model["weights"], run.get("origin")
    identity = [str(weights[k]) for k in ("sha256", "revision") if weights.get(k)]
    facts: dict[str, Any] = {
        "machine": f"{machine['label']} ({machine['id']})",
        "model": model["name"],
        "weights": weights["label"] + (f" ({', '.join(identity)})" if identity else ""),
        "dtype": model["dtype"],
        "origin": f"imported from {origin['program']} {origin['version'] or ''}".rstrip()
        if origin
        else "measured here",
        "power limit": _watts(accelerator.get("power_limit_watts")),
        "driver": accelerator.get("driver"),
        "operating system": machine["os"],
        "meter": _meter(run),
        "plan": plan["name"],
        "processes": len(run["processes"]),
        "window": f"{plan['window_s']:g} s at least",
        "budget": "none" if plan["budget_s"] is None else f"{plan['budget_s']:g} s",
        "seed": plan["seed"],
        "measuring code": "none"
        if code is None
        else f"{code['version']}, commit {(code['commit'] or 'unknown')[:12]}"
        + (" with changes" if code["changed"] else ""),
    }
    return facts | {f"software {name}": version for name, version in sorted(run["software"].items())}


def _words(fact: object) -> str:
    return "not stated" if fact is None else str(fact)


def _watts(value: float | None) -> str:
    return "none" if value is None else f"{value:g} W"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "es" if what.endswith("s") else "s")


def _row_json(row: Row) -> dict[str, Any]:
    return {
        **{key: value for key, value in asdict(row.cell).items() if key not in ("dtype", "mode")},
        "quantity": row.quantity.name,
        "unit": row.quantity.unit,
        "first": _values_json(row.cell, row.first),
        "second": _values_json(row.second_cell, row.second),
        "ratio": row.ratio and row.ratio.value,
        "ratio_low": row.ratio and row.ratio.low,
        "ratio_high": row.ratio and row.ratio.high,
        "verdict": row.verdict,
        "reason": row.reason,
    }


def _values_json(cell: Cell, values: Values) -> dict[str, Any]:
    return {
        "dtype": cell.dtype,
        "mode": cell.mode,
        "value": values.value,
        "process_medians": values.medians,
        "processes": len(values.by_process),
        "samples": values.samples,
    }
