"""What a model takes at one setting: bytes of weights and cache, work of a decode step, least time. Pure arithmetic.

docs/assets/calculator.js does the same in the browser, operation by operation, so that both give the same floats.
Every whole number stays below 2 ** 53 within `LIMITS`, where the floats of a browser are exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

WEIGHT_BITS = (32, 16, 8, 4)
CACHE_BITS = (32, 16, 8)
"""Bits of one number. The scales that come with 8 and 4 bits in real formats are not counted."""

LIMITS = {"context_tokens": 2**20, "batch": 2**10}
"""The largest setting."""


@dataclass(frozen=True)
class Setting:
    """How a model is run. `context_tokens` are in the cache of each of `batch` sequences."""

    context_tokens: int
    batch: int
    weight_bits: int = 16
    cache_bits: int = 16


@dataclass(frozen=True)
class Footprint:
    """What that takes: weights and cache stay; `read_bytes` are read and `flop` operations done in a decode step."""

    parameters: int
    cache_elements_per_token: int
    weights_bytes: float
    cache_bytes: float
    weights_read: int
    read_bytes: float
    flop: int

    @property
    def kept_bytes(self) -> float:
        """Weights and cache together."""
        return self.weights_bytes + self.cache_bytes


def sizes(model: Mapping[str, Any], parameters: int, cache_elements_per_token: int) -> dict[str, int]:
    """Of a model in site_data/models/: all that `footprint` needs. A multiply-add is two operations."""
    hidden, layers = model["hidden_size"], model["layers"]
    query, key_value = (model[heads] * model["head_size"] for heads in ("attention_heads", "kv_heads"))
    matrices = layers * (
        hidden * (query + 2 * key_value) + query * hidden + 3 * hidden * model["intermediate_size"]
    )
    head = model["vocab_rows"] * hidden
    # Of the table that turns tokens into vectors only one row for each sequence is read; the head, which may be the
    # same table, is read whole.
    read = parameters if model["tied_embeddings"] else parameters - head
    return {
        "parameters": parameters,
        "cache_elements_per_token": cache_elements_per_token,
        "read_always": read,
        "read_per_sequence": hidden,
        "vocab_rows": model["vocab_rows"],
        "flop_per_sequence": 2 * (matrices + head),
        "flop_per_position": 4 * layers * query,
        "max_positions": model["max_positions"],
    }


def footprint(of: Mapping[str, int], setting: Setting) -> Footprint:
    """The footprint of a model of these `sizes` at a setting.

    The decode step writes one token for each sequence, which looks at the cache and at itself.
    """
    tokens = setting.context_tokens * setting.batch
    weights_read = of["read_always"] + min(setting.batch, of["vocab_rows"]) * of["read_per_sequence"]
    cache_bytes = tokens * of["cache_elements_per_token"] * setting.cache_bits / 8
    positions = setting.context_tokens + 1
    return Footprint(
        parameters=of["parameters"],
        cache_elements_per_token=of["cache_elements_per_token"],
        weights_bytes=of["parameters"] * setting.weight_bits / 8,
        cache_bytes=cache_bytes,
        weights_read=weights_read,
        read_bytes=weights_read * setting.weight_bits / 8 + cache_bytes,
        flop=setting.batch * (of["flop_per_sequence"] + positions * of["flop_per_position"]),
    )


def least_seconds(found: Footprint, read_bytes_per_s: float, flop_per_s: float | None) -> float:
    """The least time of a decode step: of reading, or of arithmetic where that takes longer and its rate is known."""
    reading = found.read_bytes / read_bytes_per_s
    return reading if flop_per_s is None else max(reading, found.flop / flop_per_s)
