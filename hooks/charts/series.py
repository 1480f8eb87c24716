"""The lines that charts draw: which modes a run has, and a number for each length or depth. Draws nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hooks.charts import words
from hooks.charts.chart import Asked
from hooks.data.records import Run
from hooks.drawings.marks import Line, Mark
from hooks.numbers import formatting
from hooks.numbers.readings import Reading

PREFILL, EAGER, OTHER, IMPORTED = 0, 1, 2, 3
"""Colours of the series, the same in every chart."""

MAIN = 500
"""Tokens at which series are compared, where they have them."""


@dataclass(frozen=True)
class Series:
    """One line: its name, its colour, and a reading for each count of tokens."""

    name: str
    color: int
    points: tuple[tuple[int, Reading], ...]

    @property
    def good(self) -> dict[int, Reading]:
        """The readings that have a value."""
        return {tokens: reading for tokens, reading in self.points if reading.value is not None}

    def nothing(self) -> str:
        """A sentence on why there is no value."""
        refused = next((reading for _, reading in self.points if reading.refusal), None)
        name = capital(self.name)
        return f"{name} has no value: {refused.text()}." if refused else f"{name} was not measured."

    def line(self, scale: float, style: str | None = None) -> Line:
        """The series as it is drawn, its values divided by `scale`, and told in `style`."""
        name = capital(self.name)
        marks = tuple(
            Mark(
                x=tokens,
                y=reading.value / scale,
                low=None if reading.low is None else reading.low / scale,
                high=None if reading.high is None else reading.high / scale,
                about=words.about(f"{name}, {tokens:,} tokens", reading, style),
            )
            for tokens, reading in sorted(self.good.items())
            if reading.value is not None
        )
        return Line(name, self.color, marks)


def prefill(asked: Asked, field: str) -> Series:
    """A field of prefill at batch 1, by length of the prompt."""
    mode = modes(asked.run, "prefill")[0]
    points = asked.book.series(asked.alias, "prefill", field, "prompt_tokens", mode)
    return Series("prefill", PREFILL, tuple(points))


def decode(asked: Asked, field: str) -> list[Series]:
    """A field of decode at batch 1, by tokens in the cache: one series for each mode of the run."""
    found = modes(asked.run, "decode")
    return [
        Series(
            "decode" if len(found) == 1 else f"decode, {mode}",
            color_of(asked.run, "decode", mode),
            tuple(asked.book.series(asked.alias, "decode", field, "context_tokens", mode)),
        )
        for mode in found
    ]


def modes(run: Run, experiment: str) -> list[str]:
    """The modes in which a run measured an experiment at batch 1; plain ones first."""
    found = [
        str(cell["mode"])
        for cell in run.record["plan"]["cells"]
        if cell["experiment"] == experiment and cell["batch"] == 1
    ]
    return sorted(dict.fromkeys(found), key=lambda mode: mode not in ("eager", "imported")) or ["eager"]


def color_of(run: Run, experiment: str, mode: str) -> int:
    """The colour of an experiment in a mode: faster modes have the third colour, and the fourth."""
    if experiment == "prefill":
        return PREFILL
    faster = [each for each in modes(run, experiment) if each not in ("eager", "imported")]
    known = {"eager": EAGER, "imported": IMPORTED}
    return (
        known[mode]
        if mode in known
        else min(OTHER + faster.index(mode), IMPORTED)
        if mode in faster
        else OTHER
    )


def main_of(tokens: Sequence[int]) -> int:
    """Where to compare: at 500 tokens, or at the greatest length there is."""
    return MAIN if MAIN in tokens else max(tokens)


def axis_title(series: Sequence[Series]) -> str:
    """What the tokens on the horizontal axis are."""
    kinds = {line.name.partition(",")[0] for line in series}
    if kinds == {"prefill"}:
        return "Tokens in the prompt"
    if kinds == {"decode"}:
        return "Tokens in the cache"
    return "Tokens in the prompt or in the cache"


def capital(text: str) -> str:
    """The text with a capital letter first."""
    return text[:1].upper() + text[1:]


def scale(readings: Sequence[Reading]) -> tuple[float, str]:
    """What to divide by, and the symbol, to draw these numbers on one axis."""
    ends = [end for reading in readings for end in (reading.value, reading.high) if end is not None]
    return formatting.scale(max(ends), readings[0].unit)
