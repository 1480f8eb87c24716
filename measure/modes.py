"""How prefill and decode can run: a model or decoder for each mode, all with the same weights. Times nothing.

eager     plain transformers: one call of the model a step, the cache cut back after it
compiled  on a CPU: a step as kernels that torch compiles (compiled.py), a prompt's products through oneDNN (onednn.py)
graph     on a GPU: one captured CUDA graph over a static cache (graph.py)
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from transformers import DynamicCache, PreTrainedModel

from measure import compiled, graph, onednn
from measure.caches import cache_bytes, forward

EAGER, COMPILED, GRAPH = "eager", "compiled", "graph"

TOLERANCE = {torch.float32: 1e-4, torch.float16: 1e-2, torch.bfloat16: 5e-2}
"""How far a mode's logits may be from eager's, as a share of eager's largest. Other kernels add in another order: in
float32 that was 5e-6 on the shape of Qwen2.5-1.5B; in 16 bits some 200 roundings of 0.4 % each may differ."""


class ModeUnavailable(RuntimeError):
    """This mode cannot run here; the message says why."""


@dataclass(frozen=True)
class ModeCheck:
    """A mode's logits against eager's; an item of run.json's `mode_checks`."""

    mode: str
    context_tokens: int
    max_difference: float | None
    """Largest difference of a logit, divided by the largest magnitude of eager's logits; None where there are none."""
    tolerance: float
    passed: bool


class Decoder(Protocol):
    """Decodes one token a step at one depth; after a step the cache holds what it held before."""

    def run(self, token: torch.Tensor, steps: int) -> torch.Tensor:
        """The last of `steps` tokens (B, 1), each the likeliest after the one before; `token` (B, 1) is the first."""
        ...

    def logits(self, token: torch.Tensor) -> torch.Tensor:
        """Logits (B, 1, vocabulary) after `token` (B, 1)."""
        ...

    def held(self) -> int:
        """Tokens of each sequence in the cache."""
        ...

    def cache_bytes(self) -> int:
        """Bytes of the cache's own tensors."""
        ...


class EagerDecoder:
    """What plain transformers does."""

    def __init__(self, model: PreTrainedModel, cache: DynamicCache) -> None:
        self._model = model
        self._cache = cache

    def run(self, token: torch.Tensor, steps: int) -> torch.Tensor:
        """See Decoder."""
        for _ in range(steps):
            token = likeliest(self.logits(token))
        return token

    def logits(self, token: torch.Tensor) -> torch.Tensor:
        """See Decoder."""
        logits = forward(self._model, token, self._cache)
        self._cache.crop(-1)
        return logits

    def held(self) -> int:
        """See Decoder."""
        return int(self._cache.get_seq_length())

    def cache_bytes(self) -> int:
        """See Decoder."""
        return cache_bytes(self._cache)


def open_decoder(
    mode: str,
    model: PreTrainedModel,
    cache: DynamicCache,
    *,
    capture: graph.Capture | None = None,
) -> Decoder:
    """A decoder of `mode` at the depth of `cache`, which is not changed; ready, its kernels built.

    Raises ModeUnavailable with the reason where the mode cannot run.
    """
    device = next(model.parameters()).device
    batch = int(_keys(cache).shape[0])
    if mode == EAGER:
        return EagerDecoder(model, cache)
    if mode == COMPILED:
        reason = compiled.unavailable(model, batch)
        if device.type != "cpu":
            reason = "the compiled step is made for a CPU; a GPU has the mode graph"
        if reason:
            raise ModeUnavailable(reason)
        decoder: Decoder = compiled.CompiledDecoder(model, cache)
    elif mode == GRAPH:
        capture = capture or (graph.cuda_capture if device.type == "cuda" else None)
        if capture is None:
            raise ModeUnavailable("CUDA graphs need a GPU")
        decoder = graph.GraphDecoder(model, cache, capture)
    else:
        raise ModeUnavailable(f"there is no mode {mode!r} of decode; expected {EAGER}, {COMPILED} or {GRAPH}")
    decoder.run(torch.zeros(batch, 1, dtype=torch.long, device=device), 1)
    return decoder


def open_prompt_model(mode: str, model: PreTrainedModel) -> PreTrainedModel:
    """What runs a prompt in `mode`: `model` itself, or another with the same tensors.

    Raises ModeUnavailable with the reason where the mode cannot run.
    """
    if mode == EAGER:
        return model
    if mode != COMPILED:
        raise ModeUnavailable(f"there is no mode {mode!r} of prefill; expected {EAGER} or {COMPILED}")
    reason = onednn.unavailable(model.dtype, next(model.parameters()).device)
    if reason:
        raise ModeUnavailable(reason)
    return onednn.prompt_model(model)


def check(mode: str, context_tokens: int, pairs: Iterable[tuple[torch.Tensor, torch.Tensor]]) -> ModeCheck:
    """Each first logits, those of `mode`, against the second, eager's."""
    worst, tolerance = 0.0, 0.0
    for found, expected in pairs:
        tolerance = TOLERANCE[expected.dtype]
        share = float((found.float() - expected.float()).abs().max() / expected.float().abs().max())
        worst = max(worst, share if math.isfinite(share) else math.inf)
    return ModeCheck(
        mode=mode,
        context_tokens=context_tokens,
        max_difference=worst if math.isfinite(worst) else None,
        tolerance=tolerance,
        passed=worst <= tolerance,
    )


def likeliest(logits: torch.Tensor) -> torch.Tensor:
    """The likeliest token (B, 1) of logits (B, 1, vocabulary)."""
    return logits[:, -1, :].argmax(dim=-1, keepdim=True)


def _keys(cache: Any) -> torch.Tensor:
    keys: torch.Tensor = cache.layers[0].keys  # (B, KV heads, T, head size)
    return keys
