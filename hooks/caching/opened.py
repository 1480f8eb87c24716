"""Which files a notebook's kernel reads, and what it does that no file shows. Knows nothing of the data's meaning.

A kernel of the build is told to `watch` when it is made. After each cell it sends what it has read anew as an element
in the cell's output, which the build takes out again.
"""

from __future__ import annotations

import html
import json
import os
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from hooks.caching.cache import file_digest, installed

if TYPE_CHECKING:
    from IPython.core.interactiveshell import ExecutionResult

Seen = dict[str, str]
"""Fingerprints by read; a read is its JSON text."""

FOREIGN = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "socket.connect", "sqlite3.connect")
"""What a cell may do that no fingerprint follows: such a notebook is executed at every build."""

BEGUN = "SPLICED_BEGUN"
"""Environment variable: when the build began, in nanoseconds since 1970."""

_CLOCK_NS = 20_000_000
"""How far the times of files may lag behind the clock."""

_REPORT = re.compile(r'<template data-reads="([^"]*)"></template>')
"""The element that carries reads out of a kernel."""

_LOOKS = installed.__wrapped__.__code__

_quiet = threading.local()
_opened: set[str] = set()
_foreign: set[str] = set()
_modules: set[str] = set()
_told: set[str] = set()
_ignored: tuple[str, ...] = ()


def text(read: list[Any]) -> str:
    """A read as a key."""
    return json.dumps(read, ensure_ascii=False)


def watch(*ignored: str) -> None:
    """Note from now on what this kernel reads, but for files below the ignored folders. Cannot be undone.

    Packages are left out too: their versions are known to the build. So is Python itself.
    """
    global _ignored
    from IPython.core.getipython import get_ipython

    _ignored = (*ignored, sys.prefix, sys.base_prefix, "/proc/", "/sys/", "/dev/")
    shell = get_ipython()
    assert shell is not None, "watch() is for a kernel"
    sys.addaudithook(_heard)
    shell.events.register("post_run_cell", _report)


@contextmanager
def unwatched() -> Iterator[None]:
    """Files that are read meanwhile are not noted: what is asked of them is noted otherwise."""
    before = getattr(_quiet, "on", False)
    _quiet.on = True
    try:
        yield
    finally:
        _quiet.on = before


def take(output: str) -> Seen | None:
    """The reads that an output carries; None for what a cell itself has printed."""
    report = _REPORT.fullmatch(output)
    if report is None:
        return None
    seen: Seen = json.loads(html.unescape(report[1]))
    return seen


def _files() -> Seen:
    """Fingerprints of the files and modules that this process has read and not told."""
    new = sorted(path for path in _opened | _sources() if text(["file", path]) not in _told)
    with unwatched():
        found = {text(["file", path]): _state(path) for path in new}
    seen = {read: state for read, state in found.items() if state is not None}
    return seen | {text(["foreign", event]): "" for event in sorted(_foreign)}


def _state(path: str) -> str | None:
    """The file's hash; another value for one that was written after the build began: who knows which state was read."""
    try:
        written_ns = Path(path).stat().st_mtime_ns
    except OSError:
        return None
    begun_ns = int(os.environ.get(BEGUN) or sys.maxsize)
    return "written meanwhile" if written_ns > begun_ns - _CLOCK_NS else file_digest(path)


def _sources() -> set[str]:
    """Source files of the modules that are neither Python's own nor of a package."""
    for module in list(sys.modules.values()):
        path = getattr(module, "__file__", None)
        if isinstance(path, str) and path not in _modules and _counts(path):
            _modules.add(path)
    return _modules


def _counts(path: str) -> bool:
    return not (path.startswith(_ignored) or "-packages/" in path or "__pycache__" in path)


def _heard(event: str, arguments: tuple[Any, ...]) -> None:
    if event in ("open", "os.listdir", "os.scandir"):
        path, mode = arguments[0], arguments[1] if event == "open" else "r"
        if getattr(_quiet, "on", False) or not isinstance(path, (str, bytes, Path)) or _is_import():
            return
        name = path.decode(errors="replace") if isinstance(path, bytes) else str(path)
        if event != "open" and _looks_for_packages():
            return
        if mode is None or "r" in mode or "+" in mode:
            absolute = str(Path(name).absolute())
            if _counts(absolute):
                _opened.add(absolute)
    elif event in FOREIGN and not getattr(_quiet, "on", False):
        _foreign.add(event)


def _is_import() -> bool:
    """Whether the import system asks: modules are noted by their sources."""
    return sys._getframe(2).f_code.co_filename.startswith("<frozen importlib")


def _looks_for_packages() -> bool:
    """Whether a folder is listed to find packages in it: their versions are known to the build."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        where = Path(frame.f_code.co_filename).parts[-2:-1]
        if frame.f_code is _LOOKS or where in (("importlib",), ("metadata",)):
            return True
        frame = frame.f_back
    return False


def _report(cell: ExecutionResult) -> None:
    """Tell what was read and not told. What is sent before the first cell, or with one that raises, is lost."""
    from IPython.display import HTML, display

    if cell.info is None or not cell.info.store_history:
        return
    notebook = sys.modules.get("hooks.notebook")
    seen = {**(notebook.SEEN if notebook else {}), **_files()}
    new = {read: state for read, state in seen.items() if read not in _told}
    if cell.success:
        _told.update(new)
    if new:
        element = f'<template data-reads="{html.escape(json.dumps(new, ensure_ascii=False))}"></template>'
        display(HTML(element))  # type: ignore[no-untyped-call]
