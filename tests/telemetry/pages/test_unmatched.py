"""The page of traces of which no turn was made."""

from __future__ import annotations

import json

import pytest
from django.test import Client

from agents.base.access import Actor
from agents.base.store import keys
from tests.support.pages.external_turns import tell
from tests.support.pages.markup import elements, unsafe, words
from tests.support.pages.turn_page import get
from tests.telemetry.reading import reports

pytestmark = pytest.mark.django_db
HOSTILE = '<script>alert(1)</script>"'


@pytest.fixture
def me(db: None) -> Actor:
    return keys.local()


def test_there_are_none_at_first(client: Client, me: Actor) -> None:
    assert "There are none" in words(get(client, "/connect/unmatched/"))
    assert "unmatched" not in get(client, "/connect/")


def test_what_came_is_told_and_one_click_away(client: Client, me: Actor) -> None:
    tell(me, reports.span(1, 1, HOSTILE), reports.span(1, 2, "SELECT"), **{"service.name": HOSTILE})
    [link] = [each["href"] for each in elements(get(client, "/connect/"), "a") if "unmatched" in each["href"]]
    page = get(client, link)
    assert unsafe(page) == []
    assert all(word in words(page) for word in ("alert(1)", "SELECT", f"{0:019x}"))
    [spans] = [each["href"] for each in elements(page, "a") if each["href"].endswith("spans.jsonl")]
    answer = client.get(spans)
    assert answer["Content-Type"].startswith("application/x-ndjson")
    assert [json.loads(line)["name"] for line in answer.content.splitlines()] == [HOSTILE, "SELECT"]


def test_a_trace_with_a_turn_is_not_among_them(client: Client, me: Actor) -> None:
    tell(me, *reports.turn(1))
    assert "There are none" in words(get(client, "/connect/unmatched/"))
    assert client.get("/connect/unmatched/nothing/spans.jsonl").status_code == 404
