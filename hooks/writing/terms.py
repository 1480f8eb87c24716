"""Terms of the glossary where a page uses them: each becomes a link that explains itself. Reads no glossary.

A term is marked where a section first uses it. Not in headings, links, code, numbers, tokens, tables of numbers and
charts; nor in the section that introduces it, which has it in italics.
"""

from __future__ import annotations

import posixpath
from xml.etree.ElementTree import Element

from hooks.markup import element
from hooks.writing.glossary import Glossary, Term
from hooks.writing.pages import PageState

_SECTIONS = {"h1", "h2"}
_TAGS = {f"h{level}" for level in range(1, 7)} | {
    "a", "abbr", "bdi", "button", "code", "dt", "figure", "kbd", "label", "pre", "script", "style", "summary", "sup",
    "svg", "template",
}  # fmt: skip
_CLASSES = {
    "quantity",
    "number-label",
    "tokens",
    "claim-mark",
    "measured-in",
    "numbers",
    "machine-switch",
    "own-text",
    "calculator",
}
_INTRODUCES = {"em", "strong"}


def mark(root: Element, page: PageState, glossary: Glossary) -> None:
    """Mark the terms below `root`, in place."""
    if glossary.terms:
        _Marker(page, glossary).inside(root)


class _Marker:
    """One walk over one page's tree, in document order."""

    def __init__(self, page: PageState, glossary: Glossary) -> None:
        self.page = page
        self.glossary = glossary
        self.here = page.uri == glossary.uri
        self.explained: set[str] = set()

    def inside(self, parent: Element) -> None:
        children = list(parent)
        parent.text, made = self._split(parent.text)
        for child in children:
            parent.remove(child)
        parent.extend(made)
        for child in children:
            if child.tag in _SECTIONS:
                # In the glossary a section is a term, which needs no link to itself.
                self.explained = {child.get("id") or ""} if self.here else set()
            if child.tag in _INTRODUCES:
                self.explained |= {term.anchor for _, _, term in self.glossary.find(_text(child))}
            elif not self._is_left_alone(child):
                self.inside(child)
            child.tail, made = self._split(child.tail)
            parent.append(child)
            parent.extend(made)

    def _is_left_alone(self, item: Element) -> bool:
        return item.tag in _TAGS or bool(_CLASSES & set((item.get("class") or "").split()))

    def _split(self, text: str | None) -> tuple[str | None, list[Element]]:
        """The text before the first term, and an element for each term with the text after it as its tail."""
        if not text or not text.strip():
            return text, []
        head, done = text, 0
        made: list[Element] = []
        for begin, end, term in self.glossary.find(text):
            if term.anchor in self.explained:
                continue
            self.explained.add(term.anchor)
            if made:
                made[-1].tail = text[done:begin]
            else:
                head = text[:begin]
            made.append(self._explained(text[begin:end], term))
            done = end
        if made:
            made[-1].tail = text[done:]
        return head, made

    def _explained(self, word: str, term: Term) -> Element:
        """The word as a link with a popover; without scripts and styles it is a link to the glossary."""
        id_ = self.page.popover_id()
        folder = posixpath.dirname(self.page.uri) or "."
        target = "" if self.here else posixpath.relpath(self.glossary.uri, folder)
        link = element(
            "a", {"class": "term", "href": f"{target}#{term.anchor}", "aria-describedby": id_}, word
        )
        meaning = element(
            "bdi",
            {"class": "provenance", "role": "tooltip", "id": id_, "data-search-exclude": ""},
            element("span", {"class": "provenance-title"}, term.title),
            term.meaning,
        )
        return element("span", {"class": "has-provenance"}, link, meaning)


def _text(item: Element) -> str:
    return "".join(item.itertext())
