"""The citations that stand on pages: of the page, its charts and its numbers; and what reference managers read.

All of them come from one description of the site, `Citing`. `hooks.citation.citations` writes the formats.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import unescape

from hooks.citation import citations
from hooks.citation.citations import Author, Record
from hooks.data.records import Run
from hooks.markup import escaped
from hooks.numbers.readings import Reading
from hooks.publication.ledger import Ledger, Number, permalink
from hooks.writing.pages import NumberUse

SCRIPT = "assets/cite.js"
SUFFIX = ".cite.js"
"""Ending of the file that has the citations of a page's numbers: fetched when a reader asks for the first."""

_FIGURE = re.compile(r'<figure\b(?P<attributes>[^>]*\bclass="chart"[^>]*)>.*?</figure>', re.DOTALL)
_ATTRIBUTE = re.compile(r'([\w-]+)="([^"]*)"')
_CAPTION = re.compile(r"<figcaption><strong>(.*?)\.?</strong>", re.DOTALL)
_TAG = re.compile(r"<[^>]*>")
_OWN = re.compile(r'<details class="cite" data-cite="(?!chart")')


@dataclass(frozen=True)
class Description:
    """What a host knows of the site: its name, its authors, where it stands, and where its repository does.

    `address` ends in a slash; None where it is not known. `date` is that of the build, YYYY-MM-DD.
    """

    site: str
    authors: tuple[Author, ...]
    date: str
    address: str | None = None
    elsewhere: str | None = None


@dataclass(frozen=True)
class Citing:
    """What all citations of a site share.

    Args:
        site: Its name.
        authors: Of all of it.
        address: Where it stands, ending in a slash; None where that is not known.
        elsewhere: Where its repository stands, for citations of a site without an address; None where there is none.
        version: The published version, or `unpublished`.
        date: Of that version; of an unpublished site the date that its build has. YYYY-MM-DD.
        ledger: What was published.
    """

    site: str
    authors: tuple[Author, ...]
    address: str | None
    elsewhere: str | None
    version: str
    date: str
    ledger: Ledger = field(default_factory=Ledger)

    @classmethod
    def of(cls, described: Description, version: str, ledger: Ledger) -> Citing:
        """The site in the version that its numbers have."""
        dates = {publication.version: publication.date for publication in ledger.publications}
        return cls(
            site=described.site,
            authors=described.authors,
            address=described.address,
            elsewhere=described.elsewhere,
            version=version,
            date=dates.get(version, described.date),
            ledger=ledger,
        )

    def record(
        self,
        kind: str,
        title: str,
        path: str,
        *,
        runs: Iterable[Run] = (),
        value: str | None = None,
        source: str | None = None,
        url: str | None = None,
        version: str | None = None,
        date: str | None = None,
    ) -> Record:
        """The record of something on this site.

        Args:
            kind: One of `citations.GENRES`.
            title: Of the thing itself.
            path: Its address below the site's, with the fragment.
            runs: Those that its data come from.
            value: A number's text.
            source: Where it comes from, if no run measured it.
            url: Its address, where that is not the site's and `path`.
            version: The version that it was published in, where that is not the site's.
            date: The date of that version.
        """
        several = sorted({run.id: run for run in runs}.values(), key=lambda run: run.id)
        return Record(
            kind=kind,
            title=title,
            authors=self.authors,
            site=self.site,
            version=version or self.version,
            date=date or self.date,
            url=url or (f"{self.address}{path}" if self.address else self.elsewhere),
            run_id=", ".join(run.id for run in several) or None,
            run_date=max((run.date for run in several), default=None),
            value=value,
            source=source,
        )

    def number(self, use: NumberUse, path: str) -> Record:
        """The record of a number on the page at `path`, as it stands there."""
        reading = use.reading
        version = self.ledger.version_of(Number.of(reading, use.alias))
        dates = {publication.version: publication.date for publication in self.ledger.publications}
        page = f"{self.address}{path}" if self.address else ""
        return self.record(
            "number",
            reading.title,
            path,
            runs=reading.runs,
            value=_value(reading, use.text),
            source=f"{reading.origin['title']}, {reading.origin['publisher']}" if reading.origin else None,
            url=permalink(page, reading.id, version, use.alias) if page else None,
            version=version,
            date=dates.get(version, self.date),
        )


def _value(reading: Reading, text: str) -> str:
    interval = reading.interval_text()
    return f"{text} (95 % prediction interval {interval})" if interval else text


def page_block(record: Record, html: str) -> str:
    """The page's citation, for its foot; nothing where the page has one of its own already, as that of a run has."""
    return "" if _OWN.search(html) else citations.block(record)


def runs_of_charts(html: str) -> Iterable[str]:
    """The ids of the runs that a page's charts were drawn from; those of a notebook are known by their HTML alone."""
    for figure in _FIGURE.finditer(html):
        attributes = dict(_ATTRIBUTE.findall(figure["attributes"]))
        yield from unescape(attributes.get("data-run", "")).split()


def with_charts(citing: Citing, path: str, html: str, runs: Mapping[str, Run]) -> str:
    """The page's HTML with a citation in each chart's figure."""

    def cited(match: re.Match[str]) -> str:
        attributes = {name: unescape(value) for name, value in _ATTRIBUTE.findall(match["attributes"])}
        caption = _CAPTION.search(match[0])
        if caption is None or "id" not in attributes:
            return match[0]
        record = citing.record(
            "chart",
            unescape(_TAG.sub("", caption[1])),
            f"{path}#{attributes['id']}",
            runs=_runs_of(attributes, runs),
        )
        return match[0].replace("<figcaption>", f"{citations.block(record)}<figcaption>", 1)

    return _FIGURE.sub(cited, html)


def _runs_of(attributes: Mapping[str, str], runs: Mapping[str, Run]) -> list[Run]:
    """The runs of a chart. A notebook's own picture does not know them: it is of the page's run, where there is one."""
    known = attributes.get("data-run", "").split()
    if not known and attributes["id"].startswith("chart-cell-") and len(runs) == 1:
        return list(runs.values())
    return [runs[id_] for id_ in known if id_ in runs]


def numbers_file(citing: Citing, path: str, uses: Sequence[NumberUse], anchors: set[str]) -> str | None:
    """The script that has the citations of a page's numbers by anchor, in every format; None where there is none.

    A script that sets a value can be loaded from a file, too, where a browser fetches nothing else.
    """
    found: dict[str, dict[str, str]] = {}
    for use in uses:
        reading = use.reading
        anchor = f"n-{reading.id}{f':{use.alias}' if use.alias else ''}"
        if anchor in anchors and anchor not in found and not reading.refusal:
            record = citing.number(use, path)
            found[anchor] = {
                **citations.texts(record),
                "name": record.name,
                "run": " ".join(run.id for run in reading.runs),
            }
    if not found:
        return None
    text = json.dumps(found, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return f"document.currentScript.citations={text}\n"


def meta_tags(record: Record, description: str | None = None) -> str:
    """The page's description for reference managers and Google Scholar: Highwire's tags, as of a technical report.

    Other vocabularies are left out on purpose: beside Dublin Core, Zotero takes a page for something else, and a
    title without an institution for an article in a journal.
    """
    tags = [
        ("title", record.full_title),
        # A semicolon would end one name and begin the next.
        *(("author", author.inverted.replace(";", ",")) for author in record.authors),
        ("publication_date", record.date.replace("-", "/")),
        ("technical_report_institution", record.site),
        ("technical_report_number", record.version_words),
        ("language", "en"),
        ("abstract", description),
        ("public_url", record.url),
        ("fulltext_html_url", record.url),
    ]
    return "".join(
        f'<meta name="citation_{name}" content="{escaped(citations.line(content))}">'
        for name, content in tags
        if content and citations.line(content)
    )
