"""What surrounds a report of optimum-benchmark: its configuration, and what was said at import where that is silent.

Fields after optimum-benchmark 0.6.0: benchmark/config.py, backends/config.py, scenarios/inference/config.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from measure.errors import MeasureError
from measure.foreign_fields import Fields
from measure.sizes import ELEMENT_BYTES

PROGRAM = "optimum-benchmark"
VERSION = "0.6.0"
"""The version whose files are known. A report does not state its version; a benchmark.json does."""

UPDATE = f"The fields are those of {PROGRAM} {VERSION}; a file of another version is not guessed at"

CONFIG = ("name", "backend", "scenario", "launcher", "environment", "print_report", "log_report")


@dataclass(frozen=True)
class Said:
    """What the importing person says where the file does not; None: not said."""

    dtype: str | None = None
    prompt_tokens: int | None = None
    date: str | None = None


@dataclass(frozen=True)
class Facts:
    """What surrounds the report."""

    dtype: str
    prompt_tokens: int
    date: str
    version: str | None
    cpu: str
    gpu: str
    model: str
    software: dict[str, str | int | None]
    said: tuple[str, ...]


def facts_of(config: Fields | None, said: Said, name: str) -> Facts:
    """What is known around the report of the file `name`.

    Raises MeasureError for what is not known, and where neither `config` nor `said` states what a run needs.
    """
    environment = backend = None
    found: dict[str, Any] = {}
    if config is not None:
        config.check_names(("name", "backend", "scenario", "launcher", "environment"), CONFIG, UPDATE)
        backend, environment = config.part("backend"), config.part("environment")
        version = environment.text("optimum_benchmark_version")
        if version != VERSION:
            raise environment.error("optimum_benchmark_version", f"{VERSION}, the version that is known")
        if config.part("launcher").values.get("name") == "torchrun":
            raise config.part("launcher").error(
                "name", "a launcher of one process; torchrun mixes the times of several ranks in one list"
            )
        shapes = config.part("scenario").part("input_shapes")
        found["prompt_tokens"] = shapes.integer("sequence_length", least=1)
        if backend.has("torch_dtype") and backend.text("torch_dtype") != "auto":
            found["dtype"] = backend.text("torch_dtype")
    stated = _stated(found, said, name)
    if stated["dtype"] not in ELEMENT_BYTES:
        known = ", ".join(ELEMENT_BYTES)
        raise MeasureError(f"{name}: expected one of {known} as the dtype, found {stated['dtype']!r}")
    device = backend.text("device") if backend and backend.has("device") else ""
    return Facts(
        dtype=stated["dtype"],
        prompt_tokens=stated["prompt_tokens"],
        date=f"{stated['date']}T00:00:00Z",
        version=VERSION if config is not None else None,
        cpu=environment.text("cpu") if environment and environment.has("cpu") else "",
        gpu=_gpu(environment, device),
        model=backend.text("model").rstrip("/").rsplit("/", 1)[-1]
        if backend and backend.has("model")
        else "",
        software=_software(environment, backend),
        said=tuple(sorted(set(stated) - set(found))),
    )


def _stated(found: Mapping[str, Any], said: Said, name: str) -> dict[str, Any]:
    """What the file states, completed by what was said at import; neither twice nor not at all."""
    flags = {"dtype": "--dtype TYPE", "prompt_tokens": "--prompt-tokens N", "date": "--date YYYY-MM-DD"}
    stated: dict[str, Any] = dict(found)
    for fact, flag in flags.items():
        value = getattr(said, fact)
        if fact in found and value is not None and value != found[fact]:
            raise MeasureError(
                f"{name}: expected {flag.split()[0]} as the file has it, {found[fact]}, found {value}; leave it out"
            )
        if fact not in found and value is not None:
            stated[fact] = value
    missing = [flag for fact, flag in flags.items() if fact not in stated]
    if missing:
        raise MeasureError(
            f"{name}: expected a file that says all that a run needs, found none of what these flags say; add "
            + " ".join(missing)
        )
    return stated


def _gpu(environment: Fields | None, device: str) -> str:
    if environment is None or device != "cuda":
        return ""
    cards = environment.values.get("gpu")
    if (
        isinstance(cards, list)
        and all(isinstance(card, str) and card.isprintable() for card in cards)
        and cards
    ):
        return ", ".join(dict.fromkeys(cards))
    raise environment.error("gpu", "the names of the GPUs that it ran on")


def _software(environment: Fields | None, backend: Fields | None) -> dict[str, str | int | None]:
    software: dict[str, str | int | None] = {PROGRAM: VERSION if environment else None}
    if environment is None or backend is None:
        return software
    for name in ("python", "transformers", "accelerate"):
        if environment.has(f"{name}_version"):
            software[name] = environment.text(f"{name}_version")
    software[backend.text("name")] = backend.text("version") if backend.has("version") else None
    return software


def check_config(config: Fields, batch: int, steps: int) -> None:
    """The configuration and the report must tell of the same windows."""
    scenario = config.part("scenario")
    shapes, arguments = scenario.part("input_shapes"), scenario.part("generate_kwargs")
    if shapes.integer("batch_size", least=1) != batch:
        raise shapes.error("batch_size", f"{batch}, by the throughput of the prefill")
    if arguments.has("num_beams") and arguments.integer("num_beams") != 1:
        raise arguments.error("num_beams", "1: beams are no sequences")
    # the first of them ends the prefill
    if arguments.has("max_new_tokens") and arguments.integer("max_new_tokens") != steps + 1:
        raise arguments.error("max_new_tokens", f"{steps + 1}, by the throughput of the decode")


def settings_of(backend: Fields) -> str:
    """How it ran, for the notes.

    Raises MeasureError for quantised weights: the file says that they are, and not how many bytes they have.
    """
    for name in ("quantization_scheme", "quantization_config"):
        if backend.values.get(name):
            raise backend.error(name, "weights that are not quantised")
    told = [
        f"{name} {backend.setting(name)}"
        for name in (
            "device",
            "attn_implementation",
            "cache_implementation",
            "autocast_dtype",
            "torch_compile",
        )
        if backend.values.get(name)
    ]
    return f"Settings: {', '.join(told)}." if told else ""
