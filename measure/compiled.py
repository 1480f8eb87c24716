"""The fastest honest decode on a CPU: a step whose products are kernels that torch compiles for this machine.

Decode at batch 1 multiplies every weight matrix with one vector. torch hands that to a library made for large matrices,
which on many CPUs reads memory at half of what the machine can do. Here torch's own compiler makes the product from its
definition, a sum of products over each row, in the same precision and with the weights where they are: no copy, no
other layout, no quantisation. All that stands between two attentions is one compiled function; keys and values go into
room kept for them, where plain transformers copies the whole cache. Needs a C++ compiler. Times nothing.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn import functional
from transformers import DynamicCache, PreTrainedModel

from measure.errors import first_line

STREAMS = 4
"""Rows that a thread reads at once, far apart: each load of the vector serves four of them. Reading one row at a time
was 15 to 25 % slower where the vector is longer than the first-level cache."""


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
        return f"torch found no C++ compiler to make its kernels with ({first_line(error)})"
    return None


@dataclass(frozen=True)
class _Layer:
    """The tensors of one decoder layer."""

    before: tuple[torch.Tensor, ...]  # norm; q, k and v; their biases, where there are any
    after: tuple[torch.Tensor, ...]  # o; norm; gate, up and down
    keys: torch.Tensor  # (1, KV heads, depth + 1, head size)
    values: torch.Tensor


class CompiledDecoder:
    """Decodes at one depth, batch 1, with the weights of `model` and a copy of `cache`, which stays as it is."""

    def __init__(self, model: PreTrainedModel, cache: DynamicCache) -> None:
        outer: Any = model
        inner: Any = model.model
        self._embedding: torch.Tensor = inner.embed_tokens.weight
        self._rotary = inner.rotary_emb
        self._depth = int(cache.get_seq_length())
        self._position = torch.full((1, 1), self._depth)
        self._layers = [_layer(part, kept) for part, kept in zip(inner.layers, cache.layers, strict=True)]
        self._last = (inner.norm.weight, outer.lm_head.weight)
        self._heads_together = torch.get_num_threads() <= self._layers[0].keys.shape[1]
        self._build(float(model.config.rms_norm_eps))

    def run(self, token: torch.Tensor, steps: int) -> torch.Tensor:
        """See measure.modes.Decoder."""
        for _ in range(steps):
            token = self.logits(token)[:, -1, :].argmax(dim=-1, keepdim=True)
        return token

    def logits(self, token: torch.Tensor) -> torch.Tensor:
        """See measure.modes.Decoder. A step writes its key and value where the step before wrote its own."""
        x = functional.embedding(token.view(()), self._embedding)  # (hidden,)
        cos, sin = self._angles(x)
        first, *others = self._layers
        q, k, v = self._before(x, cos, sin, *first.before)
        seen = self._attention(first, q, k, v)
        for layer, following in zip(self._layers, others, strict=False):
            x, q, k, v = self._between(x, seen, *layer.after, cos, sin, *following.before)
            seen = self._attention(following, q, k, v)
        logits: torch.Tensor
        (logits,) = self._after(x, seen, *self._layers[-1].after, *self._last)
        return logits[None, None]

    def held(self) -> int:
        """See measure.modes.Decoder."""
        return self._depth

    def cache_bytes(self) -> int:
        """See measure.modes.Decoder; the room for the token of a step counts."""
        tensors = [t for layer in self._layers for t in (layer.keys, layer.values)]
        return sum(t.numel() * t.element_size() for t in tensors)

    def _build(self, epsilon: float) -> None:
        """Compile the three functions that a step is made of; every layer has the same shapes."""
        layer = self._layers[0]
        x = functional.embedding(torch.zeros((), dtype=torch.long), self._embedding)
        cos, sin = self._angles(x)
        biases = len(layer.before) == 7
        seen = torch.zeros(layer.after[0].shape[1], dtype=x.dtype)
        self._before = _kernel(_before, (epsilon, biases), (x, cos, sin, *layer.before))
        rest = (cos, sin, *layer.before)
        self._between = _kernel(_between, (epsilon, biases), (x, seen, *layer.after, *rest))
        self._after = _kernel(_after, (epsilon,), (x, seen, *layer.after, *self._last))

    def _angles(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Cosines and sines (head size,) of the rotary embedding at the depth."""
        cos, sin = self._rotary(x, self._position)
        return cos.view(-1), sin.view(-1)

    def _attention(self, layer: _Layer, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        """What the queries (heads, head size) see, (heads x head size,), the new key and value among it.

        Queries that share keys go as rows of one query where that leaves a part for every thread.
        """
        layer.keys[0, :, self._depth] = k
        layer.values[0, :, self._depth] = v
        if self._heads_together:
            q = q.view(1, layer.keys.shape[1], -1, q.shape[-1])
            return functional.scaled_dot_product_attention(q, layer.keys, layer.values).reshape(-1)
        q = q[None, :, None]
        return functional.scaled_dot_product_attention(q, layer.keys, layer.values, enable_gqa=True).view(-1)


def _layer(part: Any, kept: Any) -> _Layer:
    attention, feed = part.self_attn, part.mlp
    projections = (attention.q_proj, attention.k_proj, attention.v_proj)
    before = [part.input_layernorm.weight, *(linear.weight for linear in projections)]
    before += [linear.bias for linear in projections if linear.bias is not None]
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
    epsilon: float,
    biases: bool,
    x: torch.Tensor,
    cos: torch.Tensor,
    sin: torch.Tensor,
    *weights: torch.Tensor,
) -> tuple[torch.Tensor, ...]:
    """Queries (heads, head size), keys and values (KV heads, head size) of the residual `x` (hidden,)."""
    norm, *projections = weights
    x = _normed(x, norm, epsilon)
    added = projections[3:] if biases else (None, None, None)
    q, k, v = (
        _product(x, weight, bias).view(-1, cos.shape[0])
        for weight, bias in zip(projections[:3], added, strict=True)
    )
    return _rotated(q, cos, sin), _rotated(k, cos, sin), v


def _residual(epsilon: float, x: torch.Tensor, seen: torch.Tensor, *weights: torch.Tensor) -> torch.Tensor:
    """The residual (hidden,) behind a layer from the one before it and what attention saw (heads x head size,)."""
    out, norm, gate, up, down = weights
    x = x + _product(seen, out, None)
    y = _normed(x, norm, epsilon)
    return x + _product(functional.silu(_product(y, gate, None)) * _product(y, up, None), down, None)


def _between(epsilon: float, biases: bool, x: torch.Tensor, seen: torch.Tensor, *rest: torch.Tensor) -> Any:
    """All between two attentions: the residual behind a layer, and what the next one attends with."""
    x = _residual(epsilon, x, seen, *rest[:5])
    return (x, *_before(epsilon, biases, x, *rest[5:]))


def _after(epsilon: float, x: torch.Tensor, seen: torch.Tensor, *rest: torch.Tensor) -> Any:
    """Logits (vocabulary,) from the last layer's residual and attention."""
    *layer, norm, head = rest
    return (_product(_normed(_residual(epsilon, x, seen, *layer), norm, epsilon), head, None),)


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


Kernel = Callable[..., Any]
_kernels: dict[Hashable, Kernel] = {}


def _kernel(
    function: Callable[..., Any], settings: tuple[float | bool, ...], tensors: tuple[torch.Tensor, ...]
) -> Kernel:
    """`function` of `settings` and of tensors like `tensors`, compiled; the kernel takes tensors alone.

    The compiler is called directly: `torch.compile` would check all tensors again in each of some thirty calls a step,
    which took 3 % of it.
    """
    key = (function, settings, tuple(t.shape for t in tensors), tensors[0].dtype)
    if key not in _kernels:
        from torch import _inductor

        _inductor.config.compile_threads = 1  # no helper processes beside a measurement
        with torch.inference_mode(False), torch.no_grad():
            graph = make_fx(functools.partial(function, *settings), tracing_mode="fake")(*tensors)
            _kernels[key] = _inductor.compile(graph, list(tensors))
    return _kernels[key]
