"""The MkDocs adapter, and the only module that knows MkDocs: page identity in, errors and files out.

MkDocs keeps this module loaded while it serves, so everything else is imported afresh when its source has
changed, and the data are read at the start of every build.
"""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.plugins import get_plugin_logger
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

if TYPE_CHECKING:
    from hooks.build import Build
    from hooks.errors import PublishError

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

SITE_DATA = "SPLICED_SITE_DATA"
QUANTITIES = "SPLICED_QUANTITIES"
"""Environment variables by which the cells of a notebook find what the pages read. The variable SITE_DATA is for
people: it has a build read another folder than site_data/."""

log = get_plugin_logger("spliced")
_build: Build | None = None
_sources: dict[str, float] = {}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Open a build on today's data and add the Markdown extension."""
    global _build
    _forget_changed_modules()
    build_module = importlib.import_module("hooks.build")
    errors = importlib.import_module("hooks.errors")
    root = Path(config.config_file_path).parent
    site_data = Path(os.environ.get("SITE_DATA") or root / "site_data").resolve()
    quantities = Path(config.docs_dir) / "quantities.toml"
    os.environ[SITE_DATA], os.environ[QUANTITIES] = str(site_data), str(quantities)
    importlib.import_module("hooks.notebook_pages").isolate_kernels(root / ".build" / "ipython")
    # Kernels of notebooks start elsewhere and must find this package too.
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if str(ROOT) not in paths:
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), *paths]))
    try:
        _build = build_module.Build.open(site_data, quantities, root / ".build", Path(config.site_dir))
    except errors.PublishError as error:
        raise PluginError(f"\n\n{error}\n") from error
    config.markdown_extensions.append(_build.extension)  # type: ignore[arg-type]
    return config


def on_pre_page(page: Page, *, config: MkDocsConfig, files: Files) -> Page:
    """Have a notebook rendered like any other page, once mkdocs-jupyter has executed it."""
    if page.file.src_uri.endswith(".ipynb"):
        notebook_pages = importlib.import_module("hooks.notebook_pages")
        executed = page.render
        build = _current()

        def render(config: MkDocsConfig, files: Files) -> None:
            state = build.pages[page.file.src_uri]
            try:
                notebook = notebook_pages.Notebook.read(Path(str(page.file.abs_src_path)), state.file)
            except notebook_pages.PublishError as error:
                state.errors.append(error)
                page.content = ""
                return
            try:
                outputs = notebook.outputs(lambda: _content(executed, page, config, files))
            except notebook_pages.PublishError as error:
                state.errors.append(error)
                outputs = {}
            page.__dict__.pop("title", None)  # mkdocs-jupyter's title has raw placeholders in it
            page.markdown, state.locate = notebook.markdown, notebook.locate
            state.begin(notebook.markdown)
            for key, text in notebook.meta.items():
                page.meta[key] = build.plain(page.file.src_uri, text)
            Page.render(page, config, files)
            page.content = notebook.fill(page.content or "", outputs)

        page.render = render  # type: ignore[method-assign]
    return page


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Announce the page; resolve what front matter says."""
    build = _current()
    source = page.file.content_string
    head = source.find(markdown)
    first_line = 1 + source.count("\n", 0, head) if head > 0 else 1
    build.begin(page.file.src_uri, _name(page, config), markdown, first_line)
    for key, value in page.meta.items():
        if isinstance(value, str):
            page.meta[key] = build.plain(page.file.src_uri, value)
    return markdown


def on_page_content(html: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """The page is rendered."""
    _current().end()
    return html


def on_env(env: Any, *, config: MkDocsConfig, files: Files) -> Any:
    """Every page is rendered and none is written yet: stop here if anything is wrong."""
    _stop_on_errors(_current())
    return env


def on_post_page(output: str, *, page: Page, config: MkDocsConfig) -> str:
    """Look at the whole page, title and meta tags included, for braces that nobody resolved."""
    _current().check_output(page.file.src_uri, output)
    return output


def on_post_build(*, config: MkDocsConfig) -> None:
    """Write the generated files and say what is not yet checked."""
    build = _current()
    _stop_on_errors(build)
    build.write_files(Path(config.site_dir))
    build.remember(good=True)
    for line in build.unchecked:
        log.info(line)


def on_serve(server: Any, *, config: MkDocsConfig, builder: Any) -> Any:
    """Rebuild when data or this code change, too."""
    for folder in ("site_data", "hooks"):
        server.watch(str(Path(config.config_file_path).parent / folder))
    return server


def _current() -> Build:
    assert _build is not None, "on_config comes first"
    return _build


def _name(page: Page, config: MkDocsConfig) -> str:
    """The page as errors call it: its path from the folder of mkdocs.yml."""
    path = Path(str(page.file.abs_src_path))
    root = Path(config.config_file_path).parent
    return str(path.relative_to(root)) if root in path.parents else page.file.src_uri


def _content(render: Any, page: Page, config: MkDocsConfig, files: Files) -> str:
    render(config, files)
    return page.content or ""


def _stop_on_errors(build: Build) -> None:
    errors: tuple[PublishError, ...] = build.errors
    if errors:
        build.remember(good=False)
        count = "1 thing" if len(errors) == 1 else f"{len(errors)} things"
        text = "\n\n".join(map(str, errors))
        raise PluginError(f"{count} to mend before this can be published\n\n{text}\n")


def _forget_changed_modules() -> None:
    """Drop the package's modules if one of their sources changed since they were loaded."""
    now = {str(path): path.stat().st_mtime for path in sorted((ROOT / "hooks").rglob("*.py"))}
    if _sources and _sources != now:
        # The package goes too: its attributes are its old modules.
        for name in [name for name in sys.modules if name == "hooks" or name.startswith("hooks.")]:
            del sys.modules[name]
    _sources.clear()
    _sources.update(now)
