"""A site with every chart on FIXTURE data, for the browser: pages, runs, configuration. No assertions live here.

`python -m tests.browser.chart_site FOLDER` builds it there, to be looked at.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from hooks.extension import Site
from hooks.publication import ledger_file
from hooks.publication.ledger import Ledger, Number
from tests.publish import fixture_data
from tests.publish.fixture_data import ROOT

CHARTS = (
    "time-per-token",
    "energy-per-token run=gpu",
    "decode-by-depth",
    "decode-modes",
    "roofline",
    "roofline run=gpu datasheet=nvidia-memory-bandwidth.h200",
    "samples",
    "samples of=prefill.seconds_per_token",
    "kv-cache-against-weights",
    "time-per-token run=llama-bench",
    "energy-per-token",
)
"""Every chart, with what a page can say of it. The last is refused: there is no meter."""

FILLER = "Text that only takes up room, so that a page is longer than its window.\n\n" * 40


ONE_MACHINE = "---\nmachines: false\n---\n\n"
"""Charts are drawn from the main run alone: those of other runs would take as long again for each."""

MACHINES = """# Machines {#machines}

A token takes {{ decode.seconds_per_token }}, and one that is read {{ prefill.seconds_per_token }}.
It takes more than a tenth of a second. {{ claim decode.seconds_per_token > 0.1 }}
The model has {{ model qwen2.5-1.5b.layers }} layers.

{{ when energy.decode_over_prefill }}

Energy was measured: {{ energy.decode_over_prefill }} times as much.

{{ otherwise }}

Energy was not measured. The reason is: {{ energy.decode_over_prefill }}.

{{ end }}

## At depth {{ decode.seconds_per_token.at_1000 }} {#depth}

{{ chart time-per-token }}

<span class="pace" data-seconds-per-token="{{ decode.seconds_per_token as=exact }}">The pace.</span>

[Other](other.md)
"""


def pages() -> dict[str, str]:
    """The pages' sources."""
    charts = "".join(
        f"## Chart {n} {{#at-{n}}}\n\n{{{{ chart {name} }}}}\n\n" for n, name in enumerate(CHARTS)
    )
    return {
        "index.md": "# Start {#start}\n\n[All charts](charts.md) and [more](more.md)\n",
        "charts.md": f"{ONE_MACHINE}# All charts {{#all}}\n\n{charts}[More](more.md)\n",
        "machines.md": MACHINES,
        "other.md": "# Other {#other}\n\nA token takes {{ decode.seconds_per_token }}. [Back](machines.md)\n",
        "more.md": f"{ONE_MACHINE}# More {{#more}}\n\n"
        f"{{{{ chart decode-by-depth }}}}\n\n{FILLER}"
        "## Below {#below}\n\n{{ chart time-per-token }}\n\n"
        '??? note "Folded"\n\n    {{ chart decode-modes }}\n\n[All charts](charts.md)\n\n' + FILLER,
    }


PUBLISHED = "2026-01-02.1"
"""A version that the site is said to have been published under, when decode was slower and prefill as it is."""


def publish(data: Path, quantities: Path) -> None:
    """Give the data a ledger of one made-up publication."""
    book = Site.open(data, quantities).book
    prefill, decode = (Number.of(book.read(f"{phase}.seconds_per_token")) for phase in ("prefill", "decode"))
    ledger_file.append(data, Ledger(), [prefill, replace(decode, text="500 ms <b>", value=0.5)], "2026-01-02")


def build(folder: Path, out: Path, url: str) -> None:
    """Write the project into `folder` and build it into `out`, to be served at `url`."""
    shutil.copytree(ROOT / "hooks", folder / "hooks", ignore=shutil.ignore_patterns("__pycache__"))
    for part in ("docs/assets", "docs/.overrides"):
        shutil.copytree(ROOT / part, folder / part)
    for name, text in pages().items():
        (folder / "docs" / name).write_text(text, encoding="utf-8")
    shutil.copy(ROOT / "docs/quantities.toml", folder / "docs")
    data = fixture_data.site_data(folder / "site_data")
    fixture_data.write_run(data, records=fixture_data.uneven(fixture_data.samples()))
    for run in (fixture_data.gpu_run, fixture_data.small_run, fixture_data.imported_run):
        run(data)
    publish(data, folder / "docs/quantities.toml")
    shutil.copy(ROOT / "mkdocs.yml", folder / "base.yml")
    settings = {
        "INHERIT": "base.yml",
        "site_url": url,
        "nav": ["index.md", *(name for name in pages() if name != "index.md")],
    }
    (folder / "mkdocs.yml").write_text(json.dumps(settings), encoding="utf-8")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(out)],
        cwd=folder,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    if built.returncode:
        raise RuntimeError(built.stdout + built.stderr)


if __name__ == "__main__":
    target = Path(sys.argv[1])
    build(target / "project", target / "site", sys.argv[2] if len(sys.argv) > 2 else "http://127.0.0.1:8123/")
