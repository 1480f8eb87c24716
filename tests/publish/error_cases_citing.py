"""Ways into the errors of citing: works by key, their list, and CITATION.cff. No tests live here."""

from __future__ import annotations

from pathlib import Path

import markdown

from hooks import repository
from hooks.citation import references
from hooks.extension import Site, SplicedExtension
from tests.publish import fixture_data
from tests.publish.error_cases import CASES, Case, Workplace, case


def _bibliography(text: str, pages: str | None = None) -> Case:
    """A list of works; `pages` is the text of docs/page.md, where there is one."""

    def make(place: Workplace) -> object:
        docs = place.folder / "docs"
        docs.mkdir()
        (docs / references.FILE).write_text(text, encoding="utf-8")
        if pages is not None:
            (docs / "page.md").write_text(pages, encoding="utf-8")
        return references.read(docs / references.FILE, place.site.book.store.cited)

    return make


def _citation_file(text: str | None) -> Case:
    def make(place: Workplace) -> object:
        path = place.folder / repository.FILE
        if text is not None:
            path.write_text(text, encoding="utf-8")
        return repository.read(path)

    return make


CASES |= {
    "works-no-bibtex": _bibliography("@misc{a,\n  title = {A\n}\n"),
    "works-twice": _bibliography("@misc{a, title = {A}, year = 1}\n\n@misc{a, title = {B}, year = 2}\n"),
    "works-without-a-field": _bibliography("\n@article{a,\n  title = {A},\n}\n"),
    "works-of-no-kind": _bibliography("@website{a, title = {A}}\n"),
    "works-key-of-a-source": _bibliography("@misc{earlier-notes, title = {A}}\n"),
    "works-no-page": _bibliography("@misc{a, page = {pgae.md}}\n", "# Page\n"),
    "works-page-without-title": _bibliography("@misc{a, page = {page.md}}\n", "Text.\n"),
    "citation-file-missing": _citation_file(None),
    "citation-file-no-yaml": _citation_file("title: [\n"),
    "citation-file-no-mapping": _citation_file("- title\n"),
    "citation-file-no-title": _citation_file("authors:\n  - name: A\n"),
    "citation-file-no-author": _citation_file("title: A\nauthors: []\n"),
    "citation-file-wrong-author": _citation_file("title: A\nauthors:\n  - given-names: Ann\n"),
}


@case
def page_unknown_work(place: Workplace) -> object:
    docs = place.folder / "docs"
    docs.mkdir()
    text = "@misc{williams2009roofline, title = {Roofline}, year = {2009}}\n"
    (docs / references.FILE).write_text(text, encoding="utf-8")
    quantities = Path(fixture_data.ROOT / "docs" / "quantities.toml").read_text(encoding="utf-8")
    (docs / "quantities.toml").write_text(quantities, encoding="utf-8")
    extension = SplicedExtension(page="docs/page.md")
    extension.site = Site.open(place.site.book.store.folder, docs / "quantities.toml")
    return markdown.markdown("# Page\n\nA roofline [@wiliams2009roofline].\n", extensions=[extension])
