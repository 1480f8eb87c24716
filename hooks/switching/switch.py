"""The machine switch: its HTML on a page, and the file that a page loads for a run that it shows. Chooses no runs.

docs/assets/machines.js is its other half. Without scripts the switch is one line that says whose figures these are. The
files are scripts that set a value, since a page that was opened from a disk may load nothing else.
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Callable, Sequence
from urllib.parse import quote
from xml.etree.ElementTree import Element

from hooks.caching.cache import digest
from hooks.markup import element
from hooks.numbers.book import Book
from hooks.switching.machines import Choice, label
from hooks.switching.slots import Patch
from hooks.writing.pages import PageState

FOLDER = "data/machines"


def path(uri: str, run_id: str) -> str:
    """Where the file of a page for a run lies in the site."""
    return f"{FOLDER}/{posixpath.splitext(uri)[0]}/{run_id}.js"


def edition(page: PageState, run_id: str) -> str:
    """What a page and its file for a run have in common: another page has another."""
    found = page.patches[run_id]
    return digest(page.source, run_id, sorted(found.whole), sorted(found.inside))[:12]


def script(page: PageState, run_id: str, fill: Callable[[str], str]) -> str:
    """The file's text; `fill` puts pictures into HTML."""
    found: Patch = page.patches[run_id]
    value = {
        "edition": edition(page, run_id),
        "whole": {key: fill(html) for key, html in found.whole.items()},
        "inside": {key: fill(html) for key, html in found.inside.items()},
        "attributes": found.attributes,
    }
    name = json.dumps(f"{page.uri} {run_id}")
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return f"(window.splicedRuns ??= {{}})[{name}] = {text};\n"


def html(book: Book, choices: Sequence[Choice], page: PageState) -> Element:
    """The switch for a page: whose figures it shows, and the other runs that it can show."""
    main = book.run(book.definitions.main)
    name = label(main, book)
    select = element(
        "select",
        None,
        element(
            "optgroup",
            {"label": "Main machine of this site"},
            element("option", {"value": main.id, "selected": "selected"}, name),
        ),
    )
    for heading, same in (("Other machines", True), ("Other models", False)):
        options = [_option(choice, page) for choice in choices if choice.same_model is same]
        if options:
            select.append(element("optgroup", {"label": heading}, *options))
    return element(
        "div",
        {
            "class": "machine-switch",
            "data-script": "assets/machines.js",
            "data-page": page.uri,
            "data-main": main.id,
            "data-model": str(book.store.models[main.model]["title"]),
            "data-search-exclude": "",
        },
        # Spans: Material's search leaves out what is to be left out only until an element of the same name ends in it.
        element(
            "span",
            {"class": "machine-bar"},
            element(
                "span",
                {"class": "machine-shown"},
                "Figures of ",
                element("b", {"class": "machine-name"}, name),
            ),
            element("label", {"class": "machine-choice"}, element("span", None, "Figures of "), select),
        ),
        element("p", {"class": "machine-status", "role": "status"}),
    )


def _option(choice: Choice, page: PageState) -> Element:
    here = posixpath.dirname(page.uri) or "."
    address = posixpath.relpath(path(page.uri, choice.run.id), here)
    return element(
        "option",
        {
            "value": choice.run.id,
            "data-name": choice.name,
            "data-model": choice.model,
            "data-src": f"{quote(address)}?{edition(page, choice.run.id)}",
            "data-edition": edition(page, choice.run.id),
        },
        choice.label,
    )
