"""The data as files: samples and values as CSV, archives with licence and citation inside. Makes no page.

An archive of the same data has the same bytes: names in order, one date for all, no trace of the machine.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from hooks.catalogue.entries import Entry
from hooks.catalogue.render import LICENCE, LICENCE_URL
from hooks.catalogue.values import RunValues, Value
from hooks.citation import citations
from hooks.citation.citations import Record
from hooks.data.records import CELL_KEYS, Cell, Run, Sample, keys_of
from hooks.numbers.definitions import Definition
from hooks.numbers.fields import FIELDS, Idle
from hooks.numbers.formatting import UNITS
from hooks.pictures import sheets

Files = Mapping[str, bytes | Path]

SAMPLE_COLUMNS = (
    "quantity",
    "unit",
    "value",
    "counted",
    "warm_up",
    "reason",
    "run",
    *CELL_KEYS,
    "process",
    "repetition",
    "started_at",
)
RUN_COLUMNS = (
    "quantity",
    "unit",
    "value",
    "low",
    "high",
    "text",
    "refusal",
    "reason",
    "processes",
    "samples",
    "run",
    "date",
    "model",
    "dtype",
    "weights",
    "machine",
)


class SampleFiles:
    """The samples behind numbers, as rows. Those of a run are put in order once."""

    def __init__(self, definitions: Mapping[str, Definition]) -> None:
        self.definitions = definitions
        self._by_cell: dict[str, dict[Cell, list[Sample]]] = {}
        self._idle: dict[str, Idle] = {}

    def rows(self, entry: Entry) -> list[list[Any]]:
        """The samples behind today's number, in the columns of `SAMPLE_COLUMNS`, warm-ups and refused ones too."""
        found: list[list[Any]] = []
        for definition in self._measured(entry.definition):
            assert definition.measured is not None
            wanted = definition.measured
            for source in entry.now.sources:
                for cell in self._cells(source.run):
                    keys = keys_of(cell)
                    if _fits(keys, source.cell) and _fits(keys, wanted.where):
                        found += self._of_cell(definition.id, wanted.field, source.run, cell)
        return found

    def _measured(self, definition: Definition | None) -> Iterator[Definition]:
        """The measured numbers that one is made of, each once."""
        seen: set[str] = set()
        waiting = [definition] if definition else []
        while waiting:
            each = waiting.pop(0)
            if each.id in seen:
                continue
            seen.add(each.id)
            if each.measured is not None:
                yield each
            waiting += [self.definitions[name] for name in each.inputs if name in self.definitions]

    def _cells(self, run: Run) -> dict[Cell, list[Sample]]:
        if run.id not in self._by_cell:
            found: dict[Cell, list[Sample]] = {}
            for sample in run.samples:
                found.setdefault(sample.cell, []).append(sample)
            self._by_cell[run.id], self._idle[run.id] = found, Idle.of(run)
        return self._by_cell[run.id]

    def _of_cell(self, id_: str, field: str, run: Run, cell: Cell) -> Iterator[list[Any]]:
        for sample in self._by_cell[run.id][cell]:
            value, refusal = FIELDS[field].read(sample, self._idle[run.id])
            counted = value is not None and not sample.warm_up
            reason = (
                "" if counted else refusal.reason if refusal else "not yet steady" if sample.warm_up else ""
            )
            head = [id_, FIELDS[field].unit, value, counted, sample.warm_up, reason, run.id]
            yield [*head, *cell, sample.process, sample.repetition, sample.started_at]


def _fits(keys: Mapping[str, Any], where: Mapping[str, Any]) -> bool:
    return all(
        keys[name] in wanted if isinstance(wanted, tuple) else keys[name] == wanted
        for name, wanted in where.items()
    )


def value_row(id_: str, unit: str, run: Run, value: Value) -> list[Any]:
    """A number in one run, in the columns of `RUN_COLUMNS`."""
    refusal = value.refusal
    return [
        id_,
        unit,
        value.value,
        value.low,
        value.high,
        "" if refusal else value.text,
        refusal.kind if refusal else "",
        refusal.reason if refusal else "",
        value.processes,
        value.samples,
        run.id,
        run.date,
        run.model,
        run.record["model"]["dtype"],
        run.weights_kind,
        run.machine,
    ]


def runs_csv(entry: Entry) -> str:
    """A number in every run."""
    return sheets.text(RUN_COLUMNS, (value_row(entry.id, entry.unit, *each) for each in entry.runs))


def values_csv(found: Iterable[tuple[Run, RunValues]], units: Mapping[str, str]) -> str:
    """Every number in every run."""
    rows = (
        value_row(id_, units[id_], run, value)
        for run, values in found
        for id_, value in values.quantities.items()
    )
    return sheets.text(RUN_COLUMNS, rows)


def about(title: str, what: str, record: Record | None, contents: Iterable[tuple[str, str]]) -> str:
    """The README of an archive: what is in it, its licence, and how to cite it."""
    names = "\n".join(f"- `{name}`: {words}" for name, words in contents)
    cite = citations.apa(record) if record else "See the site that this archive comes from."
    units = ", ".join(unit for unit in UNITS if unit != "1")
    return (
        f"# {title}\n\n{what}\n\n## What is in it\n\n{names}\n\n"
        f"Numbers are in base units ({units}), and the name of a column or a field carries its unit. A number that "
        "could not be had is empty or null, with the reason beside it; it is never a zero.\n\n"
        f"## Licence\n\nThe data that this site measured or computed are under {LICENCE} ({LICENCE_URL}). "
        "Numbers cited from elsewhere keep the licence of their source, which stands beside each.\n\n"
        f"## How to cite it\n\n{cite}\n"
    )


def write_archive(path: Path, files: Files, root: str) -> int:
    """Write an archive, everything in one folder of that name; returns its size in bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for name, content in sorted(files.items()):
            made = zipfile.ZipInfo(f"{root}/{name}", (1980, 1, 1, 0, 0, 0))
            made.compress_type, made.external_attr, made.create_system = zipfile.ZIP_DEFLATED, 0o644 << 16, 3
            archive.writestr(made, content.read_bytes() if isinstance(content, Path) else content)
    return path.stat().st_size
