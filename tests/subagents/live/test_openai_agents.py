"""Sub-agents in OpenAI's Agents API, asked for by its own client."""

from __future__ import annotations

import json
from typing import Any

import pytest
from openai import NotFoundError, OpenAI

from tests.subagents.calling import call, calling
from tests.support.live import agents_api
from tests.support.live.agents_api import said
from tests.support.live.caller import Caller, Talk, script
from tests.support.live.held_model import HeldModel
from tests.support.live.process import ServerProcess, eventually

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


def of_subagents(events: Any) -> list[tuple[str, str]]:
    """What a stream has told of sub-agents, each by its name."""
    told = [event for event in events if event.type.startswith("agent.session.subagent.")]
    return [(event.type.rpartition(".")[2], event.subagent.name) for event in told]


def test_a_stream_tells_of_subagents_as_they_come_and_go(caller: Caller, openai_client: OpenAI) -> None:
    talk = agents_api.Talk.begin(openai_client, text=script("say Hi."), agent=None, agent_id=family(caller))
    talk.until("idle")
    with talk.watched() as watcher:
        asked = script(call("mid", call("low", "say Low."), "then", "say Mid."), "then", "say Top.")
        talk.send(agents_api.message(asked))
        events = watcher.until("turn.completed")
    assert of_subagents(events) == [("created", "mid"), ("created", "low"), ("closed", "low"), ("closed", "mid")]
    told = {(event.type, event.subagent.id): event.subagent for event in events if hasattr(event, "subagent")}
    listed = {one.id: one for one in talk.sessions.subagents.list(talk.id)}
    for (kind, id), subagent in told.items():
        is_closed = kind.endswith("closed")
        assert (subagent.status, subagent.closed_at is None) == (("closed", False) if is_closed else ("active", True))
        assert not is_closed or subagent == listed[id]
    assert len({event.event_id for event in events}) == len(events)
    kinds = agents_api.short(events)
    assert kinds.index("subagent.closed") < len(kinds) - 1 - kinds[::-1].index("item.done")


def test_a_new_session_that_is_streamed_tells_of_its_subagents(caller: Caller, openai_client: OpenAI) -> None:
    asked = script(call("mid", "say Mid."), "then", "say Top.")
    given: Any = {"agent_id": family(caller), "environment": agents_api.NONE, "input": asked, "stream": True}
    with openai_client.beta.agents.sessions.create(**given) as stream:
        events = list(stream)
    assert of_subagents(events) == [("created", "mid"), ("closed", "mid")]
    kinds = agents_api.short(events)
    assert kinds.index("created") < kinds.index("subagent.created") < kinds.index("completed")


def test_who_comes_later_is_told_of_what_is_new(own_server: ServerProcess, held: HeldModel) -> None:
    caller, question = Caller(own_server.port), held.hold()
    helper = Talk(caller, name="helper", model="held/held")
    chief = Talk(caller, name="chief", toolgroups=calling(helper.agent))
    asked = script(f"call helper {json.dumps({'input': question.question})}", "then", "say Done.")
    with OpenAI(base_url=f"{own_server.base}/v1", api_key="none") as client:
        talk = agents_api.Talk.begin(client, text=asked, agent=None, agent_id=chief.agent)
        eventually(lambda: question.asked)
        with talk.watched() as watcher:
            question.end("Helped.")
            events = watcher.until("turn.completed")
    assert of_subagents(events) == [("closed", "helper")]
