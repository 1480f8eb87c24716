"""What stands at the ends and in the heads of pages: citations, who cites a page, the repository's own description."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from bs4 import BeautifulSoup

from hooks import repository
from hooks.citation import backlinks, citing, page_ends
from hooks.citation.backlinks import SitePage
from hooks.citation.citations import Author
from hooks.citation.citing import Citing
from hooks.extension import Site, SplicedExtension
from hooks.publication.ledger import Entry, Ledger, Number, Publication, permalink
from hooks.writing.pages import PageState
from tests.publish.fixture_data import ROOT
from tests.publish.project import Project

AUTHOR = Author("The Authors")
CITING = Citing("Our Site", (AUTHOR,), "https://example.org/x/", None, "unpublished", "2026-11-30")


# --- the repository ---------------------------------------------------------------------------------


def test_one_file_says_what_the_repository_is() -> None:
    """CITATION.cff, .zenodo.json, pyproject.toml and the site's name agree."""
    found = repository.read(ROOT / repository.FILE)
    assert (ROOT / repository.ZENODO).read_text(encoding="utf-8") == repository.zenodo(found), (
        "run python -m hooks.repository"
    )
    config = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert re.search(r"^site_name: (.+)$", config, re.MULTILINE)[1] == found.title  # type: ignore[index]
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert f'version = "{found.version}"' in project
    assert f'license = "{found.licence}"' in project


def test_people_and_bodies_come_out_of_the_file(tmp_path: Path) -> None:
    record = yaml.safe_load((ROOT / repository.FILE).read_text(encoding="utf-8"))
    record["authors"] = [
        {"name": "A & B"},
        {"family-names": "Beethoven", "given-names": "Ludwig", "name-particle": "van", "name-suffix": "Jr."},
        {"family-names": "Curie", "given-names": "Marie", "orcid": "https://orcid.org/0000-0002-1825-0097"},
    ]
    record["url"] = "https://example.org/"
    path = tmp_path / repository.FILE
    path.write_text(yaml.safe_dump(record), encoding="utf-8")
    found = repository.read(path)
    assert found.authors == (Author("A & B"), Author("van Beethoven Jr.", "Ludwig"), Author("Curie", "Marie"))
    assert found.address == "https://example.org/"
    creators = json.loads(repository.zenodo(found))["creators"]
    assert creators[2] == {"name": "Curie, Marie", "orcid": "0000-0002-1825-0097"}


# --- who cites a page -------------------------------------------------------------------------------


def page(uri: str, html: str = "", *, cites: bool = True, **explained: int) -> SitePage:
    url = uri.replace(".md", ".html").replace(".ipynb", ".html")
    return SitePage(uri, url, uri.title(), html, cites, explained)


def test_links_and_explained_numbers_are_backlinks() -> None:
    pages = [
        page("index.md", '<a href="a/one.html">x</a>', cites=False),
        page("a/one.md", '<a class="x" href="../b/two.html#part">x</a> <a href="one.html">me</a>'),
        replace(
            page("b/two.md", '<a href="https://example.org/a/one.html">x</a>'), explained={"a/one.md": 3}
        ),
        page(
            "b/three.md", '<a href="two.html?x=1">x</a><a href="two.html">x</a><a href="../gone.html">x</a>'
        ),
    ]
    found = backlinks.find(pages)
    assert {uri: [(link.page.uri, link.numbers) for link in links] for uri, links in found.items()} == {
        "b/two.md": [("a/one.md", 0), ("b/three.md", 0)],
        "a/one.md": [("b/two.md", 3)],
    }
    soup = BeautifulSoup(backlinks.html(found["a/one.md"], "a/one.html"), "html.parser")
    assert soup.text == "Cited in: B/Two.Md (3 numbers)."
    assert soup.a is not None and soup.a["href"] == "../b/two.html"
    assert backlinks.html((), "a/one.html") == ""


@pytest.mark.parametrize(
    ("url", "seen_from", "expected"),
    [
        ("a/b/", "c/d/", "../../a/b/"),
        ("", "c/d/", "../../"),
        ("a.html", "index.html", "a.html"),
        ("a/", "", "a/"),
    ],
)
def test_links_hold_with_addresses_of_folders_too(url: str, seen_from: str, expected: str) -> None:
    assert backlinks.relative(url, seen_from) == expected


# --- the ends of pages ------------------------------------------------------------------------------


def rendered(site: Site, source: str, uri: str = "p.md") -> tuple[PageState, str]:
    import markdown

    extension = SplicedExtension()
    extension.site = site
    extension.page = PageState(uri, uri=uri)
    html = markdown.markdown(source, extensions=[extension])
    assert not extension.page.errors
    return extension.page, html


def ended(site: Site, source: str, citing_of: Citing = CITING) -> page_ends.PageEnd:
    state, html = rendered(site, source)
    site_page = replace(page("p.md", html), title="The <page> & its title")
    described = {"p.md": "What it says"}
    return page_ends.Ends({}, {"p.md": state}, described, site.book.store.runs, citing_of).of(site_page)


def test_a_page_names_the_runs_behind_it(site: Site) -> None:
    end = ended(site, "{{ decode.seconds_per_token }} {{ decode.seconds_per_token run=real-weights }}")
    soup = BeautifulSoup(end.html, "html.parser")
    (block,) = soup.select("details.cite")
    assert block.summary is not None and block.summary.text == "Cite this page"
    texts = {each["data-format"]: each.pre.text for each in block.select(".cite-format") if each.pre}
    runs = sorted({number["data-run"] for number in soup.select(".quantity")})
    assert len(runs) == 2
    assert f"Data: runs {', '.join(map(str, runs))}" in texts["apa"]
    assert json.loads(texts["csl-json"])[0]["URL"] == "https://example.org/x/p.html"
    head = BeautifulSoup(end.tags, "html.parser")
    assert head.select_one('[name="citation_title"]')["content"] == "The <page> & its title"  # type: ignore[index]
    assert head.select_one('[name="citation_abstract"]')["content"] == "What it says"  # type: ignore[index]


def test_a_chart_is_cited_with_its_runs_and_its_anchor(site: Site) -> None:
    end = ended(site, "{{ chart time-per-token }}\n\n{{ chart kv-cache-against-weights }}")
    soup = BeautifulSoup(end.html, "html.parser")
    first, second = soup.select("figure.chart")
    (item,) = json.loads(first.select_one('.cite [data-format="csl-json"] pre').text)  # type: ignore[union-attr]
    assert item["URL"] == "https://example.org/x/p.html#chart-time-per-token"
    assert item["genre"] == "Chart"
    caption = first.figcaption
    assert caption is not None and caption.text.startswith(item["title"])
    assert str(first["data-run"]) in item["note"]
    assert "note" not in json.loads(second.select_one('.cite [data-format="csl-json"] pre').text)[0]  # type: ignore[union-attr]
    assert len(soup.select("details.cite")) == 3


def test_a_picture_that_a_cell_drew_is_of_the_page_s_run(site: Site) -> None:
    state, html = rendered(site, "{{ decode.seconds_per_token }}")
    figure = (
        '<figure class="chart" id="chart-cell-own"><figcaption><strong>Own.</strong> x</figcaption></figure>'
    )
    ends = page_ends.Ends({}, {"p.md": state}, {}, site.book.store.runs, CITING)
    made = ends.of(page("p.md", html + figure))
    text = BeautifulSoup(made.html, "html.parser").select_one("figure .cite-text")
    assert text is not None and f"Data: run {state.numbers[0].reading.runs[0].id}" in text.text


def test_each_number_has_its_citation_by_its_anchor(site: Site) -> None:
    source = (
        "{{ decode.seconds_per_token }}, again {{ decode.seconds_per_token }}, and "
        "{{ decode.seconds_per_token run=real-weights }} "
        "{{ energy.decode_over_prefill }} {{ model qwen2.5-1.5b.layers }} {{ cite qwen2.5-speed-benchmark.vllm }}"
    )
    end = ended(site, source)
    assert end.script is not None
    path, text = end.script
    assert path == "p.cite.js"
    assert 'data-numbers="p.cite.js"' in end.html
    found = json.loads(text.removeprefix("document.currentScript.citations="))
    soup = BeautifulSoup(end.html, "html.parser")
    shown = {str(number["id"]): number for number in soup.select(".quantity[id]:not(.refused)")}
    assert set(found) == set(shown)
    for anchor, number in shown.items():
        assert number.text.replace("\N{NARROW NO-BREAK SPACE}", " ") in found[anchor]["apa"]
        assert found[anchor]["run"] == number.get("data-run", "")
        for run_id in found[anchor]["run"].split():
            assert run_id in found[anchor]["apa"]
        assert json.loads(found[anchor]["csl-json"])[0]["URL"].endswith(f"/p.html#{anchor}")
    assert "Data: Qwen2.5 Speed Benchmark, Qwen team" in found["n-cite.qwen2.5-speed-benchmark.vllm"]["apa"]
    assert "95 % prediction interval" in found["n-decode.seconds_per_token"]["bibtex"].replace("\\", "")


def test_a_published_number_is_cited_with_its_version_and_an_address_that_has_it(site: Site) -> None:
    """A page changes; what was cited must still be found."""
    number = Number.of(site.book.read("decode.seconds_per_token"))
    ledger = Ledger((Entry(Publication("2026-01-02.1", "2026-01-02", "0" * 16, ()), number),))
    end = ended(site, "{{ decode.seconds_per_token }}", replace(CITING, ledger=ledger))
    assert end.script is not None
    ((anchor, found),) = json.loads(end.script[1].removeprefix("document.currentScript.citations=")).items()
    address = f"https://example.org/x/{permalink('p.html', number.id, '2026-01-02.1')}"
    assert address.endswith(f"p.html?published=2026-01-02.1#{anchor}")
    shown = number.text.replace("\N{NARROW NO-BREAK SPACE}", " ")
    for name in ("apa", "bibtex", "ris", "csl-json"):
        assert all(part in found[name] for part in (address, "2026-01-02.1", shown)), name


def test_without_an_address_nothing_pretends_to_have_one(site: Site) -> None:
    end = ended(site, "{{ decode.seconds_per_token }}", replace(CITING, address=None))
    assert "http" not in end.tags
    block = BeautifulSoup(end.html, "html.parser").select_one("details.cite")
    assert block is not None and "without its address" in block.text and "http" not in block.text
    assert end.script is not None and "http" not in end.script[1]
    elsewhere = ended(site, "Text.", replace(CITING, address=None, elsewhere="https://example.org/code"))
    assert "https://example.org/code" in elsewhere.tags


def test_a_page_with_a_citation_of_its_own_gets_no_second_one(site: Site) -> None:
    from hooks.citation.citations import block

    own = block(CITING.record("run", "Run 1", "data/runs/1.html"))
    site_page = page("p.md", f"<h1>Run 1</h1>{own}")
    made = page_ends.Ends({}, {}, {}, {}, CITING).of(site_page)
    assert made.html.count("<details") == 1


def test_a_hostile_title_stays_in_its_place(site: Site) -> None:
    title = '</title><script>alert("x")</script> "quoted" {{ x }}'
    site_page = replace(page("p.md", "<p>x</p>"), title=title)
    end = page_ends.Ends({}, {}, {}, {}, CITING).of(site_page)
    assert "<script" not in end.html + end.tags
    meta = BeautifulSoup(end.tags, "html.parser").select_one('[name="citation_title"]')
    assert meta is not None and meta["content"] == title
    citing_page = replace(page("a.md", '<a href="p.html">x</a>'), title=title)
    shown = backlinks.html(backlinks.find([citing_page, site_page])["p.md"], "p.html")
    assert [link.text for link in BeautifulSoup(shown, "html.parser").select("a")] == [title]


# --- a built site -----------------------------------------------------------------------------------


def test_every_page_of_a_site_can_be_cited(tmp_path: Path) -> None:
    project = Project.make(tmp_path / "project")
    project.write(
        "CITATION.cff",
        "title: X\nabstract: X\nversion: 1\ndate-released: 2026-01-01\nlicense: MIT\nauthors:\n  - name: Us & them\n",
    )
    project.write("docs/references.bib", "@misc{a, author = {Ax, Bo}, title = {A}, year = {2001}}\n")
    project.write("docs/index.md", "# Home\n\n[More](more.md)\n")
    project.write("docs/more.md", "# More & more\n\nAs known [@a]. {{ decode.seconds_per_token }}\n")
    project.write("docs/other.md", "# Other\n\nSee [more](more.md#more-more).\n")
    config = (project.folder / "mkdocs.yml").read_text(encoding="utf-8")
    project.write("mkdocs.yml", config.replace("  - notes/note.ipynb\n", "  - more.md\n  - other.md\n"))
    (project.folder / "docs/notes/note.ipynb").unlink()
    project.build()
    assert project.code == 0, project.output
    site = project.folder / "site"
    pages = [str(path.relative_to(site)) for path in site.rglob("*.html")]
    assert {"index.html", "more.html", "404.html"} <= set(pages)
    for name in pages:
        soup = BeautifulSoup(project.read(name), "html.parser")
        of_page = [block for block in soup.select("details.cite") if block.find_parent("figure") is None]
        assert len(of_page) == (name != "404.html"), name
        names = [meta["content"] for meta in soup.select('head > meta[name="citation_author"]')]
        assert names == (["Us & them"] if name != "404.html" else []), name
    more = BeautifulSoup(project.read("more.html"), "html.parser")
    assert more.select_one('head > meta[name="citation_title"]')["content"] == "More & more"  # type: ignore[index]
    backlink = more.select_one(".backlinks")
    assert backlink is not None and backlink.text == "Cited in: Other."
    assert [item["id"] for item in more.select("ul.references > li")] == ["ref-a"]
    script = more.select_one(".page-end")
    assert script is not None and (site / str(script["data-numbers"])).is_file()
    assert script["data-script"] == citing.SCRIPT
    index = json.loads(project.read("search/search_index.json"))
    assert not any("Cite this" in entry["text"] or "BibTeX" in entry["text"] for entry in index["docs"])
