"""A small project that real builds build: a page, a notebook, fixture data, the repository's hooks and configuration.

Asserts nothing. `Page` reads what a built page has in it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, ClassVar

from tests.publish import fixture_data
from tests.publish.fixture_data import ROOT

INDEX = """---
title: Decode takes {{ decode.seconds_per_token }}
description: And prefill {{ prefill.seconds_per_token }}
---

# {{ tokens "Spliced inference" }} {#top}

Decode takes longer, {{ decode.seconds_per_token }}. {{ claim decode.seconds_per_token > prefill.seconds_per_token }}

Energy is more, too. {{ claim energy.decode_over_prefill > 1 }}

## It takes {{ time.decode_over_prefill }} times as long {#ratio}

{{ chart time-per-token }}

[The note](notes/note.ipynb#the-note)

{{ measured-in }}
"""

NOTE_TEXT = [
    "# The note {#the-note}\n\nDecode takes {{ decode.seconds_per_token }}, that is long. "
    "{{ claim time.decode_over_prefill > 2 }}\n",
    "## Samples {#samples}\n\n{{ chart decode-by-depth }}\n\n[Home](../index.md#ratio)\n",
]
NOTE_CODE = [
    "from hooks.notebook import chart, quantity, run, samples\n\n"
    "table = samples()\ntable[~table.warm_up].groupby('experiment').duration_s.median().to_frame()",
    "quantity('decode.seconds_per_token')",
    "print(f'{quantity(\"prefill.seconds_per_token\").value * 500:.3f} s <b>')",
    "chart('time-per-token')",
    "import altair as alt\nfrom hooks.notebook import picture\n\n"
    "data = samples()[['process', 'duration_s']].dropna().head(3)\n"
    "drawing = alt.Chart(data).mark_point(color='currentColor').encode(x='process:Q', y='duration_s:Q')\n"
    "picture(drawing, name='own', title='Own', finding='Three points', table=data)",
]


def notebook(cells: list[tuple[str, str]]) -> str:
    data: dict[str, Any] = {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {
            "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
            "page": {"description": "Decode: {{ decode.seconds_per_token }}"},
        },
        "cells": [],
    }
    for number, (kind, source) in enumerate(cells):
        cell: dict[str, Any] = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}, "source": source}
        if kind == "code":
            cell |= {"execution_count": None, "outputs": []}
        data["cells"].append(cell)
    return json.dumps(data)


def good_cells() -> list[tuple[str, str]]:
    return [("markdown", NOTE_TEXT[0]), *(("code", code) for code in NOTE_CODE[:3]), ("markdown", NOTE_TEXT[1]),
            *(("code", code) for code in NOTE_CODE[3:])]  # fmt: skip


@dataclass
class Project:
    """A small copy of the repository: its hooks, its configuration with another nav, fixture data, own pages."""

    folder: Path
    output: str = ""
    code: int | None = None

    @classmethod
    def make(cls, folder: Path) -> Project:
        folder.mkdir(parents=True)
        shutil.copytree(ROOT / "hooks", folder / "hooks", ignore=shutil.ignore_patterns("__pycache__"))
        for part in ("docs/quantities.toml", "docs/assets", "docs/.overrides"):
            source, target = ROOT / part, folder / part
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target)
            elif source.is_file():
                shutil.copy(source, target)
        quantities = folder / "docs/quantities.toml"  # the one note of this project has measured all of them
        text = re.sub(
            r'^note = "notes/.*"$', 'note = "notes/note.ipynb"', quantities.read_text("utf-8"), flags=re.M
        )
        quantities.write_text(text, encoding="utf-8")
        fixture_data.site_data(folder / "site_data")
        fixture_data.write_run(folder / "site_data")
        fixture_data.small_run(folder / "site_data")
        config = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
        nav = "nav:\n  - Home: index.md\n  - notes/note.ipynb\n"
        config, count = re.subn(r"^nav:\n(?:[ \t]+.*\n|\n(?=[ \t]))+", nav, config, flags=re.MULTILINE)
        assert count == 1, "mkdocs.yml has one nav"
        (folder / "mkdocs.yml").write_text(config, encoding="utf-8")
        project = cls(folder)
        project.write("docs/index.md", INDEX)
        project.write("docs/notes/note.ipynb", notebook(good_cells()))
        return project

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def build(self) -> Project:
        environment = os.environ | {"SOURCE_DATE_EPOCH": "1767322800", "NO_MKDOCS_2_WARNING": "1"}
        done = subprocess.run(
            [sys.executable, "-m", "mkdocs", "build", "--strict"],
            cwd=self.folder,
            env={
                name: value for name, value in environment.items() if name not in ("SITE_DATA", "PYTHONPATH")
            },
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
        )
        self.code, self.output = done.returncode, done.stdout + done.stderr
        return self

    def read(self, name: str) -> str:
        return (self.folder / "site" / name).read_text(encoding="utf-8")

    def files(self) -> dict[str, bytes]:
        site = self.folder / "site"
        return {
            str(path.relative_to(site)): path.read_bytes()
            for path in sorted(site.rglob("*"))
            if path.is_file()
        }


class Page(HTMLParser):
    """The addresses that a page asks for by itself, and what its numbers say."""

    ASKING: ClassVar = {
        ("script", "src"),
        ("link", "href"),
        ("img", "src"),
        ("iframe", "src"),
        ("source", "src"),
        ("use", "href"),
    }

    def __init__(self, source: str) -> None:
        super().__init__()
        self.asked: list[str] = []
        self.numbers: dict[str, str] = {}
        self.tokens: list[tuple[str, str]] = []
        self._open: tuple[str, str] | None = None
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.asked += [value for name, value in attrs if (tag, name) in self.ASKING and value]
        classes = (values.get("class") or "").split()
        if "quantity" in classes:
            self._open = ("quantity", values["data-quantity"] or "")
        elif "token" in classes:
            self._open = ("token", values["data-token-id"] or "")
        else:
            self._open = None

    def handle_data(self, data: str) -> None:
        if self._open:
            kind, name = self._open
            if kind == "token":
                self.tokens.append((name, data))
            else:
                self.numbers.setdefault(name, data)
            self._open = None
