"""Braces left over in finished HTML: the sign of a placeholder that nobody resolved. Reads HTML, changes none.

A build looks for them itself. `python -m hooks.leftovers SITE` looks through a built site, whichever program built it;
the exit code is 1 where any is left, and 2 where there is no page.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

from hooks.errors import Place, PublishError
from hooks.writing import placeholders
from hooks.writing.pages import PageState

_BRACES = re.compile(r"\{\{|\}\}")
_SCRIPT = re.compile(r"<script\b[^<>]*>.*?</script>", re.DOTALL)

_UNREAD = {"code", "pre", "script", "style", "svg", "template", "textarea"}
_SEEN = {"alt", "title", "aria-label", "content", "placeholder", "value"}


def find(html: str) -> Iterator[str]:
    """Texts with double braces outside code; escaped braces are entities and not found."""
    if not _BRACES.search(html):
        return
    reader = _Reader()
    reader.feed(html)
    reader.close()
    yield from reader.found


def find_in_page(page: str) -> Iterator[str]:
    """`find` in a whole page of which the content was looked at before.

    Each page of the theme has braces, in scripts. Without those few pages have any, and parsing all of a page takes
    twenty times as long as a look for braces.
    """
    yield from find(_SCRIPT.sub("", page))


def error(text: str, page: PageState) -> PublishError:
    """The error for such a text, with the line where it can be told."""
    whole = re.search(placeholders.PATTERN, text)
    return PublishError(
        "a placeholder inside raw HTML or a formula is not read"
        if whole
        else "braces that are no whole placeholder",
        place=page.meet(whole[1]) if whole else page.broken(),
        expected="{{ … }} within one paragraph of Markdown",
        found=" ".join(text.split())[:80],
        mend=(
            "add markdown=1 to the HTML element around it; formulas take none, so state the number beside them"
            if whole
            else "close the placeholder, or write `\\{{` to print braces"
        ),
    )


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self.found: list[str] = []
        self._unread: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _UNREAD:
            self._unread.append(tag)
        self.found += [value for name, value in attrs if name in _SEEN and value and _BRACES.search(value)]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value for name, value in attrs if name in _SEEN and value and _BRACES.search(value)]

    def handle_endtag(self, tag: str) -> None:
        if tag in self._unread:
            while self._unread.pop() != tag:
                pass

    def handle_data(self, data: str) -> None:
        if not self._unread and _BRACES.search(data):
            self.found.append(data)


def main(arguments: list[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m hooks.leftovers",
        description="Look through a built site for placeholders left as they are.",
    )
    parser.add_argument("site", type=Path, help="the folder of the built site")
    options = parser.parse_args(arguments)
    pages = sorted(options.site.rglob("*.html"))
    if not pages:
        none = PublishError(
            "there is no page to look through",
            place=Place(str(options.site)),
            expected="the folder of a built site, with .html files in it",
            found="none",
            mend="`make site` builds the site into site/; name that folder",
        )
        print(none, file=sys.stderr)
        return 2
    left = [(page, text) for page in pages for text in find(page.read_text(encoding="utf-8"))]
    for page, text in left:
        report = PublishError(
            "braces that nobody resolved",
            place=Place(str(page)),
            expected="none outside code",
            found=" ".join(text.split())[:80],
            mend="build with a program that runs the Markdown extension hooks.extension on every page",
        )
        print(report, file=sys.stderr)
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
