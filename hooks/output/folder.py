"""The folder of the site from one build to the next: what is written again is written over, the rest is removed.

MkDocs empties the folder before it builds. Some file systems take half a second to make a thousand files where a
thousand were just removed, and a fifth of that to write over them. So the files are out of its way meanwhile.
"""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Folder:
    """The folder of the site, and another one in which its content waits."""

    site: Path
    aside: Path
    _former: dict[Path, tuple[int, int]] = field(default_factory=dict)

    def set_aside(self) -> None:
        """Take all out that MkDocs would remove; what cannot be moved, as it lies on another disk, it does remove."""
        shutil.rmtree(self.aside, ignore_errors=True)  # of a build that was killed
        with suppress(OSError):
            self.aside.mkdir(parents=True)
            for entry in self.site.iterdir():
                if not entry.name.startswith("."):
                    entry.rename(self.aside / entry.name)

    def put_back(self) -> None:
        """Put all back, and note when each file was last written: at no later moment will one have the same time."""
        if not self.aside.is_dir():
            return
        self.site.mkdir(parents=True, exist_ok=True)
        for entry in self.aside.iterdir():
            entry.rename(self.site / entry.name)
        self.aside.rmdir()
        self._former = {path: _times(path) for path in _files(self.site)}

    def remove_former(self) -> None:
        """Remove the files that were not written since, and the folders that are empty then."""
        for path, written in self._former.items():
            with suppress(OSError):
                if _times(path) == written:
                    path.unlink()
        for path in {path.parent for path in self._former}:
            while path != self.site:
                try:
                    path.rmdir()
                except OSError:
                    break
                path = path.parent
        self._former.clear()


def _times(path: Path) -> tuple[int, int]:
    """When the content was written; and when it, the name or the rights were, which no copy can set."""
    state = path.stat()
    return state.st_mtime_ns, state.st_ctime_ns


def _files(folder: Path) -> list[Path]:
    """All files below a folder but hidden ones at its top, which MkDocs leaves alone, too."""
    found = []
    for root, inside, names in os.walk(folder):
        if Path(root) == folder:
            inside[:], names = (
                [name for name in each if not name.startswith(".")] for each in (inside, names)
            )
        found += [Path(root) / name for name in names]
    return found
