"""Bytes and floating-point operations of a cell: arithmetic on a model's sizes. Times nothing, imports no torch.

They are the least that a forward pass must do, so that work divided by time is a rate that no machine can
exceed: every weight is read once however many sequences share it, and what fits in a processor's cache
(activations, new keys and values, norms' scratch) counts as free. Left out because it is less than a thousandth:
rotary embeddings, norms, softmax and the activation's own arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass

from measure.plan import Cell
from measure.sizes import Sizes


@dataclass(frozen=True)
class Work:
    """What a window must read, bytes, and compute, floating-point operations (a multiply-add is two)."""

    bytes: int
    flop: int


def layer_matrix_elements(sizes: Sizes) -> int:
    """Elements of the matrices of one decoder layer: q, k, v, o, gate, up and down."""
    query = sizes.attention_heads * sizes.head_size
    key_value = sizes.kv_heads * sizes.head_size
    attention = sizes.hidden_size * (query + 2 * key_value) + query * sizes.hidden_size
    return attention + 3 * sizes.hidden_size * sizes.intermediate_size


def head_elements(sizes: Sizes) -> int:
    """Elements of the output head, a matrix of the whole vocabulary; the same tensor as the table where tied."""
    return sizes.vocab_rows * sizes.hidden_size


def vector_elements(sizes: Sizes) -> int:
    """Elements that are no matrices: two norms a layer, the last norm, and the biases."""
    biases = (sizes.attention_heads + 2 * sizes.kv_heads) * sizes.head_size if sizes.qkv_bias else 0
    return sizes.layers * (2 * sizes.hidden_size + biases) + sizes.hidden_size


def parameters(sizes: Sizes) -> int:
    """Parameters of the whole model, a tied head counted once."""
    tables = 1 if sizes.tied_embeddings else 2
    return (
        sizes.layers * layer_matrix_elements(sizes) + vector_elements(sizes) + tables * head_elements(sizes)
    )


def weights_read(sizes: Sizes, tokens: int) -> int:
    """Weight elements that a forward pass over `tokens` tokens reads.

    Every matrix once, the output head among them whether tied or not. The embedding table is not read
    but looked up: one row a token, and no more rows than it has.
    """
    rows = min(tokens, sizes.vocab_rows) * sizes.hidden_size
    return sizes.layers * layer_matrix_elements(sizes) + vector_elements(sizes) + head_elements(sizes) + rows


def cache_elements(sizes: Sizes) -> int:
    """Elements of the keys and values of one token in all layers."""
    return 2 * sizes.layers * sizes.kv_heads * sizes.head_size


def forward_flop(sizes: Sizes, *, batch: int, new_tokens: int, context_tokens: int) -> int:
    """Operations of one forward pass that keeps the logits of the last position only.

    Each of `batch` sequences appends `new_tokens` to a cache of `context_tokens`. Query i (from 1) looks
    at `context_tokens` + i positions: once to score them, once to weigh the values. Query heads count, not KV heads:
    grouped-query attention saves bytes, no arithmetic.
    """
    matrices = 2 * batch * new_tokens * sizes.layers * layer_matrix_elements(sizes)
    seen = new_tokens * context_tokens + new_tokens * (new_tokens + 1) // 2  # causal
    attention = 2 * 2 * batch * seen * sizes.layers * sizes.attention_heads * sizes.head_size
    return matrices + attention + 2 * batch * head_elements(sizes)


def work_of(sizes: Sizes, cell: Cell, steps: int, bytes_per_element: int) -> Work | None:
    """Work of `steps` forward passes of `cell`; None for a cell that runs none."""
    if cell.experiment == "prefill":
        elements = weights_read(sizes, cell.batch * cell.length)  # the cache begins empty
        flop = forward_flop(sizes, batch=cell.batch, new_tokens=cell.length, context_tokens=0)
    elif cell.experiment == "decode":
        elements = weights_read(sizes, cell.batch) + cell.batch * cell.length * cache_elements(sizes)
        flop = forward_flop(sizes, batch=cell.batch, new_tokens=1, context_tokens=cell.length)
    else:
        return None
    return Work(steps * elements * bytes_per_element, steps * flop)
