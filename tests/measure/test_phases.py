"""What is timed: that prefill and decode compute what they should, at the depth they claim."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from transformers import DynamicCache, PreTrainedModel

from measure import models, phases
from measure.meter import Energy, NoMeter
from measure.phases import Bench, FilledCaches, Measured, cache_bytes
from measure.plan import Cell
from measure.sizes import Sizes

CPU = torch.device("cpu")
KV_BYTES_PER_TOKEN = 2 * 2 * 2 * 16 * 4  # layers, keys and values, KV heads, head size, float32


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> PreTrainedModel:
    from tests.measure.conftest import copy_contract

    site_data: Path = copy_contract(tmp_path_factory.mktemp("phases") / "site_data")
    built, _ = models.build(Sizes.load(site_data, "tiny"), "random", dtype=torch.float32, device=CPU, seed=1)
    return built


@pytest.fixture
def bench(model: PreTrainedModel) -> Bench:
    return Bench(model, CPU, NoMeter("no meter here"), seed=7, spare_bytes=10**9)


def cell(experiment: str, length: int, batch: int = 1) -> Cell:
    prompt, context = (length, None) if experiment == "prefill" else (None, length)
    return Cell(experiment, batch, prompt, context, "float32")


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("length", [1, 37])
def test_prefill_fills_the_cache_once(bench: Bench, batch: int, length: int) -> None:
    sample = bench.measure(cell("prefill", length, batch), 2)
    assert sample.steps == 2
    assert sample.tokens == 2 * batch * length
    assert sample.duration_s and sample.duration_s > 0
    assert sample.kv_cache_bytes == batch * length * KV_BYTES_PER_TOKEN  # of the last prompt alone


@pytest.mark.parametrize("batch", [1, 3])
def test_decode_stays_at_its_depth(bench: Bench, batch: int) -> None:
    for _ in range(2):  # the second window must find the cache as the first did
        sample = bench.measure(cell("decode", 37, batch), 5)
        assert (sample.steps, sample.tokens) == (5, 5 * batch)
        assert sample.kv_cache_bytes == batch * 37 * KV_BYTES_PER_TOKEN


def test_the_size_of_the_cache(bench: Bench) -> None:
    sample = bench.measure(cell("kv_cache", 50, 2), 1)
    assert sample.duration_s is None
    assert sample.tokens == 100
    assert sample.kv_cache_bytes == 100 * KV_BYTES_PER_TOKEN


def test_a_decode_step_predicts_what_the_whole_text_predicts(bench: Bench, model: PreTrainedModel) -> None:
    """One step on a rewound cache gives the logits of a forward pass over all tokens at once."""
    text = torch.randint(0, 512, (1, 21))
    cache = DynamicCache(config=model.config)
    with torch.inference_mode():
        bench._forward(text[:, :20], cache)
        bench._forward(torch.tensor([[5]]), cache)  # another token, taken back
        cache.crop(-1)
        step = bench._forward(text[:, 20:], cache)
        whole = model(input_ids=text).logits[:, -1:]
    assert step.shape == (1, 1, 512)  # the last position alone
    torch.testing.assert_close(step, whole, rtol=1e-4, atol=1e-5)


def test_prompts_differ_and_repeat_with_the_seed(model: PreTrainedModel) -> None:
    def prompts() -> list[torch.Tensor]:
        fresh = Bench(model, CPU, NoMeter(""), seed=7, spare_bytes=10**9)
        return [fresh._random_tokens(1, 64) for _ in range(3)]

    first, again = prompts(), prompts()
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    assert not torch.equal(first[0], first[1])


def test_energy_belongs_to_the_window(model: PreTrainedModel) -> None:
    """The meter opens before the work and closes after it, once for each window."""
    calls: list[str] = []

    class Meter:
        def describe(self) -> dict[str, object]:
            return {}

        def begin(self) -> None:
            calls.append("begin")

        def end(self) -> Energy:
            calls.append("end")
            return Energy(2.5, 0.1, None)

    class Watched(Bench):
        def _forward(self, tokens: torch.Tensor, cache: DynamicCache) -> torch.Tensor:
            calls.append(f"forward {tokens.shape[1]}")
            return super()._forward(tokens, cache)

    bench = Watched(model, CPU, Meter(), seed=7, spare_bytes=10**9)
    sample = bench.measure(cell("decode", 30), 2)
    assert calls == ["forward 30", "begin", "forward 1", "forward 1", "end"]  # filling is not in the window
    assert sample.energy.joules == 2.5
    calls.clear()
    bench.measure(cell("prefill", 30), 2)
    assert calls == ["begin", "forward 30", "forward 30", "end"]


def test_without_a_meter_the_reason_is_kept(bench: Bench) -> None:
    sample: Measured = bench.measure(cell("prefill", 4), 1)
    assert sample.energy == Energy(None, None, {"kind": "unavailable", "reason": "no meter here"})


def test_filled_caches_drop_the_one_used_longest_ago(model: PreTrainedModel) -> None:
    def cache(tokens: int) -> DynamicCache:
        filled = DynamicCache(config=model.config)
        argument = {phases.cache_argument(model): filled}
        with torch.inference_mode():
            model(input_ids=torch.zeros((1, tokens), dtype=torch.long), use_cache=True, **argument)
        return filled

    kept = FilledCaches(cache_bytes(cache(20)))
    kept.offer((1, 8), cache(8))
    kept.offer((1, 9), cache(9))
    assert kept.get((1, 8)) is not None  # used now, so that (1, 9) is the oldest
    kept.offer((1, 10), cache(10))
    assert kept.get((1, 9)) is None
    assert kept.get((1, 8)) is not None and kept.get((1, 10)) is not None
    kept.offer((1, 2000), cache(2000))
    assert kept.get((1, 2000)) is not None  # larger than the limit, yet needed now
    assert kept.get((1, 8)) is None
