"""Citations of the site's own parts: one record, and the formats it is written in. Looks nothing up, writes no file.

A record describes a page, a chart, a number, a run, a quantity or the data. `apa`, `bibtex`, `ris` and `csl_json` are
pure. `block` is the HTML in which a reader finds all four. docs/reference/citing.md shows them.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from hooks.citation.tex import tex
from hooks.markup import escaped

UNPUBLISHED = "unpublished"
"""The version of a site that was never published."""

GENRES = {
    "page": "Web page",
    "chart": "Chart",
    "number": "Value",
    "quantity": "Quantity",
    "run": "Measured run",
    "dataset": "Data set",
}
"""What a record can describe, and how a citation calls it."""

_DATA = {"run", "dataset"}
_THING = GENRES | {"page": "page", "number": "number", "run": "run", "dataset": "data set"}


@dataclass(frozen=True)
class Author:
    """A person with a family name, or a body that has one `name` alone."""

    name: str
    given: str | None = None

    @property
    def is_person(self) -> bool:
        """Whether `name` is a family name."""
        return self.given is not None

    @property
    def inverted(self) -> str:
        """The name as lists sort it: `Curie, Marie`."""
        return f"{line(self.name)}, {line(self.given)}" if self.given is not None else line(self.name)


@dataclass(frozen=True)
class Record:
    """What is cited.

    Args:
        kind: One of `GENRES`.
        title: Of the thing itself; of a number, what it is.
        authors: Of the site.
        site: Its name.
        version: The published version, or `UNPUBLISHED`.
        date: Of that version, YYYY-MM-DD.
        url: Where it stands; None where the site's address is not known.
        run_id: The run that its data come from; several are joined by `, `.
        run_date: When that run was complete, YYYY-MM-DD; of several, the newest.
        value: A number's text as published, with its interval.
        source: Where a number that no run measured comes from: a title and who published it.

    Raises:
        ValueError: The kind is unknown, the date is none, or a title or name is empty.
    """

    kind: str
    title: str
    authors: tuple[Author, ...]
    site: str
    version: str
    date: str
    url: str | None = None
    run_id: str | None = None
    run_date: str | None = None
    value: str | None = None
    source: str | None = None

    def __post_init__(self) -> None:
        if self.kind not in GENRES:
            raise ValueError(f"kind: expected {', '.join(GENRES)}; found {self.kind}")
        date.fromisoformat(self.date)
        texts = (self.title, self.site, self.version, *(author.name for author in self.authors))
        if not self.authors or not all(map(line, texts)):
            raise ValueError(f"a record needs a title, a site, a version and authors; found {texts}")

    @property
    def full_title(self) -> str:
        """The title in one line; with a number's value, since every style prints the title."""
        return f"{line(self.title)}: {line(self.value)}" if self.value else line(self.title)

    @property
    def genre(self) -> str:
        """What kind of thing it is, in words."""
        return GENRES[self.kind]

    @property
    def version_words(self) -> str:
        """The version as a text names it."""
        return "unpublished version" if self.version == UNPUBLISHED else f"version {line(self.version)}"

    @property
    def data_words(self) -> str | None:
        """What it rests on, the run and its date or another's work: a reader who cites the site must not lose them."""
        if not self.run_id:
            return f"Data: {line(self.source)}" if self.source else None
        several = "runs" if "," in self.run_id else "run"
        measured = f", measured {self.run_date}" if self.run_date else ""
        return f"Data: {several} {line(self.run_id)}{measured}"

    @property
    def name(self) -> str:
        """A short name in ASCII: the key of its entry, and the name of its files."""
        words = _slug(self.title) or self.kind
        return f"{_slug(self.site) or 'site'}-{self.date[:4]}-{words}"


def apa(record: Record) -> str:
    """The record as a line of text in the manner of the APA: names, date, title, what it is, site, data, address."""
    names = [_apa_name(author) for author in record.authors]
    if len(names) > 1:
        names[-1] = f"& {names[-1]}"
    day = date.fromisoformat(record.date)
    what = f"[{record.genre}; {record.version_words}]"
    parts = [
        ", ".join(names),
        f"({day.year}, {day:%B} {day.day})",
        f"{record.full_title} {what}",
        line(record.site),
        record.data_words,
    ]
    text = " ".join(part if part[-1] in ".?!" else f"{part}." for part in parts if part)
    return f"{text} {record.url}" if record.url else text


def bibtex(record: Record) -> str:
    """The record as an entry for BibTeX and biblatex, in UTF-8."""
    day = date.fromisoformat(record.date)
    fields = {
        "author": " and ".join(_bibtex_name(author) for author in record.authors),
        "title": _braced(record.full_title),
        "type": tex(record.genre),
        "institution": _braced(line(record.site)),
        "number": tex(record.version_words),
        "year": str(day.year),
        "month": f"{day:%b}".lower(),
        "note": tex(record.data_words) if record.data_words else None,
        "url": _address(record.url) if record.url else None,
    }
    lines = [
        f"  {name} = {value}" if name == "month" else f"  {name} = {{{value}}}"
        for name, value in fields.items()
        if value is not None
    ]
    return f"@techreport{{{record.name},\n" + ",\n".join(lines) + "\n}\n"


def ris(record: Record) -> str:
    """The record in RIS, as reference managers import it."""
    lines = [
        ("TY", "DATA" if record.kind in _DATA else "RPRT"),
        ("ID", record.name),
        *(("AU", author.inverted) for author in record.authors),
        ("TI", record.full_title),
        ("PY", record.date[:4]),
        ("DA", record.date.replace("-", "/")),
        ("PB", line(record.site)),
        ("ET", record.version_words),
        ("M3", record.genre),
        ("N1", record.data_words),
        ("LA", "en"),
        ("UR", _address(record.url) if record.url else None),
        ("ER", ""),
    ]
    return "".join(f"{tag}  - {value}\n" for tag, value in lines if value is not None)


_JSON = json.JSONEncoder(ensure_ascii=False)  # `json.dumps` makes one for each value


def csl_json(record: Record) -> str:
    """The record as CSL-JSON: a list of one item."""
    item = {
        "id": record.name,
        "type": "dataset" if record.kind in _DATA else "report",
        "title": record.full_title,
        "author": [
            {"family": line(author.name), "given": line(author.given)}
            if author.given is not None
            else {"literal": line(author.name)}
            for author in record.authors
        ],
        "issued": {"date-parts": [[int(part) for part in record.date.split("-")]]},
        "publisher": line(record.site),
        "version": line(record.version),
        "genre": record.genre,
        "language": "en",
        "note": record.data_words,
        "URL": _address(record.url) if record.url else None,
    }
    lines = (f"  {_JSON.encode(key)}: {_JSON.encode(value)}" for key, value in item.items() if value)
    return "[\n {\n" + ",\n".join(lines) + "\n }\n]\n"


FORMATS = {
    "apa": ("Text", ".txt", "text/plain", apa),
    "bibtex": ("BibTeX", ".bib", "application/x-bibtex", bibtex),
    "ris": ("RIS", ".ris", "application/x-research-info-systems", ris),
    "csl-json": ("CSL-JSON", ".json", "application/vnd.citationstyles.csl+json", csl_json),
}
"""Each format by its name: its heading, the ending of its file, its media type, and what writes it."""


def texts(record: Record) -> Mapping[str, str]:
    """The record in every format."""
    return {name: write(record) for name, (_, _, _, write) in FORMATS.items()}


def block(record: Record) -> str:
    """The HTML in which a reader finds the record in every format.

    Without scripts it is opened, selected and copied from; assets/cite.js adds buttons that copy and download.
    """
    shown = "".join(
        f'<div class="cite-format" data-format="{name}" data-file="{escaped(record.name)}{ending}" '
        f'data-type="{media}"><span class="cite-name">{heading}</span>'
        f'<pre class="cite-text" dir="auto" tabindex="0">{escaped(text)}</pre></div>'
        for (name, text), (heading, ending, media, _) in zip(
            texts(record).items(), FORMATS.values(), strict=True
        )
    )
    thing = _THING[record.kind].lower()
    lacking = "" if record.url else f'<p class="cite-note">{_NO_ADDRESS}</p>'
    return (
        f'<details class="cite" data-cite="{record.kind}" data-search-exclude>'
        f"<summary>Cite this {thing}</summary>{lacking}{shown}</details>"
    )


_NO_ADDRESS = "This copy of the site was built without its address, so its citations have none."


_NO_TEXT = re.compile(
    "[\0-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ud800-\udfff"
    + "".join(chr(plane << 16 | last) for plane in range(17) for last in (0xFFFE, 0xFFFF))
    + "]"
)
"""Control characters that are no white space, halves of surrogate pairs, and places without a character."""


def line(text: str) -> str:
    """Text in one line: every run of white space is one space, and control characters are gone."""
    return " ".join(_NO_TEXT.sub("\N{REPLACEMENT CHARACTER}", text).split())


def _slug(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return "-".join(re.findall("[a-z0-9]+", plain))[:60].strip("-")


def _apa_name(author: Author) -> str:
    if author.given is None:
        return line(author.name)
    initials = " ".join(f"{part[0]}." for part in line(author.given).split())
    return f"{line(author.name)}, {initials}" if initials else line(author.name)


def _braced(text: str) -> str:
    """Text in braces of its own: styles leave its capitals as they are, and a name is not cut into parts."""
    return f"{{{tex(text)}}}"


def _bibtex_name(author: Author) -> str:
    if author.given is None:
        return _braced(line(author.name))
    return f"{_braced(line(author.name))}, {_braced(line(author.given))}"


def _address(url: str) -> str:
    """An address in which nothing has a meaning in BibTeX or RIS: what has is written as its code."""
    return re.sub(
        r"[\\{}%\s\"<>;|^`](?![0-9A-Fa-f]{2})", lambda m: "".join(f"%{b:02X}" for b in m[0].encode()), url
    )
