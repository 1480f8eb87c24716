"""Looking a number up: from an id to its value, interval, refusal and sources. Renders nothing.

The book is opened on one store and one quantities.toml and remembers what it has computed. It answers for
quantities, model facts (`model.NAME.FACT`), cited values (`cite.SOURCE.VALUE`), `tokenizer.NAME.entries` and, in
formulas, facts of the run that the formula is about (`run.weights_bytes`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from hooks import expressions, formatting, model_facts
from hooks.errors import Place, PublishError, nearest
from hooks.estimates import Estimate, estimate, through
from hooks.quantities import CELL_KEYS, Alias, Definition, Definitions
from hooks.store import Record, Refusal, Run, Sample, Store


@dataclass(frozen=True)
class Source:
    """The samples behind a number: one cell of one run."""

    run: Run
    cell: Mapping[str, Any]
    processes: int
    samples: int
    refused: int

    @property
    def cell_words(self) -> str:
        """The cell in words, for people."""
        return cell_words(self.cell)


@dataclass(frozen=True)
class Reading:
    """A number as it stands today.

    `kind` is measured, derived, computed, cited or range. `estimate` is None for a refusal and for a range.
    `low` and `high` are the interval's ends, or those of the range; None where there are none. `about` is the run
    whose facts a formula took.
    """

    id: str
    title: str
    meaning: str
    unit: str
    kind: str
    show: str = "si"
    digits: int | None = None
    estimate: Estimate | None = None
    low: float | None = None
    high: float | None = None
    refusal: Refusal | None = None
    sources: tuple[Source, ...] = ()
    alias: Alias | None = None
    formula: str | None = None
    note: str | None = None
    origin: Record | None = None
    place: str | None = None
    word: str | None = None
    about: Run | None = None
    parts: tuple[Reading, ...] = ()

    @property
    def value(self) -> float | None:
        """The value, in `unit`; None for a refusal, a range and a word."""
        return self.estimate.value if self.estimate else None

    @property
    def half(self) -> float | None:
        """Half-width of the interval, in `unit`; 0 where all processes agree, None where there is no interval."""
        interval = self.estimate.interval if self.estimate else None
        if interval is None:
            return None
        half = (interval.high - interval.low) / 2
        return 0.0 if formatting.is_noise(half, interval.low + half) else half

    @property
    def runs(self) -> tuple[Run, ...]:
        """The runs behind the number, each once."""
        runs = [source.run for source in self.sources] + ([self.about] if self.about else [])
        return tuple({run.id: run for run in runs}.values())

    @property
    def processes(self) -> int:
        """Fresh processes behind the number."""
        return self.estimate.processes if self.estimate else 0

    @property
    def samples(self) -> int:
        """Samples behind the number."""
        return sum(source.samples for source in self.sources)

    def text(self, show: str | None = None, digits: int | None = None) -> str:
        """The number with its unit in plain text; a refusal's reason where there is no number."""
        if self.refusal:
            return self.refusal.reason
        if self.word is not None:
            return self.word
        style, digits = show or self.show, digits or (None if show else self.digits)
        if self.kind == "range" or (self.kind == "cited" and self.high is not None):
            assert self.low is not None and self.high is not None
            halves = [part.half for part in self.parts if part.half]
            half = max(halves) if halves else None
            return formatting.span(self.low, self.high, self.unit, half=half, digits=digits, style=style)
        assert self.estimate is not None
        half = self.half
        if self.kind == "measured" or self.sources:
            if half is None and digits is None:
                digits = 2  # too few processes for an interval: no more than a rough figure
            elif half == 0 and float(self.estimate.value).is_integer() and style == "si":
                half = None
        return formatting.number(self.estimate.value, self.unit, half=half, digits=digits, style=style)

    def interval_text(self, show: str | None = None) -> str | None:
        """The interval's ends with their unit; None where there is no interval, or none that has a width."""
        if self.kind in ("range", "cited") or self.low is None or self.high is None or not self.half:
            return None
        style = show or self.show
        return formatting.interval(self.low, self.high, self.unit, half=self.half, style=style)


@dataclass(frozen=True)
class Verdict:
    """An evaluated condition: its result, or the refusal that it rests on; and the numbers that it read."""

    expression: str
    result: float | bool | None
    refusal: Refusal | None
    readings: Mapping[str, Reading] = field(default_factory=dict)


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

    def known(self) -> Iterable[str]:
        """Every id that `read` answers to."""
        yield from self.definitions.quantities
        for name, model in self.store.models.items():
            yield from (f"model.{name}.{fact}" for fact in model_facts.facts(model))
        for name, source in self.store.cited.items():
            yield from (f"cite.{name}.{value['name']}" for value in source["values"])
        yield from (f"tokenizer.{name}.entries" for name in self.store.tokenizers)

    def run(self, alias: str) -> Run:
        """The newest complete run that the alias stands for."""
        wanted = self.definitions.aliases[alias]
        runs = [
            run for run in self.store.runs.values() if run.model == wanted.model and run.plan in wanted.plans
        ]
        if not runs:
            raise PublishError(
                f"no run answers to the alias `{alias}`",
                place=wanted.place,
                expected=f"a complete run of {wanted.model} under the plan {' or '.join(wanted.plans)}",
                found=", ".join(f"{run.id} ({run.model}, {run.plan})" for run in self.store.runs.values())
                or f"no run in {self.store.folder.name}/runs/",
                mend=f"`python -m measure run --model {wanted.model} --plan {wanted.plans[0]}`",
            )
        return max(runs, key=lambda run: (run.finished_at, run.id))

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

    def series(self, alias: str, experiment: str, field: str, by: str) -> list[tuple[int, Reading]]:
        """One reading for each planned cell of an experiment at batch 1 in eager mode, ordered by `by`.

        A planned cell without samples and without a reason in the run's plan is an error, so that a
        chart never loses a point silently.
        """
        run = self.run(alias)
        cells = [
            {key: planned[key] for key in CELL_KEYS}
            for planned in run.record["plan"]["cells"]
            if planned["experiment"] == experiment and planned["batch"] == 1 and planned["mode"] == "eager"
        ]
        result = []
        for cell in sorted(cells, key=lambda cell: cell[by]):
            words = cell_words(cell)
            definition = Definition(
                id=f"{experiment}.{field} at {by} {cell[by]}",
                title=f"{experiment}, {words}",
                meaning=f"{field} of {words}",
                unit=_FIELD_UNITS[field],
                place=Place(str(run.folder / "samples.jsonl")),
                measured=cell | {"field": field},
            )
            result.append((cell[by], self._measured(definition, alias)))
        return result

    # --- how they are found -------------------------------------------------------------------------

    def _read(self, id_: str, alias: str) -> Reading:
        first = id_.partition(".")[0]
        if first == "model":
            return self._model_fact(id_)
        if first == "cite":
            return self._cited(id_)
        if first == "tokenizer":
            return self._tokenizer_fact(id_)
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
        cited = self._cited(f"cite.{definition.cited}")
        return replace(_described(definition, "cited", alias=None), **_cited_parts(cited))

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
            value, refusal = _FIELDS[name](sample)
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
        described = _described(definition, kind, self.definitions.aliases[alias] if sources else None)
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

    def _cited(self, id_: str) -> Reading:
        words = id_.removeprefix("cite.")
        for name, record in self.store.cited.items():
            for value in record["values"]:
                if words == f"{name}.{value['name']}":
                    return Reading(
                        id=id_,
                        title=value["meaning"],
                        meaning=value["meaning"],
                        unit=value["unit"],
                        kind="cited",
                        show="exact",
                        digits=_digits_as_cited(value["value"]),
                        estimate=Estimate(value["value"]),
                        low=value["value"] if "high" in value else None,
                        high=value.get("high"),
                        origin=record["origin"],
                        place=value["place"],
                    )
        known = [name for name in self.known() if name.startswith("cite.")]
        raise PublishError(
            f"nothing is cited as `{words}`",
            expected="SOURCE.VALUE with site_data/cited/SOURCE.json and a value of that name in it",
            found=words,
            nearest=nearest(id_, known),
            mend="mend the name, or add the value and its place in the source to site_data/cited/",
        )

    def _model_fact(self, id_: str) -> Reading:
        name, _, fact = id_.removeprefix("model.").rpartition(".")
        model = self.store.models.get(name)
        known = model_facts.facts(model) if model else {}
        if model is None or fact not in known:
            everything = [known_id for known_id in self.known() if known_id.startswith("model.")]
            raise PublishError(
                f"there is no model fact `{id_}`",
                expected=f"a fact of {name}: {', '.join(known)}"
                if model
                else f"a model: {', '.join(self.store.models)}",
                found=id_,
                nearest=nearest(id_, everything),
                mend="mend the name, or add the model to site_data/models/",
            )
        found = known[fact]
        described = Reading(
            id=id_,
            title=f"{fact.replace('_', ' ')} of {model['title']}",
            meaning=found.meaning,
            unit="1" if found.unit == "text" else found.unit,
            kind="computed" if found.computed else "published",
            show="exact",
            origin=model["origin"],
            place=model["origin"].get("place"),
        )
        if isinstance(found.value, str):
            return replace(described, word=found.value)
        return replace(described, estimate=Estimate(found.value))

    def _tokenizer_fact(self, id_: str) -> Reading:
        name, _, fact = id_.removeprefix("tokenizer.").rpartition(".")
        record = self.store.tokenizers.get(name)
        if record is None or fact != "entries":
            known = [f"tokenizer.{name}.entries" for name in self.store.tokenizers]
            raise PublishError(
                f"there is no tokenizer fact `{id_}`",
                expected=", ".join(known),
                found=id_,
                nearest=nearest(id_, known),
                mend="mend the name",
            )
        return Reading(
            id=id_,
            title=f"Vocabulary of the {record['title']}",
            meaning=f"Entries in the vocabulary of the {record['title']}, added ones counted",
            unit="1",
            kind="published",
            show="exact",
            estimate=Estimate(record["entries"]),
            origin=record["origin"],
            place=record["origin"].get("place"),
        )

    def _run_fact(self, name: str, alias: str) -> float:
        run = self.run(alias)
        facts = {
            "run.parameters": run.record["model"]["parameters"],
            "run.weights_bytes": run.record["model"]["weights_bytes"],
            "run.bytes_per_element": model_facts.BYTES_OF[run.record["model"]["dtype"]],
        }
        if name.startswith("run.model."):
            value = self._model_fact(f"model.{run.model}.{name.removeprefix('run.model.')}").value
            if value is not None:
                return value
        if name not in facts:
            raise PublishError(
                f"a run has no fact `{name}`",
                expected=f"{', '.join(facts)}, run.model.FACT",
                found=name,
                nearest=nearest(name, facts),
                mend="write a known one",
            )
        return float(facts[name])

    def _split_end(self, name: str) -> tuple[str, str | None]:
        base, _, end = name.rpartition(".")
        return (base, end) if end in ("low", "high") else (name, None)

    def _end(self, reading: Reading, end: str | None) -> float:
        if end is None:
            if reading.value is None or (reading.kind == "cited" and reading.high is not None):
                raise PublishError(
                    f"{reading.id} has no single value"
                    if reading.word is None
                    else f"{reading.id} is a word",
                    expected=f"{reading.id}.low or {reading.id}.high" if reading.word is None else "a number",
                    found=reading.text(),
                    mend="compare an end of it",
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
                if name.startswith("model."):
                    self._model_fact(name)
                elif name.startswith("cite."):
                    self._cited(name)
            if definition.cited:
                self._cited(f"cite.{definition.cited}")
        except PublishError as error:
            raise error.at(definition.place) from error


def cell_words(cell: Mapping[str, Any]) -> str:
    """A cell, or part of one, in words: `decode, 500 tokens deep, batch 1, float32, eager`."""
    words = [str(cell["experiment"])] if "experiment" in cell else []
    if cell.get("prompt_tokens") is not None:
        words.append(f"prompt of {cell['prompt_tokens']:,} tokens")
    if cell.get("context_tokens") is not None:
        words.append(f"{cell['context_tokens']:,} tokens deep")
    if "batch" in cell:
        words.append(f"batch {cell['batch']}")
    words += [str(cell[key]) for key in ("dtype", "mode") if key in cell]
    return ", ".join(words)


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


def _cited_parts(cited: Reading) -> dict[str, Any]:
    names = ("estimate", "low", "high", "show", "digits", "origin", "place")
    return {name: getattr(cited, name) for name in names}


def _digits_as_cited(value: float) -> int | None:
    """Significant digits that the source printed; None for a whole number, which is shown whole."""
    return None if float(value).is_integer() else len(repr(value).replace(".", "").lstrip("-0"))


def _with_interval(reading: Reading) -> Reading:
    interval = reading.estimate.interval if reading.estimate else None
    return reading if interval is None else replace(reading, low=interval.low, high=interval.high)


_Field = Callable[[Sample], tuple[float | None, Refusal | None]]


def _timed(divide: Callable[[Sample], float]) -> _Field:
    def read(sample: Sample) -> tuple[float | None, Refusal | None]:
        if sample.refusal or sample.duration_s is None:
            return None, sample.refusal
        return sample.duration_s / divide(sample), None

    return read


def _energy(sample: Sample) -> tuple[float | None, Refusal | None]:
    if sample.refusal or sample.energy_joules is None:
        return None, sample.refusal or sample.energy_refusal
    return sample.energy_joules / sample.tokens, None


def _bytes(name: str, divide: Callable[[Sample], float]) -> _Field:
    def read(sample: Sample) -> tuple[float | None, Refusal | None]:
        value = getattr(sample, name)
        if sample.refusal or value is None:
            return None, sample.refusal
        return value / divide(sample), None

    return read


def _one(sample: Sample) -> float:
    return 1.0


def _tokens(sample: Sample) -> float:
    return sample.tokens


def _cached_tokens(sample: Sample) -> float:
    return sample.batch * (sample.context_tokens or sample.prompt_tokens or 1)


_FIELDS: Mapping[str, _Field] = {
    "duration_s": _timed(_one),
    "seconds_per_token": _timed(_tokens),
    "joules_per_token": _energy,
    "kv_cache_bytes": _bytes("kv_cache_bytes", _one),
    "kv_bytes_per_token": _bytes("kv_cache_bytes", _cached_tokens),
    "peak_bytes": _bytes("peak_bytes", _one),
}
_FIELD_UNITS = {
    "seconds_per_token": "s",
    "joules_per_token": "J",
    "kv_cache_bytes": "bytes",
    "kv_bytes_per_token": "bytes",
}
