"""Filled caches: made by a real prefill, kept for the next cell that needs them, weighed. Times nothing."""

from __future__ import annotations

import functools
import inspect
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

import torch
from transformers import DynamicCache, PreTrainedModel

CHUNK_TOKENS = 32_768
"""Tokens, all sequences together, that a deep cache is filled with at once. The activations of a whole prefill of 32
sequences of 32,768 tokens would take more memory than weights and cache; of a chunk they take about 2 GB. One sequence
of 32,768 is one chunk: attention over an empty cache needs no mask, and takes the fastest kernel."""

Held = TypeVar("Held")


class KeptByUse(Generic[Held]):
    """Things kept by key, the one used longest ago dropped first when they weigh more than the limit together."""

    def __init__(self, limit_bytes: int, weigh: Callable[[Held], int]) -> None:
        self._limit_bytes = limit_bytes
        self._weigh = weigh
        self._kept: OrderedDict[Hashable, Held] = OrderedDict()

    def get(self, key: Hashable) -> Held | None:
        """What is kept for `key`, or None."""
        if key in self._kept:
            self._kept.move_to_end(key)
        return self._kept.get(key)

    def offer(self, key: Hashable, held: Held) -> None:
        """Keep `held` for `key` unless there is something already."""
        if key in self._kept:
            return
        self._kept[key] = held
        while len(self._kept) > 1 and self.held_bytes() > self._limit_bytes:
            self._kept.popitem(last=False)

    def held_bytes(self) -> int:
        """What all of it weighs."""
        return sum(map(self._weigh, self._kept.values()))

    def clear(self) -> None:
        """Drop all."""
        self._kept.clear()


def forward(model: PreTrainedModel, tokens: torch.Tensor, cache: Any) -> torch.Tensor:
    """Logits (B, 1, vocabulary) of the last position; `tokens` (B, T) are appended to `cache`."""
    arguments: dict[str, Any] = {cache_argument(model): cache}
    output = model(input_ids=tokens, use_cache=True, logits_to_keep=1, **arguments)
    logits: torch.Tensor = output.logits
    return logits


def fill(model: PreTrainedModel, tokens: torch.Tensor, chunk_tokens: int = CHUNK_TOKENS) -> DynamicCache:
    """A cache that holds the keys and values of `tokens` (B, T)."""
    cache = DynamicCache(config=model.config)
    for chunk in torch.split(tokens, max(chunk_tokens // tokens.shape[0], 1), dim=1):
        forward(model, chunk, cache)
    return cache


def fill_alike(model: PreTrainedModel, tokens: torch.Tensor, batch: int) -> DynamicCache:
    """A cache for `batch` sequences that all hold the keys and values of `tokens` (1, T), each in memory of its own.

    For steps at a depth, whose time does not depend on the values: prefilling 32 sequences of 32,768 tokens to
    get there would take longer than all that is measured then.
    """
    cache = fill(model, tokens)
    if batch > 1:
        cache.batch_repeat_interleave(batch)
    return cache


def cache_bytes(cache: Any) -> int:
    """Bytes of the keys and values, from the tensors' own sizes."""
    tensors: list[torch.Tensor] = [
        t
        for layer in cache.layers
        for t in (getattr(layer, "keys", None), getattr(layer, "values", None))
        if t is not None
    ]
    return sum(t.numel() * t.element_size() for t in tensors)


def cache_argument(model: PreTrainedModel) -> str:
    """How this transformers calls the cache: `cache` from 5.24 on, `past_key_values` before."""
    return _cache_argument(type(model).forward)


@functools.cache
def _cache_argument(function: Callable[..., Any]) -> str:
    return "cache" if "cache" in inspect.signature(function).parameters else "past_key_values"
