"""The places of a page whose content depends on the run, and what differs in them between two runs. Resolves nothing.

A page with other runs is resolved once for each, on copies of one tree. Each pass notes here what it put where, under
keys that are the same in all passes: the number of the placeholder. A place is marked in the HTML by `data-run-slot`,
so that a script can put there what another run gives.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from html import unescape
from typing import TypeVar
from xml.etree.ElementTree import Element

from markdown import Markdown
from markdown.util import AMP_SUBSTITUTE

ATTRIBUTE = "data-run-slot"

BRANCH = "run-branch"
"""Class of the element around a branch of `when`, where another run has the other branch."""

T = TypeVar("T")
Node = TypeVar("Node", Element, Element | str)

Resolve = Callable[[str], str]
"""Puts plain texts in the place of marks in an attribute."""

_IDS = re.compile(r' (?:id|aria-describedby)="[^"]*"')
"""What differs between two passes and means the same."""

_TAG = re.compile(r"<[A-Za-z][^<>]*\x02spliced:\d+\x03[^<>]*>")
_VALUE = re.compile(r'\s([\w:-]+)\s*=\s*"([^"]*\x02spliced:(\d+)\x03[^"]*)"')


@dataclass(frozen=True)
class Patch:
    """What another run gives in the places of a page where it gives something else.

    `whole` replaces elements, `inside` the content of elements, `attributes` single attributes; all by key.
    """

    whole: Mapping[str, str]
    inside: Mapping[str, str]
    attributes: Mapping[str, Mapping[str, str]]

    def __bool__(self) -> bool:
        """Whether anything differs."""
        return bool(self.whole or self.inside or self.attributes)


@dataclass
class Slots:
    """What one pass over a page put into the places that depend on the run.

    `branches` has, for each `when` on which runs differ, the branch that was chosen and the element around it. `raw`
    are attributes of raw HTML as they were written, with marks in them.
    """

    elements: dict[str, Element] = field(default_factory=dict)
    blocks: dict[str, str] = field(default_factory=dict)
    branches: dict[str, tuple[bool, Element]] = field(default_factory=dict)
    attributes: dict[str, dict[str, str]] = field(default_factory=dict)
    raw: dict[str, dict[str, str]] = field(default_factory=dict)

    @property
    def placed(self) -> dict[str, Element | str]:
        """All that was put, elements and blocks."""
        return {**self.elements, **self.blocks}

    def put(self, key: str, made: Node, *, block: bool) -> Node:
        """Note what stands in a place: an element, a finished block, or text; returned with its mark."""
        if isinstance(made, str) and block:
            self.blocks[key] = made.replace(" ", f' {ATTRIBUTE}="{key}" ', 1)
            return self.blocks[key]
        item = made if isinstance(made, Element) else Element("span")
        if isinstance(made, str):
            item.text = made
        item.set(ATTRIBUTE, key)
        self.elements[key] = item
        return item

    def branch(self, key: str, chosen: bool, *, block: bool) -> Element:
        """The element for a branch of `when` on which runs differ."""
        around = Element("div" if block else "span", {"class": BRANCH, ATTRIBUTE: key})
        self.branches[key] = chosen, around
        return around

    def attribute(self, key: str, item: Element, name: str) -> None:
        """Note an element's attribute whose value depends on the run."""
        item.set(ATTRIBUTE, key)
        self.attributes.setdefault(key, {})[name] = unescape(item.get(name, "").replace(AMP_SUBSTITUTE, "&"))

    def mark_raw(self, html: str) -> str:
        """Raw HTML with a mark in each element that has a placeholder in an attribute."""

        def mark(match: re.Match[str]) -> str:
            values = list(_VALUE.finditer(match[0]))
            if not values or ATTRIBUTE in match[0]:
                return match[0]
            key = f"{values[0][3]}r"
            self.raw[key] = {value[1]: unescape(value[2]) for value in values}
            return re.sub(r"^<[\w-]+", lambda name: f'{name[0]} {ATTRIBUTE}="{key}"', match[0])

        return _TAG.sub(mark, html)


def patch(main: Slots, other: Slots, html: Callable[[Slots, Element | str], str]) -> Patch:
    """What differs between the passes for two runs; `html` writes an element, or a block, of one of them."""
    whole = {
        key: text
        for key, mine, theirs in _both(main.placed, other.placed)
        if _bare(html(main, mine)) != _bare(text := html(other, theirs))
    }
    inside = {
        key: _inner(html(other, theirs))
        for key, (mine, _), (chosen, theirs) in _both(main.branches, other.branches)
        if mine != chosen
    }
    attributes = {
        key: {name: value for name, value in theirs.items() if mine.get(name) != value}
        for key, mine, theirs in _both(main.attributes, other.attributes)
        if mine != theirs
    }
    return Patch(whole, inside, attributes)


def raw_attributes(main: Slots, mine: Resolve, theirs: Resolve) -> dict[str, dict[str, str]]:
    """Attributes of raw HTML that differ, by key: what the resolvers of two runs make of them."""
    found = {
        key: {name: theirs(text) for name, text in values.items() if mine(text) != theirs(text)}
        for key, values in main.raw.items()
    }
    return {key: values for key, values in found.items() if values}


def written(item: Element | str, md: Markdown) -> str:
    """An element, or the text of one, as it will stand in the page once the conversion is done."""
    if isinstance(item, Element):
        tail, item.tail = item.tail, None
        item_html = md.serializer(item)
        item.tail = tail
    else:
        item_html = item
    if "unescape" in md.treeprocessors:
        item_html = md.treeprocessors["unescape"].unescape(item_html)  # type: ignore[attr-defined]
    for name in ("raw_html", "amp_substitute"):
        item_html = md.postprocessors[name].run(item_html)
    return str(item_html)


def _both(mine: Mapping[str, T], theirs: Mapping[str, T]) -> Iterator[tuple[str, T, T]]:
    """The values of both under the keys of both: what stands in a branch that only one has is in that branch's HTML."""
    return ((key, value, theirs[key]) for key, value in mine.items() if key in theirs)


def _bare(html: str) -> str:
    return _IDS.sub("", html)


def _inner(html: str) -> str:
    return html[html.index(">") + 1 : html.rindex("</")]
