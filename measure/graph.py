"""Decode as one captured graph: the whole step, from token to next token, recorded once and replayed. Times nothing.

Plain transformers gives a GPU about 1,100 orders a step, each from Python; at batch 1 they, not the GPU, set the time.
A CUDA graph holds them all. It needs every tensor at a fixed address, so keys and values are in a static cache, as long
as the depth and one token more: attention over a static cache covers all of it. Only `cuda_capture` needs a GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from transformers import AttentionInterface, DynamicCache, PreTrainedModel, StaticCache
from transformers.integrations.sdpa_attention import sdpa_attention_forward

from measure.caches import cache_bytes, forward

WARM_UPS = 3
"""Steps before the capture: libraries set up their workspaces in them, which a capture does not allow."""

Capture = Callable[[Callable[[], None]], Callable[[], None]]
"""Takes a step that works on fixed tensors, gives what replays it."""

UNMASKED = "sdpa_unmasked"
AttentionInterface.register(UNMASKED, sdpa_attention_forward)


def cuda_capture(step: Callable[[], None]) -> Callable[[], None]:
    """Record `step` as a CUDA graph after warming it up on a side stream, as torch asks for."""
    side = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(WARM_UPS):
            step()
    torch.cuda.current_stream().wait_stream(side)
    recorded = torch.cuda.CUDAGraph()
    with torch.cuda.graph(recorded):
        step()
    return recorded.replay


def called_again(step: Callable[[], None]) -> Callable[[], None]:
    """Stands in for a capture where there is no GPU, in tests and rehearsals: replaying calls `step` again."""
    step()
    return step


class GraphDecoder:
    """Decodes at the depth of `cache`, from a static copy of it."""

    def __init__(self, model: PreTrainedModel, cache: DynamicCache, capture: Capture) -> None:
        first: Any = cache.layers[0]
        keys: torch.Tensor = first.keys  # (B, KV heads, T, head size)
        self._model = model
        self._depth = int(cache.get_seq_length())
        self._cache = _static_copy(model, cache, self._depth + 1)
        self._token = torch.zeros(keys.shape[0], 1, dtype=torch.long, device=keys.device)
        vocabulary = int(model.config.vocab_size)
        self._logits = torch.zeros(keys.shape[0], 1, vocabulary, dtype=keys.dtype, device=keys.device)
        with _unmasked(model):
            self._replay = capture(self._step)

    def run(self, token: torch.Tensor, steps: int) -> torch.Tensor:
        """See measure.modes.Decoder. Each replay leaves its token where the next one reads it."""
        self._token.copy_(token)
        with _unmasked(self._model):
            for _ in range(steps):
                self._replay()
        return self._token.clone()

    def logits(self, token: torch.Tensor) -> torch.Tensor:
        """See measure.modes.Decoder."""
        self.run(token, 1)
        return self._logits.clone()

    def held(self) -> int:
        """See measure.modes.Decoder."""
        return int(self._cache.get_seq_length())

    def cache_bytes(self) -> int:
        """See measure.modes.Decoder; the room for the token of a step counts."""
        return cache_bytes(self._cache)

    def _step(self) -> None:
        """What is captured: one token through the model, the likeliest next one, and the rewinding."""
        logits = forward(self._model, self._token, self._cache)
        self._logits.copy_(logits)
        self._token.copy_(logits[:, -1, :].argmax(dim=-1, keepdim=True))
        _rewind(self._cache, self._depth)


def _static_copy(model: PreTrainedModel, cache: DynamicCache, length: int) -> StaticCache:
    """A static cache of `length` tokens that begins with the keys and values of `cache`."""
    static = StaticCache(config=model.config, max_cache_len=length)
    layers: list[Any] = list(cache.layers)
    batch, heads, tokens, size = layers[0].keys.shape
    static.early_initialization(batch, heads, size, layers[0].keys.dtype, layers[0].keys.device)
    targets: list[Any] = list(static.layers)
    for target, source in zip(targets, layers, strict=True):
        target.keys[:, :, :tokens] = source.keys
        target.values[:, :, :tokens] = source.values
    _rewind(static, tokens)
    return static


def _rewind(cache: StaticCache, tokens: int) -> None:
    """Let each layer hold `tokens` tokens; in place, since a captured step reads this very tensor."""
    layers: list[Any] = list(cache.layers)
    for layer in layers:
        layer.cumulative_length.fill_(tokens)


@contextmanager
def _unmasked(model: PreTrainedModel) -> Iterator[None]:
    """Attention without a mask while the body runs.

    For a static cache transformers makes a mask, since it does not know that every place is taken here. With a
    mask, attention leaves the fast kernels, and transformers below 5.24 repeats the keys and values of grouped queries.
    """
    before = model.config._attn_implementation
    if before != "sdpa":
        raise RuntimeError(f"expected a model with sdpa attention, found {before}")
    model.config._attn_implementation = UNMASKED
    try:
        yield
    finally:
        model.config._attn_implementation = before
