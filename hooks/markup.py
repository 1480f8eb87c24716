"""Building elements whose text and attributes come from data. Everything given here is escaped."""

from __future__ import annotations

import html
import posixpath
import re
from xml.etree.ElementTree import Element

from markdown.util import AMP_SUBSTITUTE

from hooks.errors import PublishError

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")

_CHANGED = re.compile("[\r\x02\x03]")
"""A browser turns a carriage return into a line feed, and Python-Markdown keeps STX and ETX for itself, unless they
are written as references."""

_BRACES = re.compile(r"\{\{|\}\}")
"""Double braces in data; printed as they are they would look like a placeholder that nobody resolved."""


def inert(text: str) -> str:
    """Text that Python-Markdown's serialiser prints as it is.

    Its serialiser leaves what looks like an entity alone, so each ampersand is escaped here already; and
    control characters could be taken for its own marks.
    """
    text = _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text).replace("&", f"{AMP_SUBSTITUTE}amp;")
    text = text.replace("\r", f"{AMP_SUBSTITUTE}#13;")  # a browser would turn it into a line feed
    return _BRACES.sub(lambda match: f"{AMP_SUBSTITUTE}#{ord(match[0][0])};" * 2, text)


def escaped(text: str) -> str:
    """Text for HTML that we print ourselves, in elements and attributes."""
    return exact(_CONTROL.sub("\N{REPLACEMENT CHARACTER}", text))


def exact(text: str) -> str:
    """The same, with control characters in it, too; what reads the HTML gets back every character."""
    text = _BRACES.sub(lambda match: f"&#{ord(match[0][0])};" * 2, html.escape(text))
    return _CHANGED.sub(lambda match: f"&#{ord(match[0])};", text)


def element(tag: str, attributes: dict[str, str | None] | None = None, *content: str | Element) -> Element:
    """An element with its content in order. Attributes that are None are left out."""
    made = Element(
        tag, {name: inert(value) for name, value in (attributes or {}).items() if value is not None}
    )
    for item in content:
        if isinstance(item, str):
            append_text(made, inert(item))
        else:
            made.append(item)
    return made


def append_text(parent: Element, text: str) -> None:
    """Add text after all that the element holds."""
    if len(parent):
        parent[-1].tail = (parent[-1].tail or "") + text
    else:
        parent.text = (parent.text or "") + text


def replace(parent: Element, old: Element, new: Element | str | None) -> None:
    """Put an element, text or nothing in the place of a child; what follows the child stays."""
    index = list(parent).index(old)
    tail = old.tail or ""
    parent.remove(old)
    if isinstance(new, Element):
        new.tail = tail
        parent.insert(index, new)
        return
    text = (new or "") + tail
    if index:
        parent[index - 1].tail = (parent[index - 1].tail or "") + text
    else:
        parent.text = (parent.text or "") + text


def stand_alone(parent: Element, waiting: Element, made: Element | str) -> None:
    """Put a block in the place of the paragraph that holds nothing but `waiting`.

    Raises:
        PublishError: Something else is in it.
    """
    alone = (
        parent.tag in ("p", "td", "th", "li", "div")
        and len(parent) == 1
        and not (parent.text or "").strip()
        and not (waiting.tail or "").strip()
    )
    if not alone:
        raise PublishError(
            "this placeholder needs a paragraph of its own",
            expected="a blank line before and after it",
            found="text beside it",
            mend="put it on a line of its own between blank lines",
        )
    parent.remove(waiting)
    parent.text = None
    if isinstance(made, str):
        parent.text = made
        if parent.tag == "p":
            parent.attrib.clear()
    elif parent.tag == "p":
        tail = parent.tail
        parent.clear()
        parent.tag, parent.text, parent.tail = made.tag, made.text, tail
        parent.attrib.update(made.attrib)
        parent.extend(list(made))
    else:
        parent.append(made)


def relative(path: str, uri: str) -> str:
    """The address of a file of the site, seen from the page at `uri`."""
    return posixpath.relpath(path, posixpath.dirname(uri) or ".")
