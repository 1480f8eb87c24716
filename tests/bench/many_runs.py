"""How long does a build take, how much memory, and how large are its lists, with 1,000 runs and 200 quantities?

    python -m tests.bench.many_runs [--runs 1000] [--quantities 200] [--keep FOLDER]

The runs are GENERATED: nothing in them was measured, and they say so. Each has 12 cells in 3 processes; of the
quantities a third is measured, the others are ratios. Builds the site three times: with nothing kept, with everything
kept, and after one more run was added. Prints seconds, the largest memory of any process, and sizes. Bound: 60 s, 2 GB.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.publish import fixture_data
from tests.publish.fixture_data import ROOT

PROCESSES = 3
REPETITIONS = 2
MACHINES = 6
LENGTHS = (64, 128, 256, 500, 1000, 2000)
FIELDS = (
    "seconds_per_token",
    "share_of_read_ceiling",
    "share_of_flop_ceiling",
    "bytes_per_s",
    "flop_per_s",
    "duration_s",
)
UNITS = {"seconds_per_token": "s", "bytes_per_s": "bytes/s", "flop_per_s": "flop/s", "duration_s": "s"}
MOST_S, MOST_BYTES = 60.0, 2 * 10**9

Record = dict[str, Any]


def cells() -> list[Record]:
    """The cells of every run."""
    common = {"batch": 1, "dtype": "float32", "mode": "eager"}
    return [
        *({"experiment": "prefill", "prompt_tokens": n, "context_tokens": None} | common for n in LENGTHS),
        *({"experiment": "decode", "prompt_tokens": None, "context_tokens": n} | common for n in LENGTHS),
    ]


def write_run(site_data: Path, number: int) -> None:
    """One generated run; runs differ in date, machine and speed."""
    chance = random.Random(number)
    speed = 1 + 0.3 * (number % MACHINES) + 0.02 * chance.random()
    records = []
    for process in range(PROCESSES):
        for cell in cells():
            for repetition in range(-1, REPETITIONS):
                record = fixture_data.sample(
                    cell,
                    process,
                    repetition,
                    fixture_data.seconds_per_token,
                    warm_up=repetition < 0,
                    energy=False,
                )
                record["duration_s"] *= speed * (1 + 0.02 * chance.random())
                records.append(record)
    base = fixture_data.run_record("x", 0)
    planned = [
        cell
        | {
            "repetitions": REPETITIONS,
            "steps": fixture_data.DECODE_STEPS if cell["experiment"] == "decode" else 1,
        }
        for cell in cells()
    ]
    machine = f"generated machine {number % MACHINES} (nothing was measured)"
    day = f"{2020 + number // 336}-{1 + number // 28 % 12:02d}-{1 + number % 28:02d}"
    fixture_data.write_run(
        site_data,
        f"{day.replace('-', '')}-{number:06d}-generated",
        records,
        plan=base["plan"] | {"cells": planned, "rounds": PROCESSES},
        machine=base["machine"] | {"id": f"generated-{number % MACHINES}", "label": machine},
        started_at=f"{day}T03:00:00Z",
        finished_at=f"{day}T04:00:00Z",
        processes=[
            {"process": n, "round": n, "started_at": f"{day}T03:00:00Z", "build_s": 1.0}
            for n in range(PROCESSES)
        ],
    )


def quantities(count: int) -> str:
    """docs/quantities.toml with that many quantities: a third measured, the rest ratios of them."""
    parts = ['version = 1\n[runs.main]\nlabel = "generated"\nmodel = "qwen2.5-1.5b"\nplans = ["standard"]\n']
    ids: list[str] = []
    for field in FIELDS:
        for cell in cells():
            if len(ids) >= count // 3:
                break
            length = cell["prompt_tokens"] or cell["context_tokens"]
            key = "prompt_tokens" if cell["prompt_tokens"] else "context_tokens"
            ids.append(f"{cell['experiment']}.{field}.at_{length}")
            parts.append(
                f'[quantity."{ids[-1]}"]\ntitle = "{field} of {cell["experiment"]}, {length} tokens"\n'
                f'meaning = "Made up: {field} of {cell["experiment"]} at {length} tokens"\n'
                f'unit = "{UNITS.get(field, "1")}"\n'
                f'measured = {{ experiment = "{cell["experiment"]}", batch = 1, {key} = {length}, mode = "eager", '
                f'field = "{field}" }}\n'
            )
    measured = list(ids)
    for first in measured:
        for second in measured:
            if len(ids) < count and first != second:
                ids.append(f"ratio.q{len(ids)}")
                parts.append(
                    f'[quantity."{ids[-1]}"]\ntitle = "Ratio {len(ids)}"\nmeaning = "Made up: a number over another"\n'
                    f'unit = "1"\nformula = "{first} / {second}"\n'
                )
    return "\n".join(parts)


def project(folder: Path, runs: int, count: int) -> None:
    """A copy of this project with one page, the Data section, and generated data."""
    shutil.copytree(ROOT / "hooks", folder / "hooks", ignore=shutil.ignore_patterns("__pycache__"))
    for part in ("assets", "data", "api", ".overrides"):
        shutil.copytree(ROOT / "docs" / part, folder / "docs" / part)
    for name in ("glossary.md", "method.md"):
        (folder / "docs" / name).write_text(f"# {name}\n", encoding="utf-8")
    (folder / "docs/primers").mkdir()
    (folder / "docs/primers/1-what-a-model-is.md").write_text("# A page\n", encoding="utf-8")
    (folder / "docs/reference").mkdir()
    (folder / "docs/reference/api.md").write_text("# The endpoints\n", encoding="utf-8")
    first = "decode.seconds_per_token.at_64"
    (folder / "docs/index.md").write_text(f"# Home\n\nIt takes {{{{ {first} }}}}.\n", encoding="utf-8")
    shutil.copy(ROOT / "CITATION.cff", folder)
    config = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    begin = config.index("\nnav:")
    end = config.index("\n\n", begin + 1)
    (folder / "mkdocs.yml").write_text(config[:begin] + config[end:], encoding="utf-8")
    (folder / "docs/quantities.toml").write_text(quantities(count), encoding="utf-8")
    fixture_data.site_data(folder / "site_data")
    for number in range(runs):
        write_run(folder / "site_data", number)


def build(folder: Path, what: str) -> tuple[float, int]:
    """Build once; seconds, and the largest memory of any process, bytes."""
    script = (
        "import resource, subprocess, sys; "
        "done = subprocess.run([sys.executable, '-m', 'mkdocs', 'build', '--quiet', '--strict']); "
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss); sys.exit(done.returncode)"
    )
    begin = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=folder,
        capture_output=True,
        text=True,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1", "SITE_URL": "https://example.org/"},
    )
    seconds = time.perf_counter() - begin
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    most = int(done.stdout.split()[-1]) * 1024
    print(f"{what:34} {seconds:6.1f} s  {most / 1e9:5.2f} GB", flush=True)
    return seconds, most


def sizes(site: Path) -> None:
    """Print how large the lists and the pages are."""
    for name in ("data/quantities/index.html", "data/runs/index.html", "sitemap.xml", "api/v1/index.json"):
        content = (site / name).read_bytes()
        print(
            f"{name:34} {len(content) / 1e3:7.0f} kB, {len(gzip.compress(content, 6)) / 1e3:.0f} kB gzipped"
        )
    for pattern in ("data/quantities/*.html", "data/runs/*.html", "api/v1/quantities/*.json", "data/*.zip"):
        found = [path.stat().st_size for path in site.glob(pattern)]
        print(
            f"{pattern:34} {len(found):5} files, largest {max(found) / 1e3:.0f} kB, together {sum(found) / 1e6:.0f} MB"
        )


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--quantities", type=int, default=200)
    parser.add_argument("--keep", type=Path, help="a folder for the generated project, kept afterwards")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary) / "project"
        folder.mkdir(parents=True, exist_ok=True)
        project(folder, options.runs, options.quantities)
        data = sum(path.stat().st_size for path in (folder / "site_data").rglob("*") if path.is_file())
        print(f"{options.runs} runs, {options.quantities} quantities, {data / 1e6:.0f} MB of data")
        found = [build(folder, "nothing kept"), build(folder, "everything kept")]
        write_run(folder / "site_data", options.runs)
        found.append(build(folder, "one run added"))
        sizes(folder / "site")
        values = json.loads(
            (folder / "site/api/v1/quantities/decode.seconds_per_token.at_64.json").read_text()
        )
        assert len(values["runs"]) == options.runs + 1, "a run is missing from a number's endpoint"
    print(f"this process itself: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB")
    return int(max(s for s, _ in found) > MOST_S or max(b for _, b in found) > MOST_BYTES)


if __name__ == "__main__":
    sys.exit(main())
