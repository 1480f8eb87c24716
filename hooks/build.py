"""One build of the site: its pages' states, what they published, all that is wrong. Knows no MkDocs.

A host opens a build, names its notebooks, announces each page before it renders it, and has the build `take` all that
was rendered and `settle` and `complete` page by page. Pictures and notebooks are made meanwhile by other processes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from hooks.caching import quantiles
from hooks.caching.cache import Cache, of_environment
from hooks.caching.rendered import Shelf, basis
from hooks.catalogue.catalogue import QUANTITIES, RUNS, Catalogue
from hooks.citation import backlinks, page_ends
from hooks.citation.backlinks import SitePage
from hooks.citation.citing import Citing, Description
from hooks.errors import Place, PublishError
from hooks.extension import Site, SplicedExtension
from hooks.files import replace_text
from hooks.jupyter.execution import Execution, environment
from hooks.jupyter.notebooks import Notebooks
from hooks.leftovers import error as leftover_error
from hooks.leftovers import find_in_page
from hooks.output import other_forms, theme
from hooks.output.other_forms import Outline
from hooks.output.policy import write as write_policy
from hooks.pictures import explorer
from hooks.pictures.gallery import Gallery
from hooks.pictures.painter import Painter
from hooks.publication import committed, former, ledger_file, published, stated
from hooks.publication.ledger import Ledger, Number
from hooks.publication.published import dump
from hooks.switching import machines, switch
from hooks.writing.forms import plain_text
from hooks.writing.pages import PageState

PUBLISHED = published.FILE
LAST_GOOD = "last-good.json"
FRAMES = (QUANTITIES, RUNS)
"""The pages whose frames the catalogue's own pages stand in."""


@dataclass
class Build:
    """What a build knows. `memory` is the folder that outlives builds: .build/."""

    site: Site
    memory: Path
    kept: Cache = field(default_factory=lambda: Cache(None))
    painter: Painter = field(default_factory=lambda: Painter(Cache(None)))
    notebooks: Notebooks = field(default_factory=Notebooks)
    basis: Callable[[], str] = lambda: ""
    shelf: Shelf = field(default_factory=lambda: Shelf(Cache(None), "", {}, {}))
    pages: dict[str, PageState] = field(default_factory=dict)
    drawn: dict[str, str] = field(default_factory=dict)
    extension: SplicedExtension = field(default_factory=SplicedExtension)
    description: Description | None = None
    ledger: Ledger = field(default_factory=Ledger)
    gone: tuple[PublishError, ...] = ()
    owns_painter: bool = True
    catalogued: bool = False
    catalogue: Catalogue | None = None
    _contents: dict[str, str] = field(default_factory=dict)
    _ends: page_ends.Ends | None = None
    _as_markdown: Callable[[SitePage], tuple[str, str]] = lambda page: ("", page.html)
    _settled: list[SitePage] = field(default_factory=list)
    _heads: dict[str, str] = field(default_factory=dict)
    _unfinished: dict[str, str] = field(default_factory=dict)
    _written: dict[str, str] = field(default_factory=dict)
    _numbers: tuple[int, tuple[Number, ...]] | None = None
    _frames: dict[str, str] = field(default_factory=dict)

    @classmethod
    def open(
        cls,
        site_data: Path,
        quantities: Path,
        memory: Path,
        site_dir: Path,
        cache: Path | None = None,
        settings: Sequence[Any] = (),
        painter: Painter | None = None,
        lent: bool = False,
        execution: Execution | None = None,
    ) -> Build:
        """Read the data, and what was published last.

        Args:
            site_data: The data.
            quantities: quantities.toml.
            memory: The folder that outlives builds.
            site_dir: Where the site of the last build may be.
            cache: Where results are kept between builds; None keeps none.
            settings: JSON values on which rendered pages depend, beside the data and what lies beside quantities.toml.
            painter: One over the same cache, which may have begun already.
            lent: Whether the painter outlives the build.
            execution: A process for notebooks that may have begun already.

        Raises:
            PublishError: The data or quantities.toml are not as they should be.
        """
        kept = Cache(cache)
        painter = painter or Painter(kept)
        quantiles.recall(kept)
        site = Site.open(site_data, quantities, kept, quantities.parent / "glossary.md")
        site.gallery = Gallery(kept, painter)
        site.choices = machines.choices(site.book)
        for path in (memory / LAST_GOOD, site_dir / PUBLISHED):
            if path.is_file():
                site.published = published.texts(json.loads(path.read_text(encoding="utf-8")))
                break
        notebooks = Notebooks(
            site.book, kept, lambda: environment(memory, site_data, quantities, cache), execution
        )
        made_of = partial(basis, site_data, quantities.parent, *settings)
        books = {choice.book.name: choice.book for choice in site.choices} | {site.book.name: site.book}
        shelf = Shelf(kept, made_of(), books, site.book.store.runs)
        build = cls(site, memory, kept, painter, notebooks, made_of, shelf)
        build.owns_painter = not lent
        build.extension.site = site
        build.ledger = stated.open_ledger(site.book)
        ledger_file.refuse_loss(site_data, filter(None, [committed.text(site_data / ledger_file.FILE)]))
        build.gone = tuple(former.vanished(build.ledger, site.book.definitions, site.book.store))
        return build

    def begin(self, uri: str, file: str, source: str, first_line: int = 1) -> PageState:
        """Announce the page that is rendered next."""
        page = PageState(file=file, uri=uri, catalogued=self.catalogued)
        page.begin(source, first_line)
        self.pages[uri] = page
        self.extension.page = page
        return page

    def end(self) -> None:
        """The announced page is rendered."""
        self.extension.page = None

    def take(self, contents: Mapping[str, str]) -> None:
        """Take the HTML of all rendered pages, by URI; what cells print is put into it as notebooks end."""
        self._contents = dict(contents)
        for uri, html in contents.items():
            self.page(uri).drawn = published.drawn(html)

    def collect(self, until: Collection[str] = ()) -> None:
        """Put into pages what notebooks have printed meanwhile, and begin to paint what they drew.

        Args:
            until: Pages; wait for those of them that are notebooks which still run.
        """
        for uri, made in self.notebooks.ended(until):
            notebook, html = self.notebooks.notebook(uri), self._contents.get(uri)
            if html is None:
                continue
            if isinstance(made, PublishError):
                self.page(uri).errors.append(made)
            elif notebook is not None:
                take, files = self.site.gallery.take, self.site.files
                cells = {number: take(explorer.place(each, uri, files)) for number, each in made.items()}
                self._contents[uri] = notebook.fill(html, cells)
                self.page(uri).drawn = published.drawn(self._contents[uri])

    @cached_property
    def version(self) -> str:
        """The published version that the data make the site, or `unpublished`."""
        return stated.version(self.site.book, self.ledger)

    @property
    def numbers(self) -> tuple[Number, ...]:
        """Every number that the site states, on the pages that are rendered or on its own."""
        uses = [use for page in self.pages.values() for use in page.numbers]
        if self._numbers is None or self._numbers[0] != len(uses):
            self._numbers = len(uses), stated.numbers(self.site.book, uses)
        return self._numbers[1]

    @cached_property
    def citing(self) -> Citing | None:
        """What the citations of this site share; None where the host has not described it."""
        if self.description is None:
            return None
        return Citing.of(self.description, self.version, self.ledger)

    def survey(self, pages: Sequence[SitePage], outline: Outline) -> None:
        """Note what all pages say together: who cites whom, and what the catalogue, the feeds and the histories list.

        Args:
            pages: All pages of the site, those of notebooks without what their cells print.
            outline: What is known of them together.
        """
        if self.citing is None or self.description is None:
            return
        runs, described = self.site.book.store.runs, outline.described
        pages = [replace(page, explained=page_ends.explained(self.page(page.uri))) for page in pages]
        self._ends = page_ends.Ends(backlinks.find(pages), self.pages, described, runs, self.citing)
        paths = frozenset(other_forms.html_path(page.url) for page in pages)
        if self.catalogued:
            titles = {page.uri: page.title for page in pages}
            try:
                self.catalogue = Catalogue(self.site.book, self.kept, self.pages, titles, self.citing)
                paths |= frozenset(self.catalogue.paths)
            except PublishError as error:
                self._without_catalogue(error)
        self.site.files |= other_forms.make(
            pages, outline, self.description, self.version, self.ledger, self.numbers, self.site.book
        )
        self._as_markdown = partial(
            other_forms.markdown,
            outline=outline,
            site=self.description,
            version=self.version,
            paths=paths,
            kept=self.kept,
        )

    def settle(self, page: SitePage) -> str:
        """The page's HTML with all that stands on it but pictures.

        Added are what cells print (if it is a notebook that still runs, this waits for its end), how the page is
        cited and who cites it, the lists of the catalogue and the links to the page's own data.
        """
        self.collect(until=[page.uri])
        page = replace(page, html=self._contents.get(page.uri, page.html))
        if self._ends is None or self.page(page.uri).errors:
            return page.html
        end = self._ends.of(page)
        self._heads[page.uri] = end.tags + other_forms.head(page.url)
        self.site.files.update([end.script] if end.script else [])
        page = replace(page, html=end.html)
        if self.catalogue is not None:
            try:
                page = replace(page, html=self.catalogue.complete(page.uri, page.html, self.site.files))
            except PublishError as error:
                self._without_catalogue(error)
        self._settled.append(page)
        return page.html

    def _without_catalogue(self, error: PublishError) -> None:
        self.catalogue = None
        self.page(QUANTITIES).errors.append(error)

    def page(self, uri: str) -> PageState:
        """The state of a page, announced or not."""
        return self.pages.setdefault(uri, PageState(file=uri, uri=uri))

    def close(self) -> None:
        """End the processes beside the build."""
        self.notebooks.close()
        if self.owns_painter:
            self.painter.close()

    def draw(self, name: str, job: str) -> None:
        """Begin on a PNG file of the site; `job` is what `painting.png_job` says."""
        self.drawn[name] = job
        self.painter.start(job, "png")

    def plain(self, uri: str, text: str) -> str:
        """A page's title or description as HTML, as themes take it: placeholders in their plain form, escaped."""
        page = self.pages[uri]
        return plain_text(text, self.site, page, Place(page.file))

    def check_output(self, uri: str, html: str) -> None:
        """Note an error for braces left in the finished page, titles and meta tags included."""
        page = self.page(uri)
        if not page.errors:
            page.errors += [leftover_error(text, page) for text in find_in_page(html)]

    def complete(self, uri: str, html: str) -> str:
        """The whole page with its pictures, checked.

        While any are being painted it is left as it is for `last`, so that no page waits for those of another.
        """
        self.collect()
        self.check_output(uri, html)
        html = html.replace("</head>", f"{self._heads.get(uri, '')}</head>", 1)
        if self.painter.busy and uri not in FRAMES:
            self._unfinished[uri] = html
            return html
        return self._finished(uri, html)

    def last(self) -> Iterator[tuple[str, str]]:
        """The pages that were left without pictures, by URI, with them; waits for the pictures."""
        for uri, html in self._unfinished.items():
            yield uri, self._finished(uri, html)

    def _finished(self, uri: str, html: str) -> str:
        page, fill = self.page(uri), self.site.gallery.fill
        try:
            for run_id in page.patches:
                self.site.files[switch.path(uri, run_id)] = switch.script(page, run_id, fill)
            finished = theme.valid(fill(html))
            if uri in FRAMES:
                self._frames[uri] = finished
            return finished
        except PublishError as error:
            page.errors.append(error.at(Place(page.file)))
            return html

    @property
    def errors(self) -> tuple[PublishError, ...]:
        """All that must not be published, page by page in the order of lines; damaged runs last."""
        found = [error for page in self.pages.values() for error in page.sorted_errors]
        return (*found, *self.site.book.store.incomplete, *self.gone)

    @property
    def unchecked(self) -> list[str]:
        """Claims that rest on a refusal, one line each."""
        return [
            f"{page.file}: “{claim.sentence}” is not yet checked ({claim.expression}): {claim.reason}"
            for page in self.pages.values()
            for claim in page.claims
            if claim.held is None
        ]

    @property
    def untrue_elsewhere(self) -> list[str]:
        """Claims that do not hold on another machine that pages can show, one line each."""
        return [line for page in self.pages.values() for line in page.untrue_elsewhere]

    def published(self) -> dict[str, Any]:
        """For each page the numbers, claims and charts on it, as they stand in this build."""
        unasked = {
            run.id: f"{run.model}, plan {run.plan}, {run.weights}{_switched(run.id, self.site)}"
            for run in self.site.book.unasked()
        }
        return published.document(self.pages, self.numbers, self.version, unasked)

    def remember(self, *, good: bool, text: str | None = None) -> None:
        """Leave published.json in `memory`, also after a failed build; a good one is what later ones compare with."""
        text = text or dump(self.published())
        replace_text(self.memory / PUBLISHED, text)
        if good:
            replace_text(self.memory / LAST_GOOD, text)
            self.site.gallery.keep()
            # Otherwise something was saved meanwhile, and who knows which page has it.
            if self.basis() == self.shelf.basis:
                self.shelf.keep()
            quantiles.keep(self.kept)
            for kept in (self.kept, of_environment(self.kept)):
                kept.prune()

    def write(self, site_dir: Path, *, painted: bool) -> None:
        """Write what pages link to, their Markdown, data of charts and the catalogue, as far as made and not written.

        Hosts call it while they would else wait for notebooks and pictures.

        Args:
            site_dir: The folder of the site.
            painted: Whether to write what is painted, too, and to wait for it.
        """
        self.site.files.update(map(self._as_markdown, self._settled))
        self._settled.clear()
        files = {name: text for name, text in self.site.files.items() if self._written.get(name) != text}
        explored = [name for name in files if name.endswith(explorer.SUFFIX)]
        if not painted:
            files = {name: text for name, text in files.items() if name not in explored}
        self._written |= files
        if painted and explored:
            self.painter.start(explorer.SNIPPET, "bundle")
            files |= {name: self.site.gallery.explorer(files[name]) for name in explored}
            files[explorer.script_path()] = explorer.script(self.painter)
        for name, content in files.items():
            path = site_dir / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8", newline="")
        if painted:
            for name, job in self.drawn.items():
                path = site_dir / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(self.painter.png(job))
            self.drawn.clear()
        if self.catalogue is not None:
            self.catalogue.write_archives(site_dir)
            if len(self._frames) == len(FRAMES):
                self.catalogue.write(site_dir, self._frames)
                self._frames.clear()

    def end_site(self, site_dir: Path, text: str) -> None:
        """Write what is left, published.json, which has this text, and what hosts read."""
        self.site.files[PUBLISHED] = text
        self.write(site_dir, painted=True)
        write_policy(site_dir)


def _switched(run_id: str, site: Site) -> str:
    shown = any(choice.run.id == run_id for choice in site.choices)
    return "; the switch of each page shows it" if shown else ""
