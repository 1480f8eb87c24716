"""The cache between builds: what is not whole is not there, nothing is read half, and losing it loses only time."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hooks.caching.cache import KEPT_S, Cache, digest, file_digest, versions
from hooks.files import replace_text
from tests.publish.fixture_data import ROOT

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
).filter(lambda value: value is not None)


@given(JSON)
def test_what_was_put_is_got(tmp_path_factory: pytest.TempPathFactory, value: object) -> None:
    cache = Cache(tmp_path_factory.mktemp("cache"))
    assert cache.get("kind", "key") is None
    cache.put("kind", "key", value)
    assert cache.get("kind", "key") == value
    assert cache.get("other", "key") is None


@pytest.mark.parametrize("damage", ["shorter", "empty", "longer", "changed", "no checksum", "not text"])
def test_a_damaged_result_is_none(tmp_path: Path, damage: str) -> None:
    cache = Cache(tmp_path)
    cache.put("kind", "key", {"number": "355 ms", "more": "x" * 1000})
    (path,) = (tmp_path / "kind").iterdir()
    whole = path.read_bytes()
    damaged = {
        "shorter": whole[: len(whole) // 2],
        "empty": b"",
        "longer": whole + b" ",
        "changed": whole.replace(b"355", b"356"),
        "no checksum": whole.partition(b"\n")[2],
        "not text": b"\xff\xfe" + whole,
    }[damage]
    assert damaged != whole
    path.write_bytes(damaged)
    assert cache.get("kind", "key") is None
    cache.put("kind", "key", "new")
    assert cache.get("kind", "key") == "new"


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the place of the folder")
    cache = Cache(tmp_path / "file")
    cache.put("kind", "key", 1)
    cache.prune()
    assert cache.get("kind", "key") is None
    assert Cache(None).get("kind", "key") is None


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    replace_text(path, "old")
    with pytest.raises(UnicodeEncodeError):
        replace_text(path, "half a character: \ud800")
    assert path.read_text() == "old"
    assert [item.name for item in tmp_path.iterdir()] == ["file"]


def _write(folder: str, letter: str, until: float) -> None:
    while time.time() < until:
        Cache(Path(folder)).put("kind", "key", letter * 200_000)


def test_two_builds_that_write_at_once_are_never_read_half(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.put("kind", "key", "a" * 200_000)
    context = multiprocessing.get_context("spawn")
    until = time.time() + 2.5
    writers = [context.Process(target=_write, args=(str(tmp_path), letter, until)) for letter in "ab"]
    for writer in writers:
        writer.start()
    seen = set()
    while time.time() < until:
        value = cache.get("kind", "key")
        assert isinstance(value, str) and len(value) == 200_000 and len(set(value)) == 1
        seen.add(value[0])
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    assert seen <= {"a", "b"}
    assert len(list((tmp_path / "kind").iterdir())) == 1, "nothing half written is left"


def test_what_no_build_asks_for_is_removed(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    for key in ("asked", "forgotten"):
        cache.put("kind", key, key)
        (path,) = (tmp_path / "kind").glob(f"{key}.json")
        os.utime(path, (0, time.time() - KEPT_S - 100))
    assert cache.get("kind", "asked") == "asked"
    cache.prune()
    assert cache.get("kind", "asked") == "asked" and cache.get("kind", "forgotten") is None


def test_a_digest_tells_apart_what_differs() -> None:
    values = [
        (),
        ("a",),
        ("a", "b"),
        ("ab",),
        (["a", "b"],),
        ({"a": "b"},),
        (1,),
        ("1",),
        (1.5,),
        (None,),
        (True,),
    ]
    assert len({digest(*value) for value in values}) == len(values)
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})


def test_a_file_is_known_by_its_content(tmp_path: Path) -> None:
    path = tmp_path / "file"
    assert file_digest(path) is None
    path.write_text("one")
    first, state = file_digest(path), path.stat()
    path.write_text("two")
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))  # same size, same time
    assert file_digest(path) != first
    path.write_text("one")
    assert file_digest(path) == first
    names = file_digest(tmp_path)
    (tmp_path / "another").touch()
    assert file_digest(tmp_path) != names


def test_another_version_of_any_package_is_another_environment(tmp_path: Path) -> None:
    def asked(*folders: Path) -> str:
        done = subprocess.run(
            [sys.executable, "-c", "from hooks.caching.cache import versions; print(versions())"],
            env=os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (ROOT, *folders)))},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    (tmp_path / "altair-6.3.0.dist-info").mkdir()
    before = asked(tmp_path)
    assert before == asked(tmp_path)
    (tmp_path / "altair-6.3.0.dist-info").rename(tmp_path / "altair-6.3.1.dist-info")
    assert asked(tmp_path) != before
    assert versions() == versions()
