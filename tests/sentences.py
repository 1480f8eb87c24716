"""The sentences of a page as its readers get them, for those who count words in them. No assertions live here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hooks.errors import Place
from hooks.writing import placeholders, prose
from hooks.writing.pages import TOKEN

NUMBER = "9 units"
"""Stands for a number that the build puts in: two words, as most of them are."""

_SILENT = {"when", "otherwise", "end", "claim", "chart", "table", "tokens", "own-text", "replay"}
_SILENT |= {"calculator", "machine-switch", "measured-in", "references"}
_HEAD = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_MARKUP = re.compile(
    r"!\[[^\]]*\]\([^)]*\)"
    r"|(?<=\])\([^)\s]*\)"
    r"|<[^<>\n]*>"
    r"|\{[:#.][^{}\n]*\}"
    r"|\[\^[^\]]+\]:?"
    r"|\[@[^\]]+\]"
    r"|(?<=\n)[ \t]*(?:[-*]|\d+\.|:)[ \t]+(?=\S)"  # where an item or a definition begins
    r"|[\[\]*_`]"
)
_ITEM = re.compile(r"\n(?=[ \t]*(?:[-*]|\d+\.|:)[ \t]+\S)")
_END = re.compile(r"[.!?…][”’)\"]*(?=\s|\Z)")


@dataclass(frozen=True)
class Sentence:
    """A sentence, and the place where its paragraph begins."""

    text: str
    place: Place

    @property
    def words(self) -> int:
        """Its words; dashes and signs between spaces are none."""
        return sum(any(letter.isalnum() for letter in word) for word in self.text.split())


def of(page: prose.Page) -> Iterator[Sentence]:
    """The sentences of a page's text; headings, code, tables and quoted formulas left out."""
    source = TOKEN.sub(_said, _HEAD.sub(lambda match: "\n" * match[0].count("\n"), page.source))
    position = 0
    for paragraph in re.split(r"(\n[ \t]*\n)", source):
        for item in _ITEM.split(paragraph):
            text = item.strip()
            if text and not text.startswith(("#", "|", ">", "<")):
                begin = source.index(text, position)
                place = page.locate(1 + source.count("\n", 0, begin))
                yield from (Sentence(one, place) for one in _split(_MARKUP.sub("", f"\n{item}")))
        position += len(paragraph)


def _split(text: str) -> Iterator[str]:
    text, begin = " ".join(text.split()), 0
    for match in _END.finditer(text):
        yield text[begin : match.end()].strip()
        begin = match.end()
    if text[begin:].strip():
        yield text[begin:].strip()


def _said(match: re.Match[str]) -> str:
    """What a reader reads of a placeholder, with its line breaks."""
    whole = match.groupdict().get("whole")
    if match["span"]:
        return "code"
    if whole is None:
        return "\n" * match[0].count("\n")
    word = whole[2:-2].split(maxsplit=1)[0]
    said = "" if word in _SILENT else NUMBER
    if word == "plain":
        said = str(placeholders.parse(whole[2:-2]).argument)
    return said + "\n" * whole.count("\n")


def pages(docs: Path, *folders: str) -> Iterator[prose.Page]:
    """The pages in some folders of docs/."""
    for page in prose.pages(docs):
        # A notebook's metadata are pages of their own there; its text is the one with lines.
        if page.uri.startswith(folders) and "\n" in page.source:
            yield page
