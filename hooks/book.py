"""Looking a number up: from an id to its value, interval, refusal and sources. Renders nothing.

The book is opened on one store and one quantities.toml and remembers what it has computed. It answers for
quantities, model facts (`model.NAME.FACT`), cited values (`cite.SOURCE.VALUE`), `tokenizer.NAME.entries` and, in
formulas, facts of the run that the formula is about (`run.weights_bytes`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from hooks import expressions, facts, model_facts
from hooks.errors import Place, PublishError, nearest
from hooks.estimates import Estimate, estimate, through
from hooks.fields import FIELDS
from hooks.quantities import CELL_KEYS, Alias, Definition, Definitions
from hooks.readings import Reading, Source, Verdict, cell_words
from hooks.records import Refusal, Run, Sample
from hooks.store import Store

_RUN_FACTS = ("run.parameters", "run.weights_bytes", "run.bytes_per_element")


class Book:
    """All numbers of a store.

    Args:
        store: The data.
        definitions: The quantities.
    """

    def __init__(self, store: Store, definitions: Definitions) -> None:
        self.store = store
        self.definitions = definitions
        self._readings: dict[tuple[str, str], Reading] = {}
        for definition in definitions.quantities.values():
            self._check(definition)

    # --- what pages ask for -------------------------------------------------------------------------

    def read(self, id_: str, alias: str | None = None) -> Reading:
        """The number `id_` from the run `alias` (the first alias where it is None).

        Raises:
            PublishError: The id or the alias is unknown, no run answers to the alias, or the run has neither
                samples nor a refusal for the number.
        """
        alias = alias or self.definitions.main
        if alias not in self.definitions.aliases:
            raise PublishError(
                f"there is no run alias `{alias}`",
                expected=", ".join(self.definitions.aliases),
                found=alias,
                nearest=nearest(alias, self.definitions.aliases),
                mend=f"use a known one, or add [runs.{alias}] to docs/quantities.toml",
            )
        if (id_, alias) not in self._readings:
            self._readings[id_, alias] = self._read(id_, alias)
        return self._readings[id_, alias]

    def known(self) -> Iterator[str]:
        """Every id that `read` answers to."""
        yield from self.definitions.quantities
        yield from facts.known(self.store)

    def run(self, alias: str) -> Run:
        """The newest complete run that the alias stands for."""
        wanted = self.definitions.aliases[alias]
        runs = [run for run in self.store.runs.values() if _answers(run, wanted)]
        if not runs:
            raise PublishError(
                f"no run answers to the alias `{alias}`",
                place=wanted.place,
                expected=f"a complete run of {wanted.model} under the plan {' or '.join(wanted.plans)}, "
                f"with weights of the kind {' or '.join(wanted.weights)}",
                found=", ".join(
                    f"{run.id} ({run.model}, {run.plan}, {run.weights_kind})"
                    for run in self.store.runs.values()
                )
                or f"no run in {self.store.folder.name}/runs/",
                mend=f"`python -m measure run --model {wanted.model} --plan {wanted.plans[0]}`",
            )
        return max(runs, key=lambda run: (run.finished_at, run.id))

    def unasked(self) -> Iterable[Run]:
        """Runs that no alias takes, whatever their date: they can be on no page."""
        for run in self.store.runs.values():
            if not any(_answers(run, alias) for alias in self.definitions.aliases.values()):
                yield run

    def evaluate(self, source: str, alias: str | None = None) -> Verdict:
        """The result of an expression over ids, `.low` and `.high`.

        Raises:
            PublishError: As `read` does; or a range is used without `.low` or `.high`, or an end that a
                number does not have.
        """
        expression = expressions.parse(source)
        readings: dict[str, Reading] = {}
        values: dict[str, float] = {}
        refusal = None
        for name in expression.ids:
            base, end = self._split_end(name)
            reading = self.read(base, alias)
            readings[base] = reading
            if reading.refusal:
                refusal = refusal or reading.refusal
            else:
                values[name] = self._end(reading, end)
        result = None if refusal else expression.evaluate(values)
        return Verdict(expression.source, result, refusal, readings)

    def series(
        self, alias: str, experiment: str, field: str, by: str, mode: str = "eager"
    ) -> list[tuple[int, Reading]]:
        """One reading for each planned cell of an experiment at batch 1 in one mode, ordered by `by`.

        A planned cell without samples that the run left out is a refusal, with the run's reason. One without
        samples and without a reason is an error, so that a chart never loses a point silently.
        """
        run = self.run(alias)
        cells = [
            {key: planned[key] for key in CELL_KEYS}
            for planned in run.record["plan"]["cells"]
            if planned["experiment"] == experiment and planned["batch"] == 1 and planned["mode"] == mode
        ]
        return [
            (cell[by], self.cell(alias, cell, field)) for cell in sorted(cells, key=lambda cell: cell[by])
        ]

    def cell(self, alias: str, cell: Mapping[str, Any], field: str) -> Reading:
        """The reading of a field over the samples of one planned cell; `series` says what a missing one is."""
        run = self.run(alias)
        words = cell_words(cell)
        definition = Definition(
            id=f"{field} of {words}",
            title=words,
            meaning=f"{field} of {words}",
            unit=FIELDS[field].unit,
            place=Place(str(run.folder / "samples.jsonl")),
            measured=dict(cell) | {"field": field},
        )
        left_out = [item for item in run.record["plan"]["left_out"] if item["cell"] == cell]
        if left_out and not any(_matches(sample, cell) and not sample.warm_up for sample in run.samples):
            described = _described(definition, "measured", self.definitions.aliases[alias])
            source = Source(run, cell, processes=0, samples=0, refused=0)
            refusal = Refusal("unavailable", left_out[0]["reason"])
            return replace(described, refusal=refusal, sources=(source,))
        return self._measured(definition, alias)

    # --- how they are found -------------------------------------------------------------------------

    def _read(self, id_: str, alias: str) -> Reading:
        fact = facts.read(self.store, id_)
        if fact is not None:
            return fact
        definition = self.definitions.quantities.get(id_)
        if definition is None:
            raise PublishError(
                f"there is no quantity `{id_}`",
                expected="an id from docs/quantities.toml, model.NAME.FACT or cite.SOURCE.VALUE",
                found=id_,
                nearest=nearest(id_, self.known()),
                mend=f'mend the id, or define [quantity."{id_}"] in docs/quantities.toml',
            )
        if definition.run is not None and alias not in (definition.run, self.definitions.main):
            raise PublishError(
                f"{id_} is always of the run `{definition.run}`",
                expected=f"no run=, or run={definition.run}",
                found=f"run={alias}",
                mend="leave run= out, or take `run` out of its definition",
            )
        alias = definition.run or alias
        if definition.measured is not None:
            return self._measured(definition, alias)
        if definition.formula is not None:
            return self._derived(definition, alias)
        if definition.range is not None:
            return self._range(definition, alias)
        return self._cited(definition)

    def _cited(self, definition: Definition) -> Reading:
        cited = facts.read(self.store, f"cite.{definition.cited}")
        assert cited is not None
        if cited.unit != definition.unit:
            raise PublishError(
                f"the unit of {definition.id} is not that of its source",
                place=definition.place,
                expected=f'unit = "{cited.unit}"',
                found=f'unit = "{definition.unit}"',
                mend="write the source's unit; a formula can convert",
            )
        names = ("estimate", "low", "high", "show", "digits", "origin", "place")
        return replace(
            _described(definition, "cited", alias=None), **{name: getattr(cited, name) for name in names}
        )

    def _measured(self, definition: Definition, alias: str) -> Reading:
        assert definition.measured is not None
        run = self.run(alias)
        where = {key: value for key, value in definition.measured.items() if key != "field"}
        name = definition.measured["field"]
        chosen = [sample for sample in run.samples if _matches(sample, where) and not sample.warm_up]
        cells = {tuple(getattr(sample, key) for key in CELL_KEYS) for sample in chosen}
        if len(cells) > 1:
            raise PublishError(
                f"{definition.id} takes in {len(cells)} cells",
                place=definition.place,
                expected="keys that choose one cell",
                found="; ".join(
                    cell_words(dict(zip(CELL_KEYS, cell, strict=True))) for cell in sorted(cells, key=str)
                ),
                mend=f"add more of {', '.join(CELL_KEYS)} to `measured`",
            )
        values, refusals = [], []
        for sample in chosen:
            value, refusal = FIELDS[name].read(sample)
            if value is not None:
                values.append((sample.round, value))
            else:
                refusals.append(refusal)
        described = _described(definition, "measured", self.definitions.aliases[alias])
        cell = dict(zip(CELL_KEYS, cells.pop(), strict=True)) if cells else where
        counts = {"samples": len(values), "refused": len(refusals)}
        if not values:
            reason = next((refusal for refusal in refusals if refusal), None)
            if reason is None:
                raise self._missing(definition, run, where, name, bool(chosen))
            return replace(described, refusal=reason, sources=(Source(run, cell, 0, **counts),))
        found = estimate(run.id, values)
        source = Source(run, cell, found.processes, **counts)
        return _with_interval(replace(described, estimate=found, sources=(source,)))

    def _missing(
        self, definition: Definition, run: Run, where: Mapping[str, Any], name: str, chosen: bool
    ) -> PublishError:
        left_out = [
            item["reason"]
            for item in run.record["plan"]["left_out"]
            if all(item["cell"][key] == value for key, value in where.items())
        ]
        there = sorted(
            {
                cell_words({key: getattr(sample, key) for key in CELL_KEYS})
                for sample in run.samples
                if sample.experiment == where.get("experiment") and not sample.warm_up
            }
        )
        wanted = f"samples of {cell_words(where)}"
        found = f"none ({left_out[0]})" if left_out else "none, and no refusal that says why"
        if there:
            found += f"; samples there are of {'; '.join(there)}"
        return PublishError(
            f"{definition.id} has no samples",
            place=Place(str(run.folder / "samples.jsonl")),
            expected=wanted if not chosen else f"{wanted} with {name}",
            found=found,
            mend=f"restore the file if lines were lost; else `python -m measure run --model {run.model}"
            f" --plan {run.plan}` measures again",
        )

    def _derived(self, definition: Definition, alias: str) -> Reading:
        assert definition.formula is not None
        inputs: dict[str, Estimate] = {}
        sources: dict[tuple[str, str], Source] = {}
        about = refusal = None
        for name in definition.formula.ids:
            if name.startswith("run."):
                inputs[name] = Estimate(self._run_fact(name, alias))
                about = self.run(alias)
                continue
            reading = self.read(name, alias)
            sources |= {(source.run.id, source.cell_words): source for source in reading.sources}
            if reading.refusal:
                refusal = refusal or reading.refusal
            else:
                inputs[name] = (
                    Estimate(self._end(reading, None)) if not reading.estimate else reading.estimate
                )
        kind = "derived" if sources else "computed"
        described = _described(
            definition, kind, self.definitions.aliases[alias] if sources or about else None
        )
        described = replace(
            described, sources=tuple(sources.values()), formula=definition.formula.source, about=about
        )
        if refusal:
            return replace(described, refusal=refusal)
        try:
            found = through(lambda values: float(definition.formula.evaluate(values)), inputs)  # type: ignore[union-attr]
        except PublishError as error:
            raise error.at(definition.place) from error
        return _with_interval(replace(described, estimate=found))

    def _range(self, definition: Definition, alias: str) -> Reading:
        assert definition.range is not None
        parts = tuple(self.read(name, alias) for name in definition.range)
        sources = {(source.run.id, source.cell_words): source for part in parts for source in part.sources}
        described = _described(definition, "range", self.definitions.aliases[alias] if sources else None)
        described = replace(described, sources=tuple(sources.values()), parts=parts)
        for part in parts:
            if part.refusal:
                return replace(described, refusal=part.refusal)
            if part.unit != definition.unit:
                raise PublishError(
                    f"{definition.id} spans numbers of different units",
                    place=definition.place,
                    expected=definition.unit,
                    found=f"{part.id} in {part.unit}",
                    mend="give them one unit",
                )
        values = [self._end(part, None) for part in parts]
        return replace(described, low=min(values), high=max(values))

    def _run_fact(self, name: str, alias: str) -> float:
        model = self.run(alias).record["model"]
        if name.startswith("run.model."):
            value = self.read(f"model.{model['name']}.{name.removeprefix('run.model.')}").value
            if value is not None:
                return value
        values = (model["parameters"], model["weights_bytes"], model_facts.BYTES_OF[model["dtype"]])
        return float(dict(zip(_RUN_FACTS, values, strict=True))[name])

    def _split_end(self, name: str) -> tuple[str, str | None]:
        base, _, end = name.rpartition(".")
        return (base, end) if end in ("low", "high") else (name, None)

    def _end(self, reading: Reading, end: str | None) -> float:
        if end is None:
            if reading.value is None or (reading.kind == "cited" and reading.high is not None):
                word = reading.word is not None
                raise PublishError(
                    f"{reading.id} is a word" if word else f"{reading.id} has no single value",
                    expected="a number" if word else f"{reading.id}.low or {reading.id}.high",
                    found=reading.text(),
                    mend="compare a number" if word else "compare an end of it",
                )
            return reading.value
        value = reading.low if end == "low" else reading.high
        if value is None:
            raise PublishError(
                f"{reading.id} has no interval",
                expected="at least 3 processes" if reading.sources else "a measured number",
                found=f"{reading.processes} processes" if reading.sources else "an exact number",
                mend="use the id without .low and .high, or measure with more processes",
            )
        return value

    def _check(self, definition: Definition) -> None:
        """Names that only the data can vouch for, checked whether or not a page uses them."""
        try:
            for name in definition.inputs:
                facts.read(self.store, name)
                if name.startswith("run."):
                    self._check_run_fact(name)
            if definition.cited:
                self._cited(definition)
        except PublishError as error:
            raise error.at(definition.place) from error

    def _check_run_fact(self, name: str) -> None:
        everything = next(iter(self.store.models.values()), {})
        numbers = {
            f"run.model.{fact}"
            for fact, found in model_facts.facts(everything).items()
            if found.unit != "text"
        }
        if name not in numbers | set(_RUN_FACTS):
            raise PublishError(
                f"a run has no fact `{name}`",
                expected=f"{', '.join(_RUN_FACTS)}, run.model.FACT",
                found=name,
                nearest=nearest(name, numbers | set(_RUN_FACTS)),
                mend="write a known one",
            )


def _matches(sample: Sample, where: Mapping[str, Any]) -> bool:
    return all(getattr(sample, key) == value for key, value in where.items())


def _described(definition: Definition, kind: str, alias: Alias | None) -> Reading:
    return Reading(
        id=definition.id,
        title=definition.title,
        meaning=definition.meaning,
        unit=definition.unit,
        kind=kind,
        show=definition.show,
        digits=definition.digits,
        alias=alias,
        note=definition.note,
    )


def _with_interval(reading: Reading) -> Reading:
    interval = reading.estimate.interval if reading.estimate else None
    return reading if interval is None else replace(reading, low=interval.low, high=interval.high)


def _answers(run: Run, alias: Alias) -> bool:
    return run.model == alias.model and run.plan in alias.plans and run.weights_kind in alias.weights
