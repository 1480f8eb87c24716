"""What each error says: golden files in tests/publish/errors/, one for each way into an error.

`pytest --regenerate-errors` writes them anew; a missing one is a failure, never written silently. An error that
the source can give and no case here meets is a failure, too.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from hooks.errors import PublishError, PublishErrors
from hooks.extension import Site
from tests.publish import error_cases_citing, error_cases_publishing  # noqa: F401 (their cases)
from tests.publish.error_cases import CASES, Workplace
from tests.publish.fixture_data import ROOT

GOLDEN = ROOT / "tests" / "publish" / "errors"

COPIES = {("hooks/errors.py", "at"), ("hooks/jupyter/execution.py", "_error")}
"""Functions that make an error of an error: what it says was said elsewhere."""


@dataclass(frozen=True)
class Origin:
    """A call in the source that makes an error."""

    path: str
    first: int
    last: int
    what: str
    function: str


def origins() -> Iterator[Origin]:
    """Every place in hooks/ that makes a PublishError."""
    for path in sorted((ROOT / "hooks").rglob("*.py")):
        name = str(path.relative_to(ROOT))
        yield from _origins(ast.parse(path.read_text(encoding="utf-8")), name, "")


def _origins(node: ast.AST, path: str, function: str) -> Iterator[Origin]:
    for child in ast.iter_child_nodes(node):
        inside = child.name if isinstance(child, ast.FunctionDef) else function
        if isinstance(child, ast.Call) and ast.unparse(child.func) == "PublishError":
            what = ast.unparse(child.args[0]).strip("f'\"")
            yield Origin(path, child.lineno, child.end_lineno or child.lineno, what, inside)
        yield from _origins(child, path, inside)


@dataclass
class Told:
    """What each case said, and the lines of the source that made the errors on the way."""

    texts: dict[str, str] = field(default_factory=dict)
    lines: set[tuple[str, int]] = field(default_factory=set)


@pytest.fixture(scope="module")
def told(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Told]:
    """All cases, each run once."""
    found = Told()
    original = PublishError.__init__

    def noting(self: PublishError, what: str, **parts: object) -> None:
        caller = sys._getframe(1)
        path = Path(caller.f_code.co_filename)
        if ROOT in path.parents:
            found.lines.add((str(path.relative_to(ROOT)), caller.f_lineno))
        original(self, what, **parts)

    PublishError.__init__ = noting  # type: ignore[method-assign]
    try:
        for name, case in CASES.items():
            folder = tmp_path_factory.mktemp("case")
            try:
                case(Workplace(folder, site))
            except (PublishError, PublishErrors) as error:
                text = str(error).replace(str(site.book.store.folder), "site_data")
                found.texts[name] = text.replace(f"{folder}/", "").replace(f"{ROOT}/", "") + "\n"
        yield found
    finally:
        PublishError.__init__ = original  # type: ignore[method-assign]


@pytest.mark.parametrize("name", sorted(CASES))
def test_error(name: str, told: Told, request: pytest.FixtureRequest) -> None:
    assert name in told.texts, "this mistake passes"
    found, path = told.texts[name], GOLDEN / f"{name}.txt"
    if request.config.getoption("--regenerate-errors"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(found, encoding="utf-8")
    assert path.is_file(), "run pytest --regenerate-errors and look"
    assert found == path.read_text(encoding="utf-8")
    for error in found.rstrip("\n").split("\n\n"):
        assert re.match(r"[\w./-]+(:\d+|, cell \d+(, line \d+)?)?: \S", error), "where it is"
        assert re.search(r"^  (expected|found|sentence): ", error, re.MULTILINE), "what was expected or found"
        assert re.search(r"^  mend: \S.{8}", error, re.MULTILINE), "what mends it"


def test_no_golden_is_left_over(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--regenerate-errors"):
        for path in GOLDEN.iterdir():
            if path.stem not in CASES:
                path.unlink()
    assert {path.stem for path in GOLDEN.iterdir()} == set(CASES)


def test_every_error_has_a_case(told: Told) -> None:
    unmet = {
        f"{one.path}: {one.what}": f"line {one.first}"
        for one in origins()
        if (one.path, one.function) not in COPIES
        and not any(path == one.path and one.first <= line <= one.last for path, line in told.lines)
    }
    assert unmet == {}, "add a case for each to tests/publish/error_cases.py"


def test_origins_are_found() -> None:
    assert len(list(origins())) > 80
    assert {"hooks/numbers/book.py", "hooks/data/contract.py", "hooks/numbers/expressions.py"} <= {
        one.path for one in origins()
    }
