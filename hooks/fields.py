"""The fields that a measured quantity may state: units, and how each comes out of a sample. Sums nothing up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hooks.records import Refusal, Sample

Outcome = tuple[float | None, Refusal | None]
"""A sample's value; or None and, where the sample says so, why."""


@dataclass(frozen=True)
class Field:
    """A field: its unit, and how it is read from a sample."""

    unit: str
    read: Callable[[Sample], Outcome]


def _ratio(value: float | None, by: float, refusal: Refusal | None) -> Outcome:
    return (None, refusal) if refusal or value is None else (value / by, None)


def _duration(sample: Sample) -> Outcome:
    return _ratio(sample.duration_s, 1, sample.refusal)


def _seconds_per_token(sample: Sample) -> Outcome:
    return _ratio(sample.duration_s, sample.tokens, sample.refusal)


def _joules_per_token(sample: Sample) -> Outcome:
    refusal = sample.refusal or (sample.energy_refusal if sample.energy_joules is None else None)
    return _ratio(sample.energy_joules, sample.tokens, refusal)


def _kv_cache_bytes(sample: Sample) -> Outcome:
    return _ratio(sample.kv_cache_bytes, 1, sample.refusal)


def _kv_bytes_per_token(sample: Sample) -> Outcome:
    return _ratio(sample.kv_cache_bytes, sample.tokens, sample.refusal)


def _peak_bytes(sample: Sample) -> Outcome:
    return _ratio(sample.peak_bytes, 1, sample.refusal)


FIELDS = {
    "duration_s": Field("s", _duration),
    "seconds_per_token": Field("s", _seconds_per_token),
    "joules_per_token": Field("J", _joules_per_token),
    "kv_cache_bytes": Field("bytes", _kv_cache_bytes),
    "kv_bytes_per_token": Field("bytes", _kv_bytes_per_token),
    "peak_bytes": Field("bytes", _peak_bytes),
}
"""Every field, by the name that quantities.toml gives it. Tokens are those of the sample: for a kv_cache cell
the tokens in the cache, elsewhere the tokens processed."""
