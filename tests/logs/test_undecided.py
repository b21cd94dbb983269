"""Turns that wait for a decision about a call: in lists, in the API, and on the page of health."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from django.test import Client

from agents.base import ids
from agents.base.access import Actor
from agents.base.store import keys
from agents.logs.store.levels import index_candidates
from agents.query import parser
from agents.query.tree import Level
from agents.record.store import decisions
from agents.record.store.decisions import Decision
from tests.support.builders import make_turn
from tests.support.doubtful_turns import make_doubtful
from tests.support.pages.markup import words

pytestmark = pytest.mark.django_db


@pytest.fixture
def me(db: None) -> Actor:
    return keys.local()


def listed(client: Client, level: str = "turns", q: str = "is:undecided") -> list[dict[str, Any]]:
    answer = client.get(f"/v1/logs/{level}", {"q": q})
    assert answer.status_code == 200, answer.content
    rows: list[dict[str, Any]] = answer.json()["data"]
    return rows


def test_it_is_found_until_it_is_decided(client: Client, me: Actor) -> None:
    other, doubtful = make_turn(me), make_doubtful(me)
    [row] = listed(client)
    assert (row["id"], row["status"], row["undecided"]) == (doubtful.made.public_id, "in_progress", True)
    assert [row["id"] for row in listed(client, q="-is:undecided")] == [other.public_id]
    assert [row["undecided"] for row in listed(client, q="-is:undecided")] == [False]
    assert [row["id"] for row in listed(client, "steps")] == doubtful.step_ids
    assert listed(client, "responses") == []
    decisions.decide(me, doubtful.made.turn, [Decision(doubtful.steps[0], "done")])
    assert listed(client) == listed(client, "steps") == []


def test_it_is_looked_for_in_its_index(me: Actor) -> None:
    doubtful = make_doubtful(me)
    found_at: dict[Level, Sequence[int]] = {"turn": [doubtful.made.turn], "step": doubtful.steps}
    for level, found in found_at.items():
        query = parser.parse("is:undecided", now_us=ids.now_us(), level=level)
        assert index_candidates.rows(me, query) == found
    wide = parser.parse("is:live", now_us=ids.now_us())
    assert index_candidates.rows(me, wide) is None


def test_the_list_says_so(client: Client, me: Actor) -> None:
    make_doubtful(me)
    read = words(client.get("/logs/", {"q": "is:undecided"}).content.decode())
    assert "in doubt" in read
    page = client.get("/logs/", {"q": "is:undecided"}).content.decode()
    assert "data-elapsed" not in page
    assert '<rect class="tool_execution awaiting_input"' in page
    assert '<rect class="tool_execution in_progress"' not in page


def test_the_page_of_health_leads_to_them(client: Client, me: Actor) -> None:
    assert "is:undecided" not in client.get("/health/").content.decode()
    make_doubtful(me)
    page = client.get("/health/").content.decode()
    assert 'href="/logs/?q=is%3Aundecided"' in page
