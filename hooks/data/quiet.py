"""Whether others disturbed the machine while a run measured it, in words: the rule by which `measure` tells it, too.

The two parts of the project share no code, so a test holds them to one rule. Judges whole runs; gates judge samples.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from hooks.data.records import Sample
from hooks.numbers import formatting

STEADY_WITHIN = 0.15
"""By how much a ceiling may go up and down beside the samples: as wide as a useful interval may be."""

FEWEST = 10
"""Probes of a ceiling that it takes to tell."""


def disturbances(samples: Sequence[Sample]) -> tuple[str, ...]:
    """What disturbed the samples of a run that are no warm-ups, each a clause; empty where nothing is known to have."""
    timed = [sample for sample in samples if not sample.warm_up]
    return (*_refused(timed), *_unsteady(timed))


def _refused(timed: Sequence[Sample]) -> Iterator[str]:
    spoiled = sum(sample.refusal is not None and sample.refusal.kind == "contaminated" for sample in timed)
    if spoiled:
        yield f"{spoiled} of {len(timed)} samples were disturbed and do not count"


def _unsteady(timed: Sequence[Sample]) -> Iterator[str]:
    """Ceilings that moved beside the samples that count: on a shared host, others' doing."""
    counted = [sample for sample in timed if sample.refusal is None]
    probes = (
        ("the read bandwidth", "bytes/s", [each.ceiling_bytes_per_s for each in counted]),
        ("the rate of matrix products", "flop/s", [each.ceiling_flop_per_s for each in counted]),
    )
    for what, unit, found in probes:
        rates = [rate for rate in found if rate]
        if len(rates) < FEWEST:
            continue
        tenths = statistics.quantiles(rates, n=10)
        low, high = tenths[0], tenths[-1]
        if high > low * (1 + STEADY_WITHIN):
            ends = formatting.number(low, unit, digits=2), formatting.number(high, unit, digits=2)
            yield (
                f"{what} went between {ends[0]} and {ends[1]} beside the samples (10th to 90th percentile), as on a "
                "host that others share"
            )
