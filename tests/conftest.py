"""Options of the test suite, and nothing else."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

# A busy machine must not fail a test, and continuous integration must not fail by chance.
settings.register_profile("project", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("project")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--regenerate-pages",
        action="store_true",
        help="write the expected files in tests/pages/ anew; look at the difference before it is committed",
    )
    parser.addoption(
        "--regenerate-errors",
        action="store_true",
        help="write the files in tests/publish/errors/ anew; look at the difference before it is committed",
    )
