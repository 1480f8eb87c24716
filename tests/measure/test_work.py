"""Bytes and operations of a cell: against transformers' own counts, and against a hand count."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode
from transformers import DynamicCache

from measure import models, work
from measure.caches import forward
from measure.plan import Cell
from measure.sizes import Sizes, known_models


def cell(experiment: str, length: int, batch: int = 1) -> Cell:
    prompt, context = (length, None) if experiment == "prefill" else (None, length)
    return Cell(experiment, batch, prompt, context, "bfloat16")


def test_parameters_are_those_of_transformers(site_data: Path) -> None:
    for name in known_models(site_data):
        sizes = Sizes.load(site_data, name)
        counted = models.parameters(models.skeleton(sizes, torch.float32))
        assert work.parameters(sizes) == counted, name


def test_matrices_are_those_of_transformers(site_data: Path) -> None:
    """Every two-dimensional parameter but the embedding table is read in full."""
    for name in known_models(site_data):
        sizes = Sizes.load(site_data, name)
        model = models.skeleton(sizes, torch.float32)
        matrices = sum(p.numel() for n, p in model.named_parameters() if p.ndim == 2 and "embed" not in n)
        head = model.get_output_embeddings().weight.numel() if sizes.tied_embeddings else 0
        vectors = sum(p.numel() for p in model.parameters() if p.ndim == 1)
        expected = matrices + head + vectors + 3 * sizes.hidden_size
        assert work.weights_read(sizes, tokens=3) == expected, name


def test_a_hand_count_of_qwen(site_data: Path) -> None:
    """Qwen2.5-1.5B, decode at depth 500 in 16 bits, counted by hand from its published sizes."""
    sizes = Sizes.load(site_data, "qwen2.5-1.5b")
    layer = 1536 * 1536 + 2 * 1536 * 256 + 1536 * 1536 + 3 * 1536 * 8960
    head = 151_936 * 1536
    vectors = 28 * (2 * 1536 + 1536 + 256 + 256) + 1536
    assert (
        28 * layer + head + vectors == 1_543_714_304
    )  # the published count: the tied head stands for the table
    done = work.work_of(sizes, cell("decode", 500), 1, 2)
    assert done
    assert (
        done.bytes == 2 * (1_543_714_304 + 1536) + 500 * 28_672
    )  # one looked-up row; 28,672 bytes of cache a token
    assert done.flop == 2 * (28 * layer + head) + 4 * 28 * 12 * 128 * 501


def test_operations_are_those_that_torch_counts(site_data: Path) -> None:
    """torch's own counter, on the meta device; it takes no notice of the causal half of attention.

    Some versions of transformers multiply matrices for the rotary angles, less than a ten-thousandth.
    """
    for name in ("tiny", "smollm2-135m"):
        sizes = Sizes.load(site_data, name)
        model = models.skeleton(sizes, torch.float32)
        cache = DynamicCache(config=model.config)
        head_width = sizes.attention_heads * sizes.head_size
        for context, new in ((0, 48), (48, 1)):
            with FlopCounterMode(display=False) as counter:
                forward(model, torch.zeros((2, new), dtype=torch.long, device="meta"), cache)
            flop = work.forward_flop(sizes, batch=2, new_tokens=new, context_tokens=context)
            unseen = new * (new - 1) // 2  # what a causal mask hides, counted by torch and not by us
            hidden = 4 * 2 * unseen * sizes.layers * head_width
            assert counter.get_total_flops() == pytest.approx(flop + hidden, rel=1e-4), (name, context, new)


def test_a_step_reads_the_weights_once_and_each_cache(site_data: Path) -> None:
    sizes = Sizes.load(site_data, "qwen2.5-1.5b")
    one, many = (work.work_of(sizes, cell("decode", 1000, batch), 1, 2) for batch in (1, 32))
    assert one and many
    assert many.bytes - one.bytes == 31 * (1000 * 28_672 + 2 * 1536)
    assert many.flop == 32 * one.flop
    eight = work.work_of(sizes, cell("decode", 1000), 8, 2)
    assert eight and (eight.bytes, eight.flop) == (8 * one.bytes, 8 * one.flop)


def test_a_prefill_reads_the_weights_once(site_data: Path) -> None:
    sizes = Sizes.load(site_data, "qwen2.5-1.5b")
    short, long = (work.work_of(sizes, cell("prefill", tokens), 1, 2) for tokens in (1, 500))
    assert short and long
    assert long.bytes - short.bytes == 2 * 499 * 1536  # looked-up rows alone
    assert (
        499 < (long.flop - 2 * work.head_elements(sizes)) / (short.flop - 2 * work.head_elements(sizes)) < 520
    )


@pytest.mark.parametrize("experiment", ["kv_cache", "ceilings", "idle"])
def test_no_pass_no_work(site_data: Path, experiment: str) -> None:
    sizes = Sizes.load(site_data, "tiny")
    assert work.work_of(sizes, Cell(experiment, 1, None, 10, "float32"), 3, 4) is None
