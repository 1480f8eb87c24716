"""What a build published, as published.json says it. Compares nothing, reads nothing.

For each page its numbers, claims and charts; then every number of the site, whatever the page; then the pages' sources.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from html import unescape
from typing import Any

from hooks.caching.cache import digest
from hooks.publication.ledger import Number
from hooks.writing import claims
from hooks.writing.pages import NumberUse, PageState

FILE = "published.json"
VERSION = 1

_FIGURE = re.compile(r"<figure\b(?P<attributes>[^>]*)>(?P<inside>.*?)</figure>", re.DOTALL)
_ID = re.compile(r'\sid="([^"]*)"')
_CAPTION = re.compile(r'<figcaption>(.*?)(?:<span class="chart-note">|</figcaption>)', re.DOTALL)
_TABLE = re.compile(r"<table>.*?</table>", re.DOTALL)
_TAG = re.compile(r"<[^>]*>")


def document(
    pages: Mapping[str, PageState], numbers: Iterable[Number], version: str, unasked: Mapping[str, str]
) -> dict[str, Any]:
    """All of it.

    Args:
        pages: What is known of each page, by URI.
        numbers: Every number of the site.
        version: The version that they make it.
        unasked: Runs that no page can use, and what they are.
    """
    ordered = sorted(pages.items())
    return {
        "version": VERSION,
        "published": version,
        "pages": {uri: _page(page) for uri, page in ordered if page.numbers or page.claims},
        "numbers": [asdict(number) for number in numbers],
        "sources": {uri: digest("source", page.source)[:16] for uri, page in ordered if page.source},
        "unasked_runs": dict(unasked),
    }


def dump(published: Mapping[str, Any]) -> str:
    """published.json's text; the same for the same content."""
    return json.dumps(published, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def texts(published: Mapping[str, Any]) -> dict[str, str]:
    """Texts by id, and by id and alias where a page asks for another run."""
    return {
        claims.key(number["id"], number["alias"]): number["text"]
        for page in published.get("pages", {}).values()
        for number in page["quantities"]
    }


def drawn(html: str) -> tuple[dict[str, str], ...]:
    """The charts on a page, from its HTML: the id of each, its title and finding, and a hash of its data."""
    found = []
    for figure in _FIGURE.finditer(html):
        id_ = _ID.search(figure["attributes"])
        if id_ is None or 'class="chart' not in figure["attributes"]:
            continue
        caption, table = _CAPTION.search(figure["inside"]), _TABLE.search(figure["inside"])
        words = " ".join(unescape(_TAG.sub("", caption[1])).split()) if caption else ""
        data = digest("chart-data", table[0] if table else "")[:16]
        found.append({"id": id_[1], "caption": words, "data": data})
    return tuple(found)


def _page(page: PageState) -> dict[str, Any]:
    numbers: dict[tuple[str, str | None], dict[str, Any]] = {}
    for use in page.numbers:
        numbers.setdefault((use.reading.id, use.alias), _number(use))
    return {
        "quantities": list(numbers.values()),
        "claims": [
            {
                "expression": claim.expression,
                "sentence": claim.sentence,
                "held": claim.held,
                "values": claim.values,
            }
            for claim in page.claims
        ],
        "charts": page.charts,
        "drawn": list(page.drawn),
    }


def _number(use: NumberUse) -> dict[str, Any]:
    reading = use.reading
    return {
        "id": reading.id,
        "alias": use.alias,
        "title": reading.title,
        "value": reading.value,
        "low": reading.low,
        "high": reading.high,
        "unit": reading.unit,
        "text": use.text,
        "interval": reading.interval_text(),
        "run": " ".join(run.id for run in reading.runs) or None,
        "refusal": reading.refusal.kind if reading.refusal else None,
    }
