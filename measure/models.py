"""A runnable model from its published sizes: random weights, or a checkpoint. Takes no timings.

Weights are never zeros: a multiplier that sees zeros draws less power, and a GPU then clocks higher.
"""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers import AutoModelForCausalLM, PreTrainedConfig, PreTrainedModel

from measure.errors import MeasureError, UsageError, first_line
from measure.sizes import Sizes

SPREAD = 0.02
"""Standard deviation of random weights: the initializer range of the Qwen2 and Llama configurations."""


@dataclass(frozen=True)
class Weights:
    """What the weights of a run are; becomes `model.weights` in run.json."""

    kind: str
    label: str
    seed: int | None = None
    file: str | None = None
    sha256: str | None = None
    repository: str | None = None
    revision: str | None = None

    def as_json(self) -> dict[str, Any]:
        """The object of schema.json."""
        return asdict(self)


def config_of(sizes: Sizes) -> PreTrainedConfig:
    """The transformers configuration with these sizes."""
    shared: dict[str, Any] = {
        "num_hidden_layers": sizes.layers,
        "hidden_size": sizes.hidden_size,
        "intermediate_size": sizes.intermediate_size,
        "num_attention_heads": sizes.attention_heads,
        "num_key_value_heads": sizes.kv_heads,
        "head_dim": sizes.head_size,
        "vocab_size": sizes.vocab_rows,
        "tie_word_embeddings": sizes.tied_embeddings,
        "rope_theta": sizes.rope_theta,
        "rms_norm_eps": sizes.rms_norm_eps,
        "max_position_embeddings": sizes.max_positions,
    }
    if sizes.architecture == "qwen2":
        return transformers.Qwen2Config(**shared)
    return transformers.LlamaConfig(**shared, attention_bias=sizes.qkv_bias)


def parameters(model: PreTrainedModel) -> int:
    """Weights of the model, a shared tensor counted once."""
    return sum(p.numel() for p in model.parameters())


def weights_bytes(model: PreTrainedModel) -> int:
    """Bytes of the weights' own tensors, a shared one counted once."""
    return sum(p.numel() * p.element_size() for p in model.parameters())


def skeleton(sizes: Sizes, dtype: torch.dtype) -> PreTrainedModel:
    """The model on torch's meta device: every shape, no memory."""
    with torch.device("meta"):
        model: PreTrainedModel = AutoModelForCausalLM.from_config(config_of(sizes), dtype=dtype)
    return model


def build(
    sizes: Sizes, weights: str, *, dtype: torch.dtype, device: torch.device, seed: int
) -> tuple[PreTrainedModel, Weights]:
    """The model on `device`, and what its weights are.

    `weights` is `random`, `hub`, or a path to a .gguf file, to a folder with one, or to a folder that
    transformers can load. Raises MeasureError when the checkpoint is of other sizes than the model's.
    """
    if weights == "random":
        return _random(sizes, dtype, device, seed)
    if weights == "hub":
        return _from_hub(sizes, dtype, device)
    return _from_path(sizes, Path(weights), dtype, device)


def check_fits(sizes: Sizes, *, dtype: torch.dtype, available_bytes: int, where: str) -> None:
    """Raise MeasureError when the weights alone need more than `available_bytes`."""
    needed = weights_bytes(skeleton(sizes, dtype))
    if needed > available_bytes:
        raise MeasureError(
            f"{sizes.title} does not fit: its weights need {needed / 1e9:.1f} GB in "
            f"{str(dtype).removeprefix('torch.')}, {where} has {available_bytes / 1e9:.1f} GB free. "
            "Choose a smaller one with --model, or another --device"
        )


def _random(
    sizes: Sizes, dtype: torch.dtype, device: torch.device, seed: int
) -> tuple[PreTrainedModel, Weights]:
    model = skeleton(sizes, dtype).to_empty(device=device)
    model.tie_weights()  # moving off the meta device gives a shared tensor two copies
    with torch.device(device):  # and leaves the rotary frequencies, which are no weights, unset
        model.model.rotary_emb = type(model.model.rotary_emb)(model.config)
    _fill(model, seed)
    label = f"random weights (seed {seed}), the real shapes"
    return model.eval(), Weights("random", label, seed=seed)


def _fill(model: PreTrainedModel, seed: int) -> None:
    """Normal values, each tensor from its own seed so that filling in parallel gives the same model."""

    def fill(item: tuple[int, tuple[str, torch.nn.Parameter]]) -> None:
        index, (name, tensor) = item
        generator = torch.Generator(tensor.device).manual_seed(seed * 1_000_003 + index)
        scale = "norm" in name.rsplit(".", 2)[-2]
        with torch.no_grad():
            tensor.normal_(1.0 if scale else 0.0, SPREAD, generator=generator)

    with ThreadPoolExecutor(max_workers=torch.get_num_threads()) as pool:
        list(pool.map(fill, enumerate(model.named_parameters())))


def _from_hub(sizes: Sizes, dtype: torch.dtype, device: torch.device) -> tuple[PreTrainedModel, Weights]:
    if sizes.hub is None:
        raise UsageError(f"--weights hub: {sizes.title} names no checkpoint; use random or a path")
    repository, revision = sizes.hub["repository"], sizes.hub["revision"]
    try:
        model = AutoModelForCausalLM.from_pretrained(repository, revision=revision, dtype=dtype)
    except OSError as error:
        raise MeasureError(
            f"--weights hub: {repository} could not be loaded ({first_line(error)}). "
            "Without a network, give the checkpoint's folder: --weights PATH"
        ) from error
    _check_sizes(model, sizes, repository)
    found = getattr(model.config, "_commit_hash", None) or revision
    label = f"real weights ({repository})"
    model.to(device)  # type: ignore[arg-type]  # the stub of `to` takes the device for the model
    return model.eval(), Weights("hub", label, repository=repository, revision=found)


def _from_path(
    sizes: Sizes, path: Path, dtype: torch.dtype, device: torch.device
) -> tuple[PreTrainedModel, Weights]:
    folder, file = _find_checkpoint(path)
    gguf = {"gguf_file": file} if file.endswith(".gguf") else {}
    try:
        model = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, local_files_only=True, **gguf)
    except (OSError, ValueError, ImportError) as error:
        raise MeasureError(
            f"--weights {folder / file}: transformers could not load it ({first_line(error)})"
        ) from error
    _check_sizes(model, sizes, file)
    package, version = _carrier(folder)
    label = f"real weights ({file}" + (f", read into {str(dtype).removeprefix('torch.')})" if gguf else ")")
    model.to(device)  # type: ignore[arg-type]  # the stub of `to` takes the device for the model
    return model.eval(), Weights(
        "file", label, file=file, sha256=_sha256(folder / file), repository=package, revision=version
    )


def _find_checkpoint(path: Path) -> tuple[Path, str]:
    """(folder, file name) of the checkpoint that `path` means."""
    if path.is_file():
        return path.parent, path.name
    candidates = sorted([*path.glob("*.gguf"), *path.glob("*.safetensors")]) if path.is_dir() else []
    ggufs = [c for c in candidates if c.suffix == ".gguf"]
    if len(ggufs) > 1:
        names = ", ".join(c.name for c in ggufs)
        raise UsageError(f"--weights {path}: expected one .gguf file, found {names}; name one of them")
    if not candidates:
        raise UsageError(
            f"--weights {path}: expected random, hub, a .gguf file or a folder with a checkpoint; "
            + ("found no *.gguf or *.safetensors in that folder" if path.is_dir() else "found nothing there")
        )
    return path, (ggufs or candidates)[0].name


def _check_sizes(model: PreTrainedModel, sizes: Sizes, source: str) -> None:
    expected = parameters(skeleton(sizes, torch.float32))
    found = parameters(model)
    if found != expected:
        raise MeasureError(
            f"--weights: {source} holds {found:,} parameters, {sizes.title} has {expected:,}; "
            "give the --model that these weights belong to"
        )


def _carrier(folder: Path) -> tuple[str | None, str | None]:
    """(name, version) of the installed package that carries `folder`; (None, None) where none does."""
    for package in metadata.packages_distributions().get(folder.name, ()):
        distribution = metadata.distribution(package)
        if Path(str(distribution.locate_file(folder.name))).resolve() == folder.resolve():
            return package, distribution.version
    return None, None


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
