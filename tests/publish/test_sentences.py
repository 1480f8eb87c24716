"""The primers and notes are in sentences that a reader can keep in mind."""

from __future__ import annotations

import pytest

from hooks.errors import Place
from hooks.writing.prose import Page
from tests import sentences
from tests.publish.fixture_data import ROOT

MOST_WORDS = 35
PAGES = list(sentences.pages(ROOT / "docs", "primers/", "notes/"))


def test_there_are_primers_and_notes() -> None:
    assert len(PAGES) >= 7
    assert all(len(list(sentences.of(page))) > 40 for page in PAGES)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.uri)
def test_no_sentence_is_long(page: Page) -> None:
    long = [one for one in sentences.of(page) if one.words > MOST_WORDS]
    assert not long, "\n".join(f"{one.place}: {one.words} words: {one.text}" for one in long)


def test_sentences_are_what_a_reader_reads() -> None:
    source = """---
title: No sentence.
---

# No sentence. {#x}

One has {{ decode.seconds_per_token }} in it. Two [is a
link](a.md), and “quoted.” Three? {{ claim weights.bytes > 1 }} *Four* follows.

{{ when weights.bytes > 1 }}

- Five is an item
- six is one, with {{ plain "500 tokens" }}.

{{ end }}

> 2 × no sentence

| no | sentence |
|---|---|

```text
No sentence.
```

Version 3.11 of `a.b` ends it.[^note]

[^note]: A note. Its end.
"""
    found = list(sentences.of(Page("page.md", source, lambda line: Place("page.md", line))))
    assert [one.text for one in found] == [
        "One has 9 units in it.",
        "Two is a link, and “quoted.”",
        "Three?",
        "Four follows.",
        "Five is an item",
        "six is one, with 500 tokens.",
        "Version 3.11 of code ends it.",
        "A note.",
        "Its end.",
    ]
    assert [one.words for one in found[:2]] == [6, 6]
    assert [one.place.line for one in found] == [7, 7, 7, 7, 12, 13, 26, 28, 28]
