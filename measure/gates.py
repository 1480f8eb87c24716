"""Checks on one sample: each gate passed, failed or not checked, and the refusal that follows. Pure; measures nothing.

A sample that fails a gate is kept with its refusal, never counts, and is taken again a few times (tally.py). The
thresholds stand here, each with its reason. "First runs" are two with 554 windows on a 2-core virtual machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

PASSED, FAILED, NOT_CHECKED = "passed", "failed", "not_checked"
GATES = ("duration", "length", "clock", "company", "throttling", "ceiling", "energy_agreement")

FOREIGN_CPU_SHARE_MOST = 0.05
"""Of the CPU, for work that uses all cores. In the first runs the share was 0.006 in the median and 0.01 to 0.017 at
the 90th percentile, and below 0.05 it did not show in the times; the timed windows above it took 7 % and 37 % longer.
It is also two of the kernel's 10 ms ticks in the shortest window that is judged (clock.py) on two cores."""

CORES_BESIDE_ACCELERATOR = 1
"""Cores that others must leave free where the work is on an accelerator: one gives it its orders, and is not displaced
while another is free. A share of the CPU would be wrong there: a lent machine may see the load of its whole host."""

CLOCKS_DIFFER_SHARE = 0.005
CLOCKS_DIFFER_S = 0.02
"""How far the clock that times a window and the system's may differ: ten times the 0.05 % by which a system clock is
slewed at most, and twice a scheduler's 10 ms between reading the one and the other. A virtual machine that was paused,
a laptop that slept or a clock that was set differs by more."""


@dataclass(frozen=True)
class Facts:
    """What is known of one sample's window; None: not known."""

    accelerator: bool
    """Whether the work ran on an accelerator."""
    cpu_cores: int | None
    """Cores that the process may use."""
    duration_s: float | None
    system_s: float | None
    """The same window on the system's clock."""
    tokens_held: int | None
    """Tokens a sequence in the cache afterwards, and"""
    tokens_planned: int | None
    """as many as there should be."""
    foreign_cpu_share: float | None
    """Share of the CPU's time that others had, time stolen from a virtual machine counted."""
    watched: bool
    """Whether a meter watched the accelerator during the window."""
    company: str | None
    """Who else was on the accelerator, in words."""
    slowdowns: tuple[str, ...]
    """Why the accelerator's clocks were held down, its power limit apart."""
    second_reading: bool
    """Whether there are two readings of the energy."""
    disagreement: str | None
    """How they disagree, in words."""
    bytes_per_s: float | None
    flop_per_s: float | None
    """Rates of the window, from the arithmetic of its work, and"""
    ceiling_bytes_per_s: float | None
    ceiling_flop_per_s: float | None
    """what this machine was seen to do beside it."""


@dataclass(frozen=True)
class Verdict:
    """How each gate went, and what follows for the sample and for its energy alone."""

    gates: dict[str, str]
    refusal: dict[str, str] | None
    energy_refusal: dict[str, str] | None


def judge(facts: Facts) -> Verdict:
    """The verdict on one sample. Of several failed gates the first in `GATES` gives the refusal."""
    found = {
        "duration": _duration(facts),
        "length": _length(facts),
        "clock": _clock(facts),
        "company": _company(facts),
        "throttling": _throttling(facts),
        "ceiling": _ceiling(facts),
        "energy_agreement": _energy_agreement(facts),
    }
    gates = {name: FAILED if isinstance(found[name], dict) else str(found[name]) for name in GATES}
    refusals = {name: result for name, result in found.items() if isinstance(result, dict)}
    energy_refusal = refusals.pop("energy_agreement", None)
    return Verdict(gates, next(iter(refusals.values()), None), energy_refusal)


_Result = str | dict[str, str]
"""PASSED, NOT_CHECKED, or the refusal of a gate that failed."""


def _duration(facts: Facts) -> _Result:
    if facts.duration_s is None:
        return NOT_CHECKED
    if facts.duration_s > 0:
        return PASSED
    return _refusal("unresolved", f"the window took {facts.duration_s:g} s by the clock, which no work does")


def _length(facts: Facts) -> _Result:
    if facts.tokens_held is None or facts.tokens_planned is None:
        return NOT_CHECKED
    if facts.tokens_held == facts.tokens_planned:
        return PASSED
    return _refusal(
        "unresolved",
        f"the cache held {facts.tokens_held} tokens a sequence afterwards, not {facts.tokens_planned}",
    )


def _clock(facts: Facts) -> _Result:
    if facts.duration_s is None or facts.system_s is None:
        return NOT_CHECKED
    allowed_s = CLOCKS_DIFFER_S + CLOCKS_DIFFER_SHARE * max(facts.duration_s, 0.0)
    if abs(facts.duration_s - facts.system_s) <= allowed_s:
        return PASSED
    return _refusal(
        "contaminated",
        f"two clocks disagree on the window: {facts.duration_s:.4g} s and {facts.system_s:.4g} s; "
        "the machine was paused, or its clock was set",
    )


def _company(facts: Facts) -> _Result:
    if facts.company:
        return _refusal("contaminated", facts.company)
    most = FOREIGN_CPU_SHARE_MOST
    if facts.accelerator:
        most = 1 - CORES_BESIDE_ACCELERATOR / max(facts.cpu_cores or 1, 2)
    if facts.foreign_cpu_share is not None and facts.foreign_cpu_share > most:
        return _refusal(
            "contaminated",
            f"others had {_percent(facts.foreign_cpu_share)} of the CPU during the window, more than {_percent(most)}",
        )
    if facts.foreign_cpu_share is None or (facts.accelerator and not facts.watched):
        return NOT_CHECKED
    return PASSED


def _throttling(facts: Facts) -> _Result:
    if facts.slowdowns:
        return _refusal("contaminated", f"the clocks were held down: {', '.join(facts.slowdowns)}")
    return PASSED if facts.accelerator and facts.watched else NOT_CHECKED


def _ceiling(facts: Facts) -> _Result:
    known = [
        (what, rate, ceiling)
        for what, rate, ceiling in (
            ("the read bandwidth", facts.bytes_per_s, facts.ceiling_bytes_per_s),
            ("the rate of matrix products", facts.flop_per_s, facts.ceiling_flop_per_s),
        )
        if rate is not None and ceiling is not None
    ]
    for what, rate, ceiling in known:
        if rate > ceiling:
            return _refusal(
                "unresolved",
                f"{_percent(rate / ceiling)} of {what} seen beside the window, more than there is: "
                "one of the two is wrong",
            )
    return PASSED if known else NOT_CHECKED


def _energy_agreement(facts: Facts) -> _Result:
    if facts.disagreement:
        return _refusal("unresolved", facts.disagreement)
    return PASSED if facts.second_reading else NOT_CHECKED


def _refusal(kind: str, reason: str) -> dict[str, Any]:
    return {"kind": kind, "reason": reason}


def _percent(share: float) -> str:
    return f"{share:.1%}" if share < 0.1 else f"{share:.0%}"
