"""What begins before the rest of the package is imported: processes that paint and execute. Knows no page.

Vega, Altair and what notebooks import take half a second to start and more, beside MkDocs that reads its configuration
meanwhile. Whether they are likely to be wanted is told by which files are others than at the last good build.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from hooks.caching.cache import Cache, digest
from hooks.jupyter.execution import Execution, environment
from hooks.pictures.painter import Painter

_KIND, _LAST = "ahead", "last"
_RUNS = "runs"

State = dict[str, str]
"""Fingerprints of files: those of a run together by its id, and each notebook by its path."""


@dataclass
class Ahead:
    """What has begun. Whoever takes one of them closes it."""

    painter: Painter
    execution: Execution | None = None

    def close(self) -> None:
        """End all of it."""
        self.painter.close()
        if self.execution is not None:
            self.execution.close()


def site_data(root: Path) -> Path:
    """The folder of the data. The variable SITE_DATA is for people: it has a build read another than site_data/."""
    return Path(os.environ.get("SITE_DATA") or root / "site_data").resolve()


def cache(root: Path) -> Path:
    """Where results are kept between builds."""
    return root / ".cache" / "site"


def memory(root: Path) -> Path:
    """The folder that outlives builds."""
    return root / ".build"


def begin(root: Path) -> Ahead:
    """A painter, with a process that starts where any data have changed: then pictures are likely to be wanted. And one
    that executes notebooks, where a notebook has changed, or a run that one reads.

    Args:
        root: The folder of mkdocs.yml.
    """
    kept = Cache(cache(root))
    last = kept.get(_KIND, _LAST) or {"state": {}, "read": []}
    now, before = state(root), last["state"]
    made = Ahead(Painter(kept))
    if now != before:
        made.painter.warm()
    changed = {name for name, fingerprint in now.items() if before.get(name) != fingerprint}
    if any(name.endswith(".ipynb") or name in last["read"] for name in changed):
        docs = root / "docs"
        made.execution = Execution(
            environment(memory(root), site_data(root), docs / "quantities.toml", cache(root))
        )
    return made


def state(root: Path) -> State:
    """What data and notebooks are like, cheaply. Nothing rests on it."""
    data, found = site_data(root), defaultdict(list)
    for path in sorted([*data.rglob("*"), *(root / "docs").rglob("*.ipynb")]):
        if path.is_file():
            run = data / _RUNS in path.parents
            name = path.relative_to(data / _RUNS).parts[0] if run else str(path)
            found[name].append((str(path), path.stat().st_size, path.stat().st_mtime_ns))
    return {name: digest(files) for name, files in found.items()}


def remember(root: Path, was: State, read: Collection[str]) -> None:
    """A build on data that were like this was good, and its notebooks read these runs."""
    Cache(cache(root)).put(_KIND, _LAST, {"state": was, "read": sorted(read)})
