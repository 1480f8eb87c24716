"""Arithmetic on a model's published sizes: parameters, bytes, cache. Reads no files, measures nothing.

Both architectures are decoder-only transformers with RMS norms, rotary positions, grouped-query attention
and a gated feed-forward part; they differ here only in the biases on queries, keys and values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

BYTES_OF = {"float32": 4, "float16": 2, "bfloat16": 2}
"""Bytes of one element, by the name of its type."""


@dataclass(frozen=True)
class Fact:
    """One fact about a model: its value, its unit (`1` for a count), and how it comes about."""

    value: float | str
    unit: str
    meaning: str
    computed: bool


def parameters(model: Mapping[str, Any]) -> int:
    """Trained numbers in the model; a tied output head is the embedding and counts once."""
    hidden = model["hidden_size"]
    queries = model["attention_heads"] * model["head_size"]
    keys = model["kv_heads"] * model["head_size"]
    attention = hidden * queries + 2 * hidden * keys + queries * hidden
    biases = queries + 2 * keys if model["qkv_bias"] else 0
    feed_forward = 3 * hidden * model["intermediate_size"]  # gate, up, down
    norms = 2 * hidden
    embedding: int = model["vocab_rows"] * hidden
    head = 0 if model["tied_embeddings"] else embedding
    layer = attention + biases + feed_forward + norms
    return int(embedding + model["layers"] * layer + hidden + head)


def kv_elements_per_token(model: Mapping[str, Any]) -> int:
    """Numbers that the cache keeps for one token: a key and a value for each layer and KV head."""
    return int(2 * model["layers"] * model["kv_heads"] * model["head_size"])


def facts(model: Mapping[str, Any]) -> dict[str, Fact]:
    """Every fact that a page can state about a model, by name. Units: `1`, `bytes`, `tokens`, or text."""
    title = model["title"]
    count = parameters(model)
    kv = kv_elements_per_token(model)
    result = {
        name: Fact(model[name], unit, f"{what} of {title}, as published", computed=False)
        for name, unit, what in _PUBLISHED
    }
    result["title"] = Fact(title, "text", "The model’s name", computed=False)
    result["parameters"] = Fact(
        count,
        "1",
        f"Parameters of {title}, computed from its published sizes; shared ones once",
        computed=True,
    )
    result["kv_elements_per_token"] = Fact(
        kv,
        "1",
        f"2 × layers × KV heads × head size of {title}: keys and values kept for one token",
        computed=True,
    )
    result["queries_per_kv_head"] = Fact(
        model["attention_heads"] / model["kv_heads"],
        "1",
        f"Attention heads of {title} that share one KV head",
        computed=True,
    )
    for bits in (16, 32):
        size = bits // 8
        result[f"weights_bytes_{bits}bit"] = Fact(
            count * size, "bytes", f"Parameters of {title} × {size} bytes", computed=True
        )
        result[f"kv_bytes_per_token_{bits}bit"] = Fact(
            kv * size, "bytes", f"KV cache of {title} for one token at {bits} bits", computed=True
        )
    # The element size cancels, so this holds at any precision that cache and weights share.
    result["kv_equals_weights_tokens"] = Fact(
        -(-count // kv),
        "tokens",
        f"Context at which the KV cache of {title} is as large as its weights, both at one precision",
        computed=True,
    )
    return result


TITLES = {
    "title": "name",
    "layers": "layers",
    "hidden_size": "length of a token’s vector",
    "intermediate_size": "width of the feed-forward part",
    "attention_heads": "attention heads",
    "kv_heads": "KV heads",
    "head_size": "length of one head’s vector",
    "vocab_rows": "rows of the embedding matrix",
    "max_positions": "longest context",
    "parameters": "parameters",
    "queries_per_kv_head": "attention heads that share a KV head",
    "kv_elements_per_token": "numbers in the KV cache for a token",
    "kv_bytes_per_token_16bit": "KV cache for a token at 16 bits",
    "kv_bytes_per_token_32bit": "KV cache for a token at 32 bits",
    "weights_bytes_16bit": "weights at 16 bits",
    "weights_bytes_32bit": "weights at 32 bits",
    "kv_equals_weights_tokens": "context at which KV cache and weights are equal",
}
"""What each fact is called beside the model's name."""

_PUBLISHED = (
    ("layers", "1", "Layers"),
    ("hidden_size", "1", "Length of a token’s vector"),
    ("intermediate_size", "1", "Width of the feed-forward part"),
    ("attention_heads", "1", "Attention heads"),
    ("kv_heads", "1", "Key-value heads"),
    ("head_size", "1", "Length of one head’s vector"),
    ("vocab_rows", "1", "Rows of the embedding matrix"),
    ("max_positions", "tokens", "Longest context"),
)
