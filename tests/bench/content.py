"""GENERATED content for the benchmarks of building: the same pages, numbers and charts for two programs.

Nothing in it was measured. Words come from a seeded list; times are made up by arithmetic, as in the fixtures of the
publishing tests, and say so in their labels. No timing lives here.
"""

from __future__ import annotations

import csv
import json
import random
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.publish import fixture_data
from tests.publish.fixture_data import PROCESSES, ROOT

PROMPTS = (64, 500, 1000)
DEPTHS = (64, 500)
CHARTS = ("time-per-token", "decode-by-depth")
QUANTITIES = 20
"""Numbers that each run answers for; a page states ten of them."""

_TEXT = """
a model reads the whole prompt at once and then writes one token after another while every weight is read again
from memory so the time of a step follows the bytes that it moves and less the arithmetic that it does with them
"""
_WORDS = _TEXT.split()

Record = dict[str, Any]


@dataclass(frozen=True)
class Size:
    """How much content there is. Each run serves two pages."""

    pages: int = 40
    words: int = 600
    numbers: int = 10  # a page
    charts: int = 1  # a page
    notebooks: int = 2
    samples: int = 2_000

    @property
    def runs(self) -> int:
        """Runs that the pages take their numbers from."""
        return max(1, self.pages * max(1, self.charts) // 2)


def cells() -> list[Record]:
    """The cells of every run."""
    common = {"batch": 1, "dtype": "float32", "mode": "eager"}
    return [
        *({"experiment": "prefill", "prompt_tokens": n, "context_tokens": None} | common for n in PROMPTS),
        *({"experiment": "decode", "prompt_tokens": None, "context_tokens": n} | common for n in DEPTHS),
    ]


def records(size: Size, run: int, factor: float = 1.0) -> list[Record]:
    """The samples of one run; runs differ a little, so that no two charts are alike."""
    each = max(1, size.samples // size.runs // (len(cells()) * PROCESSES))
    made = []
    for process in range(PROCESSES):
        for cell in cells():
            for repetition in range(each):
                record = fixture_data.sample(
                    cell,
                    process,
                    repetition,
                    fixture_data.seconds_per_token,
                    warm_up=False,
                    energy=False,
                )
                wobble = 1 + 0.001 * ((repetition * 7 + process) % 11)
                record["duration_s"] *= factor * (1 + 0.01 * run) * wobble
                made.append(record)
    return made


def name(run: int) -> str:
    """A run's alias, and the name of its plan."""
    return f"r{run:03d}"


def of_page(size: Size, page: int) -> int:
    """The run that a page takes its numbers from."""
    return page % size.runs


def numbers(size: Size, page: int) -> list[str]:
    """The ids that a page states."""
    begin = (page // size.runs) * size.numbers
    return [ids()[(begin + offset) % QUANTITIES] for offset in range(size.numbers)]


def ids() -> list[str]:
    """All ids that every run answers for: five measured, the others ratios of them."""
    ratios = [
        f"ratio.q{first}_over_q{second}" for first in range(5) for second in range(5) if first != second
    ]
    return [*(f"time.q{index}" for index in range(5)), *ratios][:QUANTITIES]


def text(size: Size, page: int, number: Any, chart: Any) -> str:
    """A page's Markdown. `number(id)` and `chart(name)` write what their program understands."""
    chooser = random.Random(page)
    blocks = [f"# Page {page}"]
    stated = numbers(size, page)
    paragraphs = max(1, size.numbers)
    for index in range(paragraphs):
        words = " ".join(chooser.choice(_WORDS) for _ in range(size.words // paragraphs))
        said = f" It takes {number(stated[index])}." if index < len(stated) else ""
        blocks.append(f"{words.capitalize()}.{said}")
    blocks += [chart(CHARTS[(page // size.runs + index) % 2]) for index in range(size.charts)]
    return "\n\n".join(blocks) + "\n"


def notebook(cells_: list[tuple[str, str]]) -> str:
    """A notebook's JSON."""
    made: list[Record] = []
    for index, (kind, source) in enumerate(cells_):
        cell: Record = {"cell_type": kind, "id": f"c{index}", "metadata": {}, "source": source}
        made.append(cell | ({"execution_count": None, "outputs": []} if kind == "code" else {}))
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {"kernelspec": kernel}, "cells": made})


# --- this project ---------------------------------------------------------------------------------


def ours(folder: Path, size: Size) -> None:
    """A copy of this project with the generated content and data."""
    shutil.copytree(ROOT / "hooks", folder / "hooks", ignore=shutil.ignore_patterns("__pycache__"))
    for part in ("docs/assets", "docs/.overrides"):
        shutil.copytree(ROOT / part, folder / part)
    fixture_data.site_data(folder / "site_data")
    for run in range(size.runs):
        write_run(folder, size, run)
    (folder / "docs/quantities.toml").write_text(_quantities(size), encoding="utf-8")
    config = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    config = re.sub(r"^nav:\n(?:[ \t]+.*\n|\n(?=[ \t]))+", "", config, flags=re.MULTILINE)
    (folder / "mkdocs.yml").write_text(config, encoding="utf-8")
    _write_pages(
        folder,
        size,
        number=lambda id_, alias: f"{{{{ {id_} run={alias} label=off }}}}",
        chart=lambda chart, alias: f"{{{{ chart {chart} run={alias} }}}}",
        notebook=_our_notebook,
    )


def _write_pages(
    folder: Path,
    size: Size,
    *,
    number: Callable[[str, str], str],
    chart: Callable[[str, str], str],
    notebook: Callable[[int], str],
) -> None:
    """Pages and notebooks in what one program understands; `number` and `chart` take a name and an alias."""
    for page in range(size.pages):
        alias = name(of_page(size, page))
        source = text(
            size,
            page,
            lambda id_, alias=alias: number(id_, alias),
            lambda name_, alias=alias: chart(name_, alias),
        )
        (folder / f"docs/{_file(page)}.md").write_text(source, encoding="utf-8")
    for index in range(size.notebooks):
        (folder / f"docs/note{index}.ipynb").write_text(notebook(index), encoding="utf-8")


def write_run(folder: Path, size: Size, run: int, factor: float = 1.0) -> None:
    """Write one run's files."""
    plan = fixture_data.run_record("x", 0)["plan"] | {
        "name": name(run),
        "cells": [
            cell
            | {"repetitions": 1, "steps": fixture_data.DECODE_STEPS if cell["experiment"] == "decode" else 1}
            for cell in cells()
        ],
    }
    fixture_data.write_run(
        folder / "site_data", f"fixture-{name(run)}", records(size, run, factor), plan=plan
    )


def _quantities(size: Size) -> str:
    parts = ["version = 1\n"]
    for run in range(size.runs):
        parts.append(
            f'[runs.{name(run)}]\nlabel = "run {run}"\nmodel = "qwen2.5-1.5b"\nplans = ["{name(run)}"]\n'
        )
    for index, cell in enumerate(cells()):
        where = f"prompt_tokens = {cell['prompt_tokens']}" if cell["prompt_tokens"] else ""
        where = where or f"context_tokens = {cell['context_tokens']}"
        parts.append(
            f'[quantity."time.q{index}"]\ntitle = "Time {index}"\n'
            f'meaning = "Made-up time of cell {index}"\nunit = "s"\n'
            f'measured = {{ experiment = "{cell["experiment"]}", batch = 1, {where}, mode = "eager", '
            f'field = "seconds_per_token" }}\n'
        )
    for id_ in ids()[5:]:
        first, second = re.findall(r"q\d+", id_)
        parts.append(
            f'[quantity."{id_}"]\ntitle = "Ratio"\nmeaning = "Made-up time over another"\nunit = "1"\n'
            f'formula = "time.{first} / time.{second}"\n'
        )
    return "\n".join(parts)


def _our_notebook(index: int) -> str:
    alias = name(index)
    return notebook(
        [
            ("markdown", f"# Note {index}\n\nIt takes {{{{ time.q0 run={alias} label=off }}}}."),
            (
                "code",
                f"import altair as alt\nfrom hooks.notebook import picture, samples\n\ntable = samples('{alias}')",
            ),
            ("code", "table.groupby('experiment').duration_s.median().to_frame()"),
            *(
                (
                    "code",
                    f"data = table[table.experiment == '{experiment}'][['process', 'duration_s']].head(200)\n"
                    "drawing = alt.Chart(data).mark_point().encode(x='process:Q', y='duration_s:Q')\n"
                    f"picture(drawing, name='{experiment}', title='Samples', finding='All samples', table=data)",
                )
                for experiment in ("prefill", "decode")
            ),
        ]
    )


# --- the assembled plugins ------------------------------------------------------------------------


def theirs(folder: Path, size: Size) -> None:
    """The same content for mkdocs-macros, mkdocs-charts and mkdocs-jupyter, as their manuals have it."""
    (folder / "docs/data").mkdir(parents=True)
    shutil.copytree(ROOT / "docs/assets", folder / "docs/assets")
    write_table(folder, size)
    (folder / "mkdocs.yml").write_text(_THEIR_CONFIG, encoding="utf-8")
    (folder / "main.py").write_text(_THEIR_MACROS, encoding="utf-8")
    _write_pages(
        folder,
        size,
        number=lambda id_, alias: f'{{{{ number("{id_}", "{alias}") }}}}',
        chart=lambda chart, alias: f"```vegalite\n{_their_chart(chart, alias)}\n```",
        notebook=_their_notebook,
    )


def write_table(folder: Path, size: Size, changed: int | None = None, factor: float = 1.0) -> None:
    """All samples as one CSV, and one CSV with the medians of each run for its charts."""
    columns = ("run", "experiment", "tokens_in_context", "process", "repetition", "seconds_per_token")
    with (folder / "docs/data/samples.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        for run in range(size.runs):
            for record in records(size, run, factor if run == changed else 1.0):
                length = record["prompt_tokens"] or record["context_tokens"]
                seconds = record["duration_s"] / record["tokens"]
                row = [
                    name(run),
                    record["experiment"],
                    length,
                    record["process"],
                    record["repetition"],
                    seconds,
                ]
                writer.writerow(row)


def _their_chart(chart: str, alias: str) -> str:
    wanted = [] if chart == "time-per-token" else [{"filter": "datum.experiment == 'decode'"}]
    return json.dumps(
        {
            "description": chart,
            "data": {"url": "data/samples.csv"},
            "transform": [{"filter": f"datum.run == '{alias}'"}, *wanted],
            "layer": [
                {"mark": {"type": "line", "point": True}, "encoding": {"y": {"aggregate": "median"}}},
                {"mark": {"type": "errorbar", "extent": "stdev"}},
            ],
            "encoding": {
                "x": {"field": "tokens_in_context", "type": "quantitative"},
                "y": {"field": "seconds_per_token", "type": "quantitative"},
                "color": {"field": "experiment", "type": "nominal"},
            },
        }
    )


def _their_notebook(index: int) -> str:
    alias = name(index)
    return notebook(
        [
            ("markdown", f"# Note {index}"),
            ("code", "import altair as alt\nimport pandas as pd\n\ntable = pd.read_csv('data/samples.csv')\n"
                     f"table = table[table.run == '{alias}']\ntable.seconds_per_token.median()"),
            ("code", "table.groupby('experiment').seconds_per_token.median().to_frame()"),
            *(
                (
                    "code",
                    f"data = table[table.experiment == '{experiment}'].head(200)\n"
                    "alt.Chart(data).mark_point().encode(x='process:Q', y='seconds_per_token:Q')",
                )
                for experiment in ("prefill", "decode")
            ),
        ]
    )  # fmt: skip


def _file(page: int) -> str:
    return "index" if page == 0 else f"page{page:03d}"


_THEIR_CONFIG = """site_name: Assembled
use_directory_urls: false
theme:
  name: material
  font: false
  features: [content.code.copy, navigation.footer, navigation.instant, navigation.sections, navigation.top, toc.follow]
plugins:
  - search
  - macros: {on_undefined: strict, on_error_fail: true}
  - charts
  - mkdocs-jupyter: {include: ["*.ipynb"], execute: true, allow_errors: false}
markdown_extensions:
  - abbr
  - admonition
  - attr_list
  - def_list
  - footnotes
  - md_in_html
  - tables
  - toc: {permalink: true}
  - pymdownx.details
  - pymdownx.highlight
  - pymdownx.superfences:
      custom_fences:
        - name: vegalite
          class: vegalite
          format: !!python/name:mkdocs_charts_plugin.fences.fence_vegalite
extra_css: [assets/site.css]
extra_javascript:
  - https://cdn.jsdelivr.net/npm/vega@6
  - https://cdn.jsdelivr.net/npm/vega-lite@6
  - https://cdn.jsdelivr.net/npm/vega-embed@7
"""

_THEIR_MACROS = '''"""Numbers for the pages, by name."""

import pandas as pd


def define_env(env):
    table = pd.read_csv("docs/data/samples.csv")
    medians = table.groupby(["run", "experiment", "tokens_in_context", "process"]).seconds_per_token.median()
    medians = medians.groupby(["run", "experiment", "tokens_in_context"]).median().to_dict()
    cells = [("prefill", 64), ("prefill", 500), ("prefill", 1000), ("decode", 64), ("decode", 500)]

    @env.macro
    def number(name, run):
        kind, _, cell = name.partition(".q")
        if kind == "time":
            return f"{1000 * medians[(run, *cells[int(cell)])]:.3g} ms"
        first, second = cell.split("_over_q")
        return f"{medians[(run, *cells[int(first)])] / medians[(run, *cells[int(second)])]:.3g}"
'''
