"""The MkDocs adapter, and the only module that knows MkDocs: page identity in, errors and files out.

`hooks.site` is what MkDocs loads; it hands each event to this module. The data are read at the start of every build.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from base64 import b64decode, b64encode
from pathlib import Path
from typing import Any

from jinja2.bccache import Bucket, BytecodeCache
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from hooks.build import Build
from hooks.cache import Cache, digest, versions
from hooks.errors import PublishError

READ_IN_ONE_GO = ("primers/", "notes/")
"""Folders of pages that say how long they take to read."""

_build: Build | None = None


class NotebookFile(File):
    """A notebook, as a file that becomes a page."""

    def is_documentation_page(self) -> bool:
        """It does."""
        return True


class _Templates(BytecodeCache):
    """The theme's templates, compiled: half a second for those of Material. Jinja checks their sources."""

    def __init__(self, kept: Cache) -> None:
        self.kept = kept

    def load_bytecode(self, bucket: Bucket) -> None:
        text = self.kept.get("template", digest(versions(), bucket.key, bucket.checksum))
        if isinstance(text, str):
            bucket.bytecode_from_string(b64decode(text))

    def dump_bytecode(self, bucket: Bucket) -> None:
        text = b64encode(bucket.bytecode_to_string()).decode()
        self.kept.put("template", digest(versions(), bucket.key, bucket.checksum), text)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Open a build on today's data and add the Markdown extension."""
    global _build
    root = _root(config)
    # The variable SITE_DATA is for people: it has a build read another folder than site_data/.
    site_data = Path(os.environ.get("SITE_DATA") or root / "site_data").resolve()
    quantities = Path(config.docs_dir) / "quantities.toml"
    _set_date(root)
    if _build is not None:
        _build.close()
    try:
        _build = Build.open(
            site_data, quantities, root / ".build", Path(config.site_dir), root / ".cache" / "site"
        )
    except PublishError as error:
        raise PluginError(f"\n\n{error}\n") from error
    # A build makes many objects that live until its end: looking through them for garbage takes a tenth of its time.
    gc.set_threshold(100_000, 50, 100)
    config.markdown_extensions.append(_build.extension)  # type: ignore[arg-type]
    return config


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Make pages of the notebooks, and begin to execute those whose outputs have changed."""
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
    _current().notebooks.begin(
        {file.src_uri: (Path(str(file.abs_src_path)), _name(file, config)) for file in notebooks}
    )
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
    state.says_reading_time = uri.startswith(READ_IN_ONE_GO)
    for key, value in page.meta.items():
        if isinstance(value, str):
            page.meta[key] = build.plain(uri, value)
    return markdown


def on_page_content(html: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """The page is rendered."""
    _current().end()
    return html


def on_env(env: Any, *, config: MkDocsConfig, files: Files) -> Any:
    """Every page is rendered and none is written yet: complete them, and stop here if anything is wrong."""
    build = _current()
    pages = {file.src_uri: file.page for file in files.documentation_pages() if file.page is not None}
    contents = {uri: page.content for uri, page in pages.items() if page.content is not None}
    for uri, html in build.finish(contents).items():
        pages[uri].content = html
    _stop_on_errors(build)
    env.bytecode_cache = _Templates(build.kept)
    return env


def on_post_page(output: str, *, page: Page, config: MkDocsConfig) -> str:
    """Put the pictures into the whole page, and look for braces that nobody resolved, in titles and meta tags, too."""
    return _current().complete(page.file.src_uri, output)


def on_post_build(*, config: MkDocsConfig) -> None:
    """Write the generated files and say what is not yet checked."""
    build = _current()
    _stop_on_errors(build)
    build.write_files(Path(config.site_dir))
    build.remember(good=True)
    build.close()
    for line in build.unchecked:
        print(line, file=sys.stderr)  # a quiet build says it, too


def on_build_error(error: Exception, **_: Any) -> None:
    """End the processes beside a build that failed."""
    if _build is not None:
        _build.close()


def _current() -> Build:
    assert _build is not None, "on_config comes first"
    return _build


def _root(config: MkDocsConfig) -> Path:
    """The folder of mkdocs.yml. ProperDocs may name it from where it was started."""
    return Path(config.config_file_path).resolve().parent


def _name(file: File, config: MkDocsConfig) -> str:
    """A page as errors call it: its path from the folder of mkdocs.yml."""
    path = Path(str(file.abs_src_path)).resolve()
    root = _root(config)
    return str(path.relative_to(root)) if root in path.parents else file.src_uri


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
    errors: tuple[PublishError, ...] = build.errors
    if errors:
        build.remember(good=False)
        count = "1 thing" if len(errors) == 1 else f"{len(errors)} things"
        text = "\n\n".join(map(str, errors))
        raise PluginError(f"{count} to mend before this can be published\n\n{text}\n")
