"""Writing files so that a reader finds the old one or the new one, whole. Decides nothing about their content."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path


def replace_text(path: Path, text: str) -> None:
    """Put a file with this text, UTF-8, in the place of the one that may be there.

    Raises:
        OSError: It cannot be written; the old file is as it was.
    """
    replace_bytes(path, text.encode())


def replace_bytes(path: Path, content: bytes) -> None:
    """The same with bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:40]}-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(name).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise
