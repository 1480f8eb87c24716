"""Which notebooks are executed again: those that read what has changed, and no others. Their kernels are real."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from hooks.caching.cache import Cache
from hooks.data import store
from hooks.errors import PublishError
from hooks.jupyter import execution, notebooks
from hooks.jupyter.notebooks import Notebooks
from hooks.numbers import quantities
from hooks.numbers.book import Book
from tests.publish import fixture_data
from tests.publish.fixture_data import ROOT

PREFILL = """
from hooks.notebook import samples
table = samples(experiment="prefill")
print(f"median {table.duration_s.median():.6f}")
"""
QUANTITY = """
from hooks.notebook import quantity
print(str(quantity("decode.seconds_per_token")))
"""
CHART = """
from hooks.notebook import chart
chart("decode-by-depth")
"""
FILES = """
from pathlib import Path
import helper
print(helper.WORD, Path("words.txt").read_text(), sorted(path.name for path in Path("more").iterdir()))
"""
TICKS = "import time\nprint('executed at', time.time_ns())"


class World:
    """Notebooks on data of their own, and a cache."""

    def __init__(self, folder: Path, **cells: str) -> None:
        self.folder = folder
        self.data = fixture_data.site_data(folder / "site_data")
        fixture_data.write_run(self.data)
        fixture_data.small_run(self.data)
        self.quantities = folder / "quantities.toml"
        self.quantities.write_bytes((ROOT / "docs/quantities.toml").read_bytes())
        self.files: dict[str, tuple[Path, str]] = {}
        for name, source in cells.items():
            self.write(name, source)
        self.executed: set[str] = set()

    def write(self, name: str, source: str) -> None:
        cells = [
            {
                "cell_type": "code",
                "id": f"c{n}",
                "metadata": {},
                "source": text,
                "execution_count": None,
                "outputs": [],
            }
            for n, text in enumerate((source, TICKS))
        ]
        kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
        content = {"nbformat": 4, "nbformat_minor": 5, "metadata": {"kernelspec": kernel}, "cells": cells}
        path = self.folder / f"{name}.ipynb"
        path.write_text(json.dumps(content), encoding="utf-8")
        self.files[name] = (path, f"docs/{name}.ipynb")

    def change(self, experiment: str, factor: float) -> None:
        """Give the samples of one experiment other times."""
        time = fixture_data.seconds_per_token
        records = fixture_data.samples(lambda *cell: time(*cell) * (factor if cell[0] == experiment else 1))
        fixture_data.write_run(self.data, records=records)

    def build(self, cache: Path | None = None) -> dict[str, Mapping[int, str] | PublishError]:
        book = Book(store.load_cached(self.data), quantities.read(self.quantities))
        environment = lambda: execution.environment(self.folder, self.data, self.quantities)  # noqa: E731
        made = Notebooks(book, Cache(cache or self.folder / "cache"), environment)
        made.begin(self.files)
        outputs = dict(made.ended(until=self.files))
        self.executed = set(made.executed)
        return outputs

    def texts(self) -> dict[str, str]:
        """What each notebook's first cell printed."""
        texts = {}
        for name, outputs in self.build().items():
            assert not isinstance(outputs, PublishError), outputs
            texts[name] = " ".join(re.sub("<[^>]*>", " ", outputs[1]).split())
        return texts


def test_a_notebook_is_executed_when_what_it_reads_has_changed_and_only_then(tmp_path: Path) -> None:
    world = World(tmp_path, prefill=PREFILL, quantity=QUANTITY, chart=CHART)
    first = world.texts()
    assert world.executed == {"prefill", "quantity", "chart"}
    assert "355" in first["quantity"] and "351 ms" in first["chart"]

    assert world.texts() == first
    assert world.executed == set()

    world.change("decode", 2)
    second = world.texts()
    assert world.executed == {"quantity", "chart"}, "the samples of prefill are as they were"
    assert second["prefill"] == first["prefill"]
    assert "710" in second["quantity"] and "351 ms" not in second["chart"]

    world.change("prefill", 2)
    third = world.texts()
    assert "prefill" in world.executed
    assert third["prefill"] != second["prefill"] and third["quantity"] == first["quantity"]

    fixture_data.write_run(world.data)
    text = world.quantities.read_text(encoding="utf-8")
    world.quantities.write_text(text.replace('title = "Decode, 500 tokens deep"', 'title = "Another title"'))
    world.texts()
    assert "quantity" in world.executed and "prefill" in world.executed

    world.quantities.write_text(text)
    world.texts()
    world.quantities.write_text(text.replace('title = "Decode, 500 tokens deep"', 'title = "Another title"'))
    world.texts()
    assert world.executed == {"quantity"}

    world.write("quantity", QUANTITY + "print('more')")
    assert "more" in world.texts()["quantity"]
    assert world.executed == {"quantity"}


def test_files_modules_and_folders_that_a_cell_reads_count(tmp_path: Path) -> None:
    world = World(tmp_path, files=FILES)
    for name, text in (("helper.py", "WORD = 'one'"), ("words.txt", "two"), ("more/three", "")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert world.texts() == {"files": "one two ['three']"}
    world.texts()
    assert world.executed == set()
    (tmp_path / "unread.txt").write_text("nobody asks")
    world.texts()
    assert world.executed == set()
    (tmp_path / "helper.py").write_text("WORD = 'other'")
    assert world.texts() == {"files": "other two ['three']"}
    (tmp_path / "words.txt").write_text("words")
    assert world.texts() == {"files": "other words ['three']"}
    (tmp_path / "more/four").touch()
    assert world.texts() == {"files": "other words ['four', 'three']"}
    (tmp_path / "words.txt").unlink()
    (failed,) = world.build().values()
    assert isinstance(failed, PublishError) and "FileNotFoundError" in str(failed)


def test_what_no_fingerprint_follows_is_executed_at_every_build(tmp_path: Path) -> None:
    world = World(
        tmp_path, process="import subprocess\nprint(subprocess.run(['echo', 'told'], text=True).returncode)"
    )
    assert world.texts() == {"process": "0"} and world.executed
    assert world.texts() == {"process": "0"} and world.executed


def test_code_and_versions_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(tmp_path, quantity=QUANTITY)
    world.texts()
    (kept,) = (tmp_path / "cache/notebook").iterdir()
    reads = json.loads(kept.read_text().partition("\n")[2])["reads"]
    files = {json.loads(read)[1] for read in reads if json.loads(read)[0] == "file"}
    for name in ("notebook", "numbers/readings", "numbers/estimates", "writing/provenance"):
        assert str(ROOT / f"hooks/{name}.py") in files, "a changed module of ours executes it again"
    assert not any("site_data" in name or "-packages" in name for name in files)
    monkeypatch.setattr(notebooks, "versions", lambda: "altair of another version")
    world.texts()
    assert world.executed == {"quantity"}


def test_a_damaged_lost_or_unwritable_cache_changes_nothing(tmp_path: Path) -> None:
    world = World(tmp_path, quantity=QUANTITY)
    first = world.texts()
    for path in (tmp_path / "cache/notebook").iterdir():
        os.truncate(path, path.stat().st_size // 2)
    assert world.texts() == first and world.executed
    (tmp_path / "file").touch()
    outputs = world.build(tmp_path / "file")["quantity"]
    assert not isinstance(outputs, PublishError) and "355" in outputs[1]


def test_what_is_saved_while_a_notebook_runs_is_not_missed(tmp_path: Path) -> None:
    late = "from pathlib import Path\nimport helper\nPath('helper.py').write_text(\"WORD = 'new'\")\nprint(helper.WORD)"
    world = World(tmp_path, late=late)
    (tmp_path / "helper.py").write_text("WORD = 'old'")
    os.utime(tmp_path / "helper.py", (0, 0))
    assert world.texts() == {"late": "old"}
    assert world.texts() == {"late": "new"}


def test_a_failure_is_not_kept(tmp_path: Path) -> None:
    world = World(tmp_path, failing="from pathlib import Path\nassert Path('there').exists()")
    for _ in range(2):
        (failed,) = world.build().values()
        assert isinstance(failed, PublishError) and "docs/failing.ipynb, cell 1, line 2" in str(failed)
    (tmp_path / "there").touch()
    assert not isinstance(world.build()["failing"], PublishError)


def test_kernels_share_nothing(tmp_path: Path) -> None:
    leave = "import pandas, sys\npandas.LEFT = 1\nsys.LEFT = 1\nprint('left')"
    ask = "import pandas, sys, time\ntime.sleep(1)\nprint(hasattr(pandas, 'LEFT'), hasattr(sys, 'LEFT'))"
    world = World(tmp_path, leave=leave, ask=ask)
    assert world.texts() == {"leave": "left", "ask": "False False"}


def test_a_process_that_dies_is_told(tmp_path: Path) -> None:
    world = World(tmp_path, dying="import os\nos._exit(3)")
    (failed,) = world.build().values()
    assert isinstance(failed, PublishError)
    assert "docs/dying.ipynb: the notebook did not run to its end" in str(failed)
