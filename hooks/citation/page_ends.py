"""What stands at the end of every page: who cites it, and how it is cited; and in its head, for reference managers.

It is made once all pages are rendered, since the links of all of them count, and the version of the site rests on all
numbers. A page's own end waits for all that the page shows, such as the pictures that cells draw. Knows no MkDocs.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hooks.citation import backlinks, citing
from hooks.citation.backlinks import SitePage
from hooks.citation.citing import Citing
from hooks.data.records import Run
from hooks.markup import escaped
from hooks.writing.pages import PageState


@dataclass(frozen=True)
class PageEnd:
    """A finished page's content, the tags for its head, and its script of citations: path in the site and text."""

    html: str
    tags: str
    script: tuple[str, str] | None


def explained(page: PageState) -> Mapping[str, int]:
    """How many of a page's numbers each note explains."""
    notes = {(use.reading.id, use.alias): use.reading.note for use in page.numbers}
    found: dict[str, int] = {}
    for note in notes.values():
        if note:
            found[note] = found.get(note, 0) + 1
    return found


@dataclass(frozen=True)
class Ends:
    """The ends of a site's pages.

    Args:
        links: The pages that cite each, by its URI.
        states: What is known of those that state something.
        described: Descriptions of pages, by URI, of those that have one.
        runs: All runs by id.
        site: What their citations share.
    """

    links: Mapping[str, Sequence[backlinks.Backlink]]
    states: Mapping[str, PageState]
    described: Mapping[str, str]
    runs: Mapping[str, Run]
    site: Citing

    def of(self, page: SitePage) -> PageEnd:
        """The end of a page, from all that it shows."""
        uri = page.uri
        links = self.links.get(uri, ())
        return _end(page, self.states.get(uri), self.described.get(uri), links, self.runs, self.site)


def _end(
    page: SitePage,
    state: PageState | None,
    description: str | None,
    links: Sequence[backlinks.Backlink],
    runs: Mapping[str, Run],
    site: Citing,
) -> PageEnd:
    numbers = state.numbers if state else []
    used = {run.id: run for use in numbers for run in use.reading.runs}
    used |= {id_: runs[id_] for id_ in citing.runs_of_charts(page.html) if id_ in runs}
    record = site.record("page", page.title, page.url, runs=used.values())
    script = citing.numbers_file(site, page.url, numbers, state.anchors) if state else None
    path = f"{page.url.removesuffix('.html')}{'index' * page.url.endswith('/')}{citing.SUFFIX}"
    named = f' data-numbers="{escaped(posixpath.basename(path))}"' if script else ""
    content = citing.with_charts(site, page.url, page.html, used)
    end = f"{backlinks.html(links, page.url)}{citing.page_block(record, content)}"
    return PageEnd(
        html=f'{content}\n<div class="page-end" data-script="{citing.SCRIPT}"{named}>{end}</div>',
        tags=citing.meta_tags(record, description),
        script=(path, script) if script else None,
    )
