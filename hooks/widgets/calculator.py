"""The calculator as an element: what a model takes at a setting, on each machine, with its formulas. Fills in no form.

What the build writes is complete to read without a script: one setting with its formulas, and a table of a few others.
docs/assets/calculator.js adds the form and writes the same words for any setting; a test compares both.

Machines are those that a run of an alias measured the bandwidth of, and the cards that docs/quantities.toml cites: a
card NAME is the quantities `card.NAME.read_bytes_per_s`, `card.NAME.memory_bytes` and, for products in 16 bits,
`card.NAME.flop_per_s`; its name is the first one's title up to the colon.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree.ElementTree import Element

from hooks.data.records import Run
from hooks.errors import PublishError
from hooks.markup import element
from hooks.numbers import model_facts
from hooks.numbers.book import Book
from hooks.numbers.formatting import unbroken
from hooks.numbers.readings import Reading
from hooks.widgets import calculator_words as words
from hooks.widgets import footprint as footprints
from hooks.widgets.footprint import Setting
from hooks.writing import provenance
from hooks.writing.pages import PageState

READ, RATE, MEMORY = "ceilings.read_bytes_per_s", "ceilings.flop_per_s", "fits.machine.memory_bytes"
_CARD = re.compile(r"card\.([a-z0-9-]+)\.read_bytes_per_s")

FEW = ((4096, 1), (4096, 32))
"""Context and batch of the table for readers without scripts, for each model at 16 bits."""


@dataclass(frozen=True)
class Machine:
    """One machine that can be chosen. `rate` counts for numbers of `rate_bits`."""

    key: str
    label: str
    read: Reading
    memory: Reading
    rate: Reading | None
    rate_bits: int

    def plain(self) -> dict[str, Any]:
        """What the browser knows of it."""
        return {
            "label": self.label,
            "read": self.read.value,
            "read_text": self.read.text(*short(self.read)),
            "memory": self.memory.value,
            "rate": self.rate.value if self.rate else None,
            "rate_text": self.rate.text(*short(self.rate)) if self.rate else None,
            "rate_bits": self.rate_bits,
        }


def build(
    book: Book, page: PageState, *, id_: str, address: Callable[[str], str]
) -> tuple[Element, list[Reading]]:
    """The element, and the numbers of the machines in it.

    Args:
        book: The numbers.
        page: Gives anchors and ids of popovers.
        id_: Of the element; ids inside it begin with it.
        address: From a path below the site's root to the address as this page writes it.

    Raises:
        PublishError: There is no machine to calculate for.
    """
    found = models(book)
    offered = list(machines(book))
    if not offered:
        raise PublishError(
            "there is no machine to calculate for",
            expected=f"a run that measured {READ}, or a cited card",
            found="neither",
            mend='measure one, or define [quantity."card.NAME.read_bytes_per_s"] and card.NAME.memory_bytes',
        )
    main = book.definitions.aliases[book.definitions.main].model
    plain = {machine.key: machine.plain() for machine in offered}
    data = {
        "models": found,
        "machines": plain,
        "limits": footprints.LIMITS,
        "start": {
            "model": main,
            "context": 4096,
            "batch": 1,
            "weights": 16,
            "cache": 16,
            "on": offered[0].key,
        },
    }
    setting = Setting(4096, 1)
    made = element(
        "div",
        {
            "class": "calculator",
            "id": id_,
            "data-calculator": json.dumps(data, ensure_ascii=False, separators=(",", ":")),
            "data-search-exclude": "",
        },
        element("link", {"rel": "stylesheet", "href": address("assets/calculator.css")}),
        _form(id_, found, offered),
        element("p", {"class": "calculator-setting"}, words.setting_of(found[main], setting)),
        _results(words.results(found[main], setting, plain[offered[0].key])),
        _machines(words.machines(found[main], setting, plain), offered, page),
        _few(found, plain),
        element("script", {"src": address("assets/calculator.js"), "defer": "defer"}),
    )
    readings = [one for machine in offered for one in (machine.read, machine.memory, machine.rate) if one]
    return made, readings


def models(book: Book) -> dict[str, dict[str, Any]]:
    """Every model of the data by name, smallest first: its title, and the sizes that the arithmetic takes."""
    found = {
        name: {
            "title": model["title"],
            **{key: model[key] for key in ("layers", "kv_heads", "head_size")},
            **footprints.sizes(
                model, model_facts.parameters(model), model_facts.kv_elements_per_token(model)
            ),
        }
        for name, model in book.store.models.items()
    }
    return dict(sorted(found.items(), key=lambda item: int(item[1]["parameters"])))


def machines(book: Book) -> Iterator[Machine]:
    """Measured machines in the order of their aliases, then cited cards in that of docs/quantities.toml."""
    seen = set()
    for alias in book.definitions.aliases:
        run = book.find(alias) if book.definitions.aliases[alias].none_yet else book.run(alias)
        if not isinstance(run, Run) or run.record["machine"]["id"] in seen:
            continue
        read, memory, rate = (_of_run(book, name, alias) for name in (READ, MEMORY, RATE))
        if read is not None and memory is not None:
            seen.add(run.record["machine"]["id"])
            bits = 8 * model_facts.BYTES_OF[run.record["model"]["dtype"]]
            yield Machine(run.record["machine"]["id"], unbroken(run.machine), read, memory, rate, bits)
    known = book.definitions.quantities
    for id_ in known:
        if card := _CARD.fullmatch(id_):
            read, memory = book.read(id_), book.read(f"card.{card[1]}.memory_bytes")
            rate_id = f"card.{card[1]}.flop_per_s"
            rate = book.read(rate_id) if rate_id in known else None
            yield Machine(card[1], read.title.partition(":")[0], read, memory, rate, 16)


def _of_run(book: Book, id_: str, alias: str) -> Reading | None:
    """The number of that run; None where the run's plan has none or it is refused."""
    try:
        reading = book.read(id_, alias)
    except PublishError:
        return None
    return None if reading.refusal or reading.value is None else reading


def short(reading: Reading) -> tuple[str, int | None]:
    """The style and the digits by which a number of a machine is shown: with a prefix, as precise as its source."""
    if reading.kind != "cited" or reading.value is None:
        return "si", None
    if not reading.value.is_integer():
        return "si", reading.digits
    return "si", len(str(int(reading.value)).rstrip("0"))


# --- elements ---------------------------------------------------------------------------------------


def _form(id_: str, found: Mapping[str, Mapping[str, Any]], offered: Sequence[Machine]) -> Element:
    def select(name: str, label: str, options: Mapping[str, str], chosen: str) -> Element:
        made = element("select", {"id": f"{id_}-{name}", "name": name})
        for value, text in options.items():
            selected = {"selected": "selected"} if value == chosen else {}
            made.append(element("option", {"value": value, **selected}, text))
        return element("div", None, element("label", {"for": f"{id_}-{name}"}, label), made)

    def count(name: str, label: str, start: int, least: int, most: int) -> Element:
        """A number, and a slider that moves it in powers of two."""
        slider = {"min": str(least.bit_length() - 1), "max": str(most.bit_length() - 1), "step": "1"}
        return element(
            "div",
            None,
            element("label", {"for": f"{id_}-{name}"}, label),
            element(
                "input",
                {
                    "id": f"{id_}-{name}",
                    "name": name,
                    "type": "number",
                    "inputmode": "numeric",
                    "min": "1",
                    "max": str(most),
                    "value": str(start),
                },
            ),
            element(
                "input",
                {
                    "type": "range",
                    "data-moves": name,
                    "aria-label": f"{label}, in powers of two",
                    **slider,
                    "value": str(start.bit_length() - 1),
                },
            ),
        )

    limits = footprints.LIMITS
    return element(
        "div",
        {"class": "calculator-form", "role": "group", "aria-label": "Settings"},
        select("model", "Model", {name: model["title"] for name, model in found.items()}, next(iter(found))),
        count("context", "Context, tokens of each sequence", 4096, 128, limits["context_tokens"]),
        count("batch", "Batch, sequences at once", 1, 1, limits["batch"]),
        select("weights", "Weights", {str(bits): f"{bits} bits" for bits in footprints.WEIGHT_BITS}, "16"),
        select("cache", "KV cache", {str(bits): f"{bits} bits" for bits in footprints.CACHE_BITS}, "16"),
        select("on", "Time on", {machine.key: machine.label for machine in offered}, offered[0].key),
    )


def _results(lines: Sequence[words.Line]) -> Element:
    made = element("dl", {"class": "calculator-results"})
    for line in lines:
        made.append(
            element(
                "div",
                {"data-result": line.name},
                element("dt", None, line.title),
                element(
                    "dd",
                    None,
                    element("strong", None, line.value),
                    " ",
                    element("span", {"class": "calculator-formula"}, line.formula),
                ),
            )
        )
    return made


def _machines(rows: Mapping[str, words.Row], offered: Sequence[Machine], page: PageState) -> Element:
    body = element("tbody")
    for machine in offered:
        kind = "cited" if machine.read.kind == "cited" else f"measured on {machine.read.runs[0].date}"
        row = rows[machine.key]
        body.append(
            element(
                "tr",
                {"data-machine": machine.key},
                element(
                    "th",
                    {"scope": "row"},
                    machine.label,
                    element("span", {"class": "calculator-kind"}, f" {kind}"),
                ),
                element("td", None, _number(machine.memory, page)),
                element("td", None, _number(machine.read, page)),
                element("td", {"data-cell": "fits"}, row.fits),
                element("td", {"data-cell": "least"}, row.least),
                element("td", {"data-cell": "speed"}, row.speed),
            )
        )
    head = (
        "Machine",
        "Memory",
        "Read bandwidth",
        "Do weights and cache fit?",
        "Least time of a step",
        "Speed at most",
    )
    return _region(
        "Machines at this setting",
        "calculator-machines",
        "What fits on which machine, and the least time that one decode step can take there",
        head,
        body,
    )


def _number(reading: Reading, page: PageState) -> Element:
    style, digits = short(reading)
    return provenance.number(reading, page, style=style, digits=digits, label=None, popover=True)


def _few(found: Mapping[str, Mapping[str, Any]], plain: Mapping[str, Mapping[str, Any]]) -> Element:
    body = element("tbody")
    for model in found.values():
        for context, batch in FEW:
            setting = Setting(context, batch)
            rows = words.machines(model, setting, plain)
            size = {
                line.name: line.value for line in words.results(model, setting, next(iter(plain.values())))
            }
            cells = [size["weights"], size["cache"]]
            cells += [row.least if row.holds else "does not fit" for row in rows.values()]
            title = f"{model['title']}, {words.plural(batch, 'sequence')} of {words.plural(context, 'token')}"
            heading = element("th", {"scope": "row"}, title)
            body.append(element("tr", None, heading, *(element("td", None, text) for text in cells)))
    head = (
        "Setting, at 16 bits",
        "Weights",
        "KV cache",
        *(str(machine["label"]) for machine in plain.values()),
    )
    caption = "A few settings: weights, KV cache, and the least time of a decode step on each machine"
    return _region("A few settings", "calculator-few", caption, head, body)


def _region(label: str, class_: str, caption: str, head: Sequence[str], body: Element) -> Element:
    """A table that scrolls by itself where it is wider than the page."""
    return element(
        "div",
        {"class": f"calculator-scroll {class_}", "role": "region", "aria-label": label, "tabindex": "0"},
        element(
            "table",
            {"class": "numbers"},
            element("caption", None, caption),
            element(
                "thead", None, element("tr", None, *(element("th", {"scope": "col"}, text) for text in head))
            ),
            body,
        ),
    )
