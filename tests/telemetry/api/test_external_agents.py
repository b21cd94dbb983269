"""Agents that run elsewhere cannot be run here: whoever tries is told so, and nothing changes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from agents.base import ids
from agents.base.store import keys
from agents.record.models.turns import Turn
from agents.record.store import sessions
from tests.support.pages.external_turns import tell, turn
from tests.telemetry.reading import reports

pytestmark = pytest.mark.usefixtures("_served", "_quiet")

MESSAGE = {"messages": [{"role": "user", "content": "Hello?"}], "stream": False}


class Foreign:
    """A turn that was reported, with its URLs."""

    def __init__(self, *, running: bool = False) -> None:
        actor = keys.local()
        tell(actor, *(reports.turn(1)[:2] if running else reports.turn(1)))
        self.row = turn(actor)
        agent, session = (
            ids.public(ids.Kind.AGENT, self.row.agent_id),
            ids.public(ids.Kind.SESSION, self.row.session_id),
        )
        self.id = ids.public(ids.Kind.TURN, self.row.id)
        self.agent = f"/v1/agents/{agent}"
        self.session = f"{self.agent}/session/{session}"
        self.turn = f"{self.session}/turn/{self.id}"
        self.conversation = ids.openai(ids.Kind.SESSION, self.row.session_id)


def post(url: str, body: Any = None) -> Any:
    return Client().post(url, json.dumps(body or {}), content_type="application/json")


def refused(answer: Any, *about: str) -> None:
    assert answer.status_code == 400, answer.content
    error = answer.json()["error"]
    assert error["code"] == "foreign"
    assert any(word in error["message"] for word in about), error["message"]
    assert Turn.objects.unscoped("test").count() == 1


def test_an_agent_takes_no_turns() -> None:
    found = Foreign()
    refused(post(f"{found.session}/turn", MESSAGE), "This agent runs elsewhere")
    refused(post(f"{found.session}/turn", {**MESSAGE, "stream": True}), "This agent runs elsewhere")


def test_an_agent_begins_no_sessions() -> None:
    refused(post(f"{Foreign().agent}/session", {"session_name": "mine"}), "This agent runs elsewhere")


@pytest.mark.parametrize("running", [True, False])
def test_a_turn_is_not_resumed_forked_or_cancelled(running: bool) -> None:
    found = Foreign(running=running)
    answer = {"tool_responses": [{"call_id": "call_1", "tool_name": "weather", "content": "x"}], "stream": False}
    for suffix, body in (("resume", answer), ("fork", {"step": 1}), ("cancel", None)):
        refused(post(f"{found.turn}/{suffix}", body), "This turn ran elsewhere")
    assert turn(keys.local()).status == found.row.status


def test_a_conversation_takes_no_responses_and_no_items() -> None:
    found = Foreign()
    asked = {"model": "scripted/demo", "input": "Hello?", "conversation": found.conversation}
    refused(post("/v1/responses", asked), "This conversation runs elsewhere")
    items = {"items": [{"role": "user", "content": "Hello?"}]}
    refused(post(f"/v1/conversations/{found.conversation}/items", items), "This conversation runs elsewhere")


def test_pages_refuse_the_same() -> None:
    found = Foreign()
    session, agent = (url.rsplit("/", 1)[1] for url in (found.session, found.agent))
    for url, body in (
        (f"/agents/{agent}/try/", {"text": "Hello?"}),
        (f"/sessions/{session}/say/", {"text": "Hello?"}),
        (f"/turns/{found.id}/say/", {"text": "Hello?"}),
        (f"/turns/{found.id}/answer/", {}),
        (f"/turns/{found.id}/cancel/", {}),
        (f"/turns/{found.id}/fork/", {"step": "1"}),
    ):
        answer = Client().post(url, body)
        assert (url, answer.status_code) == (url, 400)
        assert "elsewhere" in answer.content.decode()
    assert Client().get(f"/turns/{found.id}/fork/").status_code == 400
    assert Turn.objects.unscoped("test").count() == 1


def test_it_can_be_read_and_deleted() -> None:
    found = Foreign()
    assert Client().get(found.turn).json()["turn_id"] == found.id
    assert [one["turn_id"] for one in Client().get(found.session).json()["turns"]] == [found.id]
    assert Client().delete(found.session).status_code == 204
    assert sessions.listing(keys.local()) == ([], False)
