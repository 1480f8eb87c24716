"""Run folders of site_data/runs/: run.json and samples.jsonl, checked against each other. Computes no statistic."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from hooks.caching.cache import Cache, digest, file_digest
from hooks.caching.opened import unwatched
from hooks.data.contract import CHECK, RESTORE, Contract, parse, read, tail
from hooks.data.records import Record, Refusal, Run, Sample
from hooks.errors import Place, PublishError

_VALUES = {"kv_cache": "kv_cache_bytes"}
"""The field that a good sample must have, by experiment; `duration_s` elsewhere."""

_METERED = ("prefill", "decode", "idle")
"""Experiments whose samples say why where they have no energy."""


def read_all(
    folder: Path, contract: Contract, incomplete: list[PublishError], kept: Cache | None = None
) -> Iterator[Run]:
    """Every run in `folder`, in the order of names; `kept` holds checked samples of earlier times.

    A wrong number of samples goes to `incomplete`: the build reports it beside the pages that miss a quantity.

    Raises:
        PublishError: Anything else is not as the contract has it.
    """
    for entry in sorted(folder.iterdir()) if folder.is_dir() else ():
        if entry.name.startswith("."):
            continue
        if not entry.is_dir() or {item.name for item in entry.iterdir()} != {"run.json", "samples.jsonl"}:
            raise PublishError(
                "this is not a run",
                place=Place(str(entry)),
                expected="a folder with run.json and samples.jsonl and nothing else",
                found=", ".join(sorted(item.name for item in entry.iterdir()))
                if entry.is_dir()
                else "a file",
                mend=RESTORE.format(path=entry),
            )
        yield _run(entry, contract, incomplete, kept or Cache(None))


def _run(folder: Path, contract: Contract, incomplete: list[PublishError], kept: Cache) -> Run:
    place = Place(str(folder / "run.json"))
    record = contract.record(folder / "run.json", "run")
    if record["run_id"] != folder.name:
        raise PublishError(
            "the run's name is not its folder's",
            place=place,
            expected=folder.name,
            found=record["run_id"],
            mend="a run is never renamed or edited; copy the folder again from where it was measured",
        )
    if record["status"] != "complete" or record["finished_at"] is None:
        raise PublishError(
            "an unfinished run cannot be published",
            place=place,
            expected="status complete, with finished_at",
            found=f"status {record['status']}, finished_at {record['finished_at']}",
            mend=f"`python -m measure run --resume {folder.name}` finishes it",
        )
    if (record["code"] is None) != bool(record.get("origin")):
        raise PublishError(
            "nothing says what measured this run"
            if record["code"] is None
            else "two programs measured this run",
            place=place,
            expected="code for a run measured here, origin for an imported one, and not both",
            found=f"code {record['code']}, origin {record.get('origin')}",
            mend=CHECK,
        )
    rounds = {process["process"]: process["round"] for process in record["processes"]}
    content, count, samples = _checked(folder / "samples.jsonl", contract, rounds, kept)
    if count != record["samples"]:
        path = folder / "samples.jsonl"
        incomplete.append(
            PublishError(
                "samples are missing or were added; a run never changes",
                place=Place(str(path)),
                expected=f"{record['samples']} lines, as run.json says",
                found=f"{count} lines",
                mend=RESTORE.format(path=path),
            )
        )
    return Run(folder.name, folder, record, content, samples)


def _checked(
    path: Path, contract: Contract, rounds: Mapping[int, int], kept: Cache
) -> tuple[str, int, Callable[[], tuple[Sample, ...]]]:
    """The hash of a file of samples, their number, and what reads them. All were checked, now or when it was kept."""
    content = file_digest(path) or ""
    sources = [
        file_digest(Path(__file__).with_name(f"{name}.py")) for name in ("runs", "records", "contract")
    ]
    key = digest("samples", content, file_digest(contract.path), sorted(rounds.items()), sources)

    def read() -> tuple[Sample, ...]:
        samples = tuple(_samples(path, contract, rounds))
        if file_digest(path) != content:
            raise PublishError(
                "the samples were changed while the site was built; a run never changes",
                place=Place(str(path)),
                expected="the file as it was when the build began",
                found="another one",
                mend="build again",
            )
        kept.put("samples", key, [_row(sample) for sample in samples])
        kept.put("checked", key, len(samples))
        return samples

    def read_kept() -> tuple[Sample, ...]:
        with unwatched():  # a notebook depends on what it asked for, and not on where that was read
            rows = kept.get("samples", key)
            return read() if rows is None else tuple(_from_row(row) for row in rows)

    count = kept.get("checked", key)
    if isinstance(count, int):
        return content, count, read_kept
    samples = read()
    return content, len(samples), lambda: samples


_FIELDS = tuple(item.name for item in fields(Sample))
_REFUSALS = tuple(_FIELDS.index(name) for name in ("refusal", "energy_refusal"))


def _row(sample: Sample) -> list[Any]:
    row = [getattr(sample, name) for name in _FIELDS]
    for index in _REFUSALS:
        row[index] = row[index] and [row[index].kind, row[index].reason]
    return row


def _from_row(row: list[Any]) -> Sample:
    for index in _REFUSALS:
        row[index] = row[index] and Refusal(*row[index])
    return Sample(*row)


def _samples(path: Path, contract: Contract, rounds: Mapping[int, int]) -> Iterator[Sample]:
    text = read(path)
    lines = text.split("\n")
    if text and lines.pop():
        raise PublishError(
            "the last line is cut off",
            place=Place(str(path), len(lines) + 1),
            expected="a whole record that ends in a line break",
            found=tail(text),
            mend=RESTORE.format(path=path),
        )
    for number, line in enumerate(lines, 1):
        place = Place(str(path), number)
        record = contract.check("sample", parse(line, place), place)
        if record["process"] not in rounds:
            raise PublishError(
                f"process {record['process']} is not in run.json",
                place=place,
                expected=f"one of {', '.join(map(str, rounds))}",
                found=str(record["process"]),
                mend=RESTORE.format(path=path),
            )
        yield _sample(record, rounds[record["process"]], number, place)


def _sample(record: Record, round_: int, number: int, place: Place) -> Sample:
    refusal, energy_refusal = _refusal(record["refusal"]), _refusal(record["energy_refusal"])
    value = _VALUES.get(record["experiment"], "duration_s")
    if record[value] is None and refusal is None:
        raise _missing(value, "refusal", place)
    unmetered = record["energy_joules"] is None and record["experiment"] in _METERED
    if unmetered and energy_refusal is None and refusal is None:
        raise _missing("energy_joules", "energy_refusal", place)
    gates: Mapping[str, str] = record.get("gates", {})
    failed = [name for name, state in gates.items() if state == "failed"]
    if failed and refusal is None and energy_refusal is None:
        raise PublishError(
            f"the gate {failed[0]} failed without a refusal",
            place=place,
            expected="a sample whose gate failed to be refused, or its energy",
            found="refusal null, energy_refusal null",
            mend=CHECK,
        )
    return Sample(
        line=number,
        experiment=record["experiment"],
        batch=record["batch"],
        prompt_tokens=record["prompt_tokens"],
        context_tokens=record["context_tokens"],
        dtype=record["dtype"],
        mode=record["mode"],
        process=record["process"],
        round=round_,
        repetition=record["repetition"],
        warm_up=record["warm_up"],
        started_at=record["started_at"],
        steps=record["steps"],
        tokens=record["tokens"],
        duration_s=record["duration_s"],
        energy_joules=record["energy_joules"],
        energy_error_joules=record.get("energy_error_joules"),
        energy_second_joules=record.get("energy_second_joules"),
        energy_refusal=energy_refusal,
        kv_cache_bytes=record["kv_cache_bytes"],
        peak_bytes=record["peak_bytes"],
        foreign_cpu_share=record["foreign_cpu_share"],
        work_bytes=record.get("work_bytes"),
        work_flop=record.get("work_flop"),
        ceiling_bytes_per_s=record.get("ceiling_bytes_per_s"),
        ceiling_flop_per_s=record.get("ceiling_flop_per_s"),
        refusal=refusal,
        gates=gates,
        device_state=record.get("device_state"),
    )


def _missing(field: str, refusal: str, place: Place) -> PublishError:
    return PublishError(
        f"{field} is missing without a refusal",
        place=place,
        expected=f"a number, or null with {refusal} set",
        found="null and no refusal",
        mend=CHECK,
    )


def _refusal(record: Record | None) -> Refusal | None:
    return None if record is None else Refusal(record["kind"], record["reason"])
