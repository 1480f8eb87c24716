"""Which code measures: its version, its commit, and a digest of it that holds without a repository."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import measure

REPOSITORY = Path(__file__).resolve().parent.parent
CONTRACT = "site_data/schema.json"
MEASURING_CODE = ("measure", CONTRACT)


def code() -> dict[str, Any]:
    """The `code` object of run.json."""
    commit = _git("log", "-1", "--format=%H", "--", *MEASURING_CODE)
    changed = _git("status", "--porcelain", "--", *MEASURING_CODE)
    return {
        "version": measure.__version__,
        "commit": commit or None,
        "changed": None if not commit or changed is None else bool(changed),
        "tree": tree_here(),
    }


def tree_here() -> str:
    """`tree` of the files that run now."""
    files = [*(REPOSITORY / "measure").rglob("*.py"), REPOSITORY / CONTRACT]
    return tree((p.relative_to(REPOSITORY).as_posix(), blob(p.read_bytes())) for p in files if p.is_file())


def tree(blobs: Iterable[tuple[str, str]]) -> str:
    """SHA-256 over the lines "BLOB  PATH" of (path, blob) pairs in the order of their paths."""
    lines = "".join(f"{digest}  {path}\n" for path, digest in sorted(blobs))
    return hashlib.sha256(lines.encode()).hexdigest()


def blob(content: bytes) -> str:
    """Git's own name for a file's content, so that a commit need not be unpacked to be compared (gitformat-loose)."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def tree_of(commit: str) -> str | None:
    """`tree` of a commit of this repository; None where there is no such commit."""
    listed = _git("ls-tree", "-r", commit, "--", *MEASURING_CODE)
    if listed is None:
        return None
    entries = [line.split(maxsplit=3) for line in listed.splitlines()]  # mode, kind, blob, path
    return tree((path, digest) for *_, digest, path in entries if path.endswith(".py") or path == CONTRACT)


def commit_with(wanted: str) -> str | None:
    """The newest commit whose measuring code has that `tree`; None where this repository has none."""
    commits = _git("log", "--format=%H", "--", *MEASURING_CODE)
    return next((c for c in (commits or "").splitlines() if tree_of(c) == wanted), None)


def _git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(REPOSITORY), *arguments], capture_output=True, text=True, timeout=20, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
