"""A model small enough for tests, a copy of site_data that knows it, and one real run of it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.fake_nvml import fake_driver

ROOT = Path(__file__).resolve().parents[2]

TINY = {
    "schema_version": 1,
    "name": "tiny",
    "title": "Tiny",
    "architecture": "qwen2",
    "layers": 2,
    "hidden_size": 64,
    "intermediate_size": 128,
    "attention_heads": 4,
    "kv_heads": 2,
    "head_size": 16,
    "vocab_rows": 512,
    "tied_embeddings": True,
    "qkv_bias": True,
    "rope_theta": 10000.0,
    "rms_norm_eps": 1e-6,
    "max_positions": 2048,
    "hub": None,
    "origin": {
        "title": "Made up for the tests",
        "publisher": "Spliced Inference",
        "url": None,
        "place": None,
        "accessed": "2026-11-30",
        "licence": "MIT",
    },
}


def copy_contract(target: Path) -> Path:
    """site_data with the schema, the models and Tiny, and no runs."""
    target.mkdir(parents=True)
    shutil.copy(ROOT / "site_data" / "schema.json", target)
    shutil.copytree(ROOT / "site_data" / "models", target / "models")
    (target / "models" / "tiny.json").write_text(json.dumps(TINY), encoding="utf-8")
    return target


@pytest.fixture
def site_data(tmp_path: Path) -> Path:
    return copy_contract(tmp_path / "site_data")


@dataclass(frozen=True)
class Command:
    """`python -m measure` in a process of its own."""

    module: str = "measure"

    def start(self, *arguments: str, **options: Any) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", self.module, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            # one thread: two that wait for each other on a busy machine take 100 times longer for Tiny's small steps
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            **options,
        )

    def __call__(self, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
        process = self.start(*arguments, **options)
        out, err = process.communicate(timeout=240)
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)


@pytest.fixture(scope="session")
def measure() -> Command:
    return Command()


@pytest.fixture(scope="session")
def fast_measure() -> Command:
    """The same with workers that need no torch and make their figures up, for what a session does around them."""
    return Command("tests.measure.fast_worker")


@dataclass(frozen=True)
class FinishedRun:
    """A complete run of Tiny, measured here and now."""

    site_data: Path
    folder: Path
    output: str
    progress: str

    def run(self) -> dict[str, Any]:
        data: dict[str, Any] = json.loads((self.folder / "run.json").read_text(encoding="utf-8"))
        return data

    def samples(self) -> list[dict[str, Any]]:
        lines = (self.folder / "samples.jsonl").read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines]


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory, measure: Command) -> FinishedRun:
    site_data = copy_contract(tmp_path_factory.mktemp("finished") / "site_data")
    done = measure("run", "--model", "tiny", "--plan", "quick", "--site-data", str(site_data))
    assert done.returncode == 0, done.stderr
    (folder,) = (site_data / "runs").iterdir()
    return FinishedRun(site_data, folder, done.stdout, done.stderr)


@pytest.fixture
def run_copy(finished: FinishedRun, tmp_path: Path) -> FinishedRun:
    """A copy of the finished run that a test may spoil."""
    copy = tmp_path / "spoiled"
    shutil.copytree(finished.site_data, copy)
    return FinishedRun(copy, copy / "runs" / finished.folder.name, finished.output, finished.progress)


@pytest.fixture
def rewrite_line() -> Callable[[Path, int, Callable[[str], str]], None]:
    """Change one line of a file, counted from 1."""

    def rewrite(path: Path, number: int, change: Callable[[str], str]) -> None:
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        lines[number - 1] = change(lines[number - 1])
        path.write_text("".join(lines), encoding="utf-8")

    return rewrite


@pytest.fixture(scope="session")
def nvml_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The fake NVML driver, compiled."""
    return fake_driver.build(tmp_path_factory.mktemp("fake_nvml"))


@pytest.fixture
def driver(nvml_library: Path) -> Iterator[fake_driver.FakeDriver]:
    """The fake driver inside pynvml, on virtual time."""
    driver = fake_driver.FakeDriver(nvml_library)
    driver.configure(virtual=1)
    with fake_driver.installed(driver):
        yield driver
