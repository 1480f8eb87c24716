"""Whether the machine was quiet while a run measured it, said plainly. Judges whole runs; gates.py judges samples."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from measure.record import Json

STEADY_WITHIN = 0.15
"""By how much a ceiling may go up and down beside the samples: as wide as a useful interval may be."""

CEILINGS = {
    "ceiling_bytes_per_s": ("read bandwidth", "GB/s"),
    "ceiling_flop_per_s": ("matrix products", "GFLOP/s"),
}


def quiet_words(samples: Sequence[Json]) -> list[str]:
    """One sentence or more; nothing where no window was long enough to tell."""
    timed = [s for s in samples if not s["warm_up"]]
    found = [*_disturbed(timed), *_unsteady(timed)]
    shares = [s["foreign_cpu_share"] for s in timed if s["foreign_cpu_share"] is not None]
    if found:
        return [f"the machine was not quiet (contaminated): {sentence}" for sentence in found]
    if not shares:
        return []
    return [f"the machine was quiet: others had {_shares(shares)}"]


def _disturbed(timed: Sequence[Json]) -> list[str]:
    """Samples that were refused because somebody disturbed them."""
    spoiled = [s for s in timed if s["refusal"] and s["refusal"]["kind"] == "contaminated"]
    if not spoiled:
        return []
    shares = [s["foreign_cpu_share"] for s in timed if s["foreign_cpu_share"] is not None]
    others = f"; others had {_shares(shares)}" if shares else ""
    return [f"{len(spoiled)} of {len(timed)} samples were disturbed and do not count{others}"]


def _unsteady(timed: Sequence[Json]) -> list[str]:
    """Ceilings that moved while they were probed beside the samples that count: on a shared host, others' doing."""
    unsteady = []
    for field, (what, unit) in CEILINGS.items():
        seen = [s[field] for s in timed if s.get(field) and s["refusal"] is None]
        if len(seen) < 10:
            continue
        tenths = statistics.quantiles(seen, n=10)
        low, high = tenths[0], tenths[-1]
        if high > low * (1 + STEADY_WITHIN):
            unsteady.append(
                f"its {what} went between {low / 1e9:,.0f} and {high / 1e9:,.0f} {unit} beside the samples (10th to "
                "90th percentile), as on a host that others share; what depends on it spreads with it"
            )
    return unsteady


def _shares(shares: Sequence[float]) -> str:
    return f"{statistics.median(shares):.1%} of the CPU in the median window, at most {max(shares):.1%}"
