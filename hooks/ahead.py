"""What begins before the rest of the package is imported: a process that paints. Decides nothing about a page.

Vega and Altair take half a second to start, beside MkDocs that reads its configuration meanwhile.
"""

from __future__ import annotations

import os
from pathlib import Path

from hooks.caching.cache import Cache, digest
from hooks.pictures.painter import Painter

_KIND, _LAST = "state", "last"


def site_data(root: Path) -> Path:
    """The folder of the data. The variable SITE_DATA is for people: it has a build read another than site_data/."""
    return Path(os.environ.get("SITE_DATA") or root / "site_data").resolve()


def cache(root: Path) -> Path:
    """Where results are kept between builds."""
    return root / ".cache" / "site"


def painter(root: Path) -> Painter:
    """A painter, with a process that starts where the data are others than at the last good build: then pictures are
    likely to be wanted.

    Args:
        root: The folder of mkdocs.yml.
    """
    kept = Cache(cache(root))
    made = Painter(kept)
    if kept.get(_KIND, _LAST) != state(root):
        made.warm()
    return made


def state(root: Path) -> str:
    """What the data are like, cheaply. Nothing rests on it."""
    files = sorted(path for path in site_data(root).rglob("*") if path.is_file())
    return digest([(str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in files])


def remember(root: Path, was: str) -> None:
    """A build on data that were like this was good."""
    Cache(cache(root)).put(_KIND, _LAST, was)
