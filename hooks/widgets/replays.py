"""Replays: one text written again at the speed of each machine and mode, side by side. Measures nothing, has no clock.

A replay is lanes, which a script lets run, and a table with the same in numbers, which needs none. Each lane has the
time before its first token and the time for each further one, taken from quantities.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from hooks.errors import Place
from hooks.markup import element, relative
from hooks.numbers import derived, expressions
from hooks.numbers.book import Book
from hooks.numbers.definitions import Definition
from hooks.numbers.readings import Reading
from hooks.writing import provenance
from hooks.writing.pages import NumberUse, PageState
from hooks.writing.tokens import Piece

SCRIPT = "assets/replay.js"
STYLE = "assets/replay.css"

_MODES = {
    "eager": "plain steps",
    "compiled": "compiled steps",
    "graph": "one CUDA graph",
}


@dataclass(frozen=True)
class Kind:
    """What a lane replays: a quantity of decode, in s or tokens/s, and the one of the prefill before it.

    Without `prefill` the prompt was a single token, so the first token comes after one step. `name` is for what no
    run measured.
    """

    decode: str
    prefill: str | None = None
    run: str | None = None
    name: str | None = None


KINDS = (
    Kind("decode.seconds_per_token", "prefill.seconds_per_token"),
    Kind("decode.fast.seconds_per_token", "prefill.fast.seconds_per_token"),
    Kind("decode.seconds_per_token", "prefill.seconds_per_token", run="gpu"),
    Kind("decode.fast.seconds_per_token", "prefill.fast.seconds_per_token", run="gpu"),
    Kind("cite.qwen2.5-speed-benchmark.transformers", name="A100, transformers"),
    Kind("cite.qwen2.5-speed-benchmark.vllm", name="A100, vLLM"),
)
"""The lanes of every replay, as far as today's data have them."""


@dataclass(frozen=True)
class Lane:
    """One lane: its words, the numbers behind it, its times in seconds.

    `step` is the time for one token, `first` and `whole` are those until the first and until the last one. A refused
    lane has no times. `alias` names the run where it is not the page's.
    """

    name: str
    where: str
    alias: str | None
    decode: Reading
    prefill: Reading | None
    prompt_tokens: int
    step: Reading
    first: Reading
    whole: Reading

    @property
    def refused(self) -> bool:
        """Whether a number behind it is refused."""
        return self.first.refusal is not None or self.whole.refusal is not None


def lanes(book: Book, answer_tokens: int) -> list[Lane]:
    """The lanes for an answer of so many tokens, each cell once.

    Raises:
        PublishError: As `Book.read` does.
    """
    found: list[Lane] = []
    cells: set[str] = set()
    refusals: set[str] = set()
    for kind in KINDS:
        lane = _lane(kind, book, answer_tokens)
        cell = " ".join(f"{source.run.id} {source.cell_words}" for source in lane.whole.sources)
        if lane.refused:
            # A machine that is still to come is one line, not one for each of its modes.
            reason = (lane.first.refusal or lane.whole.refusal).reason  # type: ignore[union-attr]
            if reason in refusals:
                continue
            refusals.add(reason)
        elif cell:
            if cell in cells:
                continue
            cells.add(cell)
        found.append(lane)
    return found


def _lane(kind: Kind, book: Book, answer_tokens: int) -> Lane:
    decode = book.read(kind.decode, kind.run)
    prefill = book.read(kind.prefill, kind.run) if kind.prefill else None
    per_step = {"s": kind.decode, "tokens/s": f"1 / {kind.decode}"}[decode.unit]
    prompt = 1
    first = per_step
    if prefill is not None:
        prompt = _prompt_tokens(prefill)
        first = f"{prompt} * {kind.prefill}"
    alias = kind.run or book.definitions.main
    run = decode.runs[0] if decode.runs else None
    mode = str(decode.sources[0].cell.get("mode")) if decode.sources else ""
    name = kind.name or (
        f"{run.device.upper()}, {_MODES.get(mode, mode)}" if run else book.alias(alias).label
    )
    origin = decode.origin["title"] if decode.origin else ""
    return Lane(
        name=name,
        where=run.machine if run else f"cited: {origin}" if origin else "",
        alias=kind.run,
        decode=decode,
        prefill=prefill,
        prompt_tokens=prompt,
        step=_seconds("For one token", per_step, alias, book),
        first=_seconds("Until the first token", first, alias, book),
        whole=_seconds(
            "Until the last token", f"{first} + {answer_tokens - 1} * {_grouped(per_step)}", alias, book
        ),
    )


def _grouped(expression: str) -> str:
    return f"({expression})" if " " in expression else expression


def _prompt_tokens(prefill: Reading) -> int:
    """The length of the prompt in the cell that was measured; 1 where none was yet."""
    cell = next((source.cell for source in prefill.sources), {})
    return int(cell.get("prompt_tokens") or 1)


def _seconds(title: str, formula: str, alias: str, book: Book) -> Reading:
    definition = Definition(
        id="replay.seconds",
        title=title,
        meaning=title,
        unit="s",
        place=Place("hooks/widgets/replays.py"),
        formula=expressions.parse(formula),
    )
    return derived.formula(definition, alias, book)


# --- the HTML -------------------------------------------------------------------------------------


def build(
    pieces: Sequence[Piece], book: Book, page: PageState, text: Element
) -> tuple[Element, list[NumberUse]]:
    """The replay's element, and how it uses numbers.

    Args:
        pieces: The answer, cut into tokens.
        book: The numbers.
        page: Gives its address, anchors and ids.
        text: The element that holds the pieces; each lane gets a copy.
    """
    count = sum(len(piece.ids) for piece in pieces)
    found = lanes(book, count)
    running = [lane for lane in found if not lane.refused]
    made = element("div", {"class": "replay", "data-script": SCRIPT, "role": "group", "aria-label": "Replay"})
    made.append(element("link", {"rel": "stylesheet", "href": relative(STYLE, page.uri)}))
    made.append(_controls())
    tracks = element("div", {"class": "replay-lanes"})
    tracks.extend(_track(lane, text) for lane in running)
    made.append(tracks)
    made.append(element("p", {"class": "replay-answer"}, "The answer, the same in every lane: ", _copy(text)))
    made.append(_table(found, count, page))
    uses = [
        NumberUse(reading, reading.text(), lane.alias, labelled=True)
        for lane in found
        for reading in (lane.prefill, lane.decode)
        if reading is not None
    ]
    return made, uses


def _controls() -> Element:
    """Buttons, which the script shows; the clock is for eyes, and what it says in words is for ears."""
    return element(
        "div",
        {"class": "replay-controls", "data-search-exclude": ""},
        element("button", {"type": "button", "class": "replay-start"}, "Start"),
        element("button", {"type": "button", "class": "replay-again", "disabled": ""}, "From the start"),
        element(
            "label",
            {"class": "replay-cuts"},
            element("input", {"type": "checkbox"}),
            " Show where the tokens are cut",
        ),
        element("span", {"class": "replay-clock", "aria-hidden": "true"}, "0.0 s"),
        element("span", {"class": "replay-said", "role": "status"}),
    )


def _track(lane: Lane, text: Element) -> Element:
    waits = (
        f"reads for {lane.first.text()}, done after {lane.whole.text()}"
        if lane.prefill is not None
        else f"nothing to read, done after {lane.whole.text()}"
    )
    written = _copy(text)
    written.tag = "p"  # what is left out of the search ends with the first element of its own name inside it
    written.set("class", "tokens replay-text")
    written.set("aria-hidden", "true")
    written.set("data-search-exclude", "")
    return element(
        "div",
        {
            "class": "replay-lane",
            "data-name": lane.name,
            "data-first-s": repr(lane.first.value),
            "data-whole-s": repr(lane.whole.value),
            "data-prompt-tokens": str(lane.prompt_tokens),
        },
        element(
            "p",
            {"class": "replay-name"},
            element("strong", None, lane.name),
            " ",
            element("span", None, lane.where),
        ),
        element("p", {"class": "replay-state"}, waits),
        element("progress", {"max": "1", "value": "1", "aria-hidden": "true"}),
        written,
    )


def _copy(text: Element) -> Element:
    made = Element(text.tag, dict(text.attrib))
    made.text = text.text
    return made


_HEAD = (
    "Machine and program",
    "Reads a token in",
    "Writes a token in",
    "First token after",
    "Whole answer after",
)


def _table(found: Sequence[Lane], count: int, page: PageState) -> Element:
    prompts = sorted({lane.prompt_tokens for lane in found if lane.prefill is not None and not lane.refused})
    words = " or ".join(f"{tokens:,}" for tokens in prompts)
    caption = f"The same in numbers: an answer of {count:,} tokens" + (
        f" after a prompt of {words} tokens" if words else ""
    )
    made = element("table", {"class": "numbers replay-rates", "data-table": "replay"})
    made.append(element("caption", None, caption))
    made.append(
        element(
            "thead", None, element("tr", None, *(element("th", {"scope": "col"}, text) for text in _HEAD))
        )
    )
    body = element("tbody")
    made.append(body)
    for lane in found:
        body.append(element("tr", None, *_cells(lane, page)))
    return made


def _cells(lane: Lane, page: PageState) -> Iterator[Element]:
    yield element("th", {"scope": "row"}, lane.name)
    if lane.refused:
        refused = lane.decode if lane.decode.refusal else lane.prefill or lane.decode
        yield element("td", {"colspan": str(len(_HEAD) - 1)}, _number(refused, lane.alias, page))
        return
    values = (
        _number(lane.prefill, lane.alias, page) if lane.prefill else "one token only",
        _written(lane, page),
        lane.first.text(),
        lane.whole.text(),
    )
    for heading, value in zip(_HEAD[1:], values, strict=True):
        yield element("td", {"data-heading": heading}, value)


def _written(lane: Lane, page: PageState) -> Element:
    """The time for a token; where its source has a rate, that beside it."""
    number = _number(lane.decode, lane.alias, page)
    return number if lane.decode.unit == "s" else element("span", None, f"{lane.step.text()}, at ", number)


def _number(reading: Reading, alias: str | None, page: PageState) -> Element:
    label = "cited" if reading.kind == "cited" else None
    return provenance.number(reading, page, style=None, digits=None, label=label, popover=True, alias=alias)
