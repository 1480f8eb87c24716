"""What the cells of notes work out by themselves, held to a library that takes too long to import in each build."""

from __future__ import annotations

import ast
import json
from typing import Any

import numpy as np
import pytest
from scipy import special, stats

from tests.publish.fixture_data import ROOT


def function(note: str, name: str) -> Any:
    """A function that a cell of a note defines."""
    cells = json.loads((ROOT / "docs/notes" / note).read_text(encoding="utf-8"))["cells"]
    bodies = [ast.parse("".join(cell["source"])).body for cell in cells if cell["cell_type"] == "code"]
    (found,) = [
        node for body in bodies for node in body if isinstance(node, ast.FunctionDef) and node.name == name
    ]
    names: dict[str, Any] = {"np": np, "ndtri": special.ndtri}
    exec(compile(ast.Module([found], []), note, "exec"), names)
    return names[name]


@pytest.mark.parametrize("count", [2, 3, 40, 301])
@pytest.mark.parametrize("digits", [9, 1], ids=["no ties", "ties"])
def test_the_trend_and_its_interval_are_scipy_s(count: int, digits: int) -> None:
    random = np.random.default_rng(count)
    x = np.sort(random.uniform(0, 30, count).round(digits))
    y = (1 + 0.01 * x + random.normal(0, 0.2, count)).round(digits)
    expected = stats.theilslopes(y, x)
    found = function("4-meter-drift-and-repeatability.ipynb", "trend")(x, y)
    assert found == (expected.slope, expected.low_slope, expected.high_slope)
