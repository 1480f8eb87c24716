"""What llama-bench measured, as results of ours: which test is which cell, what its files leave unsaid. Opens no file.

Fields after llama.cpp's tools/llama-bench/llama-bench.cpp: `get_fields`, `test_prompt`, `test_gen`, and after
src/llama-model-loader.cpp, `llama_model_ftype_name`, for the types of weights.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Sequence

from measure import work
from measure.errors import MeasureError
from measure.foreign import ForeignRun, Result, machine
from measure.foreign_fields import Fields
from measure.plan import Cell
from measure.sizes import Sizes

PROGRAM = "llama-bench"

NEEDED = (
    *("build_commit", "build_number", "cpu_info", "gpu_info", "backends"),
    *("model_filename", "model_type", "model_size", "model_n_params"),
    *("n_batch", "n_ubatch", "n_threads", "type_k", "type_v", "n_gpu_layers"),
    *("n_prompt", "n_gen", "n_depth", "test_time", "avg_ns", "stddev_ns", "avg_ts", "stddev_ts"),
)
"""Fields of every version since tests at a depth came in, in May 2025."""

SAMPLES = ("samples_ns", "samples_ts")
"""In json and jsonl only: each repetition."""

SETTINGS = (
    *("cpu_mask", "cpu_strict", "poll", "n_cpu_moe", "split_mode", "main_gpu", "no_kv_offload", "flash_attn"),
    *(
        "devices",
        "tensor_split",
        "tensor_buft_overrides",
        "use_mmap",
        "use_direct_io",
        "load_mode",
        "lazy_mode",
    ),
    *("embeddings", "no_op_offload", "no_host", "repack", "fit_target", "fit_min_ctx"),
)
"""Fields that some of these versions have: how it ran, in words of its own."""

TOLD = ("n_batch", "n_ubatch", "n_gpu_layers", "n_cpu_moe", "flash_attn", "no_kv_offload", "type_k", "type_v")
"""Settings that a run tells of, beside those in which the settings of one file differ: what moves a time most."""

OF_A_TEST = {
    "n_prompt",
    "n_gen",
    "n_depth",
    "test_time",
    "avg_ns",
    "stddev_ns",
    "avg_ts",
    "stddev_ts",
    *SAMPLES,
}
"""Fields that differ between the tests of one setting. Records that differ in any other belong to different runs."""

UPDATE = "A version that this program does not know is not guessed at; measure/llama_bench.py lists the fields it knows"

_SIZE_NAMES = {"small": "s", "medium": "m", "large": "l"}
_DTYPES = {"all f32": "float32", "f32": "float32", "f16": "float16", "bf16": "bfloat16"}
_BYTES = {"float32": (4.0, 4.001), "float16": (2.0, 2.1), "bfloat16": (2.0, 2.1)}
"""Bytes of a weight, least and most: files in 16 bits keep norms and biases in 32."""
_CACHE_NAMES = {"f32": "float32", "f16": "float16", "bf16": "bfloat16"}


def runs(records: Sequence[Fields], format_: str, sizes: Sizes, known: Sequence[Sizes]) -> list[ForeignRun]:
    """One run for each setting of the program in `records`.

    `known` are all models, to name the one that a file belongs to. Raises MeasureError for a field that is not known,
    is missing or holds what it cannot, for a model of another size, and where no test can be imported.
    """
    has_samples = format_ in ("json", "jsonl")
    groups: dict[tuple[tuple[str, str], ...], list[Fields]] = {}
    for record in records:
        record.check_names((*NEEDED, *(SAMPLES if has_samples else ())), SETTINGS, UPDATE)
        setting = tuple(
            sorted((name, record.setting(name)) for name in record.values if name not in OF_A_TEST)
        )
        groups.setdefault(setting, []).append(record)
    values: dict[str, set[str]] = {}
    for setting in groups:
        for name, value in setting:
            values.setdefault(name, set()).add(value)
    differing = [name for name, seen in values.items() if len(seen) > 1]
    found = [_run(group, format_, sizes, known, differing) for group in groups.values()]
    kept = [run for run in found if run.results]
    if not kept:
        told = "\n".join(f"  {note}" for run in found for note in run.notes if note.startswith("Left out"))
        raise MeasureError(f"{records[0].where}: expected a test that can be imported, found none:\n{told}")
    return kept


def _run(
    group: Sequence[Fields], format_: str, sizes: Sizes, known: Sequence[Sizes], differing: Collection[str]
) -> ForeignRun:
    first = group[0]
    dtype, guessed = _dtype(first)
    parameters = _parameters(first, sizes, known)
    weights_bytes = first.integer("model_size", least=1)
    _check_bytes(first, dtype, weights_bytes, parameters)
    file = first.text("model_filename").replace("\\", "/").rsplit("/", 1)[-1] or "a file without a name"
    gpu = first.text("gpu_info") if first.text("backends") != "CPU" else ""
    results, left_out = [], []
    for record in group:
        reason = _cannot(record)
        if reason:
            left_out.append(f"Left out: {_test_name(record)}, {reason}.")
        else:
            results.append(_result(record, dtype, format_))
    notes = [*_notes(group, results, format_, dtype, guessed), *left_out, _settings(first, differing)]
    if differing:
        notes.append("The file holds several settings of the program; each is a run of its own.")
    commit, build = first.text("build_commit"), first.integer("build_number")
    return ForeignRun(
        program=PROGRAM,
        version=f"{commit} (build {build})",
        format=format_,
        dtype=dtype,
        parameters=parameters,
        weights_bytes=weights_bytes,
        weights_file=file,
        machine=machine(first.text("cpu_info"), gpu, first.text("backends")),
        software={
            "llama.cpp": commit,
            "llama.cpp build": build,
            "backends": first.text("backends"),
            "threads": first.integer("n_threads", least=1),
        },
        results=tuple(results),
        notes=tuple(notes),
        no_energy=f"imported from {PROGRAM}, which measures no energy",
    )


def _result(record: Fields, dtype: str, format_: str) -> Result:
    prompt, generated = record.integer("n_prompt", most=2**31), record.integer("n_gen", most=2**31)
    if prompt:
        cell = Cell("prefill", 1, prompt, None, dtype, "imported")
    else:
        cell = Cell("decode", 1, None, mean_depth(record.integer("n_depth"), generated), dtype, "imported")
    average_ns = record.integer("avg_ns", least=1)
    durations_ns = [float(average_ns)]
    if format_ in ("json", "jsonl"):
        durations_ns = record.numbers("samples_ns")
        _check_samples(record, durations_ns, average_ns, prompt + generated)
    _check_rate(record, average_ns, prompt + generated)
    return Result(
        cell=cell,
        steps=generated or 1,
        durations_s=tuple(ns / 1e9 for ns in durations_ns),
        started_at=record.time("test_time"),
    )


def mean_depth(depth: int, generated: int) -> int:
    """Tokens in the cache in the mean step of a test that writes `generated` from `depth` on; halves round up."""
    return max(1, math.floor(depth + (generated - 1) / 2 + 0.5))


def _cannot(record: Fields) -> str | None:
    """Why a test is no cell of ours; None where it is one."""
    prompt, generated = record.integer("n_prompt"), record.integer("n_gen")
    if prompt and generated:
        return "which times the prompt and the generation together, so neither can be told from it"
    if not prompt and not generated:
        return "which times nothing"
    if prompt and record.integer("n_depth"):
        return "whose prompt follows others that are in the cache already; a prefill here begins with an empty one"
    return None


def _test_name(record: Fields) -> str:
    """As llama-bench's own md format calls it."""
    prompt, generated, depth = (record.integer(name) for name in ("n_prompt", "n_gen", "n_depth"))
    name = "+".join([f"pp{prompt}"] * bool(prompt) + [f"tg{generated}"] * bool(generated)) or "pp0"
    return name + (f" @ d{depth}" if depth else "")


def _notes(
    group: Sequence[Fields], results: Sequence[Result], format_: str, dtype: str, guessed: bool
) -> Iterator[str]:
    first = group[0]
    yield (
        "The file states neither cores nor memory nor the operating system, and when each test began, not when it "
        "ended."
    )
    yield "All of it ran in one process, so nothing is known of how processes differ."
    if format_ in ("csv", "sql"):
        spread = max(record.number("stddev_ns") / record.integer("avg_ns", least=1) for record in group)
        yield (
            f"The {format_} format gives the mean over a test's repetitions and not their number: each mean is stored "
            f"as one sample. The largest standard deviation of a test's repetitions is {spread:.1%} of its mean."
        )
    told = [r for r in group if not _cannot(r) and r.integer("n_gen")]
    if told:
        depths = "; ".join(
            f"{_test_name(r)}: {r.integer('n_depth')} to {r.integer('n_depth') + r.integer('n_gen') - 1}, "
            f"stored as {mean_depth(r.integer('n_depth'), r.integer('n_gen'))}"
            for r in told
        )
        yield (
            "The depth grows by one with each token that a test generates; the mean depth in its window is stored as "
            f"the depth of the cell ({depths})."
        )
    piece = min(first.integer("n_ubatch", least=1), first.integer("n_batch", least=1))
    if any(result.cell.length > piece for result in results if result.cell.experiment == "prefill"):
        yield f"A prompt of more than {piece} tokens was processed in pieces of {piece}, not in one forward pass."
    cache = sorted({first.text("type_k"), first.text("type_v")})
    if [_CACHE_NAMES.get(name, name) for name in cache] != [dtype]:
        yield f"Keys and values were cached as {' and '.join(cache)}, while the weights are {dtype}."
    if guessed:
        yield "The program guessed the type of the weights, since their file does not name it."


def _settings(record: Fields, differing: Collection[str]) -> str:
    names = [name for name in (*NEEDED, *SETTINGS) if name in record.values and name in (*TOLD, *differing)]
    told = [f"{name} {record.setting(name) or '(empty)'}" for name in names]
    return f"Settings: {', '.join(told)}."


def _dtype(record: Fields) -> tuple[str, bool]:
    """(type of the weights, whether the program guessed it) out of a description such as `qwen2 1.5B Q4_K - Medium`."""
    described = record.text("model_type")
    words = described.removesuffix("(guessed)").strip().split(" ", 2)
    name = words[2].lower() if len(words) == 3 else ""
    if name in _DTYPES:
        return _DTYPES[name], described.endswith("(guessed)")
    quantised = re.fullmatch(r"((?:iq|q|tq|mxfp|nvfp)[a-z0-9_]+)(?: moe| mix)?(?: - (.+))?", name)
    if not quantised:
        raise record.error(
            "model_type", "an architecture, a size and a type of weights, such as `qwen2 1.5B Q4_K - Medium`"
        )
    size = _SIZE_NAMES.get(quantised[2] or "")
    return quantised[1] + (f"_{size}" if size else ""), described.endswith("(guessed)")


def _parameters(record: Fields, sizes: Sizes, known: Sequence[Sizes]) -> int:
    found, expected = record.integer("model_n_params", least=1), work.parameters(sizes)
    if found != expected:
        fits = [other.name for other in known if work.parameters(other) == found]
        nearest = min(known, key=lambda other: abs(work.parameters(other) - found))
        mend = (
            f"It belongs to --model {fits[0]}"
            if fits
            else f"Nearest known: {nearest.name} with {work.parameters(nearest):,}; "
            "a new model is a file in site_data/models/"
        )
        raise record.error("model_n_params", f"{expected:,}, the parameters of {sizes.title}", mend)
    return found


def _check_bytes(record: Fields, dtype: str, weights_bytes: int, parameters: int) -> None:
    least, most = _BYTES.get(dtype, (0.1, 4.0))
    if not least * parameters <= weights_bytes <= most * parameters:
        expected = (
            f"{math.ceil(least * parameters):,} to {math.floor(most * parameters):,} bytes of {dtype} weights"
        )
        raise record.error("model_size", expected)


def _check_samples(record: Fields, durations_ns: Sequence[float], average_ns: int, tokens: int) -> None:
    mean = math.fsum(durations_ns) / len(durations_ns)
    if abs(mean - average_ns) > 2:
        raise record.error("avg_ns", f"the mean of samples_ns, {mean:.0f}")
    rates = record.numbers("samples_ts")
    if len(rates) != len(durations_ns):
        raise record.error("samples_ts", f"{len(durations_ns)} rates, as many as samples_ns")
    for rate, ns in zip(rates, durations_ns, strict=True):
        if not math.isclose(rate, tokens * 1e9 / ns, rel_tol=1e-4):
            raise record.error(
                "samples_ts", f"{tokens} tokens over samples_ns, {tokens * 1e9 / ns:.6g} a second"
            )


def _check_rate(record: Fields, average_ns: int, tokens: int) -> None:
    """The mean of rates is at least the rate of the mean: a smaller one belongs to another number of tokens."""
    least = tokens * 1e9 / average_ns
    if record.number("avg_ts") < least * (1 - 1e-4):
        raise record.error("avg_ts", f"at least {tokens} tokens over avg_ns, {least:.6g} a second")
