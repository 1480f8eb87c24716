"""Works that pages cite by key, from a .bib file and site_data/cited/: each one's label and reference. Knows no page.

`[@key]` on a page is the grammar; `hooks.citation.cited_works` puts labels and lists into pages. pybtex reads the file
and writes the references; what it made is kept between builds, so that most builds need not import it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import yaml

from hooks.caching.cache import Cache, digest, file_digest
from hooks.data.records import Record
from hooks.errors import Place, PublishError, nearest
from hooks.jupyter.notebook_pages import Notebook

FILE = "references.bib"

_KEY = r"[A-Za-z0-9](?:[\w.:+/-]*[A-Za-z0-9])?"
_ONE = rf"@{_KEY}(?:,[^;\[\]@]+)?"
PATTERN = rf"(?<![\\!\]])\[{_ONE}(?:\s*;\s*{_ONE})*\](?![(\[:])"
"""A citation on a page: `[@key]`, `[@key, p. 3]`, `[@one; @two]`. What a link's target follows is a link."""

_SHOWN = "docs/reference/citing.md shows the format"
_PAGE = "page"
_HEADING = re.compile(r"^# +(.+?)(?: *\{[^{}]*\})? *#*$", re.MULTILINE)
_FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Cited:
    """One key of a citation, and what follows it: `p. 3`."""

    key: str
    locator: str | None = None


@dataclass(frozen=True)
class Work:
    """A work that can be cited. `label` is what stands in the text, `html` its reference, `page` the page of this site
    that it is, inside docs/."""

    key: str
    label: str
    order: str
    html: str
    page: str | None = None


@dataclass(frozen=True)
class References:
    """All works by key. `place` is what errors name."""

    works: Mapping[str, Work] = field(default_factory=dict)
    place: Place = field(default_factory=lambda: Place(f"docs/{FILE}"))

    def find(self, key: str) -> Work:
        """The work of that key.

        Raises:
            PublishError: There is none.
        """
        if key in self.works:
            return self.works[key]
        raise PublishError(
            f"nothing has the key `{key}`",
            expected=f"a key of {self.place.file}, or a file of site_data/cited/",
            found=f"[@{key}]",
            nearest=nearest(key, self.works),
            mend=f"mend the key, add the work to {self.place.file}, or write `\\[@{key}]` to print it as it is",
        )


def parse(text: str) -> tuple[Cited, ...]:
    """The keys of a whole citation, in order."""
    found = []
    for part in text.strip()[1:-1].split(";"):
        key, _, locator = part.strip().removeprefix("@").partition(",")
        found.append(Cited(key.strip(), " ".join(locator.split()) or None))
    return tuple(found)


def read(path: Path, sources: Mapping[str, Record], kept: Cache | None = None) -> References:
    """Read the .bib file, which need not be there, and the sources of cited numbers.

    Args:
        path: The .bib file; pages that it names are found from its folder.
        sources: The records of site_data/cited/ by name, which is their key.
        kept: Results of earlier builds.

    Raises:
        PublishError: The file is no BibTeX, a work lacks a field, or a key stands for two works.
    """
    kept = kept or Cache(None)
    origins = {name: source["origin"] for name, source in sources.items()}
    code = [file_digest(Path(__file__).with_name(name)) for name in ("references.py", "reference_style.py")]
    key = digest("references", version("pybtex"), file_digest(path), origins, code)
    made = kept.get("references", key)
    if made is None:
        made = [asdict(work) for work in _works(path, origins)]
        kept.put("references", key, made)
    works = {work["key"]: Work(**work) for work in made}
    titled = {name: _titled(work, path) if work.page else work for name, work in works.items()}
    return References(titled, Place(str(path)))


def _works(path: Path, origins: Mapping[str, Record]) -> Iterator[Work]:
    from pybtex.database import BibliographyData, Entry, parse_string
    from pybtex.exceptions import PybtexError

    data = BibliographyData()
    if path.is_file():
        text = path.read_text(encoding="utf-8")
        try:
            data = parse_string(text, "bibtex")
        except PybtexError as error:
            raise _wrong(path, error, getattr(error, "lineno", None), text) from error
        for name in data.entries:
            if name in origins:
                raise PublishError(
                    f"two works have the key `{name}`",
                    place=Place(str(path), _line(text, name)),
                    expected="a key of its own",
                    found=f"site_data/cited/{name}.json, which has this key already",
                    mend="give the entry another key, or leave it out",
                )
    else:
        text = ""
    labels: dict[str, int] = {}
    for name, entry in data.entries.items():
        if _PAGE in entry.fields:
            yield Work(name, "", "", "", page=entry.fields[_PAGE])
            continue
        try:
            made = _formatted(entry)
            label = _label(entry)
        except (PybtexError, AttributeError) as error:
            raise _wrong(path, error, _line(text, name), text) from error
        labels[label] = labels.get(label, 0) + 1
        # Of two works with one label, the second has a letter: 2023, then 2023b.
        letter = "" if labels[label] == 1 else chr(ord("a") + labels[label] - 1)
        yield Work(name, label + letter, f"{label}{letter} {made}", made)
    for name, origin in origins.items():
        fields = {
            "title": origin["title"],
            "howpublished": origin["publisher"],
            "note": origin.get("place") or "",
            "url": origin.get("url") or "",
            "urldate": origin["accessed"],
        }
        entry = Entry("misc", fields={key: value for key, value in fields.items() if value})
        yield Work(name, origin["title"], origin["title"], _formatted(entry, is_tex=False))


def _formatted(entry: Any, *, is_tex: bool = True) -> str:
    """The reference as HTML, with nothing in it that a work's text could have put there as markup."""
    from hooks.citation.reference_style import Backend, SourceStyle, Style

    style = Style() if is_tex else SourceStyle()
    return str(style.format_entry("", entry).text.render(Backend("utf-8")))


def _label(entry: Any) -> str:
    """The names and the year: `Williams et al., 2009`."""
    from pybtex.richtext import Text

    people = entry.persons.get("author") or entry.persons.get("editor") or ()
    names = [
        str(Text.from_latex(" ".join((*person.prelast_names, *person.last_names)))) for person in people
    ] or [str(Text.from_latex(entry.fields.get("organization") or entry.fields["title"]))]
    shown = names[0] if len(names) == 1 else " and ".join(names) if len(names) == 2 else f"{names[0]} et al."
    return f"{shown}, {entry.fields.get('year', 'undated')}"


def _titled(work: Work, path: Path) -> Work:
    """A work that is a page of this site, with the title that the page has today."""
    assert work.page is not None
    page = path.parent / work.page
    place = Place(str(path), _line(path.read_text(encoding="utf-8"), work.key))
    if not page.is_file():
        files = (str(file.relative_to(path.parent)) for file in path.parent.rglob("*") if file.is_file())
        known = [name for name in files if name.endswith((".md", ".ipynb"))]
        raise PublishError(
            f"the work `{work.key}` is no page of this site",
            place=place,
            expected="the path of a page, from the folder of this file",
            found=work.page,
            nearest=nearest(work.page, known),
            mend="mend the path",
        )
    title = title_of(page)
    if title is None or "{{" in title:
        raise PublishError(
            f"the page of `{work.key}` has no title to cite",
            place=place,
            expected="a first heading, or `title` in its head, without placeholders",
            found=title or "none",
            mend=f"give {work.page} one",
        )
    return replace(work, label=title, order=title)


def title_of(page: Path) -> str | None:
    """The title that a page's source gives it: in its head, or its first heading; None where it has none."""
    if page.suffix == ".ipynb":
        notebook = Notebook.read(page, page.name)
        head, text = notebook.meta, notebook.markdown
    else:
        text = page.read_text(encoding="utf-8-sig")
        found = re.match(r"---\n(.*?)\n---\n", text, re.DOTALL)
        head = (yaml.safe_load(found[1]) if found else None) or {}
    heading = _HEADING.search(_FENCE.sub("", text))
    title = head.get("title") or (re.sub(r"[*`]", "", heading[1]) if heading else None)
    return str(title) if title else None


def _line(text: str, key: str) -> int | None:
    """The line where the entry of a key begins."""
    found = re.search(rf"@\w+\s*[{{(]\s*{re.escape(key)}\s*,", text)
    return 1 + text.count("\n", 0, found.start()) if found else None


def _wrong(path: Path, error: Exception, line: int | None, text: str) -> PublishError:
    words = " ".join(str(error).split())
    repeated = re.match(r"repeated bibliography entry: (\S+)", words)
    unknown = re.search(r"attribute 'format_(\w+)'", words)
    return PublishError(
        "two works have one key" if repeated else "this is no bibliography",
        place=Place(str(path), _second_line(text, repeated[1]) if repeated else line),
        expected="each key once" if repeated else "entries as BibTeX has them, with all fields of their kind",
        found=f"the kind @{unknown[1]}, which BibTeX does not have" if unknown else words,
        mend=f"mend the entry; {_SHOWN}",
    )


def _second_line(text: str, key: str) -> int | None:
    places = [
        match.start() for match in re.finditer(rf"@\w+\s*[{{(]\s*{re.escape(key)}\s*,", text, re.IGNORECASE)
    ]
    return 1 + text.count("\n", 0, places[1]) if len(places) > 1 else None
