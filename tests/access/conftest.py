"""What the tests of access lean on besides the rest."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from tests.access.matrix import World, make_world
from tests.inprocess import idle_service, open_database


@pytest.fixture
def _database(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    with open_database(django_db_blocker):
        yield


@pytest.fixture
def world(_database: None, settings: Any) -> Iterator[World]:
    """Everyone and everything, on a server that asks for a login."""
    settings.REQUIRE_LOGIN = True
    logging.getLogger("django.request").setLevel(logging.CRITICAL)  # thousands are refused, as they should be
    with idle_service():
        yield make_world()
    logging.getLogger("django.request").setLevel(logging.NOTSET)
