"""How much longer a build takes for other machines that its pages can show: `python -m tests.bench.machines [TIMES]`.

Builds the pages of docs/ on FIXTURE runs, in turn with no other machine, with one and with four: once with nothing kept
from earlier builds, once with everything kept, once after an edit of one page. The code of notebooks is left out: it is
executed for the main run alone. Prints the median of each, and by how much it exceeds the build without other machines,
made right before it.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.publish import fixture_data
from tests.publish.fixture_data import ROOT

COUNTS = (0, 1, 4)
KINDS = ("nothing kept", "all kept", "a page edited")


def project(folder: Path, others: int) -> Path:
    """The repository's pages, on the runs of a main machine and of so many others."""
    for part in ("docs", "hooks"):
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
    for part in ("mkdocs.yml", "CITATION.cff"):
        shutil.copy(ROOT / part, folder)
    for path in (folder / "docs").rglob("*.ipynb"):
        note = json.loads(path.read_text(encoding="utf-8"))
        note["cells"] = [cell for cell in note["cells"] if cell["cell_type"] == "markdown"]
        path.write_text(json.dumps(note), encoding="utf-8")
    data = fixture_data.site_data(folder / "site_data")
    fixture_data.write_run(data)
    machine = fixture_data.run_record("x", 0)["machine"]
    for number in range(others):
        name = f"fixture machine {number}"
        fixture_data.write_run(
            data,
            f"fixture-{number}",
            fixture_data.uneven(fixture_data.samples()),
            machine=machine | {"id": f"fixture-{number}", "label": name},
            finished_at=f"2026-01-01T0{number}:00:00Z",
        )
    return folder


def build(folder: Path) -> float:
    """Seconds of one build."""
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(folder / "site")]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(folder)}
    begin = time.perf_counter()
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stdout + done.stderr)
    return time.perf_counter() - begin


def once(folder: Path, turn: int) -> dict[str, float]:
    """One build of each kind."""
    shutil.rmtree(folder / ".cache", ignore_errors=True)
    shutil.rmtree(folder / ".build", ignore_errors=True)
    first, again = build(folder), build(folder)
    page = folder / "docs/primers/1-what-a-model-is.md"
    page.write_text(page.read_text(encoding="utf-8") + f"\nEdited {'once more ' * turn}.\n", encoding="utf-8")
    return dict(zip(KINDS, (first, again, build(folder)), strict=True))


def main() -> None:
    """Measure and print."""
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    with tempfile.TemporaryDirectory() as temporary:
        projects = {count: project(Path(temporary) / str(count), count) for count in COUNTS}
        taken = [{count: once(folder, turn) for count, folder in projects.items()} for turn in range(times)]
    for kind in KINDS:
        for count in COUNTS:
            seconds = statistics.median(each[count][kind] for each in taken)
            more = statistics.median(each[count][kind] - each[0][kind] for each in taken)
            print(f"{kind}, {count} other machines: {seconds:.2f} s, {more:+.2f} s")


if __name__ == "__main__":
    main()
