"""Tables by name, one function each, made of the same numbers as the text. Looks nothing up by itself."""

from __future__ import annotations

from collections.abc import Callable
from xml.etree.ElementTree import Element

from hooks import provenance
from hooks.book import Book
from hooks.errors import PublishError, nearest
from hooks.markup import element
from hooks.pages import PageState
from hooks.readings import Reading

Cell = str | tuple[Reading, str]
"""Text, or a number and the style to show it in."""

Rows = list[list[Cell]]


def build(name: str, book: Book, page: PageState, alias: str | None) -> tuple[Element, list[Reading]]:
    """The table's element, and the numbers in it.

    Raises:
        PublishError: There is no table of that name.
    """
    if name not in TABLES:
        raise PublishError(
            f"there is no table `{name}`",
            expected=", ".join(TABLES),
            found=name,
            nearest=nearest(name, TABLES),
            mend="use a known one, or add a function to hooks/tables.py",
        )
    caption, head, rows = TABLES[name](book, alias)
    readings = [item[0] for row in rows for item in row if not isinstance(item, str)]
    labels = dict.fromkeys(filter(None, (provenance.label(item, book.definitions.main) for item in readings)))
    if labels:
        caption += f" ({', '.join(labels)})"
    made = element("table", {"class": "numbers", "data-table": name})
    made.append(element("caption", None, caption))
    made.append(
        element("thead", None, element("tr", None, *(element("th", {"scope": "col"}, text) for text in head)))
    )
    body = element("tbody")
    made.append(body)
    for row in rows:
        body.append(element("tr", None, *(_cell(item, index, page) for index, item in enumerate(row))))
    return made, readings


def _cell(item: Cell, index: int, page: PageState) -> Element:
    if not isinstance(item, str):
        reading, style = item
        shown = provenance.number(reading, page, style=style, digits=None, label=None, popover=True)
        return element("td", None, shown)
    return element("td", None, item) if index else element("th", {"scope": "row"}, item)


def _kv_cache_by_model(book: Book, alias: str | None) -> tuple[str, list[str], Rows]:
    names = sorted(book.store.models, key=lambda name: book.read(f"model.{name}.parameters").value or 0)
    facts = (
        ("weights_bytes_16bit", "si"),
        ("kv_bytes_per_token_16bit", "exact"),
        ("kv_equals_weights_tokens", "exact"),
    )
    rows: Rows = []
    for name in names:
        numbers = ((book.read(f"model.{name}.{fact}"), style) for fact, style in facts)
        rows.append([str(book.store.models[name]["title"]), *numbers])
    return (
        "Weights and KV cache at 16 bits, computed from the models' published sizes",
        ["Model", "Weights", "KV cache per token", "Context at which both are equal"],
        rows,
    )


TABLES: dict[str, Callable[[Book, str | None], tuple[str, list[str], Rows]]] = {
    "kv-cache-by-model": _kv_cache_by_model,
}
"""Every table that a page can place."""
