"""The JSON endpoints: an index, one for each number, one for each run. Writes no file.

docs/reference/api.md describes them and docs/api/v1/schema/ holds their JSON Schema. Within a version, fields may be
added; none is taken away and none changes its meaning.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from hooks.catalogue.entries import Entry
from hooks.catalogue.render import API, LICENCE, LICENCE_URL, page_path, quantity_path, run_path
from hooks.catalogue.values import CellValues, RunValues, Value, rounded
from hooks.citation import citations
from hooks.citation.citations import Record as Citation
from hooks.data.records import Refusal, Run, keys_of
from hooks.numbers.definitions import Measured
from hooks.numbers.fields import FIELDS
from hooks.numbers.readings import Reading

VERSION = 1

Json = dict[str, Any]


def quantity(entry: Entry, site: Json, cite: Citation | None) -> Json:
    """The endpoint of a number."""
    definition = entry.definition
    now = entry.now
    return {
        **_head("quantity", site, cite),
        "id": entry.id,
        "title": entry.title,
        "meaning": entry.meaning,
        "unit": entry.unit,
        "kind": entry.kind,
        "page": quantity_path(entry.id),
        "measured": _measured(definition.measured) if definition and definition.measured else None,
        "formula": now.formula,
        "inputs": list(entry.inputs),
        "used_by": list(entry.used_by),
        "origin": {**now.origin, "place": now.place} if now.origin else None,
        "now": _reading(now),
        "parts": [{"title": part.title, **_reading(part)} for part in now.parts],
        "runs": [
            {
                "run": run.id,
                "date": run.date,
                "model": run.model,
                "dtype": run.record["model"]["dtype"],
                "weights": run.weights_kind,
                "machine": run.machine,
                **_value(value),
            }
            for run, value in entry.runs
        ],
        "stated_on": [
            {
                "page": page_path(use.uri),
                "title": use.title,
                "anchor": use.anchor,
                "text": use.text,
                "alias": use.alias,
            }
            for use in entry.uses
        ],
        "history": [
            {
                "version": change.version,
                "date": change.date,
                "alias": change.number.alias,
                "text": change.number.text,
                "value": change.number.value,
                "low": change.number.low,
                "high": change.number.high,
                "unit": change.number.unit,
                "run": change.number.run,
                "refusal": change.number.refusal,
            }
            for change in entry.history
        ],
    }


def run(found: Run, values: RunValues, files: Mapping[str, str], site: Json, cite: Citation | None) -> Json:
    """The endpoint of a run; `files` are the paths of its downloads by what they are."""
    return {
        **_head("run", site, cite),
        "id": found.id,
        "page": run_path(found.id),
        "record": found.record,
        "files": dict(files),
        "samples": {"all": values.samples, "warm_ups": values.warm_ups, "refused": values.refused},
        "cells": [_cell(cell) for cell in values.cells],
        "gates": {
            name: dict(zip(("passed", "failed", "not_checked"), counts, strict=True))
            for name, counts in values.gates.items()
        },
        "refusals": [
            {
                "kind": each.kind,
                "reason": each.reason,
                "energy_only": each.energy,
                "samples": each.count,
                "cells": list(each.cells),
            }
            for each in values.refusals
        ],
        "quantities": {id_: _value(value) for id_, value in values.quantities.items()},
    }


def index(entries: Iterable[Entry], runs: Iterable[Run], files: Mapping[str, str], site: Json) -> Json:
    """The endpoint that lists all others; `files` are the paths of downloads of all data by what they are."""
    return {
        **_head("index", site, None),
        "files": dict(files),
        "quantities": [
            {
                "id": entry.id,
                "title": entry.title,
                "unit": entry.unit,
                "kind": entry.kind,
                "text": entry.now.text(),
                "endpoint": f"{API}/quantities/{entry.id}.json",
                "page": quantity_path(entry.id),
            }
            for entry in entries
        ],
        "runs": [
            {
                "id": each.id,
                "date": each.date,
                "model": each.model,
                "machine": each.machine,
                "endpoint": f"{API}/runs/{each.id}.json",
                "page": run_path(each.id),
            }
            for each in runs
        ],
    }


_JSON = json.JSONEncoder(ensure_ascii=False, allow_nan=False)  # `json.dumps` makes one for each value


def text(endpoint: Json) -> str:
    """An endpoint's text, a line for each of its fields; the same for the same content."""
    fields = (f"{_JSON.encode(name)}: {_JSON.encode(value)}" for name, value in endpoint.items())
    return "{\n" + ",\n".join(fields) + "\n}\n"


def _head(kind: str, site: Json, cite: Citation | None) -> Json:
    """What each endpoint begins with. Addresses below are paths from the site's root."""
    made = {
        "schema": f"{API}/schema/{kind}.json",
        "api": VERSION,
        **site,
        "licence": {"name": LICENCE, "url": LICENCE_URL},
    }
    if kind != "index":
        made["citation"] = json.loads(citations.csl_json(cite))[0] if cite else None
    return made


def _measured(wanted: Measured) -> Json:
    where = {name: list(each) if isinstance(each, tuple) else each for name, each in wanted.where.items()}
    return {"field": wanted.field, "cell": where, "over": wanted.over}


def _reading(reading: Reading) -> Json:
    return {
        **_numbers(
            reading.text(),
            rounded(reading.value),
            rounded(reading.low),
            rounded(reading.high),
            reading.refusal,
        ),
        "processes": reading.processes,
        "samples": reading.samples,
        "runs": [run.id for run in reading.runs],
    }


def _value(value: Value) -> Json:
    return {
        **_numbers(value.text, value.value, value.low, value.high, value.refusal),
        "processes": value.processes,
        "samples": value.samples,
    }


def _numbers(
    text: str, value: float | None, low: float | None, high: float | None, refusal: Refusal | None
) -> Json:
    return {
        "text": text,
        "value": value,
        "low": low,
        "high": high,
        "refusal": {"kind": refusal.kind, "reason": refusal.reason} if refusal else None,
    }


def _cell(cell: CellValues) -> Json:
    return {
        **keys_of(cell.cell),
        "samples": {
            "planned": cell.planned,
            "counted": cell.counted,
            "refused": cell.refused,
            "warm_ups": cell.warm_ups,
        },
        "left_out": cell.left_out,
        "fields": {name: {"unit": FIELDS[name].unit, **_value(value)} for name, value in cell.values.items()},
    }
