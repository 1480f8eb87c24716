"""The glossary as a list: its terms, the words that mean them, and what they mean. Marks nothing on a page.

`docs/glossary.md` has a heading of the second level for each term, with an anchor and, where pages should explain
the term, the words by which they call it: `## Token {#token data-words="token|tokens"}`. What follows is its meaning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from hooks.errors import Place, PublishError

_HEADING = re.compile(r"^## +(?P<title>[^{\n]+?) *(?:\{(?P<attributes>[^}\n]*)\})? *$")
_ANCHOR = re.compile(r"(?:^|\s)#([\w-]+)")
_WORDS = re.compile(r'(?:^|\s)data-words="([^"]*)"')
_MARKUP = re.compile(r"\[([^\]]+)\]\([^)]*\)|[*_`]{1,2}([^*_`]+)[*_`]{1,2}")
"""Links and emphasis: what a reader sees of them is their text."""


@dataclass(frozen=True)
class Term:
    """A term: its title, its anchor in the glossary, the words that pages use for it, and its meaning."""

    title: str
    anchor: str
    words: tuple[str, ...]
    meaning: str
    place: Place


@dataclass(frozen=True)
class Glossary:
    """All terms. `uri` is the glossary's path in docs/; without terms there is nothing to explain."""

    uri: str = "glossary.md"
    terms: tuple[Term, ...] = ()
    _by_word: dict[str, Term] = field(default_factory=dict)

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        words = sorted(self._by_word, key=len, reverse=True)
        # A word that begins small may begin a sentence.
        either = (f"[{word[0]}{word[0].upper()}]{re.escape(word[1:])}" for word in words)
        return re.compile(rf"(?<![\w-])(?:{'|'.join(either)})(?![\w-])")

    def find(self, text: str) -> Iterator[tuple[int, int, Term]]:
        """Where terms stand in a text: begin, end, and which; the longest that fits."""
        if not self._by_word:
            return
        for match in self._pattern.finditer(text):
            word = match[0]
            yield match.start(), match.end(), self._by_word.get(word) or self._by_word[_small(word)]


def _small(word: str) -> str:
    return word[:1].lower() + word[1:]


def read(path: Path, uri: str = "glossary.md") -> Glossary:
    """The glossary in a Markdown file; an empty one where there is none.

    Raises:
        PublishError: A term has no anchor or no meaning, or a word stands for two terms.
    """
    if not path.is_file():
        return Glossary(uri)
    lines = path.read_text(encoding="utf-8").split("\n")
    name = f"{path.parent.name}/{path.name}"
    terms = tuple(
        _term(match, lines[number:], Place(name, number))
        for number, line in enumerate(lines, 1)
        if (match := _HEADING.match(line))
    )
    by_word: dict[str, Term] = {}
    for term in terms:
        for word in term.words:
            other = by_word.setdefault(word, term)
            if other is not term:
                raise PublishError(
                    f"“{word}” stands for two terms",
                    place=term.place,
                    expected="a word in the data-words of one term only",
                    found=f"{other.title} (line {other.place.line}) and {term.title}",
                    mend="take it out of one of the two",
                )
    return Glossary(uri, terms, by_word)


def _term(heading: re.Match[str], after: list[str], place: Place) -> Term:
    attributes = heading["attributes"] or ""
    anchor, words = _ANCHOR.search(attributes), _WORDS.search(attributes)
    if anchor is None:
        raise PublishError(
            "a term of the glossary needs an anchor of its own",
            place=place,
            expected=f"## {heading['title']} {{#{heading['title'].lower().replace(' ', '-')}}}",
            found=heading[0],
            mend="add {#name} at the end of the heading's line",
        )
    meaning = _first_paragraph(after)
    if not meaning:
        raise PublishError(
            f"the glossary does not say what “{heading['title']}” means",
            place=place,
            expected="a paragraph after the heading",
            found="none before the next heading",
            mend="write a sentence or two",
        )
    spoken = tuple(word.strip() for word in words[1].split("|") if word.strip()) if words else ()
    return Term(heading["title"], anchor[1], spoken, meaning, place)


def _first_paragraph(lines: list[str]) -> str:
    text = "\n".join(lines).strip().split("\n\n", 1)[0]
    if text.startswith("#"):
        return ""
    return _MARKUP.sub(lambda match: match[1] or match[2], " ".join(text.split()))
