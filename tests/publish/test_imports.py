"""Who may import whom, read from the sources."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.publish.fixture_data import ROOT

FORBIDDEN = {"torch", "transformers", "measure", "pynvml", "accelerate", "gguf"}
HOST = {"mkdocs", "material"}


def imported(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {name.name.partition(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add((node.module or "").partition(".")[0])
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in (
            "importlib.import_module",
            "__import__",
        ):
            found.add(ast.unparse(node.args[0]).strip("'\"").partition(".")[0])
    return found


def modules() -> list[Path]:
    found = sorted((ROOT / "hooks").rglob("*.py"))
    assert len(found) > 10
    return found


def test_hooks_never_import_what_measuring_needs() -> None:
    assert {path.name: imported(path) & FORBIDDEN for path in modules() if imported(path) & FORBIDDEN} == {}


def test_one_module_knows_mkdocs() -> None:
    assert [path.name for path in modules() if imported(path) & HOST] == ["host.py"]


def test_one_module_knows_mkdocs_jupyter() -> None:
    assert [path.name for path in modules() if "mkdocs_jupyter" in imported(path)] == ["nursery.py"]


def test_the_reader_sees_imports_of_every_kind(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(
        "def f():\n    from torch.nn import x\nimport a.b\nimportlib.import_module('measure.plan')\n"
    )
    assert imported(path) == {"torch", "a", "measure"}


def test_no_module_has_the_name_of_a_standard_one() -> None:
    # MkDocs puts the folder of a hook before everything else on the path while it loads the hook.
    import sys

    allowed = {"site"}  # loaded before anything of ours
    assert {path.stem for path in modules()} & set(sys.stdlib_module_names) <= allowed


def test_every_module_says_what_lives_in_it() -> None:
    for path in modules():
        first = (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").split("\n")[0]
        assert len(first) > 30 and first.endswith("."), f"{path.name}: {first!r}"
