"""What the tests of access lean on besides the rest."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest
from django.db import connection

from tests.access.matrix import World, make_world
from tests.support.inprocess import idle_service, open_database


@pytest.fixture
def _database(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    with open_database(django_db_blocker):
        yield


Make = Callable[[], World]


@pytest.fixture(scope="session")
def _made_once() -> Iterator[Make]:
    """Makes the world, which takes longer than most tests of it; on SQLite once, and then puts the whole
    database back to how it was."""
    kept: list[World] = []
    with closing(sqlite3.connect(":memory:")) as copy:

        def make() -> World:
            if connection.vendor != "sqlite":
                return make_world()
            if kept:
                connection.ensure_connection()
                copy.backup(connection.connection)
            else:
                kept.append(make_world())
                connection.connection.backup(copy)
            return kept[0]

        yield make


@pytest.fixture
def world(_database: None, _made_once: Make, settings: Any) -> Iterator[World]:
    """Everyone and everything, on a server that asks for a login."""
    settings.REQUIRE_LOGIN = True
    logging.getLogger("django.request").setLevel(logging.CRITICAL)  # thousands are refused, as they should be
    with idle_service():
        yield _made_once()
    logging.getLogger("django.request").setLevel(logging.NOTSET)
