"""Does frictionless, which we did not write, find site_data/ to be what its descriptor says, and does it see damage?

    pip install "frictionless[json]"        # in an environment of its own: it brings forty packages
    python -m tests.bench.data_package --frictionless PATH/TO/frictionless

Validates a copy of site_data/ and then three damaged ones: a text where a number belongs, a line that was cut out, and
a field that the descriptor does not have. The exit code is 0 if the first is valid and the others are not.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from hooks import datapackage
from tests.publish.fixture_data import ROOT


def number(lines: list[str]) -> list[str]:
    """A text where a number belongs."""
    record = json.loads(lines[-1])
    return [*lines[:-1], json.dumps(record | {"tokens": "many"})]


def shorter(lines: list[str]) -> list[str]:
    """A line less."""
    return lines[:-1]


def field(lines: list[str]) -> list[str]:
    """A field that nothing describes, in every line."""
    return [json.dumps(json.loads(line) | {"mood": "good"}) for line in lines]


def is_valid(program: str, folder: Path) -> bool:
    """What frictionless says of a folder's descriptor."""
    done = subprocess.run(
        [program, "validate", datapackage.FILE, "--json"], cwd=folder, capture_output=True, text=True
    )
    return bool(json.loads(done.stdout)["valid"])


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--frictionless", default="frictionless", help="the program")
    options = parser.parse_args()
    damages: list[Callable[[list[str]], list[str]] | None] = [None, number, shorter, field]
    wrong = 0
    for damage in damages:
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary) / "site_data"
            shutil.copytree(
                ROOT / "site_data", folder, ignore=shutil.ignore_patterns("tokenizers", "unfinished")
            )
            (folder / datapackage.FILE).write_text(
                datapackage.text(datapackage.describe(folder)), encoding="utf-8"
            )
            if damage is not None:
                path = sorted(folder.glob("runs/*/samples.jsonl"))[-1]
                path.write_text(
                    "\n".join(damage(path.read_text(encoding="utf-8").splitlines())) + "\n", encoding="utf-8"
                )
            valid = is_valid(options.frictionless, folder)
            name = damage.__doc__ if damage else "As it is."
            print(f"{name:45} {'valid' if valid else 'not valid'}", flush=True)
            wrong += valid is not (damage is None)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
