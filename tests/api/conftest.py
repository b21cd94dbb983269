"""What the tests of the API lean on besides the rest."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from tests.inprocess import inline_service, open_database


@pytest.fixture
def _served(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """A service that plays each turn while its request waits."""
    with open_database(django_db_blocker), inline_service():
        yield


@pytest.fixture
def _quiet() -> Iterator[None]:
    """Thousands of requests are refused, as they should be: Django need not say so."""
    logger = logging.getLogger("django.request")
    logger.setLevel(logging.CRITICAL)
    yield
    logger.setLevel(logging.NOTSET)
