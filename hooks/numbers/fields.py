"""The fields that a measured quantity may state: units, and how each comes out of a sample. Sums nothing up."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from hooks.data.records import Refusal, Run, Sample

Outcome = tuple[float | None, Refusal | None]
"""A sample's value; or None and, where something says so, why."""

TIMED = ("prefill", "decode")

ABOVE_CEILING = "unresolved"
"""Kind of the refusal of a share above 1: the reading and its ceiling contradict each other."""

_UNRECORDED = Refusal("unavailable", "the work of these samples was not recorded")


@dataclass(frozen=True)
class Idle:
    """What a run's machine drew while it waited with its context open: watts by process, or why none is known."""

    by_process: Mapping[int, float]
    refusal: Refusal | None = None

    @classmethod
    def of(cls, run: Run) -> Idle:
        """The idle power that a run measured."""
        watts: dict[int, list[float]] = {}
        refusals: list[Refusal | None] = []
        for cell, samples in run.cells.items():
            if cell[0] == "idle" and cell[-1] == "with_context":
                for sample in samples:
                    value, refusal = _watts(sample)
                    if value is None:
                        refusals.append(refusal)
                    else:
                        watts.setdefault(sample.process, []).append(value)
        if watts:
            return cls({process: statistics.median(values) for process, values in watts.items()})
        said = next(filter(None, refusals), None)
        return cls({}, said or Refusal("unavailable", "no idle power was measured in this run"))

    @property
    def median(self) -> float | None:
        """The median over processes, watts."""
        return statistics.median(self.by_process.values()) if self.by_process else None

    def watts(self, process: int) -> float | None:
        """Idle power in that process; the run's median where the process measured none."""
        return self.by_process.get(process, self.median)


@dataclass(frozen=True)
class Field:
    """A field: its unit, how it is read from a sample, and the experiments whose samples have it."""

    unit: str
    read: Callable[[Sample, Idle], Outcome]
    experiments: tuple[str, ...]
    energy: bool = False
    ceiling: str | None = None


def _ratio(value: float | None, by: float | None, refusal: Refusal | None) -> Outcome:
    return (None, refusal) if refusal or value is None or by is None else (value / by, None)


def _energy_refusal(sample: Sample) -> Refusal | None:
    return sample.refusal or (sample.energy_refusal if sample.energy_joules is None else None)


def _duration(sample: Sample, idle: Idle) -> Outcome:
    return _ratio(sample.duration_s, 1, sample.refusal)


def _seconds_per_token(sample: Sample, idle: Idle) -> Outcome:
    return _ratio(sample.duration_s, sample.tokens, sample.refusal)


def _joules_per_token(sample: Sample, idle: Idle) -> Outcome:
    return _ratio(sample.energy_joules, sample.tokens, _energy_refusal(sample))


def _second_joules_per_token(sample: Sample, idle: Idle) -> Outcome:
    refusal = _energy_refusal(sample)
    if refusal is None and sample.energy_second_joules is None:
        refusal = Refusal("unavailable", "no second energy reading was taken")
    return _ratio(sample.energy_second_joules, sample.tokens, refusal)


def _net_joules_per_token(sample: Sample, idle: Idle) -> Outcome:
    refusal = _energy_refusal(sample)
    if refusal or sample.energy_joules is None or sample.duration_s is None:
        return None, refusal
    watts = idle.watts(sample.process)
    if watts is None:
        return None, idle.refusal
    net = sample.energy_joules - watts * sample.duration_s
    if net <= 0:
        return None, Refusal("unresolved", "no more energy than the machine draws while it waits")
    return net / sample.tokens, None


def _watts(sample: Sample, idle: Idle | None = None) -> Outcome:
    return _ratio(sample.energy_joules, sample.duration_s, _energy_refusal(sample))


def _kv_cache_bytes(sample: Sample, idle: Idle) -> Outcome:
    return _ratio(sample.kv_cache_bytes, 1, sample.refusal)


def _kv_bytes_per_token(sample: Sample, idle: Idle) -> Outcome:
    return _ratio(sample.kv_cache_bytes, sample.tokens, sample.refusal)


def _peak_bytes(sample: Sample, idle: Idle) -> Outcome:
    refusal = sample.refusal
    if refusal is None and sample.peak_bytes is None:
        refusal = Refusal("unavailable", "the system does not say how much memory was used")
    return _ratio(sample.peak_bytes, 1, refusal)


def _work(work: str, over: str) -> Callable[[Sample, Idle], Outcome]:
    """The work of a window, divided by its seconds or by its tokens."""

    def read(sample: Sample, idle: Idle) -> Outcome:
        done: float | None = getattr(sample, work)
        refusal = sample.refusal or (_UNRECORDED if done is None else None)
        return _ratio(done, getattr(sample, over), refusal)

    return read


def _share(work: str, ceiling: str) -> Callable[[Sample, Idle], Outcome]:
    rate = _work(work, "duration_s")

    def read(sample: Sample, idle: Idle) -> Outcome:
        value, refusal = rate(sample, idle)
        most: float | None = getattr(sample, ceiling)
        if value is None:
            return None, refusal
        if most is None:
            return None, Refusal("unavailable", "no ceiling was measured beside these samples")
        if value > most:
            return None, Refusal(
                ABOVE_CEILING, "the rate is above the ceiling that was measured beside it, which cannot be"
            )
        return value / most, None

    return read


FIELDS = {
    "duration_s": Field("s", _duration, (*TIMED, "ceilings", "idle")),
    "seconds_per_token": Field("s", _seconds_per_token, TIMED),
    "joules_per_token": Field("J", _joules_per_token, TIMED, energy=True),
    "second_joules_per_token": Field("J", _second_joules_per_token, TIMED, energy=True),
    "net_joules_per_token": Field("J", _net_joules_per_token, TIMED, energy=True),
    "watts": Field("W", _watts, (*TIMED, "idle"), energy=True),
    "bytes_per_s": Field("bytes/s", _work("work_bytes", "duration_s"), (*TIMED, "ceilings")),
    "flop_per_s": Field("flop/s", _work("work_flop", "duration_s"), (*TIMED, "ceilings")),
    "share_of_read_ceiling": Field(
        "1", _share("work_bytes", "ceiling_bytes_per_s"), TIMED, ceiling="ceiling_bytes_per_s"
    ),
    "share_of_flop_ceiling": Field(
        "1", _share("work_flop", "ceiling_flop_per_s"), TIMED, ceiling="ceiling_flop_per_s"
    ),
    "work_bytes_per_token": Field("bytes", _work("work_bytes", "tokens"), TIMED),
    "work_flop_per_token": Field("flop", _work("work_flop", "tokens"), TIMED),
    "kv_cache_bytes": Field("bytes", _kv_cache_bytes, ("kv_cache",)),
    "kv_bytes_per_token": Field("bytes", _kv_bytes_per_token, ("kv_cache",)),
    "peak_bytes": Field("bytes", _peak_bytes, (*TIMED, "kv_cache", "ceilings", "idle")),
}
"""Every field, by the name that quantities.toml gives it. Tokens are those of the sample: for a kv_cache cell
the tokens in the cache, elsewhere the tokens processed."""
