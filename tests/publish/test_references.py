"""Works that pages cite by key: labels, lists, and what is not a citation."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import markdown
import pytest
from bs4 import BeautifulSoup

from hooks.citation import references
from hooks.errors import PublishError, PublishErrors
from hooks.extension import Site, SplicedExtension
from tests.publish import fixture_data

BIB = """
@article{one, author = {First, Ann}, title = {On <b>one</b> & {ALL}}, journal = {J}, year = {2001}, volume = 1}

@misc{two, author = {First, Ann and Second, Bo}, title = {Two}, year = 2002, eprint = {0202.00002}}
@misc{three, author = {Third, Cy and Fourth, Di and Fifth, Ed}, title = {Three}, year = {2003}, doi = {10.1/three}}
@misc{three-again, author = {Third, Cy and Fourth, Di and Fifth, Ed}, title = {Three once more}, year = {2003}}
@misc{body, author = {{The Body, Ltd.}}, title = {Four}, year = {2004}, url = {https://example.org/?a=1&b=2}}
@misc{nobody, title = {Five}, url = {javascript:alert(1)}}
@misc{page, page = {pages/here.md}}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("docs")
    shutil.copy(fixture_data.ROOT / "docs" / "quantities.toml", made)
    (made / references.FILE).write_text(BIB, encoding="utf-8")
    (made / "pages").mkdir()
    (made / "pages" / "here.md").write_text("---\nx: y\n---\n\n# Here & *now* {#here}\n", encoding="utf-8")
    return made


@pytest.fixture(scope="module")
def citing_site(site_data: Path, folder: Path) -> Site:
    return Site.open(site_data, folder / "quantities.toml")


def convert(source: str, site: Site) -> BeautifulSoup:
    extension = SplicedExtension()
    extension.site = site
    html = markdown.markdown(source, extensions=[extension, "fenced_code", "footnotes", "md_in_html"])
    return BeautifulSoup(html, "html.parser")


def test_a_label_names_authors_and_year(citing_site: Site) -> None:
    page = convert("A [@one]. B [@two, p. 7; @three]. C [@three-again] [@body] [@nobody].", citing_site)
    assert page.p is not None
    assert page.p.text == (
        "A (First, 2001). B (First and Second, 2002, p. 7; Third et al., 2003). C (Third et al., 2003b) "
        "(The Body, Ltd., 2004) (Five, undated)."
    )


def test_a_work_that_is_cited_twice_is_listed_once(citing_site: Site) -> None:
    page = convert("A [@two] and [@one], again [@two].\n\nAnd [@one; @two].", citing_site)
    items = page.select("ul.references > li")
    assert [item["id"] for item in items] == ["ref-two", "ref-one"]
    assert len(page.select("#cite-one")) == len(page.select("#cite-two")) == 1
    assert [link["href"] for link in page.select(".reference a")] == [
        f"#ref-{key}" for key in ("two", "one", "two", "one", "two")
    ]
    assert [link["href"] for link in page.select(".reference-back")] == ["#cite-two", "#cite-one"]
    assert page.select_one("h2#references") is not None


def test_a_reference_has_its_links_and_none_of_its_markup(citing_site: Site) -> None:
    page = convert("[@one] [@two] [@three] [@body] [@nobody]", citing_site)
    listed = page.select_one("ul.references")
    assert listed is not None
    assert listed.b is None
    assert "On <b>one</b> & ALL." in listed.text
    links = {a["href"] for a in listed.select("a:not(.reference-back)")}
    assert links == {
        "https://arxiv.org/abs/0202.00002",
        "https://doi.org/10.1/three",
        "https://example.org/?a=1&b=2",
    }


def test_a_page_of_the_site_is_cited_by_its_title(citing_site: Site) -> None:
    page = convert("As said before [@page].", citing_site)
    assert page.p is not None and page.p.text == "As said before (Here & now)."
    (link,) = page.select("ul.references a:not(.reference-back)")
    assert (link.text, link["href"]) == ("Here & now", "pages/here.md")


def test_sources_of_cited_numbers_are_listed_and_can_be_cited(citing_site: Site) -> None:
    number = "{{ cite qwen2.5-speed-benchmark.vllm }}"
    page = convert(f"{number}, and {number} [@qwen2.5-speed-benchmark].", citing_site)
    (item,) = page.select("ul.references > li")
    assert item["id"] == "ref-qwen2.5-speed-benchmark"
    assert "Qwen2.5 Speed Benchmark" in item.text and "Qwen team" in item.text


def test_a_source_is_named_to_the_letter(folder: Path) -> None:
    odd = r"50 % {of} $1 & \emph{x} ~ ^ # _ -- {{ y }} \ z"
    origin = {
        "title": odd,
        "publisher": odd,
        "place": odd,
        "url": "https://example.org/",
        "accessed": "2026-01-02",
    }
    work = references.read(folder / references.FILE, {"odd": {"origin": origin}}).find("odd")
    listed = BeautifulSoup(work.html, "html.parser").text
    assert listed == f"{odd}.\n{odd}, {odd}.\nhttps://example.org/ (visited on 2026-01-02)."


def test_the_list_stands_where_the_page_asks_for_it(citing_site: Site) -> None:
    page = convert("{{ references }}\n\nA [@one].", citing_site)
    blocks = [tag.name for tag in page.find_all(recursive=False)]
    assert blocks == ["ul", "p"]
    assert page.select_one("h2") is None


@pytest.mark.parametrize(
    "source",
    [
        "`[@pytest]` and ``[@pytest; @x]``",
        "```python\n@pytest.fixture\nx[@pytest]\n```",
        "    [@pytest]",
        "me@example.org, <me@example.org>, @someone and @someone, [someone@example.org]",
        "[@someone](https://example.org/someone)",
        "[@someone][here]\n\n[here]: https://example.org",
        "[@someone]\n\n[@someone]: https://example.org",
        r"\[@someone]",
        "![@someone](a.png)",
        "<!-- [@someone] -->",
    ],
)
def test_what_is_no_citation_is_left_alone(source: str, citing_site: Site) -> None:
    without = markdown.markdown(source, extensions=["fenced_code", "footnotes", "md_in_html"])
    page = convert(source, citing_site)
    assert page.text.strip() == BeautifulSoup(without, "html.parser").text.strip()
    assert not page.select(".reference, .references")


def test_an_unknown_key_is_an_error_with_line_and_nearest_key(citing_site: Site) -> None:
    with pytest.raises(PublishErrors) as caught:
        convert("Text.\n\n`[@thre]` is code.\n\nMore [@one]\nand [@thre].", citing_site)
    (error,) = caught.value.errors
    assert error.report.place is not None and error.report.place.line == 6
    assert error.report.nearest is not None and error.report.nearest.split(", ")[0] == "three"


def test_a_branch_that_is_dropped_cites_nothing(citing_site: Site) -> None:
    source = "{{ when decode.seconds_per_token }}A [@one].{{ otherwise }}B [@nothing-like-it].{{ end }}"
    page = convert(source, citing_site)
    assert [item["id"] for item in page.select("ul.references > li")] == ["ref-one"]


def test_within_a_link_a_label_does_not_link(citing_site: Site) -> None:
    page = convert("[see [@one]](x.html)", citing_site)
    (link,) = page.select("p a")
    assert (link["href"], link.text) == ("x.html", "see (First, 2001)")


def test_works_are_kept_between_builds(site_data: Path, folder: Path, tmp_path: Path) -> None:
    from hooks.caching.cache import Cache

    kept = Cache(tmp_path / "kept")
    store = Site.open(site_data, folder / "quantities.toml").book.store
    first = references.read(folder / references.FILE, store.cited, kept)
    assert references.read(folder / references.FILE, store.cited, kept) == first
    copy = tmp_path / "docs"
    shutil.copytree(folder, copy)
    text = BIB.replace("{2001}", "{1901}")
    (copy / references.FILE).write_text(text, encoding="utf-8")
    again = references.read(copy / references.FILE, store.cited, kept)
    assert (first.works["one"].label, again.works["one"].label) == ("First, 2001", "First, 1901")


@pytest.mark.parametrize(
    ("text", "line", "found"),
    [
        ("\n@misc{a, title = {A}, year = 2000}\n@misc{A, title = {B}}\n", 3, "repeated"),
        ("\n\n@article{a, title = {A}}\n", 3, "missing author"),
        ("@misc{a, title = {A}\n\n@misc{b, title = {B}}\n", 3, "syntax error"),
        ("@website{a, title = {A}}\n", 1, "@website"),
        ("\n@misc{qwen2.5-speed-benchmark, title = {A}}\n", 2, "site_data/cited/"),
        ("\n@misc{a, page = {nowhere.md}}\n", 2, "nowhere.md"),
    ],
)
def test_a_bad_bibliography_is_an_error_with_its_line(
    text: str, line: int, found: str, site: Site, tmp_path: Path
) -> None:
    path = tmp_path / references.FILE
    path.write_text(text, encoding="utf-8")
    with pytest.raises(PublishError) as caught:
        references.read(path, site.book.store.cited)
    assert caught.value.report.place is not None
    assert caught.value.report.place.line == line
    assert re.search(found, str(caught.value))
