"""What a report of optimum-benchmark says, as results of ours. Opens no file.

A benchmark.json has the configuration and the report; a benchmark_report.json has the report alone, and what it does
not say must be said at import. Fields after optimum-benchmark 0.6.0: benchmark/report.py, trackers/latency.py,
scenarios/inference/scenario.py.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from measure import work
from measure.errors import MeasureError
from measure.foreign import ForeignRun, Result, load_json, machine
from measure.foreign_fields import Fields
from measure.llama_bench import mean_depth
from measure.plan import Cell
from measure.sizes import ELEMENT_BYTES, Sizes

PROGRAM = "optimum-benchmark"
VERSION = "0.6.0"
"""The version whose files are known. A report does not state its version; a benchmark.json does."""

TARGETS = ("load_model", "first_generate", "generate", "prefill", "decode", "per_token")
MEASUREMENTS = ("memory", "latency", "throughput", "energy", "efficiency")
LATENCY = ("unit", "values", "count", "total", "mean", "p50", "p90", "p95", "p99", "stdev", "stdev_")
THROUGHPUT = ("unit", "value")
CONFIG = ("name", "backend", "scenario", "launcher", "environment", "print_report", "log_report")
OTHER_TARGETS = ("first_call", "call", "per_step", "first_forward", "forward")
"""What reports of other tasks than text generation have."""

UPDATE = f"The fields are those of {PROGRAM} {VERSION}; a file of another version is not guessed at"


@dataclass(frozen=True)
class Said:
    """What the importing person says where the file does not; None: not said."""

    dtype: str | None = None
    prompt_tokens: int | None = None
    date: str | None = None


def is_report(text: str) -> bool:
    """Whether this is a file of optimum-benchmark. Decided by the content alone."""
    start = text.lstrip()
    if not start.startswith("{"):
        return False
    # the top-level names come first in both kinds of file, each before an object
    names = re.findall(r'"(\w+)"\s*:\s*\{', start[:20_000])
    return bool(set(names) & {*TARGETS, *OTHER_TARGETS, "scenario"}) and "build_commit" not in names


def runs(text: str, name: str, sizes: Sizes, said: Said) -> list[ForeignRun]:
    """The one run in a file.

    Raises MeasureError for a field that is not known, is missing or holds what it cannot, and for what neither the file
    nor `said` states.
    """
    whole = Fields(load_json(text, name), name)
    config = None
    report = whole
    if "report" in whole.values or "config" in whole.values:
        whole.check_names(("config", "report"), (), UPDATE)
        config, report = whole.part("config"), whole.part("report")
    elif "scenario" in whole.values:
        raise MeasureError(
            f"{name}: expected a report, found a configuration alone; give benchmark.json, which has both, "
            "or benchmark_report.json"
        )
    other = next((target for target in OTHER_TARGETS if target in report.values), None)
    if other:
        raise report.error(other, "the report of a text-generation task, with prefill and decode")
    report.check_names(("prefill", "decode", "generate"), TARGETS, UPDATE)
    facts = _facts(config, said, name)
    prefill = _latencies(report, "prefill")
    decode = _latencies(report, "decode")
    batch = _volume(report, "prefill", prefill)
    decoded = _volume(report, "decode", decode)
    if decoded % batch:
        raise report.part("decode").error(
            "throughput", f"a whole number of tokens for each of {batch} sequences"
        )
    steps = decoded // batch
    if config is not None:
        _check_config(config, batch, steps)
    prompt, dtype, date = facts.prompt_tokens, facts.dtype, facts.date
    settings = _settings(config.part("backend")) if config is not None else ""
    # without per_token the program takes prefill from the whole, and a decode that is a difference is none of ours
    subtracted = "per_token" not in report.values
    results = [Result(Cell("prefill", batch, prompt, None, dtype, "imported"), 1, tuple(prefill), date)]
    if not subtracted:
        depth = mean_depth(prompt, steps)
        results.append(
            Result(Cell("decode", batch, None, depth, dtype, "imported"), steps, tuple(decode), date)
        )
    elements = ELEMENT_BYTES[dtype]
    return [
        ForeignRun(
            program=PROGRAM,
            version=facts.version,
            format="json",
            dtype=dtype,
            parameters=work.parameters(sizes),
            weights_bytes=work.parameters(sizes) * elements,
            weights_file=facts.model or "a model that the file does not name",
            machine=machine(facts.cpu, facts.gpu),
            software=facts.software,
            results=tuple(results),
            notes=(
                *_notes(report, facts, prompt, steps, subtracted, sizes),
                *([settings] if settings else []),
            ),
            no_energy=f"imported from {PROGRAM}, whose energy is an estimate over other windows than its times",
        )
    ]


@dataclass(frozen=True)
class _Facts:
    """What surrounds the report."""

    dtype: str
    prompt_tokens: int
    date: str
    version: str
    cpu: str
    gpu: str
    model: str
    software: dict[str, str | int | None]
    said: tuple[str, ...]


def _facts(config: Fields | None, said: Said, name: str) -> _Facts:
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
    return _Facts(
        dtype=stated["dtype"],
        prompt_tokens=stated["prompt_tokens"],
        date=f"{stated['date']}T00:00:00Z",
        version=VERSION if config is not None else f"not stated, read as {VERSION}",
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


def _latencies(report: Fields, target: str) -> list[float]:
    """Seconds of each window."""
    measured = report.part(target)
    measured.check_names(("latency", "throughput"), MEASUREMENTS, UPDATE)
    latency = measured.part("latency")
    latency.check_names(LATENCY, (), UPDATE)
    if latency.text("unit") != "s":
        raise latency.error("unit", "s")
    values = latency.numbers("values")
    if latency.integer("count", least=1) != len(values):
        raise latency.error("count", f"{len(values)}, as there are values")
    if not math.isclose(latency.number("mean"), math.fsum(values) / len(values), rel_tol=1e-6):
        raise latency.error("mean", "the mean of values")
    return values


def _volume(report: Fields, target: str, values: list[float]) -> int:
    """What the program counted in one window: sequences of a prefill, tokens of a decode."""
    throughput = report.part(target).part("throughput")
    throughput.check_names(THROUGHPUT, (), UPDATE)
    unit = {"prefill": "samples/s", "decode": "tokens/s"}[target]
    if throughput.text("unit") != unit:
        raise throughput.error("unit", unit)
    volume = throughput.number("value") * math.fsum(values) / len(values)
    if round(volume) < 1 or not math.isclose(volume, round(volume), rel_tol=1e-6):
        raise throughput.error("value", "a whole number of them in the mean window")
    return round(volume)


def _check_config(config: Fields, batch: int, steps: int) -> None:
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


def _settings(backend: Fields) -> str:
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


def _notes(
    report: Fields, facts: _Facts, prompt: int, steps: int, subtracted: bool, sizes: Sizes
) -> Iterator[str]:
    yield "All of it ran in one process, so nothing is known of how processes differ."
    yield "The file does not say when its windows were taken; the day was stated at import, and the time is not known."
    said = [fact.replace("_", " ") for fact in facts.said if fact != "date"]
    if said:
        yield f"Stated at import, not by the file: {' and '.join(said)}."
    yield (
        f"The file does not say how many parameters the model has; that it is {sizes.title} was stated at import, and "
        "its size was computed from that."
    )
    yield "A prefill lasts from the call of generate to the scores of the first token."
    if subtracted:
        yield (
            "Left out: decode, which the program computed as the whole less the prefill. Such a difference is noisier "
            "than both and can be negative."
        )
    else:
        yield (
            f"The depth grows from {prompt} to {prompt + steps - 1} in a decode window; the mean, "
            f"{mean_depth(prompt, steps)}, is stored as the depth of the cell."
        )
    if report.has("per_token"):
        yield (
            "Left out: per_token, which holds the intervals of each window again with those of every later one "
            "(version 0.6.0 does not clear its list between windows)."
        )
