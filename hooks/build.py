"""One build of the site: its pages' states, what they published, all that is wrong. Knows no MkDocs.

A host opens a build, names its notebooks, announces each page before it renders it, has `finish` complete what
was rendered, and ends with `errors` and `published`. Pictures and notebooks are made meanwhile by other processes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from hooks import claims, estimates, execution, explorer
from hooks.cache import Cache, digest
from hooks.errors import Place, PublishError
from hooks.extension import Site, SplicedExtension
from hooks.files import replace_text
from hooks.forms import plain_text
from hooks.gallery import Gallery
from hooks.leftovers import error as leftover_error
from hooks.leftovers import find_in_page
from hooks.notebooks import Notebooks
from hooks.pages import NumberUse, PageState
from hooks.painter import Painter
from hooks.policy import write as write_policy

PUBLISHED = "published.json"
LAST_GOOD = "last-good.json"
VERSION = 1


@dataclass
class Build:
    """What a build knows. `memory` is the folder that outlives builds: .build/."""

    site: Site
    memory: Path
    kept: Cache = field(default_factory=lambda: Cache(None))
    painter: Painter = field(default_factory=lambda: Painter(Cache(None)))
    notebooks: Notebooks = field(default_factory=Notebooks)
    state: str = ""
    pages: dict[str, PageState] = field(default_factory=dict)
    extension: SplicedExtension = field(default_factory=SplicedExtension)

    @classmethod
    def open(
        cls, site_data: Path, quantities: Path, memory: Path, site_dir: Path, cache: Path | None = None
    ) -> Build:
        """Read the data, and what was published last.

        Args:
            site_data: The data.
            quantities: quantities.toml.
            memory: The folder that outlives builds.
            site_dir: Where the site of the last build may be.
            cache: Where results are kept between builds; None keeps none.

        Raises:
            PublishError: The data or quantities.toml are not as they should be.
        """
        kept = Cache(cache)
        painter = Painter(kept)
        state = _state(site_data, quantities)
        if kept.get("state", "last") != state:
            painter.warm()
        estimates.QUANTILES.update(kept.get("quantiles", _quantiles_key()) or {})
        site = Site.open(site_data, quantities, kept, quantities.parent / "glossary.md")
        site.gallery = Gallery(kept, painter)
        for path in (memory / LAST_GOOD, site_dir / PUBLISHED):
            if path.is_file():
                site.published = _texts(json.loads(path.read_text(encoding="utf-8")))
                break
        notebooks = Notebooks(
            site.book, kept, lambda: execution.environment(memory / "ipython", site_data, quantities, cache)
        )
        build = cls(site, memory, kept, painter, notebooks, state)
        build.extension.site = site
        return build

    def begin(self, uri: str, file: str, source: str, first_line: int = 1) -> PageState:
        """Announce the page that is rendered next."""
        page = PageState(file=file, uri=uri)
        page.begin(source, first_line)
        self.pages[uri] = page
        self.extension.page = page
        return page

    def end(self) -> None:
        """The announced page is rendered."""
        self.extension.page = None

    def finish(self, contents: Mapping[str, str]) -> dict[str, str]:
        """The pages' HTML by URI with the outputs of notebooks in place; waits for them."""
        outputs = self.notebooks.outputs()
        filled = dict(contents)
        for uri in contents.keys() & outputs.keys():
            made, notebook = outputs[uri], self.notebooks.notebook(uri)
            if isinstance(made, PublishError):
                self.page(uri).errors.append(made)
            elif notebook is not None:
                take, files = self.site.gallery.take, self.site.files
                cells = {number: take(explorer.place(html, uri, files)) for number, html in made.items()}
                filled[uri] = notebook.fill(contents[uri], cells)
        return filled

    def page(self, uri: str) -> PageState:
        """The state of a page, announced or not."""
        return self.pages.setdefault(uri, PageState(file=uri, uri=uri))

    def close(self) -> None:
        """End the processes beside the build."""
        self.notebooks.close()
        self.painter.close()

    def plain(self, uri: str, text: str) -> str:
        """A page's title or description with every placeholder in its plain form."""
        page = self.pages[uri]
        return plain_text(text, self.site, page, Place(page.file))

    def check_output(self, uri: str, html: str) -> None:
        """Note an error for braces left in the finished page, titles and meta tags included."""
        page = self.page(uri)
        if not page.errors:
            page.errors += [leftover_error(text, page) for text in find_in_page(html)]

    def complete(self, uri: str, html: str) -> str:
        """The finished page with its pictures, checked; waits for them."""
        self.check_output(uri, html)
        try:
            return self.site.gallery.fill(html)
        except PublishError as error:
            self.page(uri).errors.append(error.at(Place(self.page(uri).file)))
            return html

    @property
    def errors(self) -> tuple[PublishError, ...]:
        """All that must not be published, page by page in the order of lines; damaged runs last."""
        found = [error for page in self.pages.values() for error in page.sorted_errors]
        return (*found, *self.site.book.store.incomplete)

    @property
    def unchecked(self) -> list[str]:
        """Claims that rest on a refusal, one line each."""
        return [
            f"{page.file}: “{claim.sentence}” is not yet checked ({claim.expression}): {claim.reason}"
            for page in self.pages.values()
            for claim in page.claims
            if claim.held is None
        ]

    def published(self) -> dict[str, Any]:
        """For each page the numbers, claims and charts on it, as they stand in this build."""
        return {
            "version": VERSION,
            "pages": {
                uri: _page(page) for uri, page in sorted(self.pages.items()) if page.numbers or page.claims
            },
            "unasked_runs": {
                run.id: f"{run.model}, plan {run.plan}, {run.weights}" for run in self.site.book.unasked()
            },
        }

    def remember(self, *, good: bool) -> None:
        """Leave published.json in `memory`, also after a failed build; a good one is what later ones compare with."""
        text = dump(self.published())
        replace_text(self.memory / PUBLISHED, text)
        if good:
            replace_text(self.memory / LAST_GOOD, text)
            self.site.gallery.keep()
            self.kept.put("state", "last", self.state)
            self.kept.put("quantiles", _quantiles_key(), estimates.QUANTILES)
            self.kept.prune()

    def write_files(self, site_dir: Path) -> None:
        """Write what pages link to, published.json and the data of the charts; then what hosts read."""
        files = {PUBLISHED: dump(self.published()), **self.site.files}
        explored = [name for name in files if name.endswith(explorer.SUFFIX)]
        if explored:
            self.painter.start(explorer.SNIPPET, "bundle")
            files |= {name: self.site.gallery.explorer(files[name]) for name in explored}
            files[explorer.script_path()] = explorer.script(self.painter)
        for name, text in files.items():
            path = site_dir / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="")
        write_policy(site_dir)


def _state(site_data: Path, quantities: Path) -> str:
    """What the data were like, cheaply: whether charts are likely to be drawn in this build. Nothing rests on it."""
    files = sorted(path for path in (*site_data.rglob("*"), quantities) if path.is_file())
    return digest([(str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in files])


def _quantiles_key() -> str:
    return digest("quantiles", version("scipy"))


def dump(published: Mapping[str, Any]) -> str:
    """published.json's text; the same for the same content."""
    return json.dumps(published, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


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


def _texts(published: Mapping[str, Any]) -> dict[str, str]:
    """Texts by id, and by id and alias where a page asks for another run."""
    return {
        claims.key(number["id"], number["alias"]): number["text"]
        for page in published.get("pages", {}).values()
        for number in page["quantities"]
    }
