"""Results kept between builds, each under a hash of all that it was made of. Makes no result itself.

The folder lies outside docs/ and site/. Losing it, or not being able to write into it, costs time and nothing
else: what cannot be read whole is made again. Several builds may use it at once.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from hooks.files import replace_bytes

KEPT_S = 14 * 86400
"""A result that no build asked for in this time is removed."""

DAY_S = 86400
"""How often builds look for such results."""

_FORMAT = "1"


@dataclass(frozen=True)
class Cache:
    """JSON values and bytes by kind and key, in files of their own.

    A file holds the sha256 of the value before the value, so half a file or a damaged one is no result. It is
    written beside its place and moved there in one step, so that no other build reads it half.

    Args:
        folder: Where to keep results; None keeps none.
    """

    folder: Path | None

    def get(self, kind: str, key: str) -> Any | None:
        """The value; None where there is none that is whole."""
        text = self.get_bytes(kind, key)
        try:
            return None if text is None else json.loads(text)
        except ValueError:
            return None

    def put(self, kind: str, key: str, value: Any) -> None:
        """Keep a value that `json` can write. Failing to do so is no error."""
        if self.folder is not None:
            self.put_bytes(kind, key, json.dumps(value, ensure_ascii=False).encode())

    def get_bytes(self, kind: str, key: str) -> bytes | None:
        """A value of another form; None where there is none that is whole."""
        if self.folder is None:
            return None
        path = self._path(kind, key)
        try:
            checksum, _, content = path.read_bytes().partition(b"\n")
        except OSError:
            return None
        if hashlib.sha256(content).hexdigest().encode() != checksum:
            return None
        with suppress(OSError):
            os.utime(path)  # asked for: keep it
        return content

    def put_bytes(self, kind: str, key: str, value: bytes) -> None:
        """Keep a value of another form."""
        if self.folder is not None:
            checksum = hashlib.sha256(value).hexdigest().encode()
            with suppress(OSError):
                replace_bytes(self._path(kind, key), checksum + b"\n" + value)

    def prune(self, now: float | None = None) -> None:
        """Remove what no build asked for in a long time, and what killed builds left half written; once a day."""
        now = time.time() if now is None else now
        if self.folder is None or not self.folder.is_dir():
            return
        stamp, oldest = self.folder / "pruned", now - KEPT_S
        with suppress(OSError):
            if stamp.is_file() and 0 <= now - stamp.stat().st_mtime < DAY_S:
                return
            stamp.touch()
            os.utime(stamp, (now, now))
        for path in self.folder.glob("*/*"):
            with suppress(OSError):
                if path.stat().st_mtime < oldest:
                    path.unlink()

    def _path(self, kind: str, key: str) -> Path:
        assert self.folder is not None
        return self.folder / kind / f"{key}.json"


def of_environment(otherwise: Cache) -> Cache:
    """Where to keep what is made of installed packages alone: in their environment, as compiled code is.

    Args:
        otherwise: Where to keep it if the environment cannot be written.
    """
    folder = Path(sys.prefix) / "var" / "spliced-inference"
    return Cache(folder) if os.access(sys.prefix, os.W_OK) else otherwise


def digest(*parts: Any) -> str:
    """A hash of JSON values: the same for the same values, in any process."""
    text = json.dumps([_FORMAT, *parts], sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def file_digest(path: Path | str) -> str | None:
    """A hash of a file's content, or of a folder's names; None where there is neither.

    The content is read again only when the file's size, time or inode has changed.
    """
    path = Path(path)
    try:
        state = path.stat()
        if path.is_dir():
            return digest(sorted(item.name for item in path.iterdir()))
        return _file_digest(str(path), state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino)
    except OSError:
        return None


@lru_cache(maxsize=4096)
def _file_digest(path: str, size: int, modified: int, changed: int, inode: int) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def sources(folder: Path) -> str:
    """A hash of all Python sources below a folder."""
    return digest([(str(path.relative_to(folder)), file_digest(path)) for path in python_files(folder)])


def python_files(folder: Path) -> Iterable[Path]:
    """All Python sources below a folder, in one order."""
    return sorted(folder.rglob("*.py"))


@lru_cache(maxsize=1)
def versions() -> str:
    """A hash of Python's version and of every installed package's name and version."""
    return digest(sys.version, sorted(installed()))


def version(package: str) -> str:
    """An installed package's version, without reading all that it says of itself."""
    name = re.sub(r"[-_.]+", "_", package).lower()
    for entry in installed():
        found, _, rest = entry.removesuffix(".dist-info").partition("-")
        if re.sub(r"[-_.]+", "_", found).lower() == name and entry.endswith(".dist-info"):
            return rest
    from importlib import metadata  # which reads what packages say of themselves with all of `email`

    return metadata.version(package)


@lru_cache(maxsize=1)
def installed() -> tuple[str, ...]:
    """The folders in which packages say what they are, those first that are imported first."""
    found: dict[str, None] = {}
    for entry in sys.path:
        with suppress(OSError):
            names = sorted(item.name for item in Path(entry or ".").iterdir())
            found |= dict.fromkeys(name for name in names if name.endswith((".dist-info", ".egg-info")))
    return tuple(found)
