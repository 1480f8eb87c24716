"""How fast is a build here beside one with the plugins that a user would assemble today?

The same generated pages, numbers, charts, notebooks and samples (tests/bench/content.py) are built here and with
mkdocs-macros, mkdocs-charts and mkdocs-jupyter, in pairs, one after the other. Asked is the time

- of a cold build: nothing kept from an earlier one, but what each environment keeps of its own packages (compiled
  Python; here also the theme's templates, Vega's script and quantiles);
- after a change of data that the notebooks read: here they are executed again, there they stay as they were;
- after a change of data that no notebook reads.

Printed are seconds, and the ratio here over there, as the median of the pairs with the least and the greatest. After
each change it is made sure that the new value stands on every page here.

    python -m venv /tmp/assembled
    /tmp/assembled/bin/pip install -c requirements.lock mkdocs mkdocs-material mkdocs-jupyter mkdocs-macros-plugin \\
      mkdocs-charts-plugin altair pandas
    python -m tests.bench.assembled --theirs /tmp/assembled/bin/python

`--costs` asks instead what one more number and one more chart cost here; `--large` takes 640 pages and 200,000 samples.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from tests.bench import content
from tests.bench.content import Size
from tests.publish.fixture_data import ROOT

SMALL = Size()
LARGE = Size(pages=640, samples=200_000)


class Project:
    """One of the two, in a folder of its own."""

    def __init__(self, folder: Path, size: Size, python: str, make: Callable[[Path, Size], None]) -> None:
        self.folder, self.size, self.python = folder, size, python
        folder.mkdir()
        make(folder, size)

    def forget(self) -> None:
        """Remove all that a build left."""
        for name in ("site", ".cache", ".build"):
            shutil.rmtree(self.folder / name, ignore_errors=True)

    def build(self) -> float:
        """Seconds of a build, from the start of the process to its end."""
        # Where Python keeps no compiled code, only what is installed has some.
        left_out = ("SITE_DATA", "PYTHONDONTWRITEBYTECODE")
        environment = {name: value for name, value in os.environ.items() if name not in left_out}
        environment |= {"NO_MKDOCS_2_WARNING": "1", "SOURCE_DATE_EPOCH": "1767322800"}
        begin = time.perf_counter()
        done = subprocess.run(
            [self.python, "-m", "mkdocs", "build", "--quiet"],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
        )
        seconds = time.perf_counter() - begin
        if done.returncode:
            sys.exit(f"{self.folder.name}: {done.stdout}{done.stderr}")
        return seconds


class Ours(Project):
    """This project."""

    def change(self, run: int, factor: float) -> None:
        """Change a run's samples."""
        content.write_run(self.folder, self.size, run, factor)

    def told(self, run: int) -> str:
        """The text of the run's first number as the pages have it, once it is certain that all say the same."""
        published = json.loads((self.folder / "site/published.json").read_text(encoding="utf-8"))["pages"]
        texts = {
            number["text"]
            for page in published.values()
            for number in page["quantities"]
            if number["id"] == "time.q0" and number["alias"] == content.name(run)
        }
        (text,) = texts
        pages = [
            self.folder / "site" / f"{uri.rpartition('.')[0]}.html"
            for uri, page in published.items()
            if any((n["id"], n["alias"]) == ("time.q0", content.name(run)) for n in page["quantities"])
        ]
        assert pages and all(text in page.read_text(encoding="utf-8") for page in pages)
        return text


class Theirs(Project):
    """The assembled plugins."""

    def change(self, run: int, factor: float) -> None:
        """Change a run's samples."""
        content.write_table(self.folder, self.size, run, factor)


def compare(size: Size, pairs: int, theirs: str, where: Path) -> None:
    """Print the table for one size."""
    here = Ours(where / f"ours{size.pages}", size, sys.executable, content.ours)
    there = Theirs(where / f"theirs{size.pages}", size, theirs, content.theirs)
    asked: dict[str, list[tuple[float, float]]] = {}
    factor = 1.0
    for _ in range(pairs):
        for project in (here, there):
            project.forget()
        asked.setdefault("cold", []).append((here.build(), there.build()))
        for title, run in (
            ("after a change that the notebooks read", 0),
            ("after a change that no notebook reads", size.runs - 1),
        ):
            before, factor = here.told(run), factor + 0.1
            here.change(run, factor)
            there.change(run, factor)
            asked.setdefault(title, []).append((here.build(), there.build()))
            assert here.told(run) != before, "the new value is not there"
    print(
        f"\n{size.pages} pages of {size.words} words, {size.pages * size.numbers} numbers, "
        f"{size.pages * size.charts} charts, {size.notebooks} notebooks, {size.samples:,} samples; {pairs} pairs"
    )
    print(f"{'':42}{'here, s':>9}{'there, s':>10}   ratio (least to greatest)")
    for title, times in asked.items():
        ratios = sorted(ours / other for ours, other in times)
        ours, other = (statistics.median(column) for column in zip(*times, strict=True))
        ends = f"({ratios[0]:.2f} to {ratios[-1]:.2f})"
        print(f"{title:42}{ours:9.2f}{other:10.2f}   {statistics.median(ratios):.2f} {ends}")


def costs(pairs: int, where: Path) -> None:
    """Print what one more number, chart and page cost here, cold and when built again unchanged."""
    sizes = {
        "base": SMALL,
        "number": replace(SMALL, numbers=20),
        "chart": replace(SMALL, charts=2),
        "page": replace(SMALL, pages=80, numbers=5, charts=0),
    }
    base_of_page = replace(SMALL, pages=40, numbers=10, charts=0)
    added = {
        "number": SMALL.pages * 10,
        "chart": SMALL.pages,
        "page": 40,
    }
    projects = {
        name: Ours(where / name, size, sys.executable, content.ours)
        for name, size in {**sizes, "page base": base_of_page}.items()
    }
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in projects}
    for _ in range(pairs):
        for name, project in projects.items():
            project.forget()
            times[name].append((project.build(), project.build()))
    print(f"\nCost here of one more, in ms: cold, and built again; {pairs} rounds")
    for name, count in added.items():
        base = times["page base" if name == "page" else "base"]
        cells = [
            1000
            * statistics.median(more[i] - less[i] for more, less in zip(times[name], base, strict=True))
            / count
            for i in (0, 1)
        ]
        print(f"{name:10}{cells[0]:8.2f}{cells[1]:8.2f}")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.assembled")
    parser.add_argument("--theirs", metavar="PYTHON", help="of an environment that has the other plugins")
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--large", action="store_true", help="640 pages and 200,000 samples")
    parser.add_argument("--costs", action="store_true", help="what one more number, chart and page cost here")
    options = parser.parse_args()
    os.chdir(ROOT)
    with tempfile.TemporaryDirectory() as folder:
        if options.costs:
            costs(options.pairs, Path(folder))
        else:
            if not options.theirs:
                parser.error("--theirs PYTHON is needed: see the head of tests/bench/assembled.py")
            compare(LARGE if options.large else SMALL, options.pairs, options.theirs, Path(folder))


if __name__ == "__main__":
    main()
