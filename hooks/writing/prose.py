"""What a reader reads of a page's source: prose with its place, code and markup blanked out. Renders nothing.

A blanked text has the length and the line breaks of its source, so that a position in one is a position in the
other. Placeholders are blanked too; the claims after a sentence are found by it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from hooks.errors import Place, PublishError
from hooks.jupyter.notebook_pages import Notebook
from hooks.writing import placeholders
from hooks.writing.pages import TOKEN

_MARKUP = re.compile(
    r"(?<=\])\([^)\s]*\)"  # the target of a link
    r"|^[ ]{0,3}\[[^\]^]+\]:.*$"  # the definition of a link
    r"|\[\^[^\]]+\]:?"  # a footnote and its mark
    r"|<[^<>\n]*>"  # a tag, an address
    r"|\bhttps?://\S+"
    r"|\{[:#.][^{}\n]*\}",  # an attribute list
    re.MULTILINE,
)
_PARAGRAPH = re.compile(r"(?:(?!^[ \t>]*$).)+", re.MULTILINE | re.DOTALL)
_END = re.compile(r"[.!?…][\"'”’)\]*_]*(?=\s|\Z)|(?<=\|)")
_CLAIM = re.compile(rf"\s*{placeholders.PATTERN}")
_BLANK = re.compile(r"[^\n]")


@dataclass(frozen=True)
class Page:
    """A page's source. `uri` is its path in docs/; `locate` makes a place of a line."""

    uri: str
    source: str
    locate: Callable[[int], Place]

    @property
    def prose(self) -> str:
        """The source with everything blanked that is not prose."""
        text = TOKEN.sub(lambda match: _BLANK.sub(" ", match[0]), self.source)
        return _MARKUP.sub(lambda match: _BLANK.sub(" ", match[0]), text)

    def without(self, names: Iterable[str]) -> str:
        """The prose with `names` blanked, too: a model's name may hold what looks like a number."""
        text = self.prose
        for name in names:
            text = text.replace(name, " " * len(name))
        return text

    def place(self, position: int) -> Place:
        """The place of a position in the source."""
        return self.locate(1 + self.source.count("\n", 0, position))

    def sentence(self, position: int, prose: str) -> tuple[int, int]:
        """Where the sentence around a position begins and ends, within its paragraph."""
        begin, end = next(
            match.span() for match in _PARAGRAPH.finditer(prose) if match.start() <= position < match.end()
        )
        for match in _END.finditer(prose, begin, end):
            if match.end() > position:
                return begin, match.end()
            begin = match.end()
        return begin, end

    def claims(self, end: int) -> Iterator[str]:
        """The conditions of the claims that stand right after a sentence's end."""
        while match := _CLAIM.match(self.source, end):
            word, _, condition = match[1].strip().partition(" ")
            if word != "claim":
                return
            yield condition
            end = match.end()


def pages(docs: Path) -> Iterator[Page]:
    """Every page in `docs`, notebooks too, in the order of their paths.

    Raises:
        PublishError: A notebook is none.
    """
    for path in sorted([*docs.rglob("*.md"), *docs.rglob("*.ipynb")]):
        uri = path.relative_to(docs).as_posix()
        name = f"{docs.name}/{uri}"
        if path.suffix == ".md":
            yield Page(uri, path.read_text(encoding="utf-8"), _lines_of(name))
            continue
        notebook = Notebook.read(path, name)
        yield Page(uri, notebook.markdown, notebook.locate)
        for text in notebook.meta.values():
            yield Page(uri, text, _lines_of(name))


def _lines_of(name: str) -> Callable[[int], Place]:
    return lambda line: Place(name, line)


__all__ = ["Page", "PublishError", "pages"]
