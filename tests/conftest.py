"""Options of the test suite, and nothing else."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--regenerate-pages",
        action="store_true",
        help="write the expected files in tests/pages/ anew; look at the difference before it is committed",
    )
