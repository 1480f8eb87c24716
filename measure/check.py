"""Validate all of site_data/ against schema.json and against itself. Changes nothing, needs no torch."""

from __future__ import annotations

import hashlib
import json
import lzma
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError, best_match

from measure.record import CELL_FIELDS, READABLE_VERSIONS, SCHEMA_VERSION

Json = dict[str, Any]


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong: where, what was expected, what was found."""

    path: Path
    line: int | None
    field: str
    expected: str
    found: str

    def __str__(self) -> str:
        line = f":{self.line}" if self.line else ""
        field = f"{self.field}: " if self.field else ""
        return f"{self.path}{line}: {field}expected {self.expected}, found {self.found}"


class Checker:
    """Checks one site_data folder."""

    def __init__(self, site_data: Path) -> None:
        self._root = site_data
        self._models: set[str] = set()

    def problems(self) -> Iterator[Problem]:
        """Everything that is wrong, file by file."""
        schema_problem = self._schema_problem()
        if schema_problem:
            yield schema_problem
            return
        for path in sorted((self._root / "models").glob("*.json")):
            yield from self._document(path, "model", named=True)
            self._models.add(path.stem)
        for path in sorted((self._root / "cited").glob("*.json")):
            yield from self._document(path, "cited", named=True)
        for folder in _folders(self._root / "tokenizers"):
            yield from self._tokenizer(folder)
        for folder in _folders(self._root / "runs"):
            yield from self._run(folder)

    def run_problems(self, folder: Path) -> Iterator[Problem]:
        """Everything that is wrong with the run in `folder`, which need not be in runs/ yet."""
        schema_problem = self._schema_problem()
        if schema_problem:
            yield schema_problem
            return
        self._models = {path.stem for path in (self._root / "models").glob("*.json")}
        yield from self._run(folder)

    def _schema_problem(self) -> Problem | None:
        path = self._root / "schema.json"
        if not self._root.is_dir():
            return Problem(self._root, None, "", "a folder with schema.json, runs/ and models/", "no folder")
        if not path.is_file():
            return Problem(path, None, "", "the data contract", "no file; `git checkout` brings it back")
        try:
            version = self._schema["version"]
        except (ValueError, KeyError) as error:
            return Problem(path, None, "", "JSON with a version", f"{error}")
        if version != SCHEMA_VERSION:
            return Problem(path, None, "version", _known_version(), str(version))
        return None

    @cached_property
    def _schema(self) -> Json:
        schema: Json = json.loads((self._root / "schema.json").read_text(encoding="utf-8"))
        return schema

    def _validator(self, kind: str) -> Draft202012Validator:
        schema = {"$defs": self._schema["$defs"], "$ref": f"#/$defs/{kind}"}
        return Draft202012Validator(schema)

    def _document(self, path: Path, kind: str, *, named: bool = False) -> Iterator[Problem]:
        try:
            data = parse(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            yield Problem(path, getattr(error, "lineno", None), "", "a JSON document", str(error))
            return
        yield from self._valid(path, None, data, self._validator(kind))
        if named and data.get("name") != path.stem:
            yield Problem(path, None, "name", f"{path.stem!r}, as the file is called", repr(data.get("name")))

    def _valid(
        self, path: Path, line: int | None, data: Any, validator: Draft202012Validator
    ) -> Iterator[Problem]:
        if isinstance(data, dict) and data.get("schema_version", SCHEMA_VERSION) not in READABLE_VERSIONS:
            yield Problem(path, line, "schema_version", _known_version(), repr(data["schema_version"]))
            return
        for error in validator.iter_errors(data):
            yield _problem(path, line, error)

    def _tokenizer(self, folder: Path) -> Iterator[Problem]:
        origin = folder / "origin.json"
        before = list(self._document(origin, "tokenizer"))
        yield from before
        if before:
            return
        facts = json.loads(origin.read_text(encoding="utf-8"))
        try:
            content = lzma.decompress((folder / facts["file"]).read_bytes())
        except (OSError, lzma.LZMAError) as error:
            yield Problem(folder / facts["file"], None, "", "an xz file", str(error))
            return
        digest = hashlib.sha256(content).hexdigest()
        if digest != facts["sha256"]:
            yield Problem(folder / facts["file"], None, "sha256", facts["sha256"], digest)
        if not (folder / "LICENSE").is_file():
            yield Problem(folder / "LICENSE", None, "", "the licence of the tokenizer file", "no file")

    def _run(self, folder: Path) -> Iterator[Problem]:
        path = folder / "run.json"
        before = list(self._document(path, "run"))
        yield from before
        if before:
            return
        run = json.loads(path.read_text(encoding="utf-8"))
        if run["run_id"] != folder.name:
            yield Problem(
                path, None, "run_id", f"{folder.name!r}, as the folder is called", repr(run["run_id"])
            )
        if run["status"] != "complete":
            yield Problem(path, None, "status", "'complete', as everything in runs/", repr(run["status"]))
        if run["model"]["name"] not in self._models:
            known = ", ".join(sorted(self._models)) or "(none)"
            yield Problem(path, None, "model.name", f"one of models/: {known}", repr(run["model"]["name"]))
        yield from self._samples(folder / "samples.jsonl", run)

    def _samples(self, path: Path, run: Json) -> Iterator[Problem]:
        try:
            content = path.read_bytes()
        except OSError as error:
            yield Problem(path, None, "", "the samples of the run", str(error))
            return
        lines = content.decode("utf-8", errors="replace").splitlines()
        if content and not content.endswith(b"\n"):
            yield Problem(
                path,
                len(lines),
                "",
                "a whole line",
                f"a line cut short: {lines[-1][-40:]!r}; restore the file",
            )
            lines.pop()
        validator = self._validator("sample")
        known = _RunKeys(run)
        for number, text in enumerate(lines, start=1):
            try:
                sample = parse(text)
            except ValueError as error:
                yield Problem(path, number, "", "one sample as JSON", f"{error} in {text[:60]!r}")
                continue
            problems = list(self._valid(path, number, sample, validator))
            yield from problems
            if not problems:
                for field, expected, found in known.incoherences(sample):
                    yield Problem(path, number, field, expected, found)
        if len(lines) != run["samples"]:
            yield Problem(path, None, "", f"{run['samples']} lines, as run.json says", str(len(lines)))


class _RunKeys:
    """What the samples of one run may refer to, and which have been seen."""

    def __init__(self, run: Json) -> None:
        self._cells = {tuple(cell[f] for f in CELL_FIELDS) for cell in run["plan"]["cells"]}
        self._processes = {p["process"] for p in run["processes"]}
        self._seen: set[tuple[Any, ...]] = set()

    def incoherences(self, sample: Json) -> Iterator[tuple[str, str, str]]:
        """(field, expected, found) for each contradiction of `sample` with its run or itself."""
        cell = tuple(sample[f] for f in CELL_FIELDS)
        key = (*cell, sample["process"], sample["repetition"], sample["warm_up"])
        if cell not in self._cells:
            yield "experiment", "a cell of the plan in run.json", repr(cell)
        if sample["process"] not in self._processes:
            yield "process", "a process of run.json", repr(sample["process"])
        if key in self._seen:
            yield "repetition", "each repetition once", f"{sample['repetition']} again"
        self._seen.add(key)
        is_size = sample["experiment"] == "kv_cache"
        if sample["refusal"] is None and not is_size and sample["duration_s"] is None:
            yield "duration_s", "seconds, or a refusal that says why not", "null"
        if is_size and sample["refusal"] is None and sample["kv_cache_bytes"] is None:
            yield "kv_cache_bytes", "bytes, or a refusal that says why not", "null"
        if (sample["energy_joules"] is None) == (sample["energy_refusal"] is None):
            found = "both null" if sample["energy_joules"] is None else "both set"
            yield "energy_joules", "joules, or an energy_refusal that says why not", found
        per_step = tokens_per_step(sample)
        if sample["tokens"] != per_step * sample["steps"]:
            yield "tokens", f"{per_step} x {sample['steps']} steps", repr(sample["tokens"])
        yield from _gate_incoherences(sample)


def tokens_per_step(sample: Json) -> int:
    """Tokens that one forward pass of a sample's cell processes, all sequences together; 0 where there are none."""
    lengths = {"prefill": sample["prompt_tokens"], "decode": 1, "kv_cache": sample["context_tokens"]}
    return int(sample["batch"] * (lengths.get(sample["experiment"]) or 0))


def _gate_incoherences(sample: Json) -> Iterator[tuple[str, str, str]]:
    """A failed gate without its refusal, or a share of a ceiling above 100 % that no gate caught."""
    failed = sorted(name for name, result in sample.get("gates", {}).items() if result == "failed")
    refused = sample["refusal"] or (failed == ["energy_agreement"] and sample["energy_refusal"])
    if failed and not refused:
        yield "refusal", f"a reason, since the gate {failed[0]} failed", "null"
    for rate in ("bytes", "flop"):
        work, ceiling = sample.get(f"work_{rate}"), sample.get(f"ceiling_{rate}_per_s")
        if work and ceiling and sample["duration_s"] and sample["refusal"] is None:
            share = work / sample["duration_s"] / ceiling
            if share > 1:
                yield f"work_{rate}", "at most 100 % of the ceiling beside it, or a refusal", f"{share:.1%}"


def parse(text: str) -> Any:
    """JSON as the contract allows it.

    Raises ValueError for NaN, Infinity, numbers that no 64 bits hold and repeated keys, which Python's reader would let
    pass, and for nesting without end.
    """

    def no_constant(name: str) -> Any:
        raise ValueError(f"{name}, which is not a number in JSON")

    def once(pairs: list[tuple[str, Any]]) -> Json:
        keys = [key for key, _ in pairs]
        twice = {key for key in keys if keys.count(key) > 1} if len(set(keys)) < len(keys) else set()
        if twice:
            raise ValueError(f"the key {sorted(twice)[0]!r} twice")
        return dict(pairs)

    def finite(digits: str) -> float:
        number = float(digits)
        return number if math.isfinite(number) else no_constant(digits)

    def whole(digits: str) -> int:
        number = int(digits) if len(digits) <= 20 else 2**64
        if not -(2**63) <= number < 2**63:
            raise ValueError(f"{digits[:24]}…, an integer of more than 64 bits")
        return number

    try:
        return json.loads(
            text,
            parse_constant=no_constant,
            parse_float=finite,
            parse_int=whole,
            object_pairs_hook=once,
        )
    except RecursionError as error:
        raise ValueError("brackets within brackets without end") from error


def _problem(path: Path, line: int | None, error: ValidationError) -> Problem:
    if error.context:
        error = best_match([error]) or error
    field = ".".join(str(part) for part in error.absolute_path)
    instance: Any = error.instance
    found = repr(instance)
    rule: Any = error.validator_value
    schema: Any = error.schema
    match error.validator:
        case "required":
            missing = [key for key in rule if key not in instance]
            return Problem(path, line, field, f"the field {missing[0]!r}", "none")
        case "additionalProperties":
            extra = sorted(set(instance) - set(schema.get("properties", {})))
            return Problem(path, line, field, "only the fields of schema.json", repr(extra[0]))
        case "type":
            kinds = rule
            expected = kinds if isinstance(kinds, str) else " or ".join(kinds)
        case "exclusiveMinimum":
            expected = f"more than {rule}"
        case "minimum":
            expected = f"at least {rule}"
        case "enum":
            expected = "one of " + ", ".join(map(str, rule))
        case "const":
            expected = repr(rule)
        case "pattern":
            expected = f"text like {rule}"
        case other:
            expected = f"{other} {rule!r}"
    return Problem(path, line, field, expected, found if len(found) <= 80 else found[:77] + "...")


def _known_version() -> str:
    return f"{SCHEMA_VERSION}, the version that this program reads; update the program or migrate the file"


def _folders(parent: Path) -> list[Path]:
    return [path for path in sorted(parent.glob("*")) if path.is_dir()]
