"""What a report of optimum-benchmark says, as results of ours. Opens no file.

A benchmark.json has the configuration and the report; a benchmark_report.json has the report alone, and what it does
not say must be said at import. Fields after optimum-benchmark 0.6.0: benchmark/report.py, trackers/latency.py,
scenarios/inference/scenario.py.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from measure import work
from measure.errors import MeasureError
from measure.foreign import ForeignRun, Result, load_json, machine
from measure.foreign_fields import Fields
from measure.llama_bench import mean_depth
from measure.optimum_config import PROGRAM, UPDATE, VERSION, Facts, Said, check_config, facts_of, settings_of
from measure.plan import Cell
from measure.sizes import ELEMENT_BYTES, Sizes

TARGETS = ("load_model", "first_generate", "generate", "prefill", "decode", "per_token")
MEASUREMENTS = ("memory", "latency", "throughput", "energy", "efficiency")
LATENCY = ("unit", "values", "count", "total", "mean", "p50", "p90", "p95", "p99", "stdev", "stdev_")
THROUGHPUT = ("unit", "value")
OTHER_TARGETS = ("first_call", "call", "per_step", "first_forward", "forward")
"""What reports of other tasks than text generation have."""


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
    config, report = _parts(Fields(load_json(text, name), name))
    facts = facts_of(config, said, name)
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
        check_config(config, batch, steps)
    prompt, dtype, date = facts.prompt_tokens, facts.dtype, facts.date
    settings = settings_of(config.part("backend")) if config is not None else ""
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


def _parts(whole: Fields) -> tuple[Fields | None, Fields]:
    """(configuration where the file has one, report) of a file."""
    config = None
    report = whole
    if "report" in whole.values or "config" in whole.values:
        whole.check_names(("config", "report"), (), UPDATE)
        config, report = whole.part("config"), whole.part("report")
    elif "scenario" in whole.values:
        raise MeasureError(
            f"{whole.where}: expected a report, found a configuration alone; give benchmark.json, which has both, "
            "or benchmark_report.json"
        )
    other = next((target for target in OTHER_TARGETS if target in report.values), None)
    if other:
        raise report.error(other, "the report of a text-generation task, with prefill and decode")
    report.check_names(("prefill", "decode", "generate"), TARGETS, UPDATE)
    return config, report


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


def _notes(
    report: Fields, facts: Facts, prompt: int, steps: int, subtracted: bool, sizes: Sizes
) -> Iterator[str]:
    yield "All of it ran in one process, so nothing is known of how processes differ."
    yield "The file does not say when its windows were taken; the day was stated at import, and the time is not known."
    if facts.version is None:
        yield f"The file does not state the version of the program; it was read as one of {VERSION}."
    said = [fact.replace("_", " ") for fact in facts.said if fact != "date"]
    if said:
        yield f"Stated at import, not by the file: {' and '.join(said)}."
    yield (
        f"The file does not say how many parameters the model has; that it is {sizes.title} was stated at import, and "
        "its size was computed from that."
    )
    yield (
        "A prefill lasts from the call of generate to the scores of the first token, a decode window from there to the "
        "end of generate."
    )
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
