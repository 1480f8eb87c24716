"""What is timed: that prefill and decode compute what they should, at the depth they claim."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import DynamicCache, PreTrainedModel

from measure import caches, models, modes, phases, work
from measure.caches import KeptByUse, cache_bytes, forward
from measure.ceilings import Ceilings
from measure.graph import called_again
from measure.meter import Energy, NoMeter
from measure.phases import Bench, Measured
from measure.plan import Cell
from measure.sizes import Sizes

# torch's compiler imports parts of torch that torch itself has deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script_method`:DeprecationWarning")

CPU = torch.device("cpu")
KV_BYTES_PER_TOKEN = 2 * 2 * 2 * 16 * 4  # layers, keys and values, KV heads, head size, float32


@pytest.fixture(scope="module")
def sizes(tmp_path_factory: pytest.TempPathFactory) -> Sizes:
    from tests.measure.conftest import copy_contract

    site_data: Path = copy_contract(tmp_path_factory.mktemp("phases") / "site_data")
    return Sizes.load(site_data, "tiny")


@pytest.fixture(scope="module")
def model(sizes: Sizes) -> PreTrainedModel:
    built, _ = models.build(sizes, "random", dtype=torch.float32, device=CPU, seed=1)
    return built


def small_ceilings() -> Ceilings:
    return Ceilings(
        CPU,
        torch.float32,
        spare_bytes=10**9,
        synchronize=lambda: None,
        read_bytes=2**22,
        products=((64, 64, 64),),
    )


def make_bench(model: PreTrainedModel, sizes: Sizes, **options: Any) -> Bench:
    options.setdefault("ceilings", small_ceilings())
    return Bench(model, sizes, CPU, NoMeter("no meter here"), seed=7, spare_bytes=10**9, **options)


@pytest.fixture
def bench(model: PreTrainedModel, sizes: Sizes) -> Bench:
    return make_bench(model, sizes)


def cell(experiment: str, length: int, batch: int = 1, mode: str = "eager") -> Cell:
    prompt, context = (length, None) if experiment == "prefill" else (None, length)
    return Cell(experiment, batch, prompt, context, "float32", mode)


@pytest.mark.parametrize("mode", ["eager", "compiled"])
@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("length", [1, 37])
def test_prefill_fills_the_cache_once(bench: Bench, batch: int, length: int, mode: str) -> None:
    sample = bench.measure(cell("prefill", length, batch, mode), 2)
    assert sample.steps == 2
    assert sample.tokens == 2 * batch * length
    assert sample.duration_s and sample.duration_s > 0
    assert sample.tokens_held == length
    assert sample.kv_cache_bytes == batch * length * KV_BYTES_PER_TOKEN  # of the last prompt alone


@pytest.mark.parametrize("batch", [1, 3])
def test_decode_stays_at_its_depth(bench: Bench, batch: int) -> None:
    for _ in range(2):  # the second window must find the cache as the first did
        sample = bench.measure(cell("decode", 37, batch), 5)
        assert (sample.steps, sample.tokens, sample.tokens_held) == (5, 5 * batch, 37)
        assert sample.kv_cache_bytes == batch * 37 * KV_BYTES_PER_TOKEN


def test_a_static_cache_has_room_for_one_token_more(model: PreTrainedModel, sizes: Sizes) -> None:
    bench = make_bench(model, sizes, capture=called_again)
    for mode in ("compiled", "graph"):
        for _ in range(2):
            sample = bench.measure(cell("decode", 37, mode=mode), 5)
            assert (sample.tokens, sample.tokens_held) == (5, 37)
            assert sample.kv_cache_bytes == 38 * KV_BYTES_PER_TOKEN


def test_the_size_of_the_cache(bench: Bench) -> None:
    sample = bench.measure(cell("kv_cache", 50, 2), 1)
    assert sample.duration_s is None
    assert sample.tokens == 100
    assert sample.kv_cache_bytes == 100 * KV_BYTES_PER_TOKEN
    assert sample.work_bytes is None and sample.ceiling_bytes_per_s is None


def test_a_decode_step_predicts_what_the_whole_text_predicts(model: PreTrainedModel) -> None:
    """One step on a rewound cache gives the logits of a forward pass over all tokens at once."""
    text = torch.randint(0, 512, (1, 21))
    cache = DynamicCache(config=model.config)
    with torch.inference_mode():
        forward(model, text[:, :20], cache)
        decoder = modes.EagerDecoder(model, cache)
        decoder.logits(torch.tensor([[5]]))  # another token, taken back
        step = decoder.logits(text[:, 20:])
        whole = model(input_ids=text).logits[:, -1:]
    assert step.shape == (1, 1, 512)  # the last position alone
    torch.testing.assert_close(step, whole, rtol=1e-4, atol=1e-5)


def test_work_and_ceilings_stand_beside_a_probed_window(bench: Bench, sizes: Sizes) -> None:
    for experiment in ("prefill", "decode"):
        timed = cell(experiment, 20, 2)
        sample = bench.measure(timed, 3, probe=True)
        expected = work.work_of(sizes, timed, 3, 4)
        assert expected and (sample.work_bytes, sample.work_flop) == (expected.bytes, expected.flop)
        assert sample.ceiling_bytes_per_s and sample.ceiling_bytes_per_s > 0
        assert sample.ceiling_flop_per_s and sample.ceiling_flop_per_s > 0
        assert bench.measure(timed, 1).ceiling_bytes_per_s is None  # only where it was asked for


def test_probes_are_outside_the_window(model: PreTrainedModel, sizes: Sizes) -> None:
    calls: list[str] = []

    class Watched(Ceilings):
        def probe(self) -> Any:
            calls.append("probe")
            return super().probe()

    ceilings = Watched(
        CPU,
        torch.float32,
        spare_bytes=10**9,
        synchronize=lambda: None,
        read_bytes=2**22,
        products=((8, 8, 8),),
    )
    bench = Bench(model, sizes, CPU, Metered(calls), seed=7, spare_bytes=10**9, ceilings=ceilings)
    bench.measure(cell("prefill", 8), 2, probe=True)
    assert calls == ["probe", "begin", "end", "probe"]


def test_ceilings_are_cells_of_their_own(bench: Bench) -> None:
    read = bench.measure(Cell("ceilings", 1, None, None, "float32", "read"), 3, probe=True)
    assert (read.tokens, read.steps, read.work_bytes, read.work_flop) == (0, 3, 3 * 2**22, None)
    assert read.duration_s and read.kv_cache_bytes is None and read.ceiling_bytes_per_s is None
    gemm = bench.measure(Cell("ceilings", 1, None, None, "float32", "gemm"), 3)
    assert (gemm.tokens, gemm.work_bytes, gemm.work_flop) == (0, None, 3 * 2 * 64**3)


def test_prompts_differ_and_repeat_with_the_seed(model: PreTrainedModel, sizes: Sizes) -> None:
    def prompts() -> list[torch.Tensor]:
        fresh = make_bench(model, sizes)
        return [fresh._random_tokens(1, 64) for _ in range(3)]

    first, again = prompts(), prompts()
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    assert not torch.equal(first[0], first[1])


class Metered:
    """A meter that notes when it is opened and closed."""

    def __init__(self, calls: list[str]) -> None:
        self._calls = calls

    def describe(self) -> dict[str, object]:
        return {}

    def begin(self) -> None:
        self._calls.append("begin")

    def end(self) -> Energy:
        self._calls.append("end")
        return Energy(2.5, 0.1, None)


def test_energy_belongs_to_the_window(
    model: PreTrainedModel, sizes: Sizes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The meter opens before the work and closes after it, once for each window."""
    calls: list[str] = []

    def watched(model: PreTrainedModel, tokens: torch.Tensor, cache: DynamicCache) -> torch.Tensor:
        calls.append(f"forward {tokens.shape[1]}")
        return forward(model, tokens, cache)

    for module in (caches, modes, phases):
        monkeypatch.setattr(module, "forward", watched)
    bench = Bench(model, sizes, CPU, Metered(calls), seed=7, spare_bytes=10**9)
    sample = bench.measure(cell("decode", 30), 2)
    assert calls == ["forward 30", "begin", "forward 1", "forward 1", "end"]  # filling is not in the window
    assert sample.energy.joules == 2.5
    calls.clear()
    bench.measure(cell("prefill", 30), 2)
    assert calls == ["begin", "forward 30", "forward 30", "end"]


def test_without_a_meter_the_reason_is_kept(bench: Bench) -> None:
    sample: Measured = bench.measure(cell("prefill", 4), 1)
    assert sample.energy == Energy(None, None, {"kind": "unavailable", "reason": "no meter here"})


def test_a_fill_in_chunks_gives_the_same_cache(model: PreTrainedModel) -> None:
    tokens = torch.randint(0, 512, (3, 50))
    with torch.inference_mode():
        whole, chunked = (
            caches.fill(model, tokens),
            caches.fill(model, tokens, chunk_tokens=24),
        )  # 8 a sequence
    assert chunked.get_seq_length() == 50
    for a, b in zip(whole.layers, chunked.layers, strict=True):
        torch.testing.assert_close(a.keys, b.keys, rtol=1e-4, atol=1e-5)  # type: ignore[union-attr]
        torch.testing.assert_close(a.values, b.values, rtol=1e-4, atol=1e-5)  # type: ignore[union-attr]


@pytest.mark.parametrize("error_share", [0.0, 0.5])
def test_on_a_gpu_the_allocator_must_agree_on_the_size(
    model: PreTrainedModel, sizes: Sizes, monkeypatch: pytest.MonkeyPatch, error_share: float
) -> None:
    """The allocator is played: it gives what the tensors hold, or half as much again."""
    held = 9000 * KV_BYTES_PER_TOKEN
    counts = iter([10**6, 10**6 + int(held * (1 + error_share))])
    monkeypatch.setattr(Bench, "_allocated_bytes", lambda self: next(counts))
    bench = make_bench(model, sizes)
    if error_share:
        with (
            torch.inference_mode(),
            pytest.raises(RuntimeError, match=r"have 4,608,000 bytes, the allocator gave"),
        ):
            bench._weighed(cell("kv_cache", 9000))
    else:
        with torch.inference_mode():
            assert cache_bytes(bench._weighed(cell("kv_cache", 9000))) == held


def test_release_gives_caches_and_decoders_back(model: PreTrainedModel, sizes: Sizes) -> None:
    bench = make_bench(model, sizes, capture=called_again)
    bench.measure(cell("decode", 12, mode="graph"), 1, probe=True)
    assert bench._caches.get((1, 12)) is not None
    bench.release()
    assert bench._caches.get((1, 12)) is None and bench._decoders.get(("graph", 1, 12)) is None
    assert bench._ceilings._kernels is None
    assert bench.measure(cell("decode", 12, mode="graph"), 1).tokens_held == 12  # and goes on


def test_filled_caches_drop_the_one_used_longest_ago(model: PreTrainedModel) -> None:
    def cache(tokens: int) -> DynamicCache:
        with torch.inference_mode():
            return caches.fill(model, torch.zeros((1, tokens), dtype=torch.long))

    kept = KeptByUse(cache_bytes(cache(20)), cache_bytes)
    kept.offer((1, 8), cache(8))
    kept.offer((1, 9), cache(9))
    assert kept.get((1, 8)) is not None  # used now, so that (1, 9) is the oldest
    kept.offer((1, 10), cache(10))
    assert kept.get((1, 9)) is None
    assert kept.get((1, 8)) is not None and kept.get((1, 10)) is not None
    kept.offer((1, 2000), cache(2000))
    assert kept.get((1, 2000)) is not None  # larger than the limit, yet needed now
    assert kept.get((1, 8)) is None
