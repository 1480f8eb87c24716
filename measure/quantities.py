"""What can be read out of a run's samples: a value for each process, by cell and quantity. Compares and prints nothing.

A sample counts when it is no warm-up and has no refusal. A process's value is the median over its samples.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from measure.plan import WITH_CONTEXT, Cell
from measure.record import Json, cell_of

Read = Callable[[Json, float | None], float | None]
"""A sample's value from the sample and the watts that its machine draws while it waits; None where it has none."""


@dataclass(frozen=True)
class Quantity:
    """A number that samples have: its unit, the experiments that have it, and how a difference is told."""

    name: str
    unit: str
    experiments: tuple[str, ...]
    lower: str
    """What a run is that has less of it: faster, for a time."""
    higher: str
    read: Read
    energy: bool = False


@dataclass(frozen=True)
class Values:
    """One quantity in one cell of one run."""

    by_process: Mapping[int, float]
    samples: int
    missing: str | None = None
    """Why there is none, in words; None where there is one."""

    @property
    def medians(self) -> list[float]:
        """The processes' medians, in the order of the processes."""
        return [self.by_process[process] for process in sorted(self.by_process)]

    @property
    def value(self) -> float | None:
        """The run's value: the median of its processes' medians."""
        return statistics.median(self.medians) if self.by_process else None


def _per_token(field: str) -> Read:
    return lambda sample, idle: _over(sample.get(field), sample["tokens"])


def _net_joules_per_token(sample: Json, idle: float | None) -> float | None:
    gross, duration_s = sample["energy_joules"], sample["duration_s"]
    if gross is None or duration_s is None or idle is None:
        return None
    net = gross - idle * duration_s
    return _over(net, sample["tokens"]) if net > 0 else None


def _rate(work: str) -> Read:
    return lambda sample, idle: _over(sample.get(work), sample["duration_s"])


def _share(work: str, ceiling: str) -> Read:
    return lambda sample, idle: _over(_rate(work)(sample, idle), sample.get(ceiling))


def _watts(sample: Json, idle: float | None) -> float | None:
    return _over(sample["energy_joules"], sample["duration_s"])


def _over(value: float | None, by: float | None) -> float | None:
    return None if value is None or not by else value / by


TIMED = ("prefill", "decode")

SECONDS = Quantity("seconds_per_token", "s", TIMED, "faster", "slower", _per_token("duration_s"))
JOULES = Quantity("joules_per_token", "J", TIMED, "less", "more", _per_token("energy_joules"), energy=True)
NET_JOULES = Quantity("net_joules_per_token", "J", TIMED, "less", "more", _net_joules_per_token, energy=True)
READ_SHARE = Quantity(
    "share_of_read_ceiling", "1", TIMED, "lower", "higher", _share("work_bytes", "ceiling_bytes_per_s")
)
FLOP_SHARE = Quantity(
    "share_of_flop_ceiling", "1", TIMED, "lower", "higher", _share("work_flop", "ceiling_flop_per_s")
)
READ_RATE = Quantity("bytes_per_s", "bytes/s", ("ceilings",), "lower", "higher", _rate("work_bytes"))
FLOP_RATE = Quantity("flop_per_s", "flop/s", ("ceilings",), "lower", "higher", _rate("work_flop"))
WATTS = Quantity("watts", "W", ("idle",), "less", "more", _watts, energy=True)
CACHE = Quantity("kv_bytes_per_token", "bytes", ("kv_cache",), "less", "more", _per_token("kv_cache_bytes"))

QUANTITIES = (READ_RATE, FLOP_RATE, WATTS, SECONDS, JOULES, NET_JOULES, READ_SHARE, FLOP_SHARE, CACHE)
"""The machine's own limits first: where they differ between two runs, the rest differs with them."""


class Readings:
    """A run's samples by cell, ready to be read."""

    def __init__(self, samples: Iterable[Json]) -> None:
        self._by_cell: dict[Cell, list[Json]] = {}
        for sample in samples:
            self._by_cell.setdefault(cell_of(sample), []).append(sample)
        self._idle = _idle_watts(self._by_cell)

    @property
    def cells(self) -> list[Cell]:
        """The cells that have samples, in the order in which they were first sampled."""
        return list(self._by_cell)

    def values(self, quantity: Quantity, cell: Cell) -> Values:
        """What `cell` has of `quantity`."""
        samples = self._by_cell.get(cell, [])
        counted = [s for s in samples if not s["warm_up"] and s["refusal"] is None]
        by_process: dict[int, list[float]] = {}
        for sample in counted:
            value = quantity.read(sample, self._watts_of(sample["process"]))
            if value is not None and value > 0:
                by_process.setdefault(sample["process"], []).append(value)
        medians = {process: statistics.median(values) for process, values in by_process.items()}
        taken = sum(len(values) for values in by_process.values())
        return Values(medians, taken, None if medians else _why(quantity, samples, counted))

    def refused(self, cell: Cell) -> str | None:
        """The kind of the first refusal of a sample of `cell`; None where nothing was refused."""
        found = (s["refusal"]["kind"] for s in self._by_cell.get(cell, []) if s["refusal"])
        return next(found, None)

    def energy_refused(self, cell: Cell) -> str | None:
        """The kind of the latest refusal of an energy among the samples of `cell` that count."""
        counted = (s for s in self._by_cell.get(cell, []) if not s["warm_up"] and s["refusal"] is None)
        kinds = [s["energy_refusal"]["kind"] for s in counted if s["energy_refusal"]]
        return kinds[-1] if kinds else None

    def nearer_ceiling(self, cell: Cell) -> Quantity | None:
        """The share of the ceiling that the cell comes nearer to, which limits it; None where none was probed."""
        shares = {share: self.values(share, cell).value for share in (READ_SHARE, FLOP_SHARE)}
        probed = {share: value for share, value in shares.items() if value is not None}
        return max(probed, key=lambda share: probed[share]) if probed else None

    def _watts_of(self, process: int) -> float | None:
        """Watts of the idle accelerator in this process, or in the run's median process where it has none."""
        if process in self._idle:
            return self._idle[process]
        return statistics.median(self._idle.values()) if self._idle else None


def _idle_watts(by_cell: Mapping[Cell, Sequence[Json]]) -> dict[int, float]:
    watts: dict[int, list[float]] = {}
    for cell, samples in by_cell.items():
        if cell.experiment != "idle" or cell.mode != WITH_CONTEXT:
            continue
        for sample in samples:
            drawn = _watts(sample, None)
            if not sample["warm_up"] and sample["refusal"] is None and drawn is not None:
                watts.setdefault(sample["process"], []).append(drawn)
    return {process: statistics.median(values) for process, values in watts.items()}


def _why(quantity: Quantity, samples: Sequence[Json], counted: Sequence[Json]) -> str:
    """Why a cell has nothing of a quantity, in words."""
    if not samples:
        return "not measured"
    if not counted:
        refusals = [s["refusal"]["reason"] for s in samples if s["refusal"]]
        return refusals[-1] if refusals else "warm-ups only"
    if quantity.energy:
        refusals = [s["energy_refusal"]["reason"] for s in counted if s["energy_refusal"]]
        if refusals:
            return str(refusals[-1])
        if quantity.name == "net_joules_per_token":
            return "not above what the machine draws while it waits, or that was not measured"
    return "not recorded"
