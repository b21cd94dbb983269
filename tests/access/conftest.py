"""What the tests of access lean on besides the rest."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.access.matrix import World, make_world
from tests.support.inprocess import copy_of_rows, idle_service, open_database


@pytest.fixture
def _database(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    with open_database(django_db_blocker):
        yield


Make = Callable[[], World]


@pytest.fixture(scope="session")
def _made_once() -> Iterator[Make]:
    """Makes the world, which takes longer than most tests of it: once, and then puts all of its rows back."""
    kept: list[World] = []
    with copy_of_rows() as (keep, put_back):

        def make() -> World:
            if kept:
                put_back()
            else:
                kept.append(make_world())
                keep()
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
