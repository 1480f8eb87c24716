"""Do citation-js and cffconvert, which we did not write, read our citations and CITATION.cff as they were meant?

    python -m tests.bench.citations [--folder FOLDER]

Needs Node, npm and the registries of npm and PyPI: both programs are installed into FOLDER, by default a temporary one.
Prints a line for each thing that was checked; the exit code is 1 where one is not as expected. It is no part of the
suite, since Node is not everywhere and cffconvert wants an older jsonschema than the project has.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from hooks.citation import citations
from hooks.citation.citations import Author, Record
from tests.publish.test_citations import HOSTILE, RECORD, plain

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = (
    "@citation-js/core@0.8.2",
    "@citation-js/plugin-bibtex@0.8.2",
    "@citation-js/plugin-csl@0.8.2",
    "@citation-js/plugin-ris@0.8.2",
)
CFFCONVERT = "cffconvert==2.0.0"

TYPES = {"bibtex": "@bibtex/text", "ris": "@ris/file", "csl-json": "@else/json"}
"""What citation-js calls our formats. By itself it takes RIS with `@misc{` in a title for BibTeX."""

READ = """
import { Cite } from "@citation-js/core";
import "@citation-js/plugin-bibtex";
import "@citation-js/plugin-csl";
import "@citation-js/plugin-ris";
import { readFileSync } from "node:fs";
const texts = JSON.parse(readFileSync(0, "utf8"));
console.log(JSON.stringify(texts.map(([forceType, text]) => {
  const { data } = new Cite(text, { forceType });
  return data.map(({ _graph, ...item }) => item);
})));
"""


def records() -> list[Record]:
    """Ours, and hostile titles and names in it."""
    people = (Author("O'Neil & Söns", "Marie {S.}"), Author("김", "철수"), Author("The <b>Authors</b> & 5 %"))
    found = [RECORD, replace(RECORD, authors=people), replace(RECORD, kind="dataset", value=None)]
    return found + [replace(RECORD, title=text) for text in HOSTILE if plain(text)]


def problems(record: Record, format_: str, items: list[dict[str, Any]]) -> list[str]:
    """What citation-js read otherwise than it was meant."""
    if len(items) != 1:
        return [f"{len(items)} items"]
    (item,) = items
    day = [int(part) for part in record.date.split("-")]
    names = [
        author.get("literal") or ", ".join(filter(None, (author.get("family"), author.get("given"))))
        for author in item["author"]
    ]
    # BibTeX has a year and a month. A comma in a body's name parts it in RIS, which has no way to say otherwise.
    expected = {
        "title": record.full_title,
        "author": [author.inverted for author in record.authors],
        "issued": day[:2] if format_ == "bibtex" else day,
        "URL": record.url,
    }
    found = {
        "title": item["title"],
        "author": names,
        "issued": item["issued"]["date-parts"][0],
        "URL": item.get("URL"),
    }
    return [
        f"{key}: expected {expected[key]!r}, found {found[key]!r}"
        for key in expected
        if expected[key] != found[key]
    ]


def check_formats(folder: Path) -> bool:
    """Write every record in every format, and read all with citation-js."""
    (folder / "package.json").write_text('{"type": "module", "private": true}', encoding="utf-8")
    (folder / "read.js").write_text(READ, encoding="utf-8")
    subprocess.run(
        ["npm", "install", "--silent", "--no-fund", "--no-audit", *PACKAGES], cwd=folder, check=True
    )
    written = [(record, name, citations.texts(record)[name]) for record in records() for name in TYPES]
    done = subprocess.run(
        ["node", "read.js"],
        cwd=folder,
        input=json.dumps([(TYPES[name], text) for _, name, text in written]),
        capture_output=True,
        text=True,
        check=True,
    )
    good = True
    for (record, name, _), items in zip(written, json.loads(done.stdout), strict=True):
        wrong = problems(record, name, items)
        print(f"{'ok' if not wrong else 'WRONG':6} {name:9} {record.full_title[:60]!r}")
        for line in wrong:
            print(f"       {line}")
        good = good and not wrong
    return good


def check_cff(folder: Path) -> bool:
    """Validate CITATION.cff."""
    subprocess.run([sys.executable, "-m", "venv", folder / "cff"], check=True)
    python = folder / "cff" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "-q", CFFCONVERT], check=True, capture_output=True)
    done = subprocess.run(
        [folder / "cff" / "bin" / "cffconvert", "--validate", "-i", ROOT / "CITATION.cff"],
        capture_output=True,
        text=True,
        check=False,
    )
    print(f"{'ok' if done.returncode == 0 else 'WRONG':6} cffconvert {(done.stdout + done.stderr).strip()}")
    return done.returncode == 0


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.citations", description=__doc__)
    parser.add_argument("--folder", type=Path, help="where the two programs are installed")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        results = [check_formats(folder), check_cff(folder)]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
