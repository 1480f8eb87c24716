"""site_data/ as a Frictionless data package: datapackage.json, made from schema.json and the files. Checks no data.

`python -m hooks.datapackage` writes site_data/datapackage.json anew. Fields, meanings and constraints come from
schema.json; units from the suffix of a field's name. Runs never change, so hashes and sizes of their files stand there.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hooks.errors import Place, PublishError
from hooks.files import replace_text

FILE = "datapackage.json"
LEDGER = "ledger.jsonl"
LICENCE = {
    "name": "CC-BY-4.0",
    "title": "Creative Commons Attribution 4.0 International",
    "path": "https://creativecommons.org/licenses/by/4.0/",
}

UNITS = {
    "_bytes_per_s": "bytes/s",
    "_flop_per_s": "flop/s",
    "_joules": "J",
    "_watts": "W",
    "_bytes": "bytes",
    "_tokens": "tokens",
    "_celsius": "°C",
    "_hz": "Hz",
    "_share": "1",
    "_flop": "flop",
    "_s": "s",
}
"""Units by the ending of a field's name, the longest ending first."""

_COUNTS = {"tokens": "tokens", "batch": "sequences"}
_TYPES = {name: name for name in ("string", "integer", "number", "boolean", "object", "array")}
_LIMITS = {"minimum": "minimum", "pattern": "pattern", "enum": "enum", "minLength": "minLength"}

Json = dict[str, Any]


def describe(folder: Path) -> Json:
    """The descriptor of a site_data/ folder.

    Raises:
        PublishError: schema.json or a run's samples cannot be read.
    """
    schema = _json(folder / "schema.json")
    return {
        "profile": "data-package",
        "name": "spliced-inference",
        "title": "Spliced Inference: measured runs of language-model inference",
        "description": "Raw samples of prefill, decode and the KV cache of language models, run by run, with the "
        "provenance of each. A number that could not be had is null and has its reason beside it. Fields are in "
        "base units; `unit` names each. Runs of different machines are not to be pooled.",
        "version": str(schema["version"]),
        "licenses": [LICENCE],
        "keywords": ["language models", "inference", "benchmark", "energy"],
        "resources": list(_resources(folder, schema)),
    }


def text(descriptor: Json) -> str:
    """The descriptor's text: a line for each field and each file, so that a new run is new lines and no others."""
    resources = [_resource_text(resource) for resource in descriptor["resources"]]
    head = json.dumps({**descriptor, "resources": []}, ensure_ascii=False, indent=1)
    return head.removesuffix("[]\n}") + "[\n" + ",\n".join(resources) + "\n ]\n}\n"


def _resource_text(resource: Json) -> str:
    if "schema" not in resource:
        return f"  {json.dumps(resource, ensure_ascii=False)}"
    head = json.dumps({key: value for key, value in resource.items() if key != "schema"}, ensure_ascii=False)
    fields = ",\n".join(
        f"    {json.dumps(field, ensure_ascii=False)}" for field in resource["schema"]["fields"]
    )
    return f'  {head[:-1]}, "schema": {{"fields": [\n{fields}\n   ]}}}}'


def is_current(folder: Path) -> bool:
    """Whether a folder's descriptor describes what is in it; also where it has none."""
    path = folder / FILE
    return not path.is_file() or path.read_text(encoding="utf-8") == text(describe(folder))


def _resources(folder: Path, schema: Json) -> Iterator[Json]:
    yield _document(
        folder / "schema.json", folder, "schema", "Every field with its unit and meaning (JSON Schema)"
    )
    for part, words in (("models", "Published sizes of a model"), ("cited", "Numbers cited from elsewhere")):
        for path in sorted((folder / part).glob("*.json")):
            record = _json(path)
            origin = record.get("origin", {})
            yield {
                **_document(
                    path, folder, f"{part}-{path.stem}", f"{words}: {record.get('title') or origin['title']}"
                ),
                "sources": [
                    {"title": origin["title"], **({"path": origin["url"]} if origin.get("url") else {})}
                ],
                "licenses": [{"name": "other", "title": origin["licence"]}],
            }
    for run in sorted(path for path in (folder / "runs").iterdir() if path.is_dir() and path.name[0] != "."):
        record = _json(run / "run.json")
        where = (
            f"{record['model']['name']} on {record['machine']['label']}, {(record['finished_at'] or '')[:10]}"
        )
        yield _document(run / "run.json", folder, f"run-{run.name}", f"Provenance of a run: {where}")
        yield {
            **_file(run / "samples.jsonl", folder),
            "name": _name(f"samples-{run.name}"),
            "title": f"Samples of a run: {where}",
            "profile": "tabular-data-resource",
            "format": "ndjson",
            "mediatype": "application/x-ndjson",
            "schema": {"fields": _fields(run / "samples.jsonl", "sample", schema)},
        }
    if (folder / LEDGER).is_file():
        yield {
            "path": LEDGER,
            "encoding": "utf-8",
            "name": "ledger",
            "title": "What each publication of the site changed, number by number",
            "profile": "tabular-data-resource",
            "format": "ndjson",
            "mediatype": "application/x-ndjson",
            "schema": {"fields": _fields(folder / LEDGER, "ledger_line", schema)},
        }


def _document(path: Path, folder: Path, name: str, title: str) -> Json:
    return {
        **_file(path, folder),
        "name": _name(name),
        "title": title,
        "profile": "data-resource",
        "type": "json",  # frictionless takes any schema.json for one of its own otherwise
        "format": "json",
        "mediatype": "application/json",
    }


def _file(path: Path, folder: Path) -> Json:
    made: Json = {"path": path.relative_to(folder).as_posix(), "encoding": "utf-8"}
    if made["path"].startswith("runs/"):
        content = path.read_bytes()
        made |= {"bytes": len(content), "hash": f"sha256:{hashlib.sha256(content).hexdigest()}"}
    return made


def _name(text: str) -> str:
    """A name as the specification allows one."""
    return re.sub(r"[^a-z0-9._-]", "-", text.lower())


def _fields(path: Path, kind: str, schema: Json) -> list[Json]:
    """The fields of a file of lines, in its own order: a run has those that its version of the contract had."""
    with path.open(encoding="utf-8") as file:
        line = file.readline()
    try:
        names = list(json.loads(line)) if line.strip() else []
        properties = schema["$defs"][kind]["properties"]
        return [_field(name, _resolved(properties[name], schema)) for name in names]
    except (ValueError, KeyError) as error:
        raise PublishError(
            "this line has no place in the contract",
            place=Place(str(path), 1),
            expected=f"a {kind.replace('_', ' ')}, as schema.json has it",
            found=f"{type(error).__name__}: {error}",
            mend="run `python -m measure check`, which checks all of site_data/",
        ) from error


def _field(name: str, described: Mapping[str, Any]) -> Json:
    types = described.get("type", "object" if "anyOf" in described else "string")
    types = [types] if isinstance(types, str) else types
    kind = next(each for each in types if each != "null")
    made: Json = {"name": name, "type": _TYPES[kind]}
    if "description" in described:
        made["description"] = described["description"]
    unit = unit_of(name)
    if unit and kind in ("integer", "number"):
        made["unit"] = unit
    limits = {ours: described[theirs] for theirs, ours in _LIMITS.items() if theirs in described}
    if "enum" in limits:  # a null is no value, so it is none of these
        limits["enum"] = [value for value in limits["enum"] if value is not None]
    if "null" not in types and "anyOf" not in described:
        limits["required"] = True
    if limits:
        made["constraints"] = limits
    return made


def unit_of(name: str) -> str | None:
    """The unit of a field of the contract, by its name; None where it has none."""
    return next((unit for ending, unit in UNITS.items() if name.endswith(ending)), _COUNTS.get(name))


def _resolved(node: Mapping[str, Any], schema: Json) -> Mapping[str, Any]:
    while "$ref" in node:
        target: Any = schema
        for part in node["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        node = {**target, **{key: value for key, value in node.items() if key != "$ref"}}
    return node


def _json(path: Path) -> Json:
    try:
        found: Json = json.loads(path.read_text(encoding="utf-8"))
        return found
    except (OSError, ValueError) as error:
        raise PublishError(
            "the data package cannot be described",
            place=Place(str(path)),
            expected="a JSON file of the contract",
            found=f"{type(error).__name__}: {error}",
            mend="run `python -m measure check`, which checks all of site_data/",
        ) from error


def main(arguments: list[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m hooks.datapackage", description="Write site_data/datapackage.json anew."
    )
    parser.add_argument(
        "site_data", type=Path, nargs="?", default=Path("site_data"), help="the folder; site_data"
    )
    options = parser.parse_args(arguments)
    try:
        made = text(describe(options.site_data))
    except PublishError as error:
        print(error, file=sys.stderr)
        return 2
    replace_text(options.site_data / FILE, made)
    print(f"{options.site_data / FILE}: {made.count(chr(10))} lines")
    return 0


if __name__ == "__main__":
    sys.exit(main())
