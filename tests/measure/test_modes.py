"""The faster modes of decode: that they compute what plain transformers computes, at the depth they claim."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from transformers import DynamicCache, PreTrainedModel

from measure import compiled, models, modes
from measure.caches import fill, forward
from measure.graph import GraphDecoder, called_again
from measure.modes import EagerDecoder, ModeUnavailable
from measure.onednn import OneDnnLinear
from measure.phases import Bench
from measure.sizes import Sizes
from tests.measure.test_phases import make_bench

# torch's compiler imports parts of torch that torch itself has deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script_method`:DeprecationWarning")

CPU = torch.device("cpu")
SHAPES = ("qwen2", "llama")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Sizes:
    from tests.measure.conftest import copy_contract

    site_data: Path = copy_contract(tmp_path_factory.mktemp("modes") / "site_data")
    return Sizes.load(site_data, "tiny")


@pytest.fixture(scope="module", params=SHAPES)
def model(tiny: Sizes, request: pytest.FixtureRequest) -> PreTrainedModel:
    """Both architectures; the second with an untied head and odd sizes."""
    sizes = tiny
    if request.param == "llama":
        sizes = replace(
            tiny,
            architecture="llama",
            tied_embeddings=False,
            qkv_bias=False,
            vocab_rows=509,
            intermediate_size=130,
            kv_heads=4,
        )
    built, _ = models.build(sizes, "random", dtype=torch.float32, device=CPU, seed=1)
    for parameter in built.parameters():  # so that attention shows in the logits
        if parameter.ndim == 2:
            parameter.data.mul_(5)
    return built


@pytest.mark.parametrize("mode", ["compiled", "graph"])
def test_logits_and_tokens_are_those_of_eager(model: PreTrainedModel, mode: str) -> None:
    with torch.inference_mode():
        cache = fill(model, torch.randint(0, 500, (1, 33)))
        eager = EagerDecoder(model, cache)
        decoder = modes.open_decoder(mode, model, cache, capture=called_again)
        first = torch.tensor([[7]])
        for token in (first, torch.tensor([[123]]), first):  # and the first again: nothing stays behind
            torch.testing.assert_close(decoder.logits(token), eager.logits(token), rtol=1e-4, atol=1e-4)
        for steps in (1, 2, 5):
            assert torch.equal(decoder.run(first, steps), eager.run(first, steps))
        assert decoder.held() == eager.held() == cache.get_seq_length() == 33


@pytest.mark.parametrize("batch", [1, 3])
def test_prompts_through_onednn_give_the_same_logits(model: PreTrainedModel, batch: int) -> None:
    prompts = torch.randint(0, 500, (batch, 33))
    with torch.inference_mode():
        other = modes.open_prompt_model("compiled", model)
        found = forward(other, prompts, DynamicCache(config=model.config))
        torch.testing.assert_close(
            found, forward(model, prompts, DynamicCache(config=model.config)), rtol=1e-4, atol=1e-4
        )
    ours, theirs = (dict(m.named_parameters()) for m in (other, model))
    assert all(ours[name] is theirs[name] for name in theirs)  # no second copy of the weights
    replaced = [m for m in other.modules() if isinstance(m, OneDnnLinear)]
    assert len(replaced) == 2 * 7 and not any(isinstance(m, OneDnnLinear) for m in model.modules())
    with pytest.raises(ModeUnavailable, match="no mode 'graph' of prefill"):
        modes.open_prompt_model("graph", model)


def test_a_graph_decodes_many_sequences(model: PreTrainedModel) -> None:
    with torch.inference_mode():
        cache = fill(model, torch.randint(0, 500, (3, 12)))
        decoder, eager = GraphDecoder(model, cache, called_again), EagerDecoder(model, cache)
        tokens = torch.randint(0, 500, (3, 1))
        torch.testing.assert_close(decoder.logits(tokens), eager.logits(tokens), rtol=1e-4, atol=1e-4)
        assert torch.equal(decoder.run(tokens, 4), eager.run(tokens, 4))


def test_a_captured_step_works_on_fixed_tensors(model: PreTrainedModel) -> None:
    """A CUDA graph replays addresses: after any number of steps all tensors must be where they were."""
    with torch.inference_mode():
        cache = fill(model, torch.randint(0, 500, (1, 12)))
        decoder = GraphDecoder(model, cache, called_again)

        def addresses() -> list[int]:
            layers = [
                getattr(x, n) for x in decoder._cache.layers for n in ("keys", "values", "cumulative_length")
            ]
            return [t.data_ptr() for t in [*layers, decoder._token, decoder._logits]]

        before = addresses()
        decoder.run(torch.tensor([[3]]), 3)
        assert addresses() == before
        assert decoder._cache.layers[0].keys.shape[2] == 13  # type: ignore[union-attr]


def test_attention_of_a_graph_sees_no_mask_and_the_model_is_left_as_it_was(
    model: PreTrainedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    masks: list[object] = []
    plain = torch.nn.functional.scaled_dot_product_attention

    def watched(*tensors: torch.Tensor, **options: object) -> torch.Tensor:
        masks.append(options.get("attn_mask"))
        return plain(*tensors, **options)  # type: ignore[arg-type]

    with torch.inference_mode():
        cache = fill(model, torch.randint(0, 500, (1, 12)))
        monkeypatch.setattr(torch.nn.functional, "scaled_dot_product_attention", watched)
        GraphDecoder(model, cache, called_again)
    assert len(masks) == 2 and masks == [None, None]  # one a layer
    assert model.config._attn_implementation == "sdpa"


def test_the_check_passes_and_can_fail(
    model: PreTrainedModel, tiny: Sizes, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = replace(tiny, vocab_rows=model.config.vocab_size)
    bench: Bench = make_bench(model, sizes, capture=called_again)
    for mode in ("compiled", "graph"):
        check = bench.check_mode(mode, 20)
        assert check.passed and check.max_difference is not None and check.max_difference < 1e-5
        assert (check.mode, check.context_tokens, check.tolerance) == (mode, 20, 1e-4)
    for wrong in ("one token of the cache is missing", "not a number"):
        bench.release()
        with monkeypatch.context() as patch:
            spoil(patch, wrong)
            check = bench.check_mode("compiled", 20)
        assert not check.passed
        assert (check.max_difference is None) == (wrong == "not a number")


def spoil(patch: pytest.MonkeyPatch, how: str) -> None:
    def with_room(kept: torch.Tensor) -> torch.Tensor:
        room = torch.cat([kept, kept[:, :, :1]], dim=2)
        room[:, :, 3] = float("nan") if how == "not a number" else 0
        return room

    patch.setattr(compiled, "_with_room", with_room)


def test_modes_that_cannot_run_say_why(model: PreTrainedModel) -> None:
    with torch.inference_mode():
        one, three = (fill(model, torch.zeros((batch, 5), dtype=torch.long)) for batch in (1, 3))
    with pytest.raises(ModeUnavailable, match="batch 1"):
        modes.open_decoder("compiled", model, three)
    with pytest.raises(ModeUnavailable, match="CUDA graphs need a GPU"):
        modes.open_decoder("graph", model, one)
    with pytest.raises(ModeUnavailable, match="no mode 'fast' of decode"):
        modes.open_decoder("fast", model, one)
    from torch._inductor import config

    with (
        config.patch({"cpp.cxx": ("no-such-compiler",)}),
        pytest.raises(ModeUnavailable, match=r"found no C\+\+ compiler"),
    ):
        modes.open_decoder("compiled", model, one)
