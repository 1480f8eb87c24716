"""The results of the calculator in words: values, formulas with the numbers put in, rows of its table. Writes no HTML.

docs/assets/calculator.js says the same words for any setting; a test compares both over many.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hooks.numbers import formatting
from hooks.widgets.footprint import Footprint, Setting, footprint, least_seconds

Machine = Mapping[str, Any]
"""A machine as the browser knows it: `hooks.widgets.calculator.Machine.plain`."""


@dataclass(frozen=True)
class Line:
    """One result: what it is, its value, and how it comes about."""

    name: str
    title: str
    value: str
    formula: str


@dataclass(frozen=True)
class Row:
    """A machine at a setting. `holds` says whether weights and cache fit into its memory."""

    holds: bool
    fits: str
    least: str
    speed: str


def plural(number: int, noun: str) -> str:
    """A count with its noun: `1 token`, `4,096 tokens`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def setting_of(model: Mapping[str, Any], setting: Setting) -> str:
    """What is calculated: the model and the setting."""
    sequences = f"{plural(setting.batch, 'sequence')} of {plural(setting.context_tokens, 'token')}"
    bits = f"weights at {setting.weight_bits} bits, KV cache at {setting.cache_bits} bits"
    return f"{model['title']}, {sequences}, {bits}"


def results(model: Mapping[str, Any], setting: Setting, machine: Machine) -> list[Line]:
    """The lines of one setting, and of one machine."""
    found = footprint(model, setting)
    rate, least = _rate(machine, setting), _least(found, setting, machine)
    by_arithmetic = rate is not None and found.flop / rate > found.read_bytes / machine["read"]
    tokens, batch = plural(setting.context_tokens, "token"), plural(setting.batch, "sequence")
    too_long = (
        f". {model['title']} accepts at most {plural(model['max_positions'], 'token')}"
        if setting.context_tokens > model["max_positions"]
        else ""
    )
    reading = f"{_bytes(found.read_bytes)} ÷ {machine['read_text']}"
    time = f"{formatting.number(found.flop, 'flop')} ÷ {machine['rate_text']}, more than {reading}"
    unknown = "" if rate is not None else ". How fast it calculates at this precision is not known here"
    return [
        Line(
            "weights",
            "Weights",
            _bytes(found.weights_bytes),
            f"{model['parameters']:,} parameters × {setting.weight_bits} bits ÷ 8",
        ),
        Line(
            "cache",
            "KV cache",
            _bytes(found.cache_bytes),
            f"{tokens} × {batch} × 2 × {model['layers']} layers × {model['kv_heads']} KV heads × "
            f"{model['head_size']} numbers × {setting.cache_bits} bits ÷ 8{too_long}",
        ),
        Line(
            "read",
            "Read in one decode step",
            _bytes(found.read_bytes),
            f"{found.weights_read:,} weights × {setting.weight_bits} bits ÷ 8 + {_bytes(found.cache_bytes)} of cache",
        ),
        Line(
            "flop",
            "Operations in one decode step",
            formatting.number(found.flop, "flop"),
            f"{batch} × ({model['flop_per_sequence']:,} + {setting.context_tokens + 1:,} positions × "
            f"{model['flop_per_position']:,})",
        ),
        Line(
            "least",
            f"Least time of that step, {machine['label']}",
            formatting.number(least, "s"),
            time if by_arithmetic else reading + unknown,
        ),
        Line(
            "speed",
            "Speed at most",
            formatting.number(setting.batch / least, "tokens/s"),
            f"{plural(setting.batch, 'token')} ÷ {formatting.number(least, 's')}",
        ),
    ]


def machines(model: Mapping[str, Any], setting: Setting, offered: Mapping[str, Machine]) -> dict[str, Row]:
    """A row for each machine, by its key."""
    found = footprint(model, setting)
    rows = {}
    for key, machine in offered.items():
        least = _least(found, setting, machine)
        left = machine["memory"] - found.kept_bytes
        holds = left >= 0
        rows[key] = Row(
            holds,
            f"yes, {_bytes(left)} left" if holds else f"no, {_bytes(-left)} too much",
            formatting.number(least, "s") if holds else "–",
            formatting.number(setting.batch / least, "tokens/s") if holds else "–",
        )
    return rows


def _least(found: Footprint, setting: Setting, machine: Machine) -> float:
    return least_seconds(found, machine["read"], _rate(machine, setting))


def _rate(machine: Machine, setting: Setting) -> float | None:
    """The machine's rate of matrix products at this precision; numbers of fewer bits are multiplied as 16."""
    applies = machine["rate_bits"] == max(setting.weight_bits, 16)
    rate: float | None = machine["rate"] if applies else None
    return rate


def _bytes(value: float) -> str:
    return formatting.number(value, "bytes")
