"""The time to read counts what is read, and stands below the title."""

from __future__ import annotations

import markdown
import pytest
from bs4 import BeautifulSoup

from hooks.extension import Site, SplicedExtension
from hooks.writing.pages import PageState
from hooks.writing.reading_time import WORDS_PER_MINUTE


def first_after_title(source: str, site: Site, *, says: bool = True) -> str:
    extension = SplicedExtension()
    extension.site = Site(site.book)
    extension.page = PageState("page.md", says_reading_time=says)
    others = ["attr_list", "toc", "tables", "pymdownx.superfences"]
    found = BeautifulSoup(markdown.markdown(source, extensions=[extension, *others]), "html.parser")
    title = found.find("h1")
    said = title.find_next_sibling() if title else None
    return said.get_text() if said and said.get("class") == ["reading-time"] else ""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("One two three.", 3),
        ("It’s *emphasised*ly one: **two**.", 4),
        ("A [link of four](x) words.", 5),
        ("One.\n\n```python\nnot = counted\n```\n\nTwo.", 2),
        ("One.\n\n| not | counted |\n|---|---|\n| a | b |\n\nTwo.", 2),
        ("- One\n- two\n\n## Three {#t}\n\nfour.", 4),
        ("It takes {{ decode.seconds_per_token }} here.", 5),
    ],
)
def test_words_are_counted_as_read(text: str, words: int, site: Site) -> None:
    assert first_after_title(f"# Title\n\n{text}", site) == f"1 minute to read, {words + 1} words"


def test_a_minute_that_has_begun_counts(site: Site) -> None:
    assert first_after_title("# T\n\n" + "word " * (WORDS_PER_MINUTE - 1), site).startswith("1 minute ")
    assert first_after_title("# T\n\n" + "word " * WORDS_PER_MINUTE, site).startswith("2 minutes ")


def test_it_is_not_said_where_nobody_asks_or_nothing_has_a_title(site: Site) -> None:
    assert first_after_title("# T\n\nWords.", site, says=False) == ""
    assert first_after_title("Words.", site) == ""
