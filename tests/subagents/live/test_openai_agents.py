"""Sub-agents in OpenAI's Agents API, asked for by its own client."""

from __future__ import annotations

from typing import Any

import pytest
from openai import NotFoundError, OpenAI

from tests.subagents.calling import call, calling
from tests.support.live import agents_api
from tests.support.live.agents_api import said
from tests.support.live.caller import Caller, Talk, script

pytestmark = pytest.mark.server


def family(caller: Caller) -> str:
    """The id of an agent whose sub-agent has one of its own."""
    low = Talk(caller, name="low")
    mid = Talk(caller, name="mid", toolgroups=calling(low.agent))
    return str(Talk(caller, name="top", toolgroups=calling(mid.agent)).agent)


def test_a_session_has_the_subagents_that_worked_for_it(caller: Caller, openai_client: OpenAI) -> None:
    asked = script(call("mid", call("low", "say Low."), "then", "say Mid."), "then", "say Top.")
    talk = agents_api.Talk.begin(openai_client, text=asked, agent=None, agent_id=family(caller))
    session = talk.until("idle")
    found = list(talk.sessions.subagents.list(talk.id, order="asc"))
    assert [(one.name, one.status, one.session_id) for one in found] == [
        ("mid", "closed", talk.id),
        ("low", "closed", talk.id),
    ]
    mid, low = found
    assert (mid.parent_agent_id, low.parent_agent_id) == (session.agent.id, mid.id)
    assert mid.instructions
    first: Any = mid.instructions[0]
    assert first.text.startswith("!script\ncall low")
    assert talk.sessions.subagents.retrieve(low.id, session_id=talk.id) == low
    assert [one.id for one in talk.sessions.subagents.list(talk.id, limit=1)] == [low.id, mid.id]

    items = list(talk.sessions.subagents.items.list(low.id, session_id=talk.id, order="asc"))
    assert [said(item) for item in items if item.type == "message"] == [script("say Low."), "Low."]
    [turn] = talk.sessions.subagents.turns.list(mid.id, session_id=talk.id)
    assert (turn.subagent_id, turn.session_id, turn.status) == (mid.id, talk.id, "completed")
    same = talk.sessions.subagents.turns.retrieve(turn.id, session_id=talk.id, subagent_id=mid.id)
    assert same == turn
    of_turn = list(
        talk.sessions.subagents.turns.items.list(turn.id, session_id=talk.id, subagent_id=mid.id, order="asc")
    )
    assert [item.type for item in of_turn] == ["message", "mcp_call", "message"]
    [own] = talk.turns()
    assert own.subagent_id is None
    with pytest.raises(NotFoundError):
        talk.sessions.subagents.turns.retrieve(own.id, session_id=talk.id, subagent_id=mid.id)


def test_a_session_has_no_subagents_of_others(caller: Caller, openai_client: OpenAI) -> None:
    agent = family(caller)
    first, second = (
        agents_api.Talk.begin(
            openai_client, text=script(call("mid", "say Mid."), "then", "say Top."), agent=None, agent_id=agent
        )
        for _ in range(2)
    )
    for talk in (first, second):
        talk.until("idle")
    [one], [other] = list(first.sessions.subagents.list(first.id)), list(second.sessions.subagents.list(second.id))
    assert one.id != other.id
    for wanted in (other.id, "subagent_1"):
        with pytest.raises(NotFoundError):
            first.sessions.subagents.retrieve(wanted, session_id=first.id)
