"""What git holds of the files here: a file's text at every commit, the dates of pages, a whole commit. Changes nothing.

Where there is no repository, or no git, there is nothing.
"""

from __future__ import annotations

import io
import subprocess
import tarfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from hooks.errors import Place, PublishError


def text(path: Path) -> str | None:
    """The text of a file at the present commit; None where it is not in it."""
    found = _git(path.parent, "show", f"HEAD:./{path.name}")
    return None if found is None else found.decode(errors="replace")


def texts(path: Path) -> Iterator[str]:
    """The text of a file at each commit that changed it, on any branch that led to the present one."""
    top = _git(path.parent, "rev-parse", "--show-toplevel")
    if top is None:
        return
    name = path.resolve().relative_to(Path(top.decode().strip()).resolve()).as_posix()
    commits = _git(path.parent, "log", "--full-history", "--format=%H", "--", str(path.resolve())) or b""
    wanted = "".join(f"{commit}:{name}\n" for commit in commits.decode().split())
    held = io.BytesIO(_git(path.parent, "cat-file", "--batch", given=wanted.encode()) or b"")
    while head := held.readline():
        words = head.decode().rsplit(" ", 2)
        if words[-1].strip().isdigit():  # otherwise the commit removed it
            yield held.read(int(words[-1])).decode(errors="replace")
            held.read(1)


def dates(folder: Path) -> dict[str, tuple[datetime, datetime]]:
    """When each file below `folder` was first and last committed, by its path from `folder`."""
    log = _git(folder, "log", "--format=%x00%ct", "--name-only", "--relative", "--", ".") or b""
    found: dict[str, tuple[datetime, datetime]] = {}
    for commit in log.decode(errors="replace").split("\0")[1:]:
        time, _, names = commit.partition("\n")
        at = datetime.fromtimestamp(int(time), UTC)
        for name in filter(None, names.split("\n")):
            first, last = found.get(name, (at, at))
            found[name] = min(first, at), max(last, at)
    return found


def commit(root: Path, name: str) -> tuple[str, int]:
    """The full name of a commit and the time of it, in seconds since 1970.

    Raises:
        PublishError: There is none of that name.
    """
    found = _git(root, "log", "-1", "--format=%H %ct", "--end-of-options", f"{name}^{{commit}}", "--")
    if not found:
        raise PublishError(
            "this is no file, no site and no commit",
            place=Place(name),
            expected="published.json, the folder of a built site, or a commit such as HEAD~1",
            found=name,
            mend="`git log --oneline` lists commits; `make site` writes site/published.json",
        )
    full, _, time = found.decode().partition(" ")
    return full, int(time)


def export(root: Path, name: str, folder: Path) -> None:
    """Write all files of a commit into a folder; none where there is no such commit."""
    archive = _git(root, "archive", "--format=tar", name)
    if archive is None:
        return
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(folder, filter="data")


def _git(root: Path, *arguments: str, given: bytes | None = None) -> bytes | None:
    """What git printed; None where it failed or is not there."""
    command = ["git", "-c", "core.quotePath=off", *arguments]
    try:
        done = subprocess.run(command, cwd=root, input=given, capture_output=True, check=False)
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None
