"""The extension in a host that is not MkDocs: plain Python-Markdown, in a process that cannot import MkDocs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.publish.fixture_data import ROOT

SCRIPT = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"mkdocs", "material", "mkdocs_jupyter", "torch", "transformers", "measure"}:
            raise ImportError(f"{name} is blocked in this test")

sys.meta_path.insert(0, Blocked())
import markdown
from hooks.errors import PublishErrors

site_data, source = sys.argv[1:]
options = {"site_data": site_data, "quantities": "docs/quantities.toml", "page": "page.md"}
try:
    print(markdown.markdown(source, extensions=["hooks.extension"], extension_configs={"hooks.extension": options}))
except PublishErrors as errors:
    print(errors)
    sys.exit(3)
"""

PAGE = """Decode takes {{ decode.seconds_per_token }}. {{ claim decode.seconds_per_token > 0 }}

{{ tokens "Spliced inference" }}

{{ chart time-per-token }}
"""


def run(site_data: Path, source: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", SCRIPT, str(site_data), source]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=False)


def test_a_page_renders_without_mkdocs(site_data: Path) -> None:
    done = run(site_data, PAGE)
    assert done.returncode == 0, done.stderr
    for part in (
        'data-quantity="decode.seconds_per_token"',
        'data-token-id="74630"',
        '<figure class="chart"',
        "data-claim",
    ):
        assert part in done.stdout


def test_errors_raise_without_mkdocs(site_data: Path) -> None:
    done = run(site_data, "One.\n\n{{ decode.second_per_token }}\n")
    assert done.returncode == 3
    assert done.stdout.startswith("page.md:3: there is no quantity `decode.second_per_token`")
