"""In a copy of the project: the added field ``hour`` of turns, wherever fields of queries are."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from agents.base.access import Actor
from agents.logs.store import segments
from tests import guide
from tests.fixtures.admin import Browser
from tests.support.builders import make_turn
from tests.support.pages.markup import words

HOUR = 11
"""Of the moment at which scripted turns begin."""


@pytest.fixture(params=[False, True], ids=["as rows", "sealed"])
def turn(request: pytest.FixtureRequest, admin: Actor) -> str:
    made = make_turn(admin)
    if request.param:
        segments.seal_all()
    return made.public_id


def answer(client: Client, path: str, query: str) -> Any:
    found = client.get(path, {"q": query})
    assert found.status_code == 200, found.content
    return found.json()


def test_queries_ask_for_it(client: Client, turn: str) -> None:
    assert [row["id"] for row in answer(client, "/v1/logs/turns", f"hour:{HOUR}")["data"]] == [turn]
    assert answer(client, "/v1/logs/turns", f"hour:<{HOUR}")["data"] == []
    assert answer(client, "/v1/logs/steps", f"hour:{HOUR}")["data"] != []
    sentence = answer(client, "/v1/logs/turns", f"hour:>={HOUR}")["query"]["sentence"]
    assert sentence == f"turns begun at hour at least {HOUR}"


def test_numbers_count_by_it(client: Client, turn: str) -> None:
    assert answer(client, "/v1/logs/turns/stats", f"hour:{HOUR}")["data"]["count"] == 1
    assert answer(client, "/v1/logs/turns/stats", f"hour:>{HOUR}")["data"]["count"] == 0


def test_the_admin_shows_it(boss: Browser, turn: str) -> None:
    page = words(boss.read(f"/admin/agents/turn/{turn}/change/"))
    assert f"Further values Hour: {HOUR}" in page


def test_the_guide_has_its_row() -> None:
    assert "| `hour` | turn | `hour:>=18` | hour of the day it began in, UTC |" in guide.written(guide.PATH.read_text())
