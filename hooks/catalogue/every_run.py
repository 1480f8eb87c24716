"""What every run says: its cells, its quantities, its gates and refusals, kept by the hash of its files. Makes no page.

A book answers for the newest run of each alias. Here each run of the store is asked, whether an alias takes it or not.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from hooks.caching.cache import Cache, digest, file_digest, sources
from hooks.catalogue.values import CellValues, Refused, RunValues, Value
from hooks.data.quiet import disturbances
from hooks.data.records import CELL_KEYS, Cell, Run, Sample, keys_of
from hooks.errors import PublishError
from hooks.numbers import measured
from hooks.numbers.book import Book, answers
from hooks.numbers.definitions import Definition
from hooks.numbers.readings import cell_words

SHOWN: Mapping[str, tuple[str, ...]] = {
    "prefill": ("seconds_per_token", "share_of_read_ceiling", "share_of_flop_ceiling", "joules_per_token"),
    "decode": ("seconds_per_token", "share_of_read_ceiling", "share_of_flop_ceiling", "joules_per_token"),
    "kv_cache": ("kv_cache_bytes", "kv_bytes_per_token"),
    "ceilings": ("bytes_per_s", "flop_per_s"),
    "idle": ("watts",),
}
"""The fields of each experiment that a page of a run shows."""

_PERCENT = ("share_of_read_ceiling", "share_of_flop_ceiling")
_CEILING_OF = {"read": ("bytes_per_s",), "gemm": ("flop_per_s",)}


class EveryRun:
    """The numbers of each run of a store.

    Args:
        book: The store's numbers.
        kept: Results of earlier builds.
    """

    def __init__(self, book: Book, kept: Cache) -> None:
        self.book, self.kept = book, kept
        self._made: dict[str, RunValues] = {}

    def of(self, run: Run) -> RunValues:
        """All that a run says.

        Raises:
            PublishError: A planned cell has no samples, and nothing says why.
        """
        if run.id not in self._made:
            self._made[run.id] = self._of(run)
        return self._made[run.id]

    def _of(self, run: Run) -> RunValues:
        files = [file_digest(run.folder / name) for name in ("run.json", "samples.jsonl")]
        key = digest("run values", self._basis, files)
        row = self.kept.get("run-values", key)
        if row is not None:
            return RunValues.from_row(row)
        counted = [sample for sample in run.samples if not sample.warm_up]
        one = self.book.standing_in(run)
        made = RunValues(
            cells=tuple(_cells(one, run)),
            quantities=dict(self._quantities(one, run)),
            gates=_gates(counted),
            refusals=tuple(_refusals(counted)),
            disturbances=disturbances(counted),
            samples=len(run.samples),
            warm_ups=len(run.samples) - len(counted),
            refused=sum(sample.refusal is not None for sample in counted),
        )
        self.kept.put("run-values", key, made.row())
        return made

    @cached_property
    def _basis(self) -> str:
        """A hash of what a run's numbers depend on besides the run: definitions, sizes, cited values, code."""
        folder = self.book.store.folder
        paths = [path for part in ("models", "cited") for path in sorted((folder / part).glob("*.json"))]
        files = [file_digest(path) for path in (self.book.definitions.path, *paths)]
        return digest(files, sources(Path(__file__).parents[1]))

    def _quantities(self, one: Book, run: Run) -> Iterator[tuple[str, Value]]:
        """Each quantity that this run's plan can give, by id."""
        known: dict[str, bool] = {}
        definitions = one.definitions.quantities
        wanted = [each for each in definitions.values() if self._applies(each, run, known)]
        # Whether the run is one that a number always takes was asked there; here it stands in for it.
        one.definitions = replace(one.definitions, quantities=self._of_any_run)
        for definition in wanted:
            try:
                yield definition.id, Value.of(one.read(definition.id))
            except PublishError as error:  # on no page: there, it would be an error of the page
                yield definition.id, Value.refused_for("unavailable", error.report.what)

    @cached_property
    def _of_any_run(self) -> dict[str, Definition]:
        definitions = self.book.definitions.quantities
        return {id_: replace(each, run=None) if each.run else each for id_, each in definitions.items()}

    def _applies(self, definition: Definition, run: Run, known: dict[str, bool]) -> bool:
        """Whether the run's plan holds the cells that a quantity is made of; never for one that needs no run."""
        if definition.id in known:
            return known[definition.id]
        made = False
        aliases, quantities = self.book.definitions.aliases, self.book.definitions.quantities
        if definition.run is None or answers(run, aliases[definition.run]):
            if definition.measured is not None:
                where = measured.chosen(run, definition.measured.where)
                made = bool(measured.planned(run, where)) or measured.has(run, where)
            else:
                facts = any(name.startswith("run.") for name in definition.inputs)
                inputs = [quantities[name] for name in definition.inputs if name in quantities]
                parts = [part for part in inputs if part.cited is None]
                made = bool(facts or parts) and all(self._applies(part, run, known) for part in parts)
        known[definition.id] = made
        return made


def _cells(one: Book, run: Run) -> Iterator[CellValues]:
    """Every cell, those of the plan first."""
    plan = run.record["plan"]
    planned = {_cell(cell): cell["repetitions"] * plan["rounds"] for cell in plan["cells"]}
    left_out = {_cell(item["cell"]): item["reason"] for item in plan["left_out"]}
    warm_ups = Counter(sample.cell for sample in run.samples if sample.warm_up)
    for cell in dict.fromkeys((*run.planned, *run.cells)):
        samples = run.cells.get(cell, ())
        refused = sum(sample.refusal is not None for sample in samples)
        fields = _CEILING_OF.get(cell[-1], SHOWN[cell[0]])
        values = {}
        for field in fields:
            reading = one.cell(one.definitions.main, keys_of(cell), field)
            values[field] = Value.of(reading, "percent" if field in _PERCENT else None)
        counts = (planned.get(cell, 0), len(samples) - refused, refused, warm_ups[cell])
        yield CellValues(cell, *counts, values, left_out.get(cell))


def _cell(record: Mapping[str, Any]) -> Cell:
    experiment, batch, prompt_tokens, context_tokens, dtype, mode = (record[key] for key in CELL_KEYS)
    return experiment, batch, prompt_tokens, context_tokens, dtype, mode


def _gates(samples: list[Sample]) -> dict[str, tuple[int, int, int]]:
    counts: dict[str, Counter[str]] = {}
    for sample in samples:
        for name, state in sample.gates.items():
            counts.setdefault(name, Counter())[state] += 1
    return {name: (each["passed"], each["failed"], each["not_checked"]) for name, each in counts.items()}


def _refusals(samples: list[Sample]) -> Iterator[Refused]:
    """The reasons, the most frequent first; those of energy alone after those of whole samples."""
    found: dict[tuple[bool, str, str], Counter[Cell]] = {}
    reasons: dict[tuple[bool, str, str], list[str]] = {}
    for sample in samples:
        refusal = sample.refusal or sample.energy_refusal
        if refusal is not None:
            key = (sample.refusal is None, refusal.kind, _NUMBER.sub("#", refusal.reason))
            found.setdefault(key, Counter())[sample.cell] += 1
            reasons.setdefault(key, []).append(refusal.reason)
    ordered = sorted(found.items(), key=lambda item: (item[0][0], -item[1].total(), item[0]))
    for key, cells in ordered:
        words = tuple(cell_words(keys_of(cell)) for cell in sorted(cells, key=_by_size))
        yield Refused(key[1], together(reasons[key]), key[0], cells.total(), words)


def _by_size(cell: Cell) -> tuple[str, int, int, str]:
    """By experiment, batch and length: samples come in the order of their rounds."""
    experiment, batch, prompt_tokens, context_tokens, _, mode = cell
    return experiment, batch, prompt_tokens or context_tokens or 0, mode


_NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")


def together(reasons: Sequence[str]) -> str:
    """Reasons that differ in their numbers alone, as one: `others had 5.2 to 78% of the CPU`."""
    found = [_NUMBER.findall(reason) for reason in reasons]
    if len({len(numbers) for numbers in found}) > 1:
        return reasons[0]
    spans = []
    for numbers in zip(*found, strict=True):
        ordered = sorted(set(numbers), key=lambda number: float(number.replace(",", "")))
        spans.append(ordered[0] if len(ordered) == 1 else f"{ordered[0]} to {ordered[-1]}")
    parts = iter(spans)
    return _NUMBER.sub(lambda _: next(parts), reasons[0])
