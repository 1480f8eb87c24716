"""What is known of the page being rendered: its source, its lines, what it has used so far. Renders nothing."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from hooks.citation import references
from hooks.errors import Place, PublishError
from hooks.numbers.readings import Reading
from hooks.switching.slots import Patch
from hooks.writing import placeholders

TOKEN = re.compile(
    rf"(?P<fence>^[ \t>]*(?P<marks>`{{3,}}|~{{3,}})[^\n]*\n.*?(?:^[ \t>]*(?P=marks)[`~]*[ \t]*$|\Z))"
    rf"|(?P<span>(?<![\\`])(?P<ticks>`+)(?!`)(?:(?!\n[ \t]*\n).)+?(?<!`)(?P=ticks)(?!`))"
    rf"|(?P<comment><!--.*?-->)"
    rf"|(?P<escaped>{placeholders.ESCAPED})"
    rf"|(?P<whole>{placeholders.PATTERN})"
    rf"|(?P<reference>{references.PATTERN})"
    r"|(?P<broken>\{\{|\}\})",
    re.DOTALL | re.MULTILINE,
)
"""What in a source is not text: code, comments, escaped braces, whole placeholders, citations, broken braces."""


@dataclass(frozen=True)
class NumberUse:
    """A number as a page shows it. It is `labelled` where something beside it says which run it is of."""

    reading: Reading
    text: str
    alias: str | None = None
    labelled: bool = False
    place: Place | None = None


@dataclass(frozen=True)
class ClaimUse:
    """A claim as a page makes it. `held` is None where it rests on a refusal."""

    expression: str
    sentence: str
    held: bool | None
    values: tuple[str, ...]
    reason: str | None = None


@dataclass
class PageState:
    """The page being rendered and what it has used so far.

    `file` is what errors call the page; `uri` its path inside docs/. `source` is its text as written;
    `first_line` the number of the source's first line in that file. A notebook's source is made of its cells;
    `locate` finds a line's cell. `references` are the keys of the works it cites; true where its text links to them.
    `explains_terms` has it mark the glossary's terms, where the host has a glossary. `shows_machines` has it
    show other runs than the main one where a reader wants that; `patches` has what differs, by the run's id,
    and `untrue_elsewhere` a line for each claim that does not hold there.
    `catalogued` has each number and each run link to its page in the catalogue.
    """

    file: str
    uri: str = ""
    source: str = ""
    first_line: int = 1
    numbers: list[NumberUse] = field(default_factory=list)
    claims: list[ClaimUse] = field(default_factory=list)
    charts: list[str] = field(default_factory=list)
    drawn: tuple[dict[str, str], ...] = ()
    references: dict[str, bool] = field(default_factory=dict)
    errors: list[PublishError] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)
    popovers: int = 0
    popover_prefix: str = "provenance"
    elements: Counter[str] = field(default_factory=Counter)
    patches: dict[str, Patch] = field(default_factory=dict)
    untrue_elsewhere: list[str] = field(default_factory=list)
    explains_terms: bool = True
    shows_machines: bool = True
    catalogued: bool = False
    says_reading_time: bool = False
    locate: Callable[[int], Place] | None = None
    _expected: Counter[str] = field(default_factory=Counter)
    _lines: dict[str, list[int]] | None = None
    _met: dict[str, int] = field(default_factory=lambda: defaultdict(int))

    def begin(self, source: str, first_line: int = 1) -> None:
        """Start on another source of the same page."""
        self.source, self.first_line = source, first_line
        self._lines = None
        self._met.clear()
        self._expected.clear()

    def expect(self, insides: Iterable[str]) -> None:
        """Tell which placeholders the conversion found, so that look-alikes in code can be told from them."""
        self._expected = Counter(map(_normal, insides))
        self._lines = None

    def meet(self, inside: str) -> Place:
        """The place of the next placeholder with this text; called once for each, in document order."""
        key = _normal(inside)
        index = self._met[key]
        self._met[key] += 1
        lines = self._find().get(key, [])
        return self._place(lines[index] if index < len(lines) else None)

    def broken(self) -> Place:
        """The place of the next braces outside code that open or close no placeholder."""
        lines = self._find().get("", [])
        index = min(self._met[""], len(lines) - 1)
        self._met[""] += 1
        return self._place(lines[index] if lines else None)

    def _place(self, line: int | None) -> Place:
        return self.locate(line) if self.locate and line else Place(self.file, line)

    @property
    def sorted_errors(self) -> list[PublishError]:
        """What is wrong with the page, in the order of its lines; what has no line comes last."""
        return sorted(self.errors, key=_position)

    @contextmanager
    def using(self, place: Place) -> Iterator[None]:
        """Note `place` for every number that is used meanwhile."""
        before = len(self.numbers)
        yield
        self.numbers[before:] = [replace(use, place=place) for use in self.numbers[before:]]

    def refuse_mixed_runs(self) -> None:
        """Note an error for each number that is of another run than the ones before it, and says so nowhere."""
        first: NumberUse | None = None
        for use in self.numbers:
            if use.labelled or not use.reading.runs:
                continue
            first = first or use
            if use.reading.runs == first.reading.runs or use.place is None:
                continue
            name = next((alias.label for alias in use.reading.aliases), use.reading.runs[0].id)
            self.errors.append(
                PublishError(
                    "two runs stand on this page, and nothing here says which number is of which",
                    place=use.place,
                    expected=f"{name.partition(',')[0]} in the text around it, or its label",
                    found=f"{use.text}, of the run {_runs(use)}; {first.text}, of the run {_runs(first)}",
                    mend="leave label=off out, or name the run in the same paragraph",
                )
            )

    def popover_id(self) -> str:
        """An id for the next popover of the page."""
        self.popovers += 1
        return f"{self.popover_prefix}-{self.popovers}"

    def anchor(self, id_: str) -> str | None:
        """The anchor `n-ID` on its first use on the page; None afterwards."""
        name = f"n-{id_}"
        if name in self.anchors:
            return None
        self.anchors.add(name)
        return name

    def element_id(self, name: str) -> str:
        """An id for the next element of that name: `NAME`, then `NAME-2` and so on."""
        self.elements[name] += 1
        return name if self.elements[name] == 1 else f"{name}-{self.elements[name]}"

    def _find(self) -> dict[str, list[int]]:
        if self._lines is None:
            self._lines = defaultdict(list)
            sure = defaultdict(list)
            for match in TOKEN.finditer(self.source):
                if not (match["whole"] or match["broken"] or match["reference"]):
                    continue
                line = self.first_line + self.source.count("\n", 0, match.start())
                whole = match["whole"][2:-2] if match["whole"] else match["reference"] or ""
                key = _normal(whole)
                self._lines[key].append(line)
                if not _indented(self.source, match.start()):
                    sure[key].append(line)
            # Indented text is code, or the inside of a list: that is told by how many were found.
            self._lines |= {key: lines for key, lines in sure.items() if len(lines) >= self._expected[key]}
        return self._lines


def _runs(use: NumberUse) -> str:
    return " and ".join(run.id for run in use.reading.runs)


def _position(error: PublishError) -> tuple[float, float]:
    place = error.report.used_at or error.report.place
    cell, line = (place.cell, place.line) if place else (None, None)
    return cell or 0, math.inf if line is None else line


def _indented(source: str, position: int) -> bool:
    begin = source.rfind("\n", 0, position) + 1
    return source[begin:position].startswith(("    ", "\t"))


def _normal(inside: str) -> str:
    return " ".join(inside.split())
