"""How long does a preview take to show a change? `python -m tests.bench.serve`

A server previews the small project of the publishing tests (tests/publish/project.py): a page and a notebook. Each
kind of file is edited as an author would, and the page is asked for until it shows the change. That MkDocs looks for
changes twice a second is in the figures. With `--site` the pages and notebooks of this repository are previewed, too,
and a page and samples of its data are changed.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
import tempfile
import time
from pathlib import Path

from tests.publish.fixture_data import ROOT
from tests.publish.project import Project
from tests.publish.serving import Server, edits, serving


def small(folder: Path) -> None:
    """Print the seconds for each kind of change."""
    project = Project.make(folder / "project")
    with serving(project.folder) as server:
        for edit in edits():
            edit.make(project.folder)
            seconds = server.wait(edit.page, edit.shows)
            print(f"{edit.kind:36}{seconds:6.2f} s", flush=True)
            if seconds == float("inf"):
                sys.exit(server.log.read_text())


def whole(folder: Path) -> None:
    """Print the seconds for a changed sample and a changed page of this repository's own site."""
    for part in ("hooks", "docs", "site_data"):
        shutil.copytree(
            ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__", "unfinished")
        )
    shutil.copy(ROOT / "mkdocs.yml", folder)
    with serving(folder) as server:
        page = folder / "docs/index.md"
        page.write_text(page.read_text(encoding="utf-8") + "\n\nOne more line.\n", encoding="utf-8")
        print(f"{'this site: a page':36}{server.wait('index.html', 'One more line.'):6.2f} s")
        published = json.loads((folder / ".build/published.json").read_text(encoding="utf-8"))["pages"][
            "index.md"
        ]
        number = next(
            item for item in published["quantities"] if item["id"].startswith("decode.seconds_per_token")
        )
        samples = folder / "site_data/runs" / number["run"] / "samples.jsonl"
        lines = [json.loads(line) for line in samples.read_text(encoding="utf-8").splitlines()]
        for line in lines:
            if line["experiment"] == "decode" and line["duration_s"]:
                line["duration_s"] *= 1.01
        before = _content(server)
        samples.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        print(f"{'this site: samples':36}{_until_other(server, before):6.2f} s")


def _content(server: Server) -> str:
    """The home page without its scripts: the server's own has another number in each answer."""
    return re.sub("<script.*?</script>", "", server.page("index.html"), flags=re.DOTALL)


def _until_other(server: Server, before: str) -> float:
    begin = time.perf_counter()
    while _content(server) in (before, ""):
        time.sleep(0.02)
    return time.perf_counter() - begin


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.serve")
    parser.add_argument("--site", action="store_true", help="this repository's own site, too")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        small(Path(folder))
        if options.site:
            whole(Path(folder))


if __name__ == "__main__":
    main()
