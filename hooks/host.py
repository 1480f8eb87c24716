"""The MkDocs adapter, and the only module that knows MkDocs: page identity in, errors and files out.

`hooks.site` is what MkDocs loads; it hands each event to this module. The data are read at the start of every build.
"""

from __future__ import annotations

import gc
import logging
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import partial
from html import escape, unescape
from pathlib import Path
from time import time
from typing import Any
from urllib.parse import urljoin

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.nav import Navigation
from mkdocs.structure.pages import Page
from mkdocs.utils import clean_directory, write_file

from hooks import ahead, repository
from hooks.build import Build
from hooks.caching.cache import Cache, file_digest
from hooks.caching.rendered import Recording, restore
from hooks.catalogue.catalogue import QUANTITIES, RUNS
from hooks.catalogue.render import run_path
from hooks.citation.backlinks import SitePage
from hooks.citation.citations import Author
from hooks.citation.citing import Description
from hooks.errors import PublishError
from hooks.output import code_blocks, search, templates, theme
from hooks.output.folder import Folder
from hooks.output.minified import SUFFIXES, minified
from hooks.output.other_forms import Outline
from hooks.pictures import cards
from hooks.pictures.painter import Painter
from hooks.pictures.painting import png_job
from hooks.publication.published import dump

READ_IN_ONE_GO = ("primers/", "notes/")
"""Folders of pages that say how long they take to read."""

HOSTING = "docs/reference/hosting.md"
ASSETS = "assets/"
SEARCH = "material/search"
TOUCH_ICON = "assets/touch-icon.png"
TOUCH_ICON_WIDTH = 180

_build: Build | None = None
_begun: Path | None = None
_folder: Folder | None = None
"""The site that is being written."""
_paths: dict[str, str] = {}
"""Where each page is written, by URI."""
_state: ahead.State = {}
"""What the data were like when the build began."""
_painter: Painter | None = None
"""The painter of a preview."""


class NotebookFile(File):
    """A notebook, as a file that becomes a page."""

    def is_documentation_page(self) -> bool:
        """It does."""
        return True


def on_config(
    config: MkDocsConfig, *, early: ahead.Ahead | None = None, serving: bool = False
) -> MkDocsConfig:
    """Open a build on today's data and add the Markdown extension; one of many where this process serves.

    Args:
        config: Of the site.
        early: What began before.
        serving: Whether more builds follow.
    """
    global _begun, _build, _folder, _state
    _begun = _folder = None
    _paths.clear()
    root = _root(config)
    _state = ahead.state(root)
    quantities = Path(config.docs_dir) / "quantities.toml"
    _set_date(root)
    cache = ahead.cache(root)
    if early is not None and early.painter.cache != Cache(cache):
        early.close()  # for the folder of the hooks, which is not that of mkdocs.yml
        early = None
    painter, execution = (early.painter, early.execution) if early else (None, None)
    if _build is not None:
        _build.close()
    try:
        _build = Build.open(
            ahead.site_data(root),
            quantities,
            ahead.memory(root),
            Path(config.site_dir),
            cache,
            _settings(config),
            _painter_of_preview(cache, painter) if serving else painter,
            lent=serving,
            execution=execution,
        )
        _build.description = _description(config, root)
    except PublishError as error:
        if early is not None:
            early.close()
        raise PluginError(f"\n\n{error}\n") from error
    # A build makes many objects that live until its end: looking through them for garbage takes a tenth of its time.
    gc.set_threshold(100_000, 50, 100)
    config.markdown_extensions.append(_build.extension)  # type: ignore[arg-type]
    config.theme.get_env = partial(templates.environment, config.theme.get_env, _build.kept)  # type: ignore[method-assign]
    _build.notebooks.begin(_notebooks(config))
    return config


def close() -> None:
    """End all processes beside builds: other sources are about to take over."""
    if _build is not None:
        _build.close()
    if _painter is not None:
        _painter.close()


def _painter_of_preview(cache: Path, begun: Painter | None) -> Painter:
    global _painter
    if _painter is None or _painter.ended:
        _painter = begun or Painter(Cache(cache))
    _painter.forget()
    return _painter


def _notebooks(config: MkDocsConfig) -> dict[str, tuple[Path, str]]:
    """Path and name of each notebook that will be a page, by URI. Nothing else of a build takes so long, so those whose
    outputs have changed begin to run before MkDocs has looked for files."""
    docs = Path(config.docs_dir)
    found = {path.relative_to(docs).as_posix(): path for path in sorted(docs.rglob("*.ipynb"))}
    excluded = config.exclude_docs
    return {
        uri: (path, _relative(path, config) or uri)
        for uri, path in found.items()
        if not any(part.startswith(".") for part in Path(uri).parts)
        and not (excluded and excluded.match_file(uri))
    }


def on_pre_build(*, config: MkDocsConfig) -> None:
    """Keep the site of the build before, so that its files are written over."""
    global _folder
    _folder = Folder(Path(config.site_dir), _root(config) / ".build" / "former")
    _folder.set_aside()


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Make pages of the notebooks, and have our own style sheets and scripts written without comments."""
    if _folder is not None:
        _folder.put_back()
    for file in files:  # the theme's are among them, and are minified
        ours = file.src_dir == config.docs_dir and file.src_uri.startswith(ASSETS)
        if ours and file.src_uri.endswith(SUFFIXES):
            file.content_string = minified(file.src_uri, file.content_string)
    notebooks = [
        file
        for file in files
        if file.src_uri.endswith(".ipynb") and not file.inclusion.is_excluded()  # type: ignore[no-untyped-call]
    ]
    for file in notebooks:
        page = NotebookFile(
            file.src_uri,
            config.docs_dir,
            config.site_dir,
            config.use_directory_urls,
            inclusion=file.inclusion,
        )
        files.remove(file)
        files.append(page)
    build = _current()
    build.catalogued = all(files.get_file_from_path(uri) for uri in (QUANTITIES, RUNS))
    if build.catalogued:  # otherwise MkDocs would take a link to the page of a run for a broken one
        for run_id in build.site.book.store.runs:
            files.append(File.generated(config, run_path(run_id), content=""))
    return files


def on_page_read_source(*, page: Page, config: MkDocsConfig) -> str | None:
    """A notebook's source is the Markdown of its cells; other pages are read as they are."""
    if not isinstance(page.file, NotebookFile):
        return None
    notebook = _current().notebooks.notebook(page.file.src_uri)
    # Without a head of its own, a first line such as `Note: text` would be taken for one.
    return f"---\n{{}}\n---\n{notebook.markdown if notebook else ''}"


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Announce the page; resolve what front matter says."""
    build, uri = _current(), page.file.src_uri
    notebook = build.notebooks.notebook(uri)
    if notebook is not None:
        markdown = notebook.markdown
        page.meta.update(notebook.meta)
        build.begin(uri, notebook.name, markdown).locate = notebook.locate
    else:
        source = "" if isinstance(page.file, NotebookFile) else page.file.content_string
        head = source.find(markdown)
        first_line = 1 + source.count("\n", 0, head) if head > 0 else 1
        build.begin(uri, _name(page.file, config), markdown, first_line)
    state = build.page(uri)
    # A generated page lists what the data hold; its words are explained on the pages that it belongs to.
    state.explains_terms = bool(page.meta.get("terms", page.file.generated_by is None))
    state.shows_machines = bool(page.meta.get("machines", page.file.generated_by is None))
    state.says_reading_time = uri.startswith(READ_IN_ONE_GO)
    key = build.shelf.key(uri, markdown, page.meta)
    kept = build.shelf.find(key)
    if kept is not None:
        restore(state, kept, build.site)
        page.meta.update(kept.left[_META])
        page.render = partial(_put_back, page, kept.left)  # type: ignore[method-assign]
        return markdown
    recording = Recording(build.site)
    for name, value in page.meta.items():
        if isinstance(value, str):
            page.meta[name] = build.plain(uri, value)
    page.render = partial(_render, page, build, key, recording)  # type: ignore[method-assign]
    return markdown


_META, _LINKS = "meta", "links_to_anchors"


class _Heard(logging.Handler):
    """Whether anything was said about a page: such a page is rendered at every build, so that it is said again."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.anything = False

    def emit(self, record: logging.LogRecord) -> None:
        self.anything = True


def _render(
    page: Page, build: Build, key: str, recording: Recording, config: MkDocsConfig, files: Files
) -> None:
    """Render a page as MkDocs does, and note what that leaves in it."""
    before, heard = dict(vars(page)), _Heard()
    logger = logging.getLogger(Page.__module__.partition(".")[0])
    logger.addHandler(heard)
    try:
        type(page).render(page, config, files)
    finally:
        logger.removeHandler(heard)
    left = {name: value for name, value in vars(page).items() if before.get(name, before) is not value}
    links = {file.src_uri: anchors for file, anchors in (left.get(_LINKS) or {}).items()}
    state = build.page(page.file.src_uri)
    made, behind = recording.end(state, {**left, _LINKS: links, _META: dict(page.meta)})
    if not state.errors and not heard.anything:
        build.shelf.put(key, behind, made)


def _put_back(page: Page, left: Mapping[str, Any], config: MkDocsConfig, files: Files) -> None:
    """Leave in a page what rendering it left there before."""
    vars(page).update(left)
    page.links_to_anchors = {
        file: anchors
        for uri, anchors in left[_LINKS].items()
        if (file := files.get_file_from_path(uri)) is not None
    }


def on_page_content(html: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """The page is rendered."""
    _current().end()
    return code_blocks.counted(html)


def on_env(env: Any, *, config: MkDocsConfig, files: Files) -> Any:
    """All pages are rendered and none is written: complete all but notebooks, and stop here if anything is wrong."""
    global _begun
    build = _current()
    pages = {file.src_uri: file.page for file in files.documentation_pages() if file.page is not None}
    pages = {uri: page for uri, page in pages.items() if page.content is not None}
    build.take({uri: str(page.content) for uri, page in pages.items()})
    _stop_on_errors(build)
    descriptions = {uri: text for uri, page in pages.items() if (text := _front_matter(page, "description"))}
    seen = [_site_page(page) for page in pages.values()]
    build.survey(seen, Outline(Path(config.docs_dir), *_outline(config, pages), descriptions))
    for page in seen:
        if not isinstance(pages[page.uri].file, NotebookFile):
            pages[page.uri].content = build.settle(page)
    _stop_on_errors(build)
    _begun = Path(config.site_dir)
    _draw(build, config, pages.values())
    search.keep(config.plugins.get(SEARCH), build.kept)
    return env


def on_page_context(context: Any, *, page: Page, config: MkDocsConfig, nav: Navigation) -> Any:
    """Complete a notebook's page. Such pages come last, and their cells have run all the while."""
    if isinstance(page.file, NotebookFile):
        build = _current()
        _stop_on_errors(build)
        build.write(Path(config.site_dir), painted=False)
        page.content = build.settle(_site_page(page))
        _stop_on_errors(build)
    return context


def on_post_template(output: str, *, template_name: str, config: MkDocsConfig) -> str:
    """Tell the site map of the pages that are no page of MkDocs: search engines and the theme's navigation read it.

    The page for lost readers is a template, too.
    """
    if template_name.endswith(".html"):
        return theme.valid(output)
    catalogue = _current().catalogue
    if template_name != "sitemap.xml" or catalogue is None or not config.site_url:
        return output
    date = f"<lastmod>{catalogue.site.date}</lastmod>"
    address = f"{config.site_url.rstrip('/')}/"
    added = "".join(f"<url><loc>{escape(address + path)}</loc>{date}</url>\n" for path in catalogue.paths)
    return output.replace("</urlset>", f"{added}</urlset>")


def on_post_page(output: str, *, page: Page, config: MkDocsConfig) -> str:
    """Put the pictures into the whole page, and look for braces that nobody resolved, in titles and meta tags, too."""
    _paths[page.file.src_uri] = page.file.abs_dest_path
    return _current().complete(page.file.src_uri, output)


def on_post_build(*, config: MkDocsConfig) -> None:
    """Write what waited for pictures and the generated files, and say what is not yet checked."""
    global _begun, _folder
    build, site = _current(), Path(config.site_dir)
    text = dump(build.published())
    build.write(site, painted=False)
    for uri, html in build.last():
        write_file(html.encode(), _paths[uri])
    _stop_on_errors(build)
    build.write(site, painted=True)
    if _folder is not None:
        _folder.remove_former()
    build.end_site(site, text)
    _begun = _folder = None
    build.remember(good=True, text=text)
    ahead.remember(_root(config), _state, build.notebooks.runs)
    build.close()
    for line in (*build.unchecked, *build.untrue_elsewhere):
        print(line, file=sys.stderr)  # a quiet build says it, too
    if build.citing is not None and build.citing.address is None:
        print(f"citations have no address: set SITE_URL to have one in them ({HOSTING})", file=sys.stderr)


def on_build_error(error: Exception, **_: Any) -> None:
    """End the processes beside a build that failed, and leave nothing of a site that it had begun to write."""
    if _build is not None:
        _build.close()
    if _folder is not None:
        _folder.put_back()
        clean_directory(str(_folder.site))
    elif _begun is not None:
        clean_directory(str(_begun))


def _draw(build: Build, config: MkDocsConfig, pages: Iterable[Page]) -> None:
    """Begin on the icon for home screens and, where the site has an address to link to, on the card of each page."""
    assets = Path(config.docs_dir) / "assets"
    mark = assets / "mark.svg"
    if mark.is_file():
        build.draw(TOUCH_ICON, png_job(mark.read_text(encoding="utf-8"), assets / "fonts", TOUCH_ICON_WIDTH))
    address = config.site_url
    if not address:
        return
    for page in pages:
        # What is generated may be a thousand pages: they share the card of the home page.
        own = page.file.generated_by is None
        name = cards.path(page.file.dest_uri if own else "index.html")
        page.meta["card"] = urljoin(address, name)
        if own:
            title = unescape(str(page.meta.get("title") or page.title or config.site_name))
            description = _front_matter(page, "description") or config.site_description or ""
            card = cards.svg(title, description, config.site_name)
            build.draw(name, png_job(card, assets / "fonts"))


def _current() -> Build:
    assert _build is not None, "on_config comes first"
    return _build


def _description(config: MkDocsConfig, root: Path) -> Description:
    """What citations say of the site. Without CITATION.cff its author is who mkdocs.yml names, or the site itself."""
    path = root / repository.FILE
    found = repository.read(path) if path.is_file() else None
    seconds = int(os.environ.get("SOURCE_DATE_EPOCH") or time())
    return Description(
        site=config.site_name,
        authors=found.authors if found else (Author(config.site_author or config.site_name),),
        date=datetime.fromtimestamp(seconds, UTC).date().isoformat(),
        address=f"{config.site_url.rstrip('/')}/" if config.site_url else None,
        elsewhere=found.address if found else None,
    )


def _outline(config: MkDocsConfig, pages: Mapping[str, Page]) -> tuple[str, dict[str, str]]:
    """One sentence on the site, and the section of each page of the navigation, in its order."""
    first = [page for page in pages.values() if page.previous_page is None and page.next_page is not None]
    sections: dict[str, str] = {}
    page = first[0] if first else None
    while page is not None:
        above = [*page.ancestors]
        sections[page.file.src_uri] = str(above[-1].title if above else "Pages")
        page = page.next_page
    return config.site_description or config.site_name, sections


def _site_page(page: Page) -> SitePage:
    """A page as citations and links to it see it. Its title is the one that its reader sees, not the menu's."""
    headings = [item for item in page.toc if item.level == 1]
    title = _front_matter(page, "title") or (unescape(headings[0].title) if headings else page.title)
    return SitePage(
        uri=page.file.src_uri,
        url=page.url,
        title=" ".join(str(title).split()),
        html=page.content or "",
        cites=page.file.generated_by is None and not page.is_homepage,
    )


def _front_matter(page: Page, name: str) -> str:
    """What a page says of itself, as text; in `page.meta` it is HTML."""
    return unescape(str(page.meta.get(name) or ""))


def _root(config: MkDocsConfig) -> Path:
    """The folder of mkdocs.yml. ProperDocs may name it from where it was started."""
    return Path(config.config_file_path).resolve().parent


def _settings(config: MkDocsConfig) -> list[Any]:
    """What rendered pages depend on in a configuration. What a quiet build renders is for quiet builds, since it hears
    no warnings about a page."""
    return [
        file_digest(config.config_file_path),
        file_digest(_root(config) / repository.FILE),
        [item if isinstance(item, str) else repr(item) for item in config.markdown_extensions],
        config.mdx_configs,
        config.site_url,
        dict(config.validation.links),
        os.environ.get("SOURCE_DATE_EPOCH"),
        logging.getLogger(Page.__module__.partition(".")[0]).getEffectiveLevel(),
    ]


def _name(file: File, config: MkDocsConfig) -> str:
    """A page as errors call it: its path from the folder of mkdocs.yml."""
    path = file.abs_src_path  # None for a page that is generated
    return (_relative(Path(path), config) if path else "") or file.src_uri


def _relative(path: Path, config: MkDocsConfig) -> str:
    """A path from the folder of mkdocs.yml; empty for one that lies elsewhere."""
    root = _root(config)
    return str(path.resolve().relative_to(root)) if root in path.resolve().parents else ""


def _set_date(root: Path) -> None:
    """Where SOURCE_DATE_EPOCH is not set, the site's date is that of the last commit, so that one commit always gives
    the same bytes. Outside a repository it is today."""
    if os.environ.get("SOURCE_DATE_EPOCH"):
        return
    done = subprocess.run(
        ["git", "log", "-1", "--format=%ct"], cwd=root, capture_output=True, text=True, check=False
    )
    if done.returncode == 0 and done.stdout.strip():
        os.environ["SOURCE_DATE_EPOCH"] = done.stdout.strip()


def _stop_on_errors(build: Build) -> None:
    """Stop if anything is wrong, once it is known what else is: this waits for notebooks."""
    if build.errors:
        build.collect(until=build.notebooks.executed)
        errors: tuple[PublishError, ...] = build.errors
        build.remember(good=False)
        count = "1 thing" if len(errors) == 1 else f"{len(errors)} things"
        text = "\n\n".join(map(str, errors))
        raise PluginError(f"{count} to mend before this can be published\n\n{text}\n")
