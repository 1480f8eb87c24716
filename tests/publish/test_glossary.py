"""Terms explain themselves where a section first uses them and nowhere else; nothing that a reader reads changes."""

from __future__ import annotations

from pathlib import Path

import markdown
import pytest
from bs4 import BeautifulSoup, Tag
from hypothesis import given
from hypothesis import strategies as st

from hooks.extension import Site, SplicedExtension
from hooks.writing import glossary
from hooks.writing.glossary import Glossary
from tests.publish.fixture_data import ROOT

WORDS = """
# Glossary {#glossary}

## Cache {#cache data-words="cache"}

Memory that is near. It is *small*.

## KV cache {#kv-cache data-words="KV cache|KV caches"}

What [attention](#attention) looks back at.

And a second paragraph.

## Run {#run}

One campaign.

## Token {#token data-words="token|tokens"}

A piece
of text.
"""


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Glossary:
    path = tmp_path_factory.mktemp("docs") / "glossary.md"
    path.write_text(WORDS, encoding="utf-8")
    return glossary.read(path)


def page(
    source: str, site: Site, words: Glossary, uri: str = "primers/1.md", terms: bool = True
) -> BeautifulSoup:
    from hooks.writing.pages import PageState

    extension = SplicedExtension()
    extension.site = Site(site.book, glossary=words)
    extension.page = PageState(uri, uri=uri, explains_terms=terms)
    others = ["attr_list", "abbr", "toc", "footnotes", "def_list", "tables", "pymdownx.superfences"]
    html = markdown.markdown(source, extensions=[extension, *others])
    assert not extension.page.errors
    return BeautifulSoup(html, "html.parser")


def marked(found: BeautifulSoup) -> list[str]:
    return [term.get_text() for term in found.select("a.term")]


def shown(found: BeautifulSoup) -> str:
    """What a reader reads: without what popovers hold, and whatever spaces there are."""
    for popover in found.select("bdi.provenance"):
        popover.decompose()
    return " ".join(found.get_text().split())


def test_terms_have_titles_words_and_meanings(words: Glossary) -> None:
    assert [(term.title, term.anchor, term.words) for term in words.terms] == [
        ("Cache", "cache", ("cache",)),
        ("KV cache", "kv-cache", ("KV cache", "KV caches")),
        ("Run", "run", ()),
        ("Token", "token", ("token", "tokens")),
    ]
    assert [term.meaning for term in words.terms] == [
        "Memory that is near. It is small.",
        "What attention looks back at.",
        "One campaign.",
        "A piece of text.",
    ]


def test_a_term_is_a_link_that_explains_itself(site: Site, words: Glossary) -> None:
    found = page("Two tokens here.", site, words)
    (link,) = found.select("a.term")
    assert link["href"] == "../glossary.md#token"
    popover = found.find(id=str(link["aria-describedby"]))
    assert isinstance(popover, Tag)
    assert popover["role"] == "tooltip"
    assert popover.get_text() == "TokenA piece of text."
    assert popover.parent is link.parent


def test_a_section_explains_each_term_once(site: Site, words: Glossary) -> None:
    source = "Tokens and a token.\n\nA token.\n\n### Part\n\nA token."
    source += "\n\n## Section {#s}\n\nA run of tokens, a KV cache, tokens."
    assert marked(page(source, site, words)) == ["Tokens", "tokens", "KV cache"]


@pytest.mark.parametrize(
    "source",
    [
        "## A token {#t}\n\nNothing.",
        "See [the token](https://example.org).",
        "It is `token` here.\n\n```text\ntoken\n```\n\n    token\n",
        "It is called a *token*, and a token it is. So is a **KV cache**: a KV cache.",
        "A pretoken, tokenise, token-like, untoken.",
        '{{ tokens "token" }}',
        "Term\n:   Nothing.\n\ntoken\n:   Nothing.",
        "<span>one</span>\n\n<div>token</div>",
        "![token](token.png)",
        "{{ table kv-cache-by-model }}",
    ],
)
def test_what_is_left_alone(source: str, site: Site, words: Glossary) -> None:
    assert marked(page(source, site, words)) == []


def test_the_longest_word_counts_and_case_matters_after_the_first_letter(site: Site, words: Glossary) -> None:
    assert marked(page("Cache. A KV cache is none; KV CACHE, kv cache.", site, words)) == [
        "Cache",
        "KV cache",
    ]


def test_terms_stand_inside_claims_and_beside_numbers(site: Site, words: Glossary) -> None:
    source = (
        "A token takes {{ decode.seconds_per_token }}. A KV cache grows. {{ claim weights.bytes > 1 }} Token."
    )
    found = page(source, site, words)
    assert marked(found) == ["token", "KV cache"]
    assert found.select_one(".claim a.term") is not None
    assert not found.select(".provenance a.term, .quantity a.term")


def test_the_glossary_links_to_itself_and_no_term_to_its_own_place(site: Site, words: Glossary) -> None:
    source = "## Token {#token}\n\nA token in a KV cache.\n\n## KV cache {#kv-cache}\n\nA KV cache of tokens."
    found = page(source, site, words, uri="glossary.md")
    assert [link["href"] for link in found.select("a.term")] == ["#kv-cache", "#token"]


def test_a_page_may_go_without(site: Site, words: Glossary) -> None:
    assert marked(page("A token.", site, words, terms=False)) == []
    assert marked(page("A token.", site, Glossary())) == []


PIECES = [
    "token",
    "tokens",
    "KV cache",
    "cache",
    "*token*",
    "`token`",
    "[a token](x)",
    "{{ weights.bytes }}",
    "**x** ",
]
PIECES += [" ", " ", "a & b", "é", "|", "- ", ". ", "\n\n", "\n\n## H {#h}\n\n"]
SOURCES = st.lists(st.sampled_from(PIECES), max_size=25).map("".join)


@given(source=SOURCES)
def test_a_reader_reads_the_same_with_and_without(source: str, site: Site, words: Glossary) -> None:
    with_terms, without = page(source, site, words), page(source, site, words, terms=False)
    assert shown(with_terms) == shown(without)
    ids = [item["id"] for item in with_terms.select("[id]")]
    assert len(ids) == len(set(ids)) or source.count("{#h}") > 1


def test_every_word_of_ours_has_one_meaning_and_stands_in_it() -> None:
    ours = glossary.read(ROOT / "docs" / "glossary.md")
    assert len(ours.terms) > 25
    for term in ours.terms:
        for word in term.words:
            ((begin, end, found),) = ours.find(f"The {word} here.")
            assert (begin, end, found) == (4, 4 + len(word), term)


def test_no_glossary_is_an_empty_one(tmp_path: Path) -> None:
    assert glossary.read(tmp_path / "glossary.md").terms == ()
