"""What MkDocs loads as a hook: hands each event to hooks.host, imported afresh when a source changed. Decides nothing.

MkDocs keeps a hook's module for as long as it serves, and Python keeps the modules that it imports. So this one holds
nothing but the events, everything else is dropped and imported again when any source of the package has changed,
and when this file itself has changed, the server starts anew.
"""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from typing import Any

THIS = Path(__file__).resolve()
ROOT = THIS.parent.parent

_serving = False
_dirty = False
_early: Any = None
_sources: dict[str, int] = {}


def on_startup(*, command: str, dirty: bool) -> None:
    """Learn whether this process serves, and whether it writes changed pages only. Begin what takes long to start."""
    global _dirty, _early, _serving
    _serving, _dirty = command == "serve", dirty
    _let_import()
    _early = importlib.import_module("hooks.ahead").begin(ROOT)


def on_config(config: Any) -> Any:
    """The first event of a build, and the one at which changed sources are seen."""
    global _early
    _forget_changed_modules()
    early, _early = _early, None
    return _host().on_config(config, early=early, serving=_serving)


def on_pre_build(*, config: Any) -> None:
    """Handed on, where MkDocs will empty the folder of the site next."""
    if not _dirty:
        _host().on_pre_build(config=config)


def on_files(files: Any, *, config: Any) -> Any:
    """Handed on."""
    return _host().on_files(files, config=config)


def on_page_read_source(*, page: Any, config: Any) -> Any:
    """Handed on."""
    return _host().on_page_read_source(page=page, config=config)


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Any) -> Any:
    """Handed on."""
    return _host().on_page_markdown(markdown, page=page, config=config, files=files)


def on_page_content(html: str, *, page: Any, config: Any, files: Any) -> Any:
    """Handed on."""
    return _host().on_page_content(html, page=page, config=config, files=files)


def on_env(env: Any, *, config: Any, files: Any) -> Any:
    """Handed on."""
    return _host().on_env(env, config=config, files=files)


def on_page_context(context: Any, *, page: Any, config: Any, nav: Any) -> Any:
    """Handed on, before other plugins: the search reads pages at this event."""
    return _host().on_page_context(context, page=page, config=config, nav=nav)


on_page_context.mkdocs_priority = 100  # type: ignore[attr-defined]


def on_post_template(output: str, *, template_name: str, config: Any) -> Any:
    """Handed on."""
    return _host().on_post_template(output, template_name=template_name, config=config)


def on_post_page(output: str, *, page: Any, config: Any) -> Any:
    """Handed on."""
    return _host().on_post_page(output, page=page, config=config)


def on_post_build(*, config: Any) -> None:
    """Handed on."""
    _host().on_post_build(config=config)


def on_build_error(error: Exception) -> None:
    """Handed on."""
    if "hooks.host" in sys.modules:
        _host().on_build_error(error)


def on_serve(server: Any, *, config: Any, builder: Any) -> Any:
    """Rebuild when data or this code change, too. Folders of compiled code lie in those of sources: not watched."""
    root = Path(config.config_file_path).resolve().parent
    server.watch(str(root / "site_data"))
    for folder in sorted({path.parent for path in (root / "hooks").rglob("*.py")}):
        server.watch(str(folder), recursive=False)
    return server


def _host() -> Any:
    return importlib.import_module("hooks.host")


def _let_import() -> None:
    if str(ROOT) not in sys.path:  # MkDocs takes back what a hook adds while it is loaded
        sys.path.insert(0, str(ROOT))


def _forget_changed_modules() -> None:
    """Import the package as its sources are now, all of it from one state of them."""
    _let_import()
    while True:
        now = {str(path): path.stat().st_mtime_ns for path in sorted((ROOT / "hooks").rglob("*.py"))}
        if _sources == now:
            return
        if "hooks.host" in sys.modules:
            _host().close()
        if _sources and _serving and _sources.get(str(THIS)) != now.get(str(THIS)):
            os.execv(sys.executable, sys.orig_argv)
        if _sources:  # the package goes too: its attributes are its old modules
            for name in [name for name in sys.modules if name == "hooks" or name.startswith("hooks.")]:
                del sys.modules[name]
            importlib.invalidate_caches()
        _sources.clear()
        _sources.update(now)
        _host()
