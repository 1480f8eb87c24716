"""The fastest honest decode on a CPU: a step whose products are kernels that torch compiles for this machine.

Decode at batch 1 multiplies every weight matrix with one vector. torch hands that to a library made for large matrices,
which on many CPUs reads memory at half of what the machine can do. Here torch's own compiler makes the product from its
definition, a sum of products over each row, in the same precision and with the weights where they are: no copy, no
other layout, no quantisation. What stands before and after attention in a layer is one compiled function each; keys and
values go into room kept for them, where plain transformers copies the whole cache. Needs a C++ compiler. Times nothing.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn import functional
from transformers import DynamicCache, PreTrainedModel

STREAMS = 4
"""Rows that a thread reads at once, far apart: each load of the vector serves four of them. Reading one row at a time
was 15 to 25 % slower where the vector is longer than the first-level cache."""

SHAPES_MOST = 64
"""Sets of shapes that a compiled function is kept for: models in one process, not layers, add to them."""


def unavailable(model: PreTrainedModel, batch: int) -> str | None:
    """Why `model` cannot be decoded this way here, in words; None where it can."""
    if batch != 1:
        return "the compiled step is made for products of one row, batch 1"
    layer: Any = model.model.layers[0]
    linear = ("q_proj", "k_proj", "v_proj", "o_proj")
    if not all(hasattr(layer.self_attn, name) for name in linear) or model.config.hidden_act != "silu":
        return f"the compiled step knows the layers of Qwen2 and Llama, not those of {type(model).__name__}"
    try:
        from torch._inductor.cpp_builder import get_cpp_compiler

        get_cpp_compiler()
    except Exception as error:  # whatever keeps torch from compiling is the reason
        return f"torch found no C++ compiler to make its kernels with ({_first_line(error)})"
    return None


@dataclass(frozen=True)
class _Layer:
    """The tensors of one decoder layer."""

    before: tuple[torch.Tensor | None, ...]  # norm; q, k and v with their biases
    after: tuple[torch.Tensor, ...]  # o; norm; gate, up and down
    keys: torch.Tensor  # (1, KV heads, depth + 1, head size)
    values: torch.Tensor


class CompiledDecoder:
    """Decodes at one depth, batch 1, with the weights of `model` and a copy of `cache`, which stays as it is."""

    def __init__(self, model: PreTrainedModel, cache: DynamicCache) -> None:
        inner: Any = model.model
        self._embedding: torch.Tensor = inner.embed_tokens.weight
        self._rotary = inner.rotary_emb
        self._norm: torch.Tensor = inner.norm.weight
        outer: Any = model
        self._head: torch.Tensor = outer.lm_head.weight
        self._epsilon = float(model.config.rms_norm_eps)
        self._depth = int(cache.get_seq_length())
        self._position = torch.full((1, 1), self._depth)
        self._layers = [_layer(part, kept) for part, kept in zip(inner.layers, cache.layers, strict=True)]

    def run(self, token: torch.Tensor, steps: int) -> torch.Tensor:
        """See measure.modes.Decoder."""
        for _ in range(steps):
            token = self.logits(token)[:, -1, :].argmax(dim=-1, keepdim=True)
        return token

    def logits(self, token: torch.Tensor) -> torch.Tensor:
        """See measure.modes.Decoder. A step writes its key and value where the step before wrote its own."""
        before, after, last = _compiled(_before), _compiled(_after), _compiled(_last)
        x = functional.embedding(token.view(()), self._embedding)  # (hidden,)
        cos, sin = (t.view(-1) for t in self._rotary(x, self._position))  # (head size,)
        for layer in self._layers:
            q, k, v = before(x, cos, sin, self._epsilon, *layer.before)
            layer.keys[0, :, self._depth] = k
            layer.values[0, :, self._depth] = v
            seen = functional.scaled_dot_product_attention(
                q[None, :, None], layer.keys, layer.values, enable_gqa=True
            )
            x = after(x, seen.view(-1), self._epsilon, *layer.after)
        logits: torch.Tensor = last(x, self._norm, self._epsilon, self._head)
        return logits[None, None]

    def held(self) -> int:
        """See measure.modes.Decoder."""
        return self._depth

    def cache_bytes(self) -> int:
        """See measure.modes.Decoder; the room for the token of a step counts."""
        tensors = [t for layer in self._layers for t in (layer.keys, layer.values)]
        return sum(t.numel() * t.element_size() for t in tensors)


def _layer(part: Any, kept: Any) -> _Layer:
    attention, feed = part.self_attn, part.mlp
    before = [part.input_layernorm.weight]
    for linear in (attention.q_proj, attention.k_proj, attention.v_proj):
        before += [linear.weight, linear.bias]
    after = (
        attention.o_proj.weight,
        part.post_attention_layernorm.weight,
        feed.gate_proj.weight,
        feed.up_proj.weight,
        feed.down_proj.weight,
    )
    return _Layer(tuple(before), after, _with_room(kept.keys), _with_room(kept.values))


def _with_room(kept: torch.Tensor) -> torch.Tensor:
    """A copy of `kept` (B, KV heads, T, head size) with room for one token more."""
    batch, heads, tokens, size = kept.shape
    room = kept.new_zeros(batch, heads, tokens + 1, size)
    room[:, :, :tokens] = kept
    return room


def _before(
    x: torch.Tensor,
    cos: torch.Tensor,
    sin: torch.Tensor,
    epsilon: float,
    norm: torch.Tensor,
    *projections: torch.Tensor | None,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Queries (heads, head size), keys and values (KV heads, head size) of the residual `x` (hidden,)."""
    x = _normed(x, norm, epsilon)
    q_weight, q_bias, k_weight, k_bias, v_weight, v_bias = projections
    size = cos.shape[0]
    q, k, v = (
        _product(x, weight, bias).view(-1, size)
        for weight, bias in ((q_weight, q_bias), (k_weight, k_bias), (v_weight, v_bias))
        if weight is not None
    )
    return _rotated(q, cos, sin), _rotated(k, cos, sin), v


def _after(
    x: torch.Tensor,
    seen: torch.Tensor,
    epsilon: float,
    out: torch.Tensor,
    norm: torch.Tensor,
    gate: torch.Tensor,
    up: torch.Tensor,
    down: torch.Tensor,
) -> torch.Tensor:
    """The next residual (hidden,) from this one and from what attention saw (heads x head size,)."""
    x = x + _product(seen, out, None)
    y = _normed(x, norm, epsilon)
    return x + _product(functional.silu(_product(y, gate, None)) * _product(y, up, None), down, None)


def _last(x: torch.Tensor, norm: torch.Tensor, epsilon: float, head: torch.Tensor) -> torch.Tensor:
    """Logits (vocabulary,)."""
    return _product(_normed(x, norm, epsilon), head, None)


def _product(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    """weight (out, in) times x (in,) plus bias (out,)."""
    rows, width = weight.shape
    streams = next(n for n in (STREAMS, 2, 1) if rows % n == 0)
    parts = weight.view(streams, rows // streams, width)
    y = torch.cat([(part * x).sum(-1) for part in parts.unbind(0)])
    return y if bias is None else y + bias


def _normed(x: torch.Tensor, weight: torch.Tensor, epsilon: float) -> torch.Tensor:
    return weight * (x * torch.rsqrt(x.square().mean() + epsilon))


def _rotated(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Rotary embedding of x (heads, head size), its halves paired as transformers pairs them."""
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-second, first), dim=-1) * sin


@functools.cache
def _compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` as torch compiles it, once for each set of shapes.

    `fullgraph` makes it an error, not a silent return to plain code, when there are more shapes than may be kept.
    """
    torch._dynamo.config.recompile_limit = SHAPES_MOST
    torch._inductor.config.compile_threads = 1  # no helper processes beside a measurement
    compiled: Callable[..., Any] = torch.compile(function, dynamic=False, fullgraph=True)
    return compiled


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
