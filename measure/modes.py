"""How a decode step can run: a decoder for each mode, all with the same weights. Times nothing.

eager     plain transformers: one call of the model a step, the cache cut back after it
compiled  on a CPU: one-row products by kernels that torch compiles (compiled.py)
graph     on a GPU: one captured CUDA graph over a static cache (graph.py)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import torch
from transformers import DynamicCache, PreTrainedModel

from measure import compiled, graph
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


def check(mode: str, decoder: Decoder, eager: Decoder, token: torch.Tensor) -> ModeCheck:
    """The logits of `decoder` after `token` (B, 1), twice so that rewinding is checked too, against eager's."""
    expected = eager.logits(token).float()
    tolerance = TOLERANCE[next(dtype for dtype in TOLERANCE if dtype == eager.logits(token).dtype)]
    scale = expected.abs().max()
    difference = max(float((decoder.logits(token).float() - expected).abs().max() / scale) for _ in range(2))
    finite = difference == difference and difference != float("inf")
    return ModeCheck(
        mode=mode,
        context_tokens=eager.held(),
        max_difference=difference if finite else None,
        tolerance=tolerance,
        passed=finite and difference <= tolerance,
    )


def likeliest(logits: torch.Tensor) -> torch.Tensor:
    """The likeliest token (B, 1) of logits (B, 1, vocabulary)."""
    return logits[:, -1, :].argmax(dim=-1, keepdim=True)


def _keys(cache: Any) -> torch.Tensor:
    keys: torch.Tensor = cache.layers[0].keys  # (B, KV heads, T, head size)
    return keys
