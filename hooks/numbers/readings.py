"""A number as it stands today: value, interval, refusal, sources, and its text. Looks nothing up, writes no HTML."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hooks.data.records import Record, Refusal, Run
from hooks.errors import PublishError
from hooks.numbers import formatting
from hooks.numbers.definitions import Alias, Definition
from hooks.numbers.estimates import FEWEST_PROCESSES, Estimate


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

    `kind` is measured, derived, computed, published, cited or range. `estimate` is None for a refusal and for a
    range. `low` and `high` are the interval's ends, or those of the range; None where there are none. `about` is the
    run whose facts a formula took; `others` are the names of its inputs' runs. `remarks` are rows for the popover.
    `was` are former ids.
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
    others: tuple[Alias, ...] = ()
    remarks: tuple[tuple[str, str], ...] = ()
    was: tuple[str, ...] = ()

    def but(self, **changes: Any) -> Reading:
        """The same reading with other values of these fields.

        As `dataclasses.replace`, which takes ten times as long: with many runs, most of the time of all numbers.
        """
        assert changes.keys() <= self.__dict__.keys(), "fields of a reading"
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__, **changes)
        return made

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
    def aliases(self) -> tuple[Alias, ...]:
        """The names of the runs behind the number, each once; of runs that are still to come, too."""
        found = self.others or ((self.alias,) if self.alias else ())
        return tuple({alias.name: alias for alias in found}.values())

    @property
    def processes(self) -> int:
        """Fresh processes behind the number."""
        return self.estimate.processes if self.estimate else 0

    @property
    def samples(self) -> int:
        """Samples behind the number."""
        return sum(source.samples for source in self.sources)

    @property
    def is_bound(self) -> bool:
        """Whether its interval cannot tell it from nothing, so that it shows as a bound: `under 0.2 ms`."""
        return (
            self.value is not None
            and bool(self.half)
            and formatting.is_below_resolution(self.value, self.half or 0.0)
        )

    def text(self, show: str | None = None, digits: int | None = None, *, interval: bool = False) -> str:
        """The number with its unit in plain text; a refusal's reason where there is no number.

        Args:
            show: Overrides the quantity's way to show it.
            digits: Overrides the significant digits.
            interval: Whether the half-width stands beside it, as in `355 ± 17 ms`.
        """
        if self.refusal:
            return self.refusal.reason
        if self.word is not None:
            return self.word
        style, digits = show or self.show, digits or (None if show else self.digits)
        if self.kind == "range" or (self.kind == "cited" and self.high is not None):
            return self._span(style, digits)
        assert self.estimate is not None
        value, half = self.estimate.value, self.half
        if interval and half:
            return formatting.plus_minus(value, half, self.unit, style=style)
        if self.kind == "measured" or self.sources:
            if half is None and digits is None:
                digits = 2  # too few processes for an interval: no more than a rough figure
            elif half == 0 and float(value).is_integer() and style == "si":
                half = None
        text = formatting.number(value, self.unit, half=half, digits=digits, style=style)
        return f"{text} (no interval)" if interval and self.half is None else text

    def _span(self, style: str, digits: int | None) -> str:
        assert self.low is not None and self.high is not None
        halves = [part.half for part in self.parts if part.half]
        half = max(halves) if halves else None
        if any(part.is_bound for part in self.parts):
            # The least of them may be nothing at all, so only the upper end is known.
            return formatting.under(max(map(_greatest, self.parts)), self.unit, digits=digits, style=style)
        return formatting.span(self.low, self.high, self.unit, half=half, digits=digits, style=style)

    def interval_text(self, show: str | None = None) -> str | None:
        """The interval's ends with their unit; None where there is no interval, or none that has a width."""
        if self.kind in ("range", "cited") or self.low is None or self.high is None or not self.half:
            return None
        style = show or self.show
        return formatting.interval(self.low, self.high, self.unit, half=self.half, style=style)


def _greatest(reading: Reading) -> float:
    return abs(reading.value or 0.0) + (reading.half or 0.0)


@dataclass(frozen=True)
class Verdict:
    """An evaluated condition: its result, or the refusal that it rests on; and the numbers that it read."""

    expression: str
    result: float | bool | None
    refusal: Refusal | None
    readings: Mapping[str, Reading] = field(default_factory=dict)


def described(definition: Definition, kind: str, alias: Alias | None) -> Reading:
    """A reading that says what it is, and has no value yet."""
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
        was=definition.was,
    )


def with_interval(reading: Reading) -> Reading:
    """The reading with its estimate's interval as its ends; what was measured is never below zero."""
    interval = reading.estimate.interval if reading.estimate else None
    if interval is None:
        return reading
    low = max(interval.low, 0.0) if reading.kind == "measured" else interval.low
    return reading.but(low=low, high=interval.high)


def few_processes(reading: Reading) -> Refusal | None:
    """Why a number of a run measured here has no interval, where it would have one with more processes; else None.

    A short run is no mistake of the page: what the page claims of an interval cannot be checked on it. A number of
    another program's run, and one that is exact, never have one: to ask for it is a mistake.
    """
    ours = reading.sources and not any(run.program for run in reading.runs)
    if not ours or reading.estimate is None or reading.estimate.interval is not None:
        return None
    count = f"{reading.processes} process{'' if reading.processes == 1 else 'es'}"
    return Refusal(
        "unavailable", f"{reading.title}: measured in {count}, and an interval takes {FEWEST_PROCESSES}"
    )


def end_of(reading: Reading, end: str | None) -> float:
    """The value, or the `low` or `high` end of the interval or range, in the reading's unit.

    Raises:
        PublishError: It has none.
    """
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
            expected=f"at least {FEWEST_PROCESSES} processes" if reading.sources else "a measured number",
            found=f"{reading.processes} processes" if reading.sources else "an exact number",
            mend="use the id without .low and .high, or measure with more processes",
        )
    return value


def cell_words(cell: Mapping[str, Any]) -> str:
    """A cell, or part of one, in words: `decode, 500 tokens deep, batch 1, float32, eager`."""
    words = [str(cell["experiment"]).replace("kv_cache", "KV cache")] if "experiment" in cell else []
    mode = [str(cell["mode"]).replace("_", " ")] if "mode" in cell else []
    if cell.get("experiment") == "idle":
        return ", ".join([*words, *mode])
    if cell.get("prompt_tokens") is not None:
        words.append(f"prompt of {cell['prompt_tokens']:,} tokens")
    if cell.get("context_tokens") is not None:
        words.append(f"{cell['context_tokens']:,} tokens deep")
    if "batch" in cell and cell.get("experiment") != "ceilings":
        words.append(f"batch {cell['batch']}")
    dtype = [str(cell["dtype"])] if "dtype" in cell else []
    return ", ".join([*words, *dtype, *mode])
