"""The element in which a reader's own text is cut into tokens. Cuts none itself, at build or in the browser.

What the build writes is complete to read without a script: the example's tokens. docs/assets/own-text.js adds the
field. It loads the tokenizer (hooks/widgets/browser_tokenizer.py) when the reader asks for it, and shows what the
build would.
"""

from __future__ import annotations

from collections.abc import Callable
from xml.etree.ElementTree import Element

from hooks.markup import element
from hooks.numbers import formatting
from hooks.widgets.browser_tokenizer import Script
from hooks.writing import tokens
from hooks.writing.tokens import Piece


def build(
    text: str,
    pieces: tuple[Piece, ...],
    *,
    tokenizer: str,
    id_: str,
    keep: Callable[[str], str],
    script: Script | None,
    address: Callable[[str], str],
) -> Element:
    """The element.

    Args:
        text: The example.
        pieces: Its tokens.
        tokenizer: The tokenizer's name.
        id_: Of the element; ids inside it begin with it.
        keep: Keeps finished HTML safe from Markdown, and gives what to write in its place.
        script: The tokenizer for the browser; without one there is no field.
        address: From a path below the site's root to the address as this page writes it.
    """
    shown = element("span", {"class": "tokens", "data-tokenizer": tokenizer, "dir": "auto"})
    shown.text = keep(tokens.html(pieces))
    made = element("div", {"class": "own-text", "id": id_, "data-search-exclude": ""})
    if script is not None:
        made.set("data-tokenizer", tokenizer)
        made.set("data-cutter", address(script.path))
        made.append(element("link", {"rel": "stylesheet", "href": address("assets/own-text.css")}))
        made.append(_entry(text, id_, script))
    made.append(element("p", {"class": "own-text-pieces"}, shown))
    made.append(element("p", {"class": "own-text-status", "role": "status"}, count(text, pieces)))
    if script is not None:
        made.append(element("script", {"src": address("assets/own-text.js"), "defer": "defer"}))
    return made


def count(text: str, pieces: tuple[Piece, ...]) -> str:
    """How many tokens and how many characters there are."""
    found = sum(len(piece.ids) for piece in pieces)
    return f"{_plural(found, 'token')} for {_plural(len(text), 'character')}"


def _plural(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _entry(text: str, id_: str, script: Script) -> Element:
    size = formatting.number(script.gzip_bytes, "bytes", digits=2)
    whole = formatting.number(len(script.text.encode()), "bytes", digits=2)
    area = element(
        "textarea", {"id": f"{id_}-field", "rows": "3", "dir": "auto", "spellcheck": "false"}, f"\n{text}"
    )
    return element(
        "div",
        {"class": "own-text-entry"},
        element("label", {"for": f"{id_}-field"}, "Your text"),
        area,
        element(
            "p",
            {"class": "own-text-load"},
            element("button", {"type": "button"}, f"Load the tokenizer ({size})"),
            element(
                "span",
                None,
                f" It is the one that this page was made with. {whole} where the server does not compress. "
                "What you type stays in your browser.",
            ),
        ),
    )
