"""What the tests of pages lean on besides the rest."""

from __future__ import annotations

import pytest

from tests.inprocess import collect_static


@pytest.fixture(scope="session", autouse=True)
def _static_files() -> None:
    """Pages name static files by their content: as before the server starts, they are collected."""
    collect_static()
