"""What the publishing tests share: fixture data, read once. No assertions live here."""

from __future__ import annotations

from pathlib import Path

import pytest

from hooks.extension import Site
from hooks.numbers.book import Book
from tests.publish import fixture_data


@pytest.fixture(scope="session")
def site_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site_data/ with the fixture runs: main, of a small model, of a GPU, imported. Tests must not change it."""
    folder = fixture_data.site_data(tmp_path_factory.mktemp("data") / "site_data")
    fixture_data.write_run(folder)
    fixture_data.small_run(folder)
    fixture_data.gpu_run(folder)
    fixture_data.imported_run(folder)
    return folder


@pytest.fixture(scope="session")
def site(site_data: Path) -> Site:
    """The numbers of the fixture runs, by the repository's own quantities.toml."""
    return Site.open(site_data, fixture_data.ROOT / "docs" / "quantities.toml")


@pytest.fixture(scope="session")
def book(site: Site) -> Book:
    """The book of the fixture site."""
    return site.book


@pytest.fixture
def empty_data(tmp_path: Path) -> Path:
    """A site_data/ of its own for a test that breaks something."""
    return fixture_data.site_data(tmp_path / "site_data")
