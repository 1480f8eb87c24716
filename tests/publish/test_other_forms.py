"""Markdown of pages, feeds and llms.txt: read by programs that are not ours, whatever text the data hold."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import feedparser
import pytest
import yaml
from bs4 import BeautifulSoup
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from hooks.caching.cache import Cache
from hooks.citation.backlinks import SitePage
from hooks.citation.citations import Author
from hooks.citation.citing import Description
from hooks.markup import escaped
from hooks.numbers import quantities
from hooks.numbers.book import Book
from hooks.output import feeds, llms, markdown_form, other_forms
from hooks.output.other_forms import Outline
from hooks.publication import ledger_pages
from hooks.publication.ledger import Entry, Ledger, Number, Publication
from tests.publish.fixture_data import ROOT

NO_CACHE = Cache(None)
PAGES = frozenset({"index.html", "notes/note.html"})

HOSTILE = (
    "<script>alert(1)</script>",
    "](javascript:alert(1)) ![x](http://example.org/x.png)",
    "# a\n- b\n1. c\n> d\n---\n===",
    "`a` ``b`` *c* __d__ ~~e~~ | f | [^1]",
    "\"quotes\" & 'braces' {x} %s \\ \\\\ &amp; &#60;",
    "é 漢字 עברית 🦔 \u202e \u2028",
    "<!-- x --> <?php ?> <a@b.org> http://example.org",
)

text = st.text(
    st.characters(blacklist_categories=["Cs", "Cc"], blacklist_characters="\u2028\u2029\x85\ufffd"),
    min_size=1,
)
hostile = st.one_of(st.sampled_from(HOSTILE), text, st.text("`*_[]()<>#-+=|~!&;1.\\ \nab"))


def words(source: str) -> str:
    """With single spaces, as pages show text."""
    return " ".join(source.split())


def rendered(source: str) -> BeautifulSoup:
    """Markdown as a reader of CommonMark with tables shows it."""
    return BeautifulSoup(
        MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(source), "html.parser"
    )


def convert(source: str, page: str = "index.html") -> str:
    return markdown_form.convert(source, page, PAGES, NO_CACHE)


# --- Markdown ---------------------------------------------------------------------------------------

PAGE = """<h1 id="a">The <span class="tokens"><span class="token">Sp</span>\
<span class="token">liced</span></span> page\
<a class="headerlink" href="#a">&para;</a></h1>
<p>Decode takes <span class="has-provenance"><span class="quantity">355 ms</span><bdi data-slot="3"></bdi></span>,
<span class="has-provenance"><a class="term" href="../glossary.html#x">longer</a><bdi class="provenance">no</bdi></span>
than 5 &lt; 6 in <code>seconds_per_token</code>, 10<sup>9</sup>.\
<sup id="fnref:1"><a class="footnote-ref" href="#fn:1">1</a></sup>
<span class="claim-mark">✓</span></p>
<p><span class="tokens"><span class="token">Sp</span><span class="token">liced</span>\
<span class="token"> inference</span></span></p>
<figure class="chart" id="chart-x"><div class="chart-picture"><svg data-slot="1"></svg></div><div class="chart-tools">\
<button>Explore</button></div><figcaption><strong>Time.</strong> At 500 tokens 355 ms.</figcaption>\
<details><summary>Data</summary>\
<table><thead><tr><th>Mode</th><th>Time</th></tr></thead>\
<tbody><tr><td>a|b</td><td>1 s</td></tr></tbody></table>\
<p><a href="../data/charts/x.csv" download="x">Download as CSV</a></p></details></figure>
<div class="highlight"><pre><span></span><code><span class="k">print</span>("a")
```
</code></pre></div>
<p><a href="../index.html#top">Home</a> <a href="https://example.org/x.html">there</a>\
 <a href="javascript:alert(1)">not</a></p>
<table border="1"><thead><tr><th></th><th>ms</th></tr><tr><th>phase</th><th></th></tr></thead><tbody>\
<tr><th rowspan="2">decode</th><td>1</td></tr><tr><td>2</td></tr></tbody></table>
<div class="footnote"><hr><ol><li id="fn:1"><p>A note.\
<a class="footnote-backref" href="#fnref:1">↩</a></p></li></ol></div>
<div class="page-end">Cite this</div>"""

MARKDOWN = """# The Spliced page

Decode takes 355 ms,
longer
than 5 < 6 in `seconds_per_token`, 10^9.[^1]

`Sp`·`liced`·` inference`

**Time.** At 500 tokens 355 ms.

**Data**

| Mode | Time |
| --- | --- |
| a\\|b | 1 s |

[Download as CSV](../data/charts/x.csv)

````
print("a")
```
````

[Home](../index.md#top) [there](https://example.org/x.html) not

| phase | ms |
| --- | --- |
| decode | 1 |
| decode | 2 |

[^1]: A note.
"""


def test_a_page_as_markdown() -> None:
    assert convert(PAGE, "notes/note.html") == MARKDOWN


def test_what_stands_in_slots_is_no_part_of_the_markdown_nor_of_what_it_is_made_of(tmp_path: Path) -> None:
    kept = Cache(tmp_path)
    page = '<p>Seen <b>354 ms</b> <bdi data-slot="{}"></bdi> today.<svg data-size="wide" data-slot="{}"></svg></p>'
    made = [
        markdown_form.convert(page.format(*names), "index.html", PAGES, kept)
        for names in (("0a", "[&quot;spec&quot;]"), ("0b", "x"))
    ]
    assert made[0] == made[1] == convert(page.format("0a", "0b")), "a page is the same with other popovers"
    assert len(list(tmp_path.rglob("*.json"))) == 1, "and is not made again"


@given(hostile.filter(words))
def test_a_head_is_yaml_whatever_is_in_it(title: str) -> None:
    made = markdown_form.document("text\n", {"title": title, "none": None})
    head, _, rest = made.removeprefix("---\n").partition("\n---\n")
    assert yaml.safe_load(head) == {"title": words(title)} and rest == "\ntext\n"


@given(hostile)
@example("1) a")
@example("a\n===\nb")
def test_text_comes_back_and_nothing_in_it_is_markup(source: str) -> None:
    page = f"<p>{escaped(source)}</p><ul><li>{escaped(source)}</li></ul><h2>{escaped(source)}</h2>"
    soup = rendered(convert(page))
    assert {tag.name for tag in soup.find_all()} <= {"p", "ul", "li", "h2", "br"}
    for name in ("p", "li", "h2"):
        found = [words(tag.get_text()) for tag in soup.find_all(name) if words(tag.get_text())]
        assert set(found) <= {words(source)} and (found or not words(source))


@given(hostile)
@example("```\n<b>code</b>\n```")
def test_a_cell_and_code_give_their_text_back(source: str) -> None:
    line = words(source) or "x"
    table = (
        f"<table><thead><tr><th>a</th></tr></thead><tbody><tr><td>{escaped(line)}</td></tr></tbody></table>"
    )
    soup = rendered(convert(table))
    assert [words(cell.get_text()) for cell in soup.find_all("td")] == [line]
    assert {tag.name for tag in soup.find_all()} == {"table", "thead", "tbody", "tr", "th", "td"}
    soup = rendered(convert(f"<pre><code>{escaped(source)}</code></pre>"))
    assert [tag.name for tag in soup.find_all()] == ["pre", "code"] * bool(source.strip())
    assert words(soup.get_text()) == words(source)


# --- feeds and llms.txt -----------------------------------------------------------------------------

DAY = datetime(2026, 1, 2, tzinfo=UTC)


def feed_of(title: str, site: str, address: str | None) -> tuple[feeds.Feed, feeds.Publisher]:
    path = "notes/note.html"
    content = f'<p>{escaped(title)} <a href="{path}">here</a></p>'
    entry = feeds.Entry("notes/note.md", title, path, DAY, DAY, content)
    return feeds.Feed("notes", title, title, "index.html", [entry]), feeds.Publisher(
        site, (site,), address, DAY
    )


def titles(source: str) -> Iterator[str]:
    """Titles as pages have them: words with single spaces."""
    yield words(source)


@given(hostile.filter(lambda source: source.strip()), st.sampled_from([None, "https://example.org/site/"]))
def test_feeds_give_their_text_back(source: str, address: str | None) -> None:
    (title,) = titles(source)
    feed, publisher = feed_of(title, "Site", address)
    parsed = feedparser.parse(feeds.atom(feed, publisher), sanitize_html=False, resolve_relative_uris=False)
    as_json = json.loads(feeds.json_feed(feed, publisher))
    assert not parsed.bozo and parsed.version == "atom10"
    (entry,), (item,) = parsed.entries, as_json["items"]
    assert item["title"] == title and words(html.unescape(entry.title)) == words(html.unescape(title))
    assert entry.id == item["id"] and entry.id.startswith("urn:uuid:")
    assert entry.content[0].value == item["content_html"]
    soup = BeautifulSoup(item["content_html"], "html.parser")
    assert {tag.name for tag in soup.find_all()} <= {"p", "a"}
    assert words(soup.get_text()) == words(f"{title} here")
    assert [link["href"] for link in soup.find_all("a")] == ([f"{address}notes/note.html"] if address else [])
    assert item.get("url") == (f"{address}notes/note.html" if address else None)
    assert [link["href"] for link in entry.get("links", [])] == ([item["url"]] if address else [])
    assert (feeds.NO_ADDRESS in as_json["description"]) is (address is None)


@pytest.mark.parametrize("character", ["\0", "\x0b", "\x1b", "\ufffe"])
def test_a_feed_holds_nothing_that_xml_forbids(character: str) -> None:
    feed, publisher = feed_of(f"a{character}b", "Site", None)
    parsed = feedparser.parse(feeds.atom(feed, publisher))
    assert not parsed.bozo and parsed.entries[0].title == "a\N{REPLACEMENT CHARACTER}b"


def test_ids_stay_wherever_the_site_stands() -> None:
    ids = set()
    for address in (None, "https://example.org/", "https://example.net/x/"):
        feed, publisher = feed_of("Title", "Site", address)
        parsed = feedparser.parse(feeds.atom(feed, publisher))
        ids.add((parsed.feed.id, parsed.entries[0].id))
    assert len(ids) == 1


@given(hostile)
def test_llms_txt_is_a_list_of_links_whatever_titles_say(source: str) -> None:
    links = [llms.Link(source or "x", source or "x", "a.md", source), llms.Link("Reference", "R", "r.md")]
    soup = rendered(llms.text("Site", source or "x", "unpublished", links, "https://example.org/"))
    assert [link["href"] for link in soup.find_all("a")] == [
        "https://example.org/a.md",
        "https://example.org/r.md",
    ]
    assert {tag.name for tag in soup.find_all()} <= {"h1", "h2", "blockquote", "p", "ul", "li", "a"}
    assert [words(tag.get_text()) for tag in soup.find_all("h2")][-1] == "Optional"


# --- histories --------------------------------------------------------------------------------------


DEFINITIONS = quantities.read(ROOT / "docs/quantities.toml")


@given(hostile)
def test_a_history_is_a_value_whatever_its_text(source: str) -> None:
    number = Number("decode.seconds_per_token", None, source or "x", 1.0, None, None, "s", None, None)
    ledger = Ledger((Entry(Publication("2026-01-02.1", "2026-01-02", "0" * 16, ()), number),))
    (script,) = ledger_pages.scripts(ledger, [number], DEFINITIONS).values()
    value = re.fullmatch(r"document\.currentScript\.history=(.*);\n", script, re.DOTALL)
    assert value and "<" not in script
    history = json.loads(value[1])
    assert history["numbers"][""]["entries"] == [["2026-01-02.1", source or "x", None]]
    assert history["numbers"][""]["now"] == [source or "x", None, True]


# --- all of them, as a build makes them -------------------------------------------------------------

ID = "decode.seconds_per_token"


def made_of(text: str, book: Book) -> dict[str, str]:
    """The files of a site with a note and a changed number, with one text wherever an author or the data say one."""
    definition = replace(book.definitions.quantities[ID], title=text)
    definitions = replace(book.definitions, quantities={**book.definitions.quantities, ID: definition})
    before = Number(ID, text, f"{text}, earlier", 1.0, None, None, "s", text, None)
    now = replace(before, text=text)
    first = Publication("2026-01-01.1", "2026-01-01", "0" * 16, ())
    ledger = Ledger(
        (Entry(first, before), Entry(Publication("2026-01-02.1", "2026-01-02", "1" * 16, (first.key,)), now))
    )
    book = Book(book.store, definitions)
    changes = SitePage(
        ledger_pages.URI, "data/changes.html", text, ledger_pages.html(ledger, [now], book, text)
    )
    note = SitePage("notes/note.md", "notes/note.html", text, f"<h1>{escaped(text)}</h1>")
    pages = {page.uri: page for page in (note, changes)}
    outline = Outline(ROOT / "no-such-folder", text, dict.fromkeys(pages, text), dict.fromkeys(pages, text))
    site = Description(text, (Author(text),), "2026-01-02", "https://example.org/")
    files = other_forms.make(list(pages.values()), outline, site, "2026-01-02.1", ledger, [now], book)
    for page in pages.values():
        path, content = other_forms.markdown(page, outline, site, "2026-01-02.1", frozenset(), NO_CACHE)
        files[path] = content
    return files | {"changes": changes.html}


def tags(source: str) -> set[str]:
    return {tag.name for tag in BeautifulSoup(source, "html.parser").find_all()}


@settings(max_examples=30, deadline=None)
@given(text=hostile.map(words).filter(bool))
@example(text=words(HOSTILE[0]))
@example(text=words(HOSTILE[1]))
@example(text=words(HOSTILE[4]))
def test_any_text_is_text_in_every_file(text: str, book: Book) -> None:
    files = made_of(text, book)
    assert tags(files["changes"]) <= tags(made_of("harmless", book)["changes"])
    for name in ("notes", "numbers"):
        parsed = feedparser.parse(
            files[f"feeds/{name}.atom.xml"], sanitize_html=False, resolve_relative_uris=False
        )
        assert not parsed.bozo
        items = json.loads(files[f"feeds/{name}.json"])["items"]
        for entry, item in zip(parsed.entries, items, strict=True):
            assert entry.content[0].value == item["content_html"]
            assert tags(item["content_html"]) <= {"p", "a", "ul", "li"}
            assert text in words(BeautifulSoup(item["content_html"], "html.parser").get_text())
    for path in ("notes/note.md", "data/changes.md"):
        head, _, rest = files[path].removeprefix("---\n").partition("\n---\n")
        said = yaml.safe_load(head)
        assert said["title"] == said["description"] == said["site"] == text
        kinds = {tag.name for tag in rendered(rest).find_all()}
        assert kinds <= {"h1", "h2", "p", "a", "table", "thead", "tbody", "tr", "th", "td"}
        assert text in words(rendered(rest).get_text())
    listed = rendered(files[llms.FILE])
    assert {tag["href"] for tag in listed.find_all("a")} == {
        "https://example.org/notes/note.md",
        "https://example.org/data/changes.md",
    }
    script = files[f"data/ledger/{ID}.js"]
    assert json.loads(script.removeprefix("document.currentScript.history=").removesuffix(";\n"))
    assert "<" not in script


@pytest.mark.parametrize("name", ["a/b.html", "index.html"])
def test_paths(name: str) -> None:
    assert markdown_form.path_of(name) == name.removesuffix("html") + "md"
