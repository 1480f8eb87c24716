"""Reading site_data/: every file checked against schema.json and held in memory. Computes no statistic.

What is wrong in a file is an error with file, line and field. Nothing is skipped: a file that has no place
in the contract is an error too. `unfinished/` is never opened.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NoReturn

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from hooks.errors import Place, PublishError

SCHEMA_VERSION = 2
READABLE_VERSIONS = (1, 2)
"""Records of these versions are read: all that a later one added is optional."""

_KNOWN_FOLDERS = {"runs", "models", "cited", "tokenizers", "unfinished"}
_KNOWN_FILES = {"schema.json", "ledger.jsonl", "datapackage.json", "README.md"}
_CHECK = "run `python -m measure check`, which checks all of site_data/"
_RESTORE = "restore the file: `git checkout -- {path}`"

Record = Mapping[str, Any]


@dataclass(frozen=True)
class Refusal:
    """Why a number is not there: one of the contract's kinds, and the reason in words."""

    kind: str
    reason: str


@dataclass(frozen=True)
class Sample:
    """One line of samples.jsonl. Units as in schema.json; `line` counts from 1."""

    line: int
    experiment: str
    batch: int
    prompt_tokens: int | None
    context_tokens: int | None
    dtype: str
    mode: str
    process: int
    round: int
    repetition: int
    warm_up: bool
    tokens: int
    duration_s: float | None
    energy_joules: float | None
    energy_refusal: Refusal | None
    kv_cache_bytes: int | None
    peak_bytes: int | None
    refusal: Refusal | None


@dataclass(frozen=True)
class Run:
    """One complete run: its provenance as stored, and its samples in file order."""

    id: str
    folder: Path
    record: Record
    samples: tuple[Sample, ...]

    @property
    def model(self) -> str:
        """Name of the model, as in models/."""
        return str(self.record["model"]["name"])

    @property
    def plan(self) -> str:
        """Name of the plan."""
        return str(self.record["plan"]["name"])

    @property
    def finished_at(self) -> str:
        """UTC time at which the run was complete, RFC 3339."""
        return str(self.record["finished_at"])

    @property
    def date(self) -> str:
        """The day on which the run was complete, YYYY-MM-DD in UTC."""
        return self.finished_at[:10]

    @property
    def machine(self) -> str:
        """The machine in one phrase."""
        return str(self.record["machine"]["label"])

    @property
    def weights_kind(self) -> str:
        """random, hub or file."""
        return str(self.record["model"]["weights"]["kind"])

    @property
    def weights(self) -> str:
        """The weights in one phrase."""
        return str(self.record["model"]["weights"]["label"])


@dataclass(frozen=True)
class Store:
    """All of site_data/. `incomplete` holds the runs whose samples.jsonl lost or gained lines."""

    folder: Path
    runs: Mapping[str, Run]
    models: Mapping[str, Record]
    cited: Mapping[str, Record]
    tokenizers: Mapping[str, Record]
    incomplete: tuple[PublishError, ...]


def load(folder: Path) -> Store:
    """Read and check all of site_data/.

    A wrong number of samples is not raised but kept in `Store.incomplete`: the build reports it beside the
    pages that miss a quantity, which say more.

    Raises:
        PublishError: Anything else that is not as schema.json has it.
    """
    if not folder.is_dir():
        raise PublishError(
            f"there is no folder {folder.name}/",
            place=Place(str(folder)),
            expected="schema.json, runs/, models/, cited/, tokenizers/",
            mend="`git checkout -- site_data` brings the committed data back; `make measure` measures this machine",
        )
    _refuse_strangers(folder)
    schema = _Schema(folder / "schema.json")
    incomplete: list[PublishError] = []
    runs = {run.id: run for run in _runs(folder, schema, incomplete)}
    return Store(
        folder=folder,
        runs=runs,
        models=dict(_records(folder, "models", "*.json", "model", schema)),
        cited=dict(_records(folder, "cited", "*.json", "cited", schema)),
        tokenizers=dict(_records(folder, "tokenizers", "*/origin.json", "tokenizer", schema)),
        incomplete=tuple(incomplete),
    )


class _Schema:
    """schema.json with a validator for each kind of record, built once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        schema = _parse(_read(path), Place(str(path)))
        if schema.get("version") != SCHEMA_VERSION:
            _refuse_version(Place(str(path)), schema.get("version"), "version")
        self._definitions: dict[str, Any] = schema["$defs"]
        self._validators: dict[str, Draft202012Validator] = {}

    def check(self, kind: str, record: object, place: Place) -> Any:
        """Return `record` if it is a valid `kind`; raise with the field, expected and found otherwise."""
        if kind not in self._validators:
            # References are put in place first: resolving them for each line takes most of the time.
            inlined = _inline(self._definitions[kind], self._definitions)
            self._validators[kind] = Draft202012Validator(inlined)
        validator = self._validators[kind]
        if validator.is_valid(record):
            return record
        worst = best_match(validator.iter_errors(record))
        assert worst is not None
        path = ".".join(str(part) for part in worst.absolute_path) or "the whole record"
        raise PublishError(
            f"{path} is not what the contract has",
            place=place,
            expected=f"{worst.validator} {json.dumps(worst.validator_value, default=str)[:200]}",
            found=worst.message[:300],
            mend=_CHECK,
        )


def _inline(node: Any, definitions: Mapping[str, Any]) -> Any:
    if isinstance(node, dict):
        if "$ref" in node:
            target: Any = {"$defs": definitions}
            for part in node["$ref"].removeprefix("#/").split("/"):
                target = target[part]
            rest = {key: value for key, value in node.items() if key != "$ref"}
            return _inline({**target, **rest}, definitions)
        return {key: _inline(value, definitions) for key, value in node.items()}
    if isinstance(node, list):
        return [_inline(item, definitions) for item in node]
    return node


def _refuse_strangers(folder: Path) -> None:
    for entry in sorted(folder.iterdir()):
        known = _KNOWN_FOLDERS if entry.is_dir() else _KNOWN_FILES
        if entry.name not in known and not entry.name.startswith("."):
            raise PublishError(
                "this has no place in the data contract",
                place=Place(str(entry)),
                expected=", ".join(sorted(known)),
                mend="move it out of site_data/",
            )


def _runs(folder: Path, schema: _Schema, incomplete: list[PublishError]) -> Iterator[Run]:
    runs = folder / "runs"
    for entry in sorted(runs.iterdir()) if runs.is_dir() else ():
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
                mend=_RESTORE.format(path=entry),
            )
        yield _run(entry, schema, incomplete)


def _run(folder: Path, schema: _Schema, incomplete: list[PublishError]) -> Run:
    place = Place(str(folder / "run.json"))
    record = _record(folder / "run.json", "run", schema)
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
    rounds = {process["process"]: process["round"] for process in record["processes"]}
    samples = tuple(_samples(folder / "samples.jsonl", schema, rounds))
    if len(samples) != record["samples"]:
        path = folder / "samples.jsonl"
        incomplete.append(
            PublishError(
                "samples are missing or were added; a run never changes",
                place=Place(str(path)),
                expected=f"{record['samples']} lines, as run.json says",
                found=f"{len(samples)} lines",
                mend=_RESTORE.format(path=path),
            )
        )
    return Run(folder.name, folder, record, samples)


def _samples(path: Path, schema: _Schema, rounds: Mapping[int, int]) -> Iterator[Sample]:
    text = _read(path)
    lines = text.split("\n")
    if text and lines.pop():
        raise PublishError(
            "the last line is cut off",
            place=Place(str(path), len(lines) + 1),
            expected="a whole record that ends in a line break",
            found=_tail(text),
            mend=_RESTORE.format(path=path),
        )
    for number, line in enumerate(lines, 1):
        place = Place(str(path), number)
        record = schema.check("sample", _parse(line, place), place)
        if record["process"] not in rounds:
            raise PublishError(
                f"process {record['process']} is not in run.json",
                place=place,
                expected=f"one of {', '.join(map(str, rounds))}",
                found=str(record["process"]),
                mend=_RESTORE.format(path=path),
            )
        yield _sample(record, rounds[record["process"]], number, place)


def _sample(record: Record, round_: int, number: int, place: Place) -> Sample:
    refusal, energy_refusal = _refusal(record["refusal"]), _refusal(record["energy_refusal"])
    field = "kv_cache_bytes" if record["experiment"] == "kv_cache" else "duration_s"
    for name, reason in ((field, refusal), ("energy_joules", energy_refusal or refusal)):
        if record[name] is None and reason is None and (name == field or record["experiment"] != "kv_cache"):
            raise PublishError(
                f"{name} is missing without a refusal",
                place=place,
                expected=f"a number, or null with {'refusal' if name == field else 'energy_refusal'} set",
                found="null and no refusal",
                mend=_CHECK,
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
        tokens=record["tokens"],
        duration_s=record["duration_s"],
        energy_joules=record["energy_joules"],
        energy_refusal=energy_refusal,
        kv_cache_bytes=record["kv_cache_bytes"],
        peak_bytes=record["peak_bytes"],
        refusal=refusal,
    )


def _refusal(record: Record | None) -> Refusal | None:
    return None if record is None else Refusal(record["kind"], record["reason"])


def _records(
    folder: Path, part: str, pattern: str, kind: str, schema: _Schema
) -> Iterator[tuple[str, Record]]:
    files = sorted((folder / part).glob(pattern))
    if part != "tokenizers":
        strangers = {item for item in (folder / part).glob("*") if not item.name.startswith(".")} - set(files)
        for stranger in sorted(strangers):
            raise PublishError(
                f"this has no place in {part}/",
                place=Place(str(stranger)),
                expected=f"{part}/NAME.json",
                mend="move it out of site_data/",
            )
    for path in files:
        record = _record(path, kind, schema)
        expected = path.parent.name if part == "tokenizers" else path.stem
        if record["name"] != expected:
            raise PublishError(
                "the record's name is not its file's",
                place=Place(str(path)),
                expected=expected,
                found=record["name"],
                mend=f'write "name": "{expected}", or rename the file',
            )
        yield expected, record


def _record(path: Path, kind: str, schema: _Schema) -> Record:
    place = Place(str(path))
    record = _parse(_read(path), place)
    if isinstance(record, dict) and record.get("schema_version") not in READABLE_VERSIONS:
        _refuse_version(place, record.get("schema_version"), "schema_version")
    checked: Record = schema.check(kind, record, place)
    return checked


def _refuse_version(place: Place, found: object, field: str) -> NoReturn:
    newer = isinstance(found, int) and found > SCHEMA_VERSION
    raise PublishError(
        "unknown schema version",
        place=place,
        expected=f"{field} {SCHEMA_VERSION} or an earlier one",
        found=f"{field} {found}",
        mend=(
            "update this repository: the file was written by a newer one"
            if newer
            else "measure again, or migrate the file as CHANGELOG.md describes for its version"
        ),
    )


def _parse(text: str, place: Place) -> Any:
    def refuse_constant(name: str) -> NoReturn:
        raise PublishError(
            f"{name} is not a number",
            place=place,
            expected="a finite number, or null with a refusal",
            found=name,
            mend=_CHECK,
        )

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        record = dict(pairs)
        if len(record) != len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise PublishError(
                f"the field {twice} stands there twice",
                place=place,
                expected="each field once",
                found=", ".join(str(value)[:40] for name, value in pairs if name == twice),
                mend=_RESTORE.format(path=place.file),
            )
        return record

    def finite(digits: str) -> float:
        number = float(digits)
        return number if math.isfinite(number) else refuse_constant(digits)

    try:
        return json.loads(text, parse_constant=refuse_constant, parse_float=finite, object_pairs_hook=once)
    except json.JSONDecodeError as error:
        line = place.line or error.lineno
        raise PublishError(
            "this is not JSON",
            place=Place(place.file, line),
            expected="a whole JSON record",
            found=f"{error.msg} at column {error.colno}: {_tail(text[: error.pos + 20])}",
            mend=_RESTORE.format(path=place.file),
        ) from error


def _tail(text: str) -> str:
    return "…" + text[-60:] if len(text) > 60 else text


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise PublishError(
            "there is no such file", place=Place(str(path)), mend=_RESTORE.format(path=path)
        ) from error
    except UnicodeDecodeError as error:
        raise PublishError(
            "this is not UTF-8 text",
            place=Place(str(path)),
            found=str(error),
            mend=_RESTORE.format(path=path),
        ) from error


@lru_cache(maxsize=8)
def _loaded(folder: Path, state: tuple[tuple[str, int, int], ...]) -> Store:
    return load(folder)


def load_cached(folder: Path) -> Store:
    """`load`, skipped while no file of the folder has changed (name, size and time in nanoseconds)."""
    unfinished = folder / "unfinished"
    files = sorted(path for path in folder.rglob("*") if unfinished not in path.parents and path.is_file())
    state = tuple((str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in files)
    return _loaded(folder, state)
