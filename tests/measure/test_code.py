"""Which code measured: known with a repository and without one, and changed by any change of it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from measure import code
from tests.measure.conftest import ROOT

ASK = "from measure.code import code; import json; print(json.dumps(code()))"


def copy_of_code(target: Path) -> Path:
    shutil.copytree(ROOT / "measure", target / "measure", ignore=shutil.ignore_patterns("__pycache__"))
    (target / "site_data").mkdir()
    shutil.copy(ROOT / "site_data" / "schema.json", target / "site_data")
    return target


def told_by(folder: Path) -> dict[str, object]:
    """What the code in `folder` says of itself."""
    import json

    done = subprocess.run([sys.executable, "-c", ASK], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    told: dict[str, object] = json.loads(done.stdout)
    return told


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", "-C", str(folder), "-c", "user.name=t", "-c", "user.email=t@example.org", *arguments],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()


def test_a_copy_without_a_repository_tells_the_same_digest(tmp_path: Path) -> None:
    told = told_by(copy_of_code(tmp_path))
    assert told["commit"] is None and told["changed"] is None
    assert told["tree"] == code.tree_here()


@pytest.mark.parametrize("file", ["measure/phases.py", "site_data/schema.json"])
def test_any_change_changes_the_digest(tmp_path: Path, file: str) -> None:
    copy = copy_of_code(tmp_path)
    with (copy / file).open("a", encoding="utf-8") as changed:
        changed.write("\n")
    assert told_by(copy)["tree"] != code.tree_here()


def test_what_is_not_measuring_code_does_not_change_it(tmp_path: Path) -> None:
    copy = copy_of_code(tmp_path)
    (copy / "site_data" / "runs").mkdir()
    (copy / "site_data" / "runs" / "note.py").write_text("")
    (copy / "README.md").write_text("other\n")
    assert told_by(copy)["tree"] == code.tree_here()


def test_a_digest_is_matched_with_its_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The digest of the files, made without git, is the one that git's own tree gives."""
    copy = copy_of_code(tmp_path)
    shutil.copy(ROOT / ".gitignore", copy)  # what Python keeps of modules is no change
    git(copy, "init", "--quiet")
    git(copy, "add", ".")
    git(copy, "commit", "--quiet", "-m", "first")
    first = git(copy, "rev-parse", "HEAD")
    told = told_by(copy)
    assert (told["commit"], told["changed"]) == (first, False)
    (copy / "measure" / "phases.py").write_text("pass\n")
    assert told_by(copy)["changed"] is True
    git(copy, "commit", "--quiet", "--all", "-m", "second")
    monkeypatch.setattr(code, "REPOSITORY", copy)
    assert code.tree_of(first) == told["tree"]
    assert code.commit_with(str(told["tree"])) == first
    assert code.commit_with(code.tree_here()) == git(copy, "rev-parse", "HEAD")
    assert code.commit_with("0" * 64) is None
    assert code.tree_of("0" * 40) is None
