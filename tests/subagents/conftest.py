"""What the tests of sub-agents share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from agents.base.store import keys
from tests.subagents.calling import Stage
from tests.support.inprocess import inline_service, open_database


@pytest.fixture
def stage(django_db_setup: None, django_db_blocker: Any) -> Iterator[Stage]:
    with open_database(django_db_blocker), inline_service() as service:
        yield Stage(keys.local(), service)
