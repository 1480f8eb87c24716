"""Golden pages: each folder in tests/pages/ is a page and what must come of it, or the error that it must raise.

`pytest --regenerate-pages` writes the expected files anew; a missing one is a failure, never written silently.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import markdown
import pytest

from hooks.errors import PublishErrors
from hooks.extension import Site, SplicedExtension
from tests.publish.fixture_data import ROOT

PAGES = ROOT / "tests" / "pages"
CASES = sorted(path.name for path in PAGES.iterdir() if path.is_dir())
OTHERS = ["attr_list", "abbr", "def_list", "footnotes", "md_in_html", "tables", "toc", "pymdownx.superfences"]
PUBLISHED: Mapping[str, str] = {"decode.seconds_per_token": "120\N{NARROW NO-BREAK SPACE}ms"}
"""What the fixture site is said to have published before."""


def convert(source: str, site: Site, name: str = "input.md") -> str:
    """A page through Python-Markdown with the extensions that the site uses."""
    extension = SplicedExtension(page=name)
    extension.site = Site(site.book, PUBLISHED, references=site.references)
    return markdown.markdown(source, extensions=[extension, *OTHERS])


def readable(html: str, site: Site) -> str:
    """The HTML as the golden files have it: popovers a row a line, pictures left out, no folder of this machine."""
    html = re.sub(r"<svg .*?</svg>", "<svg/>", html, flags=re.DOTALL)
    html = html.replace('<span class="provenance-row">', '\n  <span class="provenance-row">')
    return tidy(html, site)


def tidy(text: str, site: Site) -> str:
    text = text.replace(str(site.book.store.folder), "site_data").replace(f"{ROOT}/", "")
    return text + "\n"


def test_there_are_pages() -> None:
    assert len(CASES) > 20


@pytest.mark.parametrize("case", CASES)
def test_page(case: str, site: Site, request: pytest.FixtureRequest) -> None:
    folder = PAGES / case
    source = (folder / "input.md").read_text(encoding="utf-8")
    try:
        name, found = "expected.html", readable(convert(source, site), site)
    except PublishErrors as error:
        name, found = "expected-error.txt", tidy(str(error), site)
    if request.config.getoption("--regenerate-pages"):
        for stale in folder.glob("expected*"):
            stale.unlink()
        (folder / name).write_text(found, encoding="utf-8")
        return
    assert {path.name for path in folder.iterdir()} == {"input.md", name}, (
        "run pytest --regenerate-pages and look"
    )
    assert found == (folder / name).read_text(encoding="utf-8")
    if name == "expected-error.txt":
        assert found.count("  mend: ") == len(re.findall(r"^\S", found, re.MULTILINE)), (
            "each error says what mends it"
        )


def test_a_changed_golden_is_noticed(site: Site) -> None:
    case = PAGES / "numbers"
    source = (case / "input.md").read_text(encoding="utf-8").replace("decode.", "prefill.")
    assert readable(convert(source, site), site) != (case / "expected.html").read_text(encoding="utf-8")


def test_pages_are_the_same_each_time(site: Site) -> None:
    source = (PAGES / "chart" / "input.md").read_text(encoding="utf-8")
    assert convert(source, site) == convert(source, site)


def test_an_instance_keeps_nothing_from_the_page_before(site: Site) -> None:
    extension = SplicedExtension()
    extension.site = site
    md = markdown.Markdown(extensions=[extension])
    first = md.convert("{{ decode.seconds_per_token }}")
    assert md.reset().convert("{{ decode.seconds_per_token }}") == first


@pytest.mark.parametrize("path", sorted((ROOT / "docs").rglob("*.md")), ids=lambda path: path.name)
def test_the_site_s_own_pages_render_on_fixture_data(path: Path, site: Site) -> None:
    source = path.read_text(encoding="utf-8")
    body = re.sub(r"\A---\n.*?\n---\n", "", source, flags=re.DOTALL)
    try:
        assert convert(body, site, path.name)
    except PublishErrors as error:
        # The fixture's numbers are not the measured ones, so a finding may be false of them; nothing else may be.
        assert all("contradict" in str(one) for one in error.errors), error
