"""Tables by name, one function each, made of the same numbers as the text. Looks nothing up by itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from xml.etree.ElementTree import Element

from hooks.data.records import Refusal
from hooks.errors import PublishError, nearest
from hooks.markup import element
from hooks.numbers.book import Book
from hooks.numbers.formatting import unbroken
from hooks.numbers.readings import Reading
from hooks.writing import provenance
from hooks.writing.pages import PageState

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
            mend="use a known one, or add a function to hooks/writing/tables.py",
        )
    caption, head, rows = TABLES[name](book, alias)
    readings = [item[0] for row in rows for item in row if not isinstance(item, str)]
    labels = dict.fromkeys(filter(None, (provenance.label(item, book.definitions.main) for item in readings)))
    if labels:
        caption += f" ({', '.join(labels)})"
    made = element("table", {"class": "numbers", "data-table": name})
    made.append(element("caption", None, unbroken(caption)))
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
    facts = (
        ("weights_bytes_16bit", "si"),
        ("kv_bytes_per_token_16bit", "exact"),
        ("kv_equals_weights_tokens", "exact"),
    )
    rows: Rows = []
    for name in _by_size(book):
        numbers = ((book.read(f"model.{name}.{fact}"), style) for fact, style in facts)
        rows.append([str(book.store.models[name]["title"]), *numbers])
    return (
        "Weights and KV cache at 16 bits, computed from the models’ published sizes",
        ["Model", "Weights", "KV cache per token", "Context at which both are equal"],
        rows,
    )


def _kv_cache_arithmetic(book: Book, alias: str | None) -> tuple[str, list[str], Rows]:
    facts = ("layers", "kv_heads", "head_size", "kv_elements_per_token", "kv_bytes_per_token_16bit")
    rows: Rows = [
        [
            str(book.store.models[name]["title"]),
            *((book.read(f"model.{name}.{fact}"), "exact") for fact in facts),
        ]
        for name in _by_size(book)
    ]
    return (
        "What a token takes in the KV cache: 2 × layers × KV heads × head size numbers, of 2 bytes each",
        ["Model", "Layers", "KV heads", "Head size", "Numbers for a token", "At 16 bits"],
        rows,
    )


_CARDS = (
    ("h200", "NVIDIA H200", "cite.nvidia-memory-bandwidth.h200-memory"),
    ("h100", "NVIDIA H100", "cite.nvidia-memory-bandwidth.h100-memory"),
    ("a100", "NVIDIA A100 80GB", "cite.nvidia-a100-80gb.memory"),
    ("rtx4090", "GeForce RTX 4090", "cite.nvidia-rtx-4090.memory"),
)
"""Cards by the word that their quantities have, their names, and where their memory is cited."""

_NO_ROOM = Refusal("did_not_fit", "does not fit")


def _what_fits(book: Book, alias: str | None) -> tuple[str, list[str], Rows]:
    machines = [("machine", "This machine", "fits.machine.memory_bytes"), *_CARDS]
    rows: Rows = [
        [
            title,
            (book.read(memory, alias), "si"),
            *(
                (_room(book.read(f"fits.{word}.{model}_tokens", alias)), "exact")
                for model in ("qwen", "llama")
            ),
            (book.read(f"fits.{word}.read_all_s", alias), "si"),
        ]
        for word, title, memory in machines
    ]
    titles = [
        str(book.store.models[name]["title"]).replace(" ", "\N{NO-BREAK SPACE}")
        for name in ("qwen2.5-1.5b", "llama-2-70b")
    ]
    return (
        "Room for the KV cache beside the weights at 16 bits, and the time to read a full memory once. "
        "For cards, from their maker’s figures",
        ["Memory of", "Bytes", *(f"Cache beside {title}" for title in titles), "Read once"],
        rows,
    )


def _room(tokens: Reading) -> Reading:
    """The tokens that fit; where the weights alone do not, that."""
    return tokens if tokens.value != 0 else replace(tokens, refusal=_NO_ROOM, estimate=None)


def _by_size(book: Book) -> list[str]:
    return sorted(book.store.models, key=lambda name: book.read(f"model.{name}.parameters").value or 0)


TABLES: dict[str, Callable[[Book, str | None], tuple[str, list[str], Rows]]] = {
    "kv-cache-by-model": _kv_cache_by_model,
    "kv-cache-arithmetic": _kv_cache_arithmetic,
    "what-fits": _what_fits,
}
"""Every table that a page can place."""
