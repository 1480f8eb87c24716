"""Citations in four formats, read back by programs of others: hostile titles and names come through unharmed."""

from __future__ import annotations

import json
import re
import unicodedata
from dataclasses import replace
from datetime import date
from html import unescape
from html.parser import HTMLParser

import bibtexparser
import pytest
import rispy
from bibtexparser.middlewares import LatexDecodingMiddleware, NormalizeFieldKeys
from hypothesis import given
from hypothesis import strategies as st
from pybtex.database import parse_string
from pylatexenc.latex2text import LatexNodes2Text, MacroTextSpec, get_default_latex_context_db

from hooks.citation import citations
from hooks.citation.citations import Author, Record
from hooks.citation.citing import meta_tags

_known = get_default_latex_context_db()
_known.add_context_category(
    "names that LaTeX has and pylatexenc lacks, or gives another sign",
    macros=[
        MacroTextSpec("textbraceleft", "{"),
        MacroTextSpec("textbraceright", "}"),
        MacroTextSpec("textasciicircum", "^"),
    ],
    prepend=True,
)
TEX = LatexNodes2Text(latex_context=_known, keep_braced_groups=False, strict_latex_spaces=True)


def texts_of_latex(text: str) -> str:
    """What TeX would print, as pylatexenc reads it."""
    found: str = TEX.latex_to_text(text)
    return found


HOSTILE = [
    'Decode "takes" 5 % & {more} of $x_1^2$ # ~ \\ than <script>alert(1)</script>',
    "} unbalanced { braces { \\} \\{ and \\end{document}",
    "-- dashes --- and ``quotes'' and ?`ligatures!` 'single'",
    "Émigré naïve Ångström Žižek İstanbul ﬁ",
    "推論の仕組み 漢字かな 한국어",
    "עברית and العربية \N{RIGHT-TO-LEFT MARK}mixed\N{RIGHT-TO-LEFT OVERRIDE}txet",
    "A hedgehog 🦔 and a family 👩‍👩‍👧",
    "line\nbreak\r\nTY  - JOUR\nER  - \n@misc{x, title={y}}",
    "and others and and",
    "@name me@example.org @comment{x}",
    "null\x00bell\x07\N{LINE SEPARATOR}next\x85line",
    "{{ decode.seconds_per_token }} and {% raw %}",
    "trailing backslash \\",
    "%comment",
]

texts = st.one_of(
    st.sampled_from(HOSTILE),
    st.text(min_size=1, max_size=60),
    st.text(alphabet="{}\\%&$#_~^\"'`-,;@= aé漢", min_size=1, max_size=30),
)
"""What a title or a name may hold."""


def plain(text: str) -> str:
    """The text that must come through: one line, with a sign in the place of what is no character."""
    kept = (
        c
        if c.isspace() or (unicodedata.category(c) not in ("Cc", "Cs") and ord(c) & 0xFFFE != 0xFFFE)
        else "\N{REPLACEMENT CHARACTER}"
        for c in text
    )
    return " ".join("".join(kept).split())


filled = texts.filter(lambda text: bool(plain(text)))
authors = st.lists(
    st.one_of(st.builds(Author, filled), st.builds(Author, filled, filled)), min_size=1, max_size=3
)
records = st.builds(
    Record,
    kind=st.sampled_from(sorted(citations.GENRES)),
    title=filled,
    authors=authors.map(tuple),
    site=filled,
    version=st.sampled_from(["2026-11-30.1", "unpublished"]),
    date=st.dates().map(str),
    url=st.sampled_from(
        [None, "https://example.org/a/b.html?published=2026-11-30.1#n-decode.seconds_per_token:gpu"]
    ),
    run_id=st.sampled_from([None, "20261130-124350-qwen2.5-1.5b-cpu"]),
    run_date=st.just("2026-11-30"),
    value=st.one_of(st.none(), filled),
)

RECORD = Record(
    kind="number",
    title="Decode, 500 tokens deep",
    authors=(Author("The Spliced Inference authors"),),
    site="Spliced Inference",
    version="2026-11-30.1",
    date="2026-11-30",
    url="https://example.org/p.html?published=2026-11-30.1#n-decode.seconds_per_token",
    run_id="20261130-124350-qwen2.5-1.5b-cpu",
    run_date="2026-11-29",
    value="350\N{NARROW NO-BREAK SPACE}ms (95 % prediction interval 338 to 362\N{NARROW NO-BREAK SPACE}ms)",
)


def test_the_text_of_a_number_has_all_that_a_reader_needs() -> None:
    assert citations.apa(RECORD) == (
        "The Spliced Inference authors. (2026, November 30). Decode, 500 tokens deep: 350 ms (95 % prediction interval "
        "338 to 362 ms) [Value; version 2026-11-30.1]. Spliced Inference. Data: run 20261130-124350-qwen2.5-1.5b-cpu, "
        "measured 2026-11-29. https://example.org/p.html?published=2026-11-30.1#n-decode.seconds_per_token"
    )


def test_names_are_shortened_as_the_apa_does() -> None:
    people = (Author("Curie", "Marie Salomea"), Author("Meitner", "Lise"), Author("The Authors"))
    text = citations.apa(replace(RECORD, authors=people, run_id=None, url=None))
    assert text.startswith("Curie, M. S., Meitner, L., & The Authors. (2026, November 30).")


def test_an_unpublished_site_says_so_in_every_format() -> None:
    for text in citations.texts(replace(RECORD, version="unpublished", url=None)).values():
        assert "unpublished" in text
        assert "http" not in text


@pytest.mark.parametrize(
    "change", [{"kind": "page number"}, {"date": "30.11.2026"}, {"title": " "}, {"authors": ()}]
)
def test_a_record_without_what_a_citation_needs_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"expected|needs|isoformat"):
        replace(RECORD, **change)  # type: ignore[arg-type]


@given(records)
def test_bibtex_comes_through_pybtex(record: Record) -> None:
    """pybtex leaves texts as TeX has them: one entry, and braces that close."""
    (entry,) = parse_string(citations.bibtex(record), "bibtex").entries.values()
    assert texts_of_latex(entry.fields["title"]) == record.full_title == plain(record.full_title)
    assert entry.fields["year"] == str(int(record.date[:4]))
    assert entry.fields["month"] == f"{date.fromisoformat(record.date):%B}"
    assert entry.fields.get("url") == record.url
    assert texts_of_latex(entry.fields["number"]) == record.version_words
    assert texts_of_latex(entry.fields.get("note", "")) == (record.data_words or "")
    assert texts_of_latex(entry.fields["institution"]) == plain(record.site)
    found = [
        (texts_of_latex(" ".join(person.last_names)), texts_of_latex(" ".join(person.first_names)))
        for person in entry.persons["author"]
    ]
    assert found == [(plain(author.name), plain(author.given or "")) for author in record.authors]


@given(records)
def test_bibtex_comes_through_bibtexparser(record: Record) -> None:
    layers = [NormalizeFieldKeys(), LatexDecodingMiddleware(decoder=TEX)]
    library = bibtexparser.parse_string(citations.bibtex(record), append_middleware=layers)
    assert not library.failed_blocks
    (entry,) = library.entries
    assert entry["title"] == record.full_title
    assert entry.get("url") is None or str(entry["url"]) == record.url
    assert str(entry["year"]) == str(int(record.date[:4]))


@given(records)
def test_ris_comes_through_rispy(record: Record) -> None:
    (entry,) = rispy.loads(citations.ris(record))
    assert entry["title"] == record.full_title
    assert entry["authors"] == [author.inverted for author in record.authors]
    assert entry["year"] == record.date[:4]
    assert entry["date"] == record.date.replace("-", "/")
    assert entry["publisher"] == plain(record.site)
    assert entry["edition"] == record.version_words
    assert entry.get("notes") == ([record.data_words] if record.data_words else None)
    assert entry.get("urls") == ([record.url] if record.url else None)
    assert entry["type_of_reference"] == ("DATA" if record.kind in ("run", "dataset") else "RPRT")


@given(records)
def test_csl_json_has_what_processors_read(record: Record) -> None:
    (item,) = json.loads(citations.csl_json(record))
    assert item["title"] == record.full_title
    assert item["issued"]["date-parts"] == [[int(part) for part in record.date.split("-")]]
    names = [author.get("literal") or f"{author['family']}, {author['given']}" for author in item["author"]]
    assert names == [author.inverted for author in record.authors]
    assert item.get("URL") == record.url
    assert item["version"] == record.version
    assert item.get("note") == record.data_words
    assert re.fullmatch("[a-z0-9-]+", item["id"])


class _Texts(HTMLParser):
    """The text of each <pre>, and every tag that there is."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.shown: list[str] = []
        self.metas: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag == "pre":
            self.shown.append("")
        if tag == "meta":
            given = dict(attrs)
            self.metas.append((given["name"] or "", given["content"] or ""))

    def handle_data(self, data: str) -> None:
        if self.tags[-1] == "pre":
            self.shown[-1] += data


@given(records)
def test_the_block_shows_each_format_as_it_is(record: Record) -> None:
    html = citations.block(record)
    reader = _Texts()
    reader.feed(html)
    assert reader.shown == list(citations.texts(record).values())
    assert set(reader.tags) <= {"details", "summary", "p", "div", "span", "pre"}
    assert "{{" not in html


@given(records, st.one_of(st.none(), texts))
def test_highwire_tags_are_those_of_a_report(record: Record, description: str | None) -> None:
    """What Zotero's translator of embedded metadata and Google Scholar's guidelines ask for."""
    reader = _Texts()
    reader.feed(meta_tags(record, description))
    found = dict(reader.metas)
    assert set(reader.tags) == {"meta"}
    assert all(name.startswith("citation_") and content.strip() for name, content in reader.metas)
    # Scholar: title, each author in a tag of its own, a date as 2026/11/30. Zotero cuts names at semicolons.
    assert found["citation_title"] == record.full_title
    names = [content for name, content in reader.metas if name == "citation_author"]
    assert len(names) == len(record.authors)
    assert not any(";" in name for name in names)
    assert re.fullmatch(r"\d{4}/\d\d/\d\d", found["citation_publication_date"])
    # Zotero: an institution makes it a report; without one it would be an article.
    assert found["citation_technical_report_institution"] == plain(record.site)
    assert "citation_journal_title" not in found
    assert found.get("citation_public_url") == record.url


def test_texts_that_html_would_change_are_written_as_they_are() -> None:
    record = replace(RECORD, title='</pre><script>alert("x")</script>&amp;{{ x }}', value=None)
    html = citations.block(record)
    assert "<script" not in html
    assert unescape(html).count('</pre><script>alert("x")</script>&amp;{{ x }}') >= 1
