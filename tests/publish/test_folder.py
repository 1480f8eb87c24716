"""The folder of the site has what one build wrote, and nothing of the build before."""

from __future__ import annotations

from pathlib import Path

import pytest
from mkdocs.utils import clean_directory

from hooks.output.folder import Folder


def write(site: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text(text)


def read(site: Path) -> dict[str, str]:
    return {
        path.relative_to(site).as_posix(): path.read_text() if path.is_file() else "folder"
        for path in site.rglob("*")
        if path.is_file() or not any(path.iterdir())
    }


OLD = {
    "index.html": "old",
    "gone.html": "old",
    "data/a.csv": "old",
    "data/gone/b.csv": "old",
    ".git/HEAD": "kept",
}
NEW = {"index.html": "new", "data/a.csv": "old", "data/c.csv": "new", "search/index.json": "new"}


def test_the_site_is_as_if_the_folder_had_been_emptied(tmp_path: Path) -> None:
    site, folder = tmp_path / "site", Folder(tmp_path / "site", tmp_path / ".build/former")
    write(site, OLD)
    inode = (site / "index.html").stat().st_ino
    folder.set_aside()
    clean_directory(str(site))
    folder.put_back()
    write(site, NEW)
    folder.remove_former()
    assert read(site) == {**NEW, ".git/HEAD": "kept"}, "written the same or not, and no folder is left empty"
    assert (site / "index.html").stat().st_ino == inode
    assert not (tmp_path / ".build/former").exists()


def test_a_first_build_and_one_after_a_killed_one(tmp_path: Path) -> None:
    site, aside = tmp_path / "site", tmp_path / ".build/former"
    write(site, OLD)
    Folder(site, aside).set_aside()  # and killed
    folder = Folder(site, aside)
    folder.set_aside()
    folder.put_back()
    write(site, NEW)
    folder.remove_former()
    assert read(site) == {**NEW, ".git/HEAD": "kept"}


def test_where_nothing_can_be_moved_mkdocs_removes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def rename(self: Path, target: Path) -> Path:
        raise OSError(18, "Invalid cross-device link")

    site, folder = tmp_path / "site", Folder(tmp_path / "site", tmp_path / ".build/former")
    write(site, OLD)
    monkeypatch.setattr(Path, "rename", rename)
    folder.set_aside()
    clean_directory(str(site))
    folder.put_back()
    write(site, NEW)
    folder.remove_former()
    assert read(site) == {**NEW, ".git/HEAD": "kept"}
