"""Where a number comes from, in words, and the HTML of a number with its popover. Looks nothing up.

The popover is a sibling of the number inside one wrapper, so that the number's own text stays pure. It opens
on hover, focus and tap by CSS alone. docs/reference/html.md is the contract.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable
from xml.etree.ElementTree import Element

from hooks.data.records import Run
from hooks.markup import element, relative
from hooks.numbers.estimates import FEWEST_PROCESSES
from hooks.numbers.formatting import SPACE, unbroken
from hooks.numbers.readings import Reading
from hooks.writing.pages import PageState

Rows = list[tuple[str, str]]


def rows(reading: Reading, style: str | None = None) -> Rows:
    """What the popover says of a number: pairs of a heading and a text."""
    found: Rows = [("Value", reading.text(style))]
    interval = reading.interval_text(style)
    if interval:
        found.append(("Interval", f"{interval} (95{SPACE}% prediction interval over processes)"))
    elif reading.kind == "range":
        ends = "; ".join(f"{part.title}: {part.text(style)}" for part in reading.parts)
        found.append(("Range", f"over {len(reading.parts)} cells, not an interval: {ends}"))
    elif reading.sources and not reading.refusal:
        found.append(("Interval", _no_interval(reading)))
    if reading.is_bound:
        found.append(("Bound", "the interval holds zero, so only the size that it cannot exceed is stated"))
    found += reading.remarks
    if reading.runs:
        found += _measured(reading)
    if reading.formula:
        found.append(("Formula", reading.formula))
    if reading.origin:
        found += _origin(reading)
    if reading.meaning != reading.title:
        found.append(("Definition", reading.meaning))
    return found


def _no_interval(reading: Reading) -> str:
    if reading.half is not None:
        return "none: all processes agree"
    few = f"none: fewer than {FEWEST_PROCESSES} processes"
    good = min(source.processes for source in reading.sources if source.samples)
    if any(source.run.program for source in reading.sources):
        return f"{few}, as other programs measure in one"
    refused = sum(source.refused for source in reading.sources)
    return f"{few} have good samples ({good} do)" if refused else few


def _measured(reading: Reading) -> Rows:
    found: Rows = []
    if reading.sources and not reading.refusal:
        refused = sum(source.refused for source in reading.sources)
        more = f"; {refused} refused" if refused else ""
        processes = reading.processes or max(source.processes for source in reading.sources)
        found.append(
            ("Measured", f"{_count(processes, 'process', 'processes')}, {reading.samples} samples{more}")
        )
    if reading.sources:
        name = "Cell" if len(reading.sources) == 1 else "Cells"
        found.append((name, "; ".join(source.cell_words for source in reading.sources)))
    for run in reading.runs:
        found.append(("Run", run.id))
        if run.origin:
            found.append(("Origin", imported(run)))
            found += [("Note", note) for note in run.origin.get("notes", ())]
        found += [("Machine", unbroken(run.machine)), ("Date", run.date), ("Weights", run.weights)]
    return found


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def imported(run: Run) -> str:
    """Where an imported run was read from: `imported from llama-bench 0c1e570, file x.json`."""
    assert run.origin is not None
    version = f" {run.origin['version']}" if run.origin["version"] else ""
    return f"imported from {run.origin['program']}{version}, file {run.origin['file']}"


def _origin(reading: Reading) -> Rows:
    assert reading.origin is not None
    heading = "Cited from" if reading.kind == "cited" else "Sizes from"
    found: Rows = [(heading, f"{reading.origin['title']}, {reading.origin['publisher']}")]
    if reading.place:
        found.append(("Place", reading.place))
    if reading.origin.get("url"):
        found.append(("Address", reading.origin["url"]))
    found.append(("Seen", reading.origin["accessed"]))
    return found


def number(
    reading: Reading,
    page: PageState,
    *,
    style: str | None,
    digits: int | None,
    label: str | None,
    popover: bool,
    interval: bool = False,
    alias: str | None = None,
) -> Element:
    """The number's HTML.

    Args:
        reading: What to show.
        page: Gives the anchor of the first occurrence, and ids.
        style: Overrides the quantity's way to show it.
        digits: Overrides the digits.
        label: Words beside the number: which run, or that it is cited; None for none.
        popover: Whether provenance is attached; headings and links have none.
        interval: Whether the half-width of the interval stands beside it.
        alias: The run that the page asked for, if it did; it is part of the anchor.
    """
    origins = " ".join(run.program or "" for run in reading.runs).strip()
    kind = f"{reading.kind} bound" if reading.is_bound else reading.kind
    shown = element(
        "span",
        {
            "class": "quantity refused" if reading.refusal else f"quantity {kind}",
            "data-quantity": reading.id,
            "data-alias": alias,
            "data-run": " ".join(run.id for run in reading.runs) or None,
            "data-origin": origins or None,
            "data-refusal": reading.refusal.kind if reading.refusal else None,
            "id": page.anchor(f"{reading.id}:{alias}" if alias else reading.id),
        },
        reading.text(style, digits, interval=interval),
    )
    words = element("span", {"class": "number-label"}, f" ({label})") if label else None
    beside = [*_former_anchors(reading, page, alias), shown, *([] if words is None else [words])]
    if not popover:
        return shown if len(beside) == 1 else element("span", None, *beside)
    name = page.popover_id()
    shown.set("tabindex", "0")
    shown.set("aria-describedby", name)
    wrapper = element("span", {"class": "has-provenance"}, *beside)
    made = box(name, reading.title, rows(reading, style))
    if page.catalogued:
        target = relative(f"data/quantities/{reading.id}.html", page.uri)
        more = "Every run, samples, history" if reading.runs else "Where it is stated, history"
        link = element("a", {"href": target}, more)
        made.append(element("span", {"class": "provenance-row provenance-more"}, link))
    wrapper.append(made)
    return wrapper


def _former_anchors(reading: Reading, page: PageState, alias: str | None) -> list[Element]:
    """Empty elements with the anchors that the number had under former names, so that links to those lead to it."""
    aliases = (
        [f":{name}" for name in (alias, *(reading.alias.was if reading.alias else ()))] if alias else [""]
    )
    names = [f"{id_}{of}" for id_ in (reading.id, *reading.was) for of in aliases]
    anchors = (page.anchor(name) for name in names[1:])
    return [element("span", {"id": anchor}) for anchor in anchors if anchor]


def label(reading: Reading, main: str) -> str | None:
    """What must stand beside a number: the names of runs other than `main`, or that it is cited."""
    if reading.kind == "cited":
        return "cited"
    return " and ".join(alias.label for alias in reading.aliases if alias.name != main) or None


def box(name: str, title: str, content: Iterable[tuple[str, str]]) -> Element:
    """A popover: a title and rows. Phrasing content only, since it stands inside paragraphs.

    It is a <bdi>, the only one: Material's search leaves out what has `data-search-exclude`, but only until an
    element of the same name ends inside it.
    """
    made = element(
        "bdi",
        {"class": "provenance", "role": "tooltip", "id": name, "data-search-exclude": ""},
        element("span", {"class": "provenance-title"}, title),
    )
    for heading, text in content:
        made.append(
            element(
                "span",
                {"class": "provenance-row"},
                element("span", {"class": "provenance-key"}, f"{heading}: "),
                element("span", {"class": "provenance-value"}, text),
            )
        )
    return made


def measured_in(
    readings: Iterable[Reading], uri: str, title_of: Callable[[str], str], *, catalogued: bool = False
) -> Element:
    """`Measured in: …`, made from the runs and notes behind the numbers that a page used.

    Args:
        readings: The numbers.
        uri: Of the page.
        title_of: The title of a model by its name.
        catalogued: Whether each run has a page to link to.
    """
    runs: dict[str, Run] = {}
    notes: set[str] = set()
    for reading in readings:
        runs |= {run.id: run for run in reading.runs}
        if reading.note:
            notes.add(reading.note)
    made = element("div", {"class": "measured-in"})
    for run in runs.values():
        made.append(
            element(
                "p",
                {"data-run": run.id},
                "Measured in: run ",
                _run(run, uri, catalogued),
                f" of {run.date}, on {unbroken(run.machine)}: {title_of(run.model)} with {run.weights}."
                + (f" It was {imported(run)}." if run.origin else ""),
            )
        )
    told = [
        element("a", {"href": relative(note, uri)}, _note_name(note)) for note in sorted(notes) if note != uri
    ]
    if told:
        parts: list[str | Element] = ["How it was measured: "]
        for link in told:
            parts += [link, "; "]
        made.append(element("p", {"class": "measured-note"}, *parts[:-1], "."))
    return made


def _note_name(note: str) -> str:
    """A note's name, from that of its file: `note 2, KV-cache growth`."""
    words = posixpath.splitext(posixpath.basename(note))[0].split("-")
    number = f"note {words.pop(0)}, " if words[0].isdigit() and len(words) > 1 else ""
    return number + " ".join(words).replace("kv cache", "KV-cache")


def _run(run: Run, uri: str, catalogued: bool) -> Element:
    name = element("code", None, run.id)
    return element("a", {"href": relative(f"data/runs/{run.id}.html", uri)}, name) if catalogued else name
