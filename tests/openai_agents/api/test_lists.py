"""Lists of sessions and turns: in a number of queries that does not grow with them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from agents.base import ids
from agents.base.access import Actor
from agents.base.store import keys
from tests.support.builders import make_agent, make_session, make_turn

pytestmark = pytest.mark.usefixtures("_served", "_quiet")

BETA = {"OpenAI-Beta": "agents=v1"}
BEGUN = {"agent": {"model": "scripted/fast"}, "environment": {"type": "none"}, "input": "Hello"}


def begin(client: Client) -> str:
    answer = client.post("/v1/agents/sessions", json.dumps(BEGUN), "application/json", headers=BETA)
    assert answer.status_code == 200, answer.content
    return str(answer.json()["id"])


def asked(client: Client, path: str) -> tuple[list[dict[str, Any]], int]:
    """The rows of a list, and how many queries were asked for them."""
    client.get(path, headers=BETA)  # what is read once is kept
    with CaptureQueriesContext(connection) as seen:
        answer = client.get(path, headers=BETA)
    return answer.json()["data"], len(seen.captured_queries)


def test_a_list_of_sessions_asks_the_same_however_many_there_are() -> None:
    client = Client()
    begin(client)
    few, of_few = asked(client, "/v1/agents/sessions?limit=1")
    made = [begin(client) for _ in range(9)]
    many, of_many = asked(client, "/v1/agents/sessions?limit=9")
    assert (len(few), [row["id"] for row in many]) == (1, made[::-1])
    assert {row["agent"]["model"] for row in many} == {"scripted/fast"}
    assert of_many <= of_few


def test_a_list_of_turns_asks_the_same_however_many_there_are() -> None:
    client, actor = Client(), keys.local()
    agent = make_agent(actor)
    session = make_session(actor, agent)
    turns = [_turn(actor, agent, session) for _ in range(9)]
    path = f"/v1/agents/sessions/{ids.part('sess', ids.Kind.SESSION, session)}/turns?order=asc"
    _, of_few = asked(client, f"{path}&limit=1")
    many, of_many = asked(client, f"{path}&limit=9")
    assert [row["id"] for row in many] == [ids.part("turn", ids.Kind.TURN, turn) for turn in turns]
    assert {(row["status"], row["usage"]["input_tokens"] > 0) for row in many} == {("completed", True)}
    assert of_many <= of_few


def _turn(actor: Actor, agent: Any, session: int) -> int:
    return make_turn(actor, agent=agent, session=session).turn
