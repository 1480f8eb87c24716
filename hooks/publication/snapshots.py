"""What a build published: from published.json, a built site, or a commit that is built for it. Compares nothing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hooks.caching.cache import digest, versions
from hooks.errors import Place, PublishError
from hooks.files import replace_text
from hooks.publication import committed
from hooks.publication.published import FILE, VERSION

Published = Mapping[str, Any]


def find(name: str, root: Path) -> Published:
    """What a build published.

    Args:
        name: A published.json, the folder of a built site, or a commit of the repository at `root`.
        root: The repository.

    Raises:
        PublishError: It is none of these, is of another version, or the commit's site cannot be built.
    """
    path = Path(name)
    if path.is_dir():
        return read(path / FILE)
    if path.is_file() or path.suffix == ".json":
        return read(path)
    full, time = committed.commit(root, name)
    kept = root / ".build" / "commits" / f"{full[:16]}-{digest(versions())[:8]}.json"
    if not kept.is_file():
        print(f"building the site of {name} …", file=sys.stderr)
        replace_text(kept, _build(root, name, full, time))
    return read(kept)


def read(path: Path) -> Published:
    """Read a published.json.

    Raises:
        PublishError: There is none, or it is something else.
    """
    try:
        published: Published = json.loads(path.read_text(encoding="utf-8"))
        assert published["version"] == VERSION and isinstance(published["pages"], dict)
    except (OSError, ValueError, KeyError, TypeError, AssertionError) as error:
        raise PublishError(
            "this is not what a build published",
            place=Place(str(path)),
            expected=f"published.json of version {VERSION}",
            found=f"{type(error).__name__}: {error}",
            mend="`make site` writes site/published.json",
        ) from error
    return published


def _build(root: Path, name: str, commit: str, time: int) -> str:
    """The published.json of a commit's site, built of its own sources in a folder of its own, with today's packages.

    Where a claim no longer holds, the build fails and leaves the file all the same.
    """
    folder = Path(tempfile.mkdtemp(prefix="commit-"))
    environment = {key: value for key, value in os.environ.items() if key not in ("SITE_DATA", "PYTHONPATH")}
    environment |= {"SOURCE_DATE_EPOCH": str(time), "NO_MKDOCS_2_WARNING": "1"}
    try:
        committed.export(root, commit, folder)
        done = subprocess.run(
            [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(folder / "site")],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        for path in (folder / "site" / FILE, folder / ".build" / FILE):
            if path.is_file():
                return path.read_text(encoding="utf-8")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    raise PublishError(
        "the site of this commit cannot be built",
        place=Place(name),
        expected="a build with the packages that are installed now",
        found=(done.stdout + done.stderr).strip()[-400:],
        mend=f"`git worktree add ../old {commit[:10]}`, build it there with its own packages, and name its site",
    )
