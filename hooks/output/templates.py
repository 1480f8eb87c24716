"""The theme's templates, found without looking at its icons, and kept compiled. Renders none."""

from __future__ import annotations

import os
from base64 import b64decode, b64encode
from collections.abc import Callable
from pathlib import Path

from jinja2 import Environment, FileSystemLoader
from jinja2.bccache import Bucket, BytecodeCache

from hooks.caching.cache import Cache, digest, of_environment, versions


def environment(made: Callable[[], Environment], kept: Cache) -> Environment:
    """The theme's environment, as `made` makes it, but faster.

    Args:
        made: MkDocs' own way.
        kept: Results of earlier builds.
    """
    found = made()
    assert isinstance(found.loader, FileSystemLoader)
    found.loader = _Files(found.loader.searchpath)
    found.bytecode_cache = _Templates(kept)
    return found


class _Files(FileSystemLoader):
    """The theme's files without its ten thousand icons: MkDocs lists all to leave out those in folders with a dot."""

    def list_templates(self) -> list[str]:
        """Names of all files, from the root of the theme."""
        found = set()
        for root in self.searchpath:
            for folder, inside, names in os.walk(root):
                inside[:] = [name for name in inside if not name.startswith(".")]
                found |= {(Path(folder) / name).relative_to(root).as_posix() for name in names}
        return sorted(found)


class _Templates(BytecodeCache):
    """The theme's templates, compiled: half a second for those of Material. Jinja checks their sources."""

    def __init__(self, kept: Cache) -> None:
        self.kept = of_environment(kept)

    def load_bytecode(self, bucket: Bucket) -> None:
        text = self.kept.get("template", digest(versions(), bucket.key, bucket.checksum))
        if isinstance(text, str):
            bucket.bytecode_from_string(b64decode(text))

    def dump_bytecode(self, bucket: Bucket) -> None:
        text = b64encode(bucket.bytecode_to_string()).decode()
        self.kept.put("template", digest(versions(), bucket.key, bucket.checksum), text)
