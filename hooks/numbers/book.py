"""Looking a number up: from an id to its value, interval, refusal and sources. Renders nothing.

The book is opened on one store and one quantities.toml and remembers what it has computed. It answers for
quantities, model facts (`model.NAME.FACT`), cited values (`cite.SOURCE.VALUE`), `tokenizer.NAME.entries` and, in
formulas, facts of the run that the formula is about (`run.weights_bytes`).
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from hooks.caching.traces import Asked, Remembered
from hooks.data.records import Refusal, Run, Sample, keys_of
from hooks.data.store import Store
from hooks.errors import Place, PublishError, nearest
from hooks.numbers import ceilings, derived, expressions, facts, measured
from hooks.numbers.ceilings import Ceiling
from hooks.numbers.definitions import Alias, Definition, Definitions, Measured
from hooks.numbers.fields import FIELDS, Idle
from hooks.numbers.readings import Reading, Verdict, cell_words, described, end_of, few_processes
from hooks.publication import former


class Book:
    """All numbers of a store.

    Args:
        store: The data.
        definitions: The quantities.
    """

    def __init__(self, store: Store, definitions: Definitions) -> None:
        self.store = store
        self.definitions = definitions
        self.stand_in: Run | None = None
        self._answers = Remembered("")
        self._idle_of: dict[str, Idle] = {}
        for definition in definitions.quantities.values():
            self._check(definition)

    def standing_in(self, run: Run) -> Book:
        """The same book with `run` in the place of the first alias's run, whatever the alias asks for.

        What such a run has no plan for is refused, and no error: its plan was not made for the pages.
        """
        made = copy.copy(self)
        made.stand_in, made._answers = run, Remembered(run.id)
        return made

    @property
    def name(self) -> str:
        """What traces call it: the id of the run that stands in; empty where none does."""
        return self._answers.name

    # --- what pages ask for -------------------------------------------------------------------------

    def read(self, id_: str, alias: str | None = None) -> Reading:
        """The number `id_` from the run `alias` (the first alias where it is None).

        Raises:
            PublishError: The id or the alias is unknown, no run answers to the alias, or the run has neither
                samples nor a reason for their absence.
        """
        alias = alias or self.definitions.main
        self.alias(alias)
        reading: Reading = self.answer(("read", id_, alias))
        return reading

    def known(self) -> Iterator[str]:
        """Every id that `read` answers to."""
        yield from self.definitions.quantities
        yield from facts.known(self.store)

    def alias(self, name: str) -> Alias:
        """The alias of that name.

        Raises:
            PublishError: There is none.
        """
        if name not in self.definitions.aliases:
            raise PublishError(
                f"there is no run alias `{name}`",
                expected=", ".join(self.definitions.aliases),
                found=name,
                nearest=nearest(name, self.definitions.aliases),
                mend=f"use a known one, or add [runs.{name}] to docs/quantities.toml",
            )
        return self.definitions.aliases[name]

    def find(self, alias: str) -> Run | Refusal:
        """The newest complete run that the alias stands for, or the alias's words for one that is to come.

        Raises:
            PublishError: There is neither.
        """
        wanted = self.alias(alias)
        if self.stand_in is not None and alias == self.definitions.main:
            return self.stand_in
        runs = [run for run in self.store.runs.values() if answers(run, wanted)]
        if runs:
            return max(runs, key=lambda run: (run.finished_at, run.id))
        if wanted.none_yet:
            return Refusal("unavailable", wanted.none_yet)
        raise PublishError(
            f"no run answers to the alias `{alias}`",
            place=wanted.place,
            expected=_wanted(wanted),
            found=", ".join(
                f"{run.id} ({run.model}, {run.program or run.plan}, {run.weights_kind})"
                for run in self.store.runs.values()
            )
            or f"no run in {self.store.folder.name}/runs/",
            mend=f"`python -m measure import FILE` with a file of {wanted.origin}"
            if wanted.origin
            else f"`python -m measure run --model {wanted.model} --plan {wanted.plans[0]}`",
        )

    def run(self, alias: str) -> Run:
        """The newest complete run that the alias stands for.

        Raises:
            PublishError: There is none.
        """
        found = self.find(alias)
        if isinstance(found, Refusal):
            raise PublishError(
                f"no run answers to the alias `{alias}` yet",
                place=self.alias(alias).place,
                expected=_wanted(self.alias(alias)),
                found=found.reason,
                mend="leave out what needs a whole run, or put it into {{ when … }} {{ end }}",
            )
        return found

    def title_of(self, model: str) -> str:
        """The title of the model of that name; the name, where its sizes are not in site_data/models/."""
        record = self.store.models.get(model)
        return str(record["title"]) if record else model

    def unasked(self) -> Iterable[Run]:
        """Runs that no alias takes, whatever their date: they can be on no page."""
        for run in self.store.runs.values():
            if not any(answers(run, alias) for alias in self.definitions.aliases.values()):
                yield run

    def evaluate(self, source: str, alias: str | None = None) -> Verdict:
        """The result of an expression over ids, `.low` and `.high`.

        Raises:
            PublishError: As `read` does; or a range is used as one number, or an end that a number does not have.
        """
        expression = expressions.parse(source)
        readings: dict[str, Reading] = {}
        values: dict[str, float | tuple[float, ...]] = {}
        refusal = None
        for name in expression.ids:
            base, end = _split_end(name)
            reading = self.read(base, alias)
            readings[base] = reading
            missing = reading.refusal or (few_processes(reading) if end else None)
            if missing:
                refusal = refusal or missing
            elif reading.parts and end is None and name not in expression.scalars:
                values[name] = tuple(end_of(part, None) for part in reading.parts)
            else:
                values[name] = end_of(reading, end)
        result = None if refusal else expression.evaluate(values)
        return Verdict(expression.source, result, refusal, readings)

    def series(
        self, alias: str, experiment: str, field: str, by: str, mode: str = "eager", batch: int = 1
    ) -> list[tuple[int, Reading]]:
        """One reading for each planned cell of an experiment in one mode and at one batch, ordered by `by`.

        A planned cell without samples and without a reason in the run's plan is an error, so that a
        chart never loses a point silently.
        """
        where = {"experiment": experiment, "batch": batch, "mode": mode}
        cells = [keys_of(cell) for cell in measured.planned(self.run(alias), where)]
        return [
            (cell[by], self.cell(alias, cell, field)) for cell in sorted(cells, key=lambda cell: cell[by])
        ]

    def cell(self, alias: str, cell: Mapping[str, Any], field: str) -> Reading:
        """The reading of a field over the samples of one cell; `series` says what a missing one is."""
        reading: Reading = self.answer(("cell", alias, tuple(cell.items()), field))
        return reading

    def samples(self, alias: str, cell: Mapping[str, Any]) -> tuple[Sample, ...]:
        """The samples of the cells that have these values, in the run's order, warm-ups and refused ones too."""
        found: tuple[Sample, ...] = self.answer(("samples", alias, tuple(cell.items())))
        return found

    def idle(self, alias: str) -> Idle:
        """What the run's machine drew while it waited."""
        found: Idle = self.answer(("idle", alias))
        return found

    def ceilings(self, alias: str) -> tuple[Ceiling, ...]:
        """The ceilings that the run measured."""
        found: tuple[Ceiling, ...] = self.answer(("ceilings", alias))
        return found

    def answer(self, asked: Asked) -> Any:
        """What the method of that name gives for these arguments; each question is asked of the data once."""
        name, *arguments = asked
        return self._answers.get(asked, lambda: getattr(self, f"_{name}")(*arguments))

    # --- how they are found -------------------------------------------------------------------------

    def _read(self, id_: str, alias: str) -> Reading:
        fact = facts.read(self.store, id_)
        if fact is not None:
            return fact
        definition = self.definitions.quantities.get(id_)
        if definition is None:
            former.refuse(self.definitions, id_)
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
            return derived.formula(definition, alias, self)
        if definition.range is not None:
            parts = [self.read(name, alias) for name in definition.range]
            return derived.span(definition, parts, alias)
        return self._cited(definition)

    def _cell(self, alias: str, cell: tuple[tuple[str, Any], ...], field: str) -> Reading:
        words = cell_words(dict(cell))
        definition = Definition(
            id=f"{field} of {words}",
            title=words,
            meaning=f"{field} of {words}",
            unit=FIELDS[field].unit,
            place=Place(str(self.run(alias).folder / "samples.jsonl")),
            measured=Measured(field, dict(cell)),
        )
        return self._measured(definition, alias)

    def _samples(self, alias: str, cell: tuple[tuple[str, Any], ...]) -> tuple[Sample, ...]:
        samples = self.run(alias).samples
        return tuple(one for one in samples if all(getattr(one, key) == value for key, value in cell))

    def _idle(self, alias: str) -> Idle:
        return Idle.of(self.run(alias))

    def _ceilings(self, alias: str) -> tuple[Ceiling, ...]:
        return tuple(ceilings.measured(self.run(alias)))

    def _measured(self, definition: Definition, alias: str) -> Reading:
        run = self.find(alias)
        if isinstance(run, Refusal):
            return replace(described(definition, "measured", self.alias(alias)), refusal=run)
        if run.id not in self._idle_of:
            self._idle_of[run.id] = Idle.of(run)
        arguments = definition, self.alias(alias), run, self._idle_of[run.id]
        lenient = run is self.stand_in
        assert definition.measured is not None
        if definition.measured.over is None:
            return measured.read(*arguments, lenient=lenient)
        parts = measured.series(*arguments, lenient=lenient)
        if isinstance(parts, Refusal):
            return replace(described(definition, "measured", self.alias(alias)), refusal=parts)
        return derived.span(definition, parts, alias)

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
        return replace(described(definition, "cited", None), **{name: getattr(cited, name) for name in names})

    def _check(self, definition: Definition) -> None:
        """Names that only the data can vouch for, checked whether or not a page uses them."""
        try:
            for name in definition.inputs:
                facts.read(self.store, name)
                if name.startswith("run."):
                    derived.check_run_fact(name, self)
            if definition.cited:
                self._cited(definition)
        except PublishError as error:
            raise error.at(definition.place) from error


def _split_end(name: str) -> tuple[str, str | None]:
    base, _, end = name.rpartition(".")
    return (base, end) if end in ("low", "high") else (name, None)


def answers(run: Run, alias: Alias) -> bool:
    """Whether the run is one of those that the alias can stand for."""
    return (
        run.model == alias.model
        and run.program == alias.origin
        and (run.plan in alias.plans or (alias.origin is not None and not alias.plans))
        and run.weights_kind in alias.weights
        and alias.device in (None, run.device)
    )


def _wanted(alias: Alias) -> str:
    text = f"a complete run of {alias.model}"
    if alias.origin:
        text += f" imported from {alias.origin}"
    if alias.plans:
        text += f" under the plan {' or '.join(alias.plans)}"
    if alias.device:
        text += f" on a {alias.device.upper()}"
    return f"{text}, with weights of the kind {' or '.join(alias.weights)}"
