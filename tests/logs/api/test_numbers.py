"""``/v1/logs/<level>/facets``, ``histogram``, ``stats``: their bodies, and what they refuse."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from agents.base.access import Actor
from tests.conftest import Clock
from tests.loop.test_loop import tool
from tests.support.builders import make_agent, make_response, make_turn
from tests.support.inprocess import collect_static

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("_quiet")]


@pytest.fixture(autouse=True)
def _static() -> None:
    collect_static()


@pytest.fixture
def played(admin: Actor, clock: Clock) -> None:
    """Three turns of two agents over two hours, one failed, and a response."""
    support, other = make_agent(admin, name="support"), make_agent(admin, name="other")
    make_turn(admin, "say Hello.", agent=support, clock=clock)
    clock.pass_s(3600)
    script = 'call web_search {"query": "kettle"}\nthen\nsay Found.'
    make_turn(admin, script, server_tools=tool("web_search"), agent=support, clock=clock)
    clock.pass_s(3600)
    make_turn(admin, "fail 504 upstream timed out", agent=other, clock=clock)
    make_response(admin, clock=clock)


def read(client: Client, path: str, **query: str) -> Any:
    response = client.get(f"/v1/logs/{path}", query)
    assert response.status_code == 200, response.content
    return response.json()


def test_facets_say_values_labels_and_counts(client: Client, played: None) -> None:
    body = read(client, "turns/facets", q="has:agent", by="agent,status,tool,type")
    assert [facet["field"] for facet in body["data"]] == ["agent", "status", "tool", "type"]
    assert body["data"][0]["values"] == [
        {"value": "support", "label": "support", "count": 2},
        {"value": "other", "label": "other", "count": 1},
    ]
    assert {value["value"]: value["count"] for value in body["data"][1]["values"]} == {"completed": 2, "failed": 1}
    assert body["data"][2]["values"] == [{"value": "web_search", "label": "web_search", "count": 1}]
    assert body["query"]["text"] == "has:agent"


def test_a_histogram_covers_the_time_asked_for(client: Client, played: None) -> None:
    body = read(client, "turns/histogram", q="started:>-24h", buckets="24")
    assert body["width"] == "1 hour"
    assert body["total"] == 4
    assert sum(bucket["failed"] for bucket in body["data"]) == 1


def test_statistics_as_a_whole_and_in_groups(client: Client, played: None) -> None:
    body = read(client, "turns/stats", by="agent")
    assert (body["data"]["count"], body["data"]["failed"]) == (4, 1)
    assert sum(group["stats"]["count"] for group in body["groups"]) == 4
    support = next(group for group in body["groups"] if group["labels"] == ["support"])
    assert support["stats"]["steps"] == 4
    assert support["stats"]["duration_ms"]["count"] == 2


@pytest.mark.parametrize("name", ["facets", "histogram", "stats"])
def test_a_tree_is_as_good_as_text(client: Client, played: None, name: str) -> None:
    by_text = read(client, f"turns/{name}", q="status:failed")
    assert read(client, f"turns/{name}", q=json.dumps(by_text["query"]["tree"])) == by_text


@pytest.mark.parametrize("level", ["sessions", "responses", "steps"])
def test_every_level_has_its_numbers(client: Client, played: None, level: str) -> None:
    facets = read(client, f"{level}/facets")["data"]
    total = read(client, f"{level}/stats")["data"]["count"]
    assert total >= (1 if level == "responses" else 4)
    assert all(sum(value["count"] for value in facet["values"]) + facet["absent"] == total for facet in facets)
    assert read(client, f"{level}/histogram")["total"] == total
    grouped = read(client, f"{level}/stats", by="day,agent")
    assert sum(group["stats"]["count"] for group in grouped["groups"]) == total


@pytest.mark.parametrize(
    ("path", "query", "field"),
    [
        ("turns/facets", {"by": "nonsense"}, "by"),
        ("turns/facets", {"limit": "0"}, "limit"),
        ("turns/facets", {"limit": "x"}, "limit"),
        ("turns/histogram", {"buckets": "1000"}, "buckets"),
        ("turns/histogram", {"buckets": "-1"}, "buckets"),
        ("turns/histogram", {"tz": "Nowhere/At_all"}, "tz"),
        ("steps/stats", {"by": "agent,day,tool"}, "by"),
        ("steps/stats", {"by": "tag"}, "by"),
        ("sessions/facets", {"by": "tool"}, "by"),
        ("turns/stats", {"q": "(("}, "q"),
        ("turns/stats", {"by": "day,day"}, "by"),
    ],
)
def test_bad_parameters_are_refused_by_name(client: Client, path: str, query: dict[str, str], field: str) -> None:
    response = client.get(f"/v1/logs/{path}", query)
    assert response.status_code == 400
    assert response.json()["error"]["param"] == field


def test_a_question_that_takes_too_long_says_what_to_do(
    client: Client, played: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from agents.logs.store.numbers import snapshot

    monkeypatch.setattr(snapshot, "BUDGET_S", 0.0)
    response = client.get("/v1/logs/turns/stats")
    assert response.status_code == 503
    assert "time range" in response.json()["error"]["message"]
