"""Saved agents of OpenAI's Agents API, with OpenAI's client."""

from __future__ import annotations

from typing import Any

import pytest
from llama_stack_client import LlamaStackClient
from openai import BadRequestError, NotFoundError, OpenAI

from tests.support.live.agents_api import MODEL, NONE, Talk, function
from tests.support.live.caller import Caller, script
from tests.support.live.process import ServerProcess

pytestmark = pytest.mark.server


def test_an_agent_of_a_model_alone_has_all_defaults(openai_client: OpenAI) -> None:
    made = openai_client.beta.agents.create(model=MODEL)
    assert made.to_dict() == {
        "id": made.id,
        "object": "agent",
        "created_at": made.created_at,
        "updated_at": made.updated_at,
        "model": MODEL,
        "name": None,
        "instructions": None,
        "metadata": {},
        "multi_agent": {"enabled": False, "max_concurrent_subagents": None},
        "reasoning": {"effort": None, "summary": None},
        "service_tier": "auto",
        "text": {"format": {"type": "text"}, "verbosity": "medium"},
        "tools": [],
        "compaction": {"async": False},
        "experimental": None,
    }
    assert made.id.startswith("agent_")
    assert openai_client.beta.agents.retrieve(made.id) == made


def test_an_update_keeps_clears_and_replaces(openai_client: OpenAI) -> None:
    agents = openai_client.beta.agents
    tool: Any = function("get_time", "zone")
    given: Any = {"instructions": "Be brief.", "name": "Clock", "metadata": {"a": "1", "b": "2"}, "tools": [tool]}
    made = agents.create(model=MODEL, reasoning={"effort": "low"}, text={"verbosity": "high"}, **given)
    changed = agents.update(made.id, instructions=None, metadata={"c": "3"})
    assert (changed.instructions, changed.metadata, changed.name) == (None, {"c": "3"}, "Clock")
    assert changed.tools == made.tools
    assert changed.reasoning.effort == "low"
    assert changed.text.verbosity == "high"
    assert agents.update(made.id, tools=None, text=None).tools == []
    assert agents.retrieve(made.id).text.verbosity == "medium"
    assert agents.update(made.id, experimental={"time_awareness": True}).experimental is not None


@pytest.mark.parametrize("order", ["asc", "desc"])
def test_pages_visit_each_agent_once(openai_client: OpenAI, order: Any) -> None:
    agents = openai_client.beta.agents
    made = [agents.create(model=MODEL).id for _ in range(5)]
    seen = [one.id for one in agents.list(limit=2, order=order)]
    assert len(seen) == len(set(seen))
    mine = [one for one in seen if one in made]
    assert mine == (made if order == "asc" else made[::-1])


def test_a_deleted_agent_is_gone_and_its_sessions_go_on(openai_client: OpenAI) -> None:
    agents = openai_client.beta.agents
    made = agents.create(model=MODEL)
    talk = Talk.begin(openai_client, "say One.", agent_id=made.id, agent={})
    talk.until("idle")
    removed = agents.delete(made.id)
    assert (removed.id, removed.object, removed.deleted) == (made.id, "agent.deleted", True)
    with pytest.raises(NotFoundError):
        agents.retrieve(made.id)
    assert made.id not in [one.id for one in agents.list(limit=100)]
    with talk.sessions.stream(talk.id, input=script("say Two.")) as stream:
        assert stream.get_final_result().output_text == "Two."
    assert talk.now().agent.id == made.id


def test_a_change_of_an_agent_is_for_new_sessions(openai_client: OpenAI) -> None:
    agents = openai_client.beta.agents
    made = agents.create(model=MODEL, name="Before")
    talk = Talk.begin(openai_client, "say One.", agent_id=made.id, agent={"instructions": "Only here."})
    plain = Talk.begin(openai_client, "say One.", agent_id=made.id, agent={})
    agents.update(made.id, name="After", instructions="Later.")
    assert (talk.now().agent.name, talk.now().agent.instructions) == ("Before", "Only here.")
    assert (plain.now().agent.name, plain.now().agent.instructions) == ("Before", None)
    assert agents.retrieve(made.id).instructions == "Later."


@pytest.mark.parametrize(
    ("given", "param"),
    [
        ({"model": MODEL, "tempo": 1}, "tempo"),
        (
            {"model": MODEL, "tools": [{"type": "function", "name": "f", "description": "", "strict": True}]},
            "tools[0].parameters",
        ),
        ({"model": MODEL, "tools": [function("f") | {"strict": True}]}, "tools[0].strict"),
        ({"model": MODEL, "tools": [function("f"), function("f")]}, "tools[1].name"),
        ({"model": MODEL, "tools": [{"type": "web_search"}, {"type": "web_search"}]}, "tools[1]"),
        ({"model": MODEL, "tools": [{"type": "computer_use"}]}, "tools[0].type"),
        ({"model": MODEL, "multi_agent": {"enabled": True}}, "multi_agent.enabled"),
        ({"model": MODEL, "metadata": {str(n): "x" for n in range(17)}}, "metadata"),
        ({"model": MODEL, "name": "n" * 129}, "name"),
        (
            {"model": MODEL, "text": {"format": {"type": "json_schema", "schema": {"type": "array"}}}},
            "text.format.schema",
        ),
        ({"name": "no model"}, "model"),
    ],
)
def test_what_is_wrong_is_named_by_its_path(caller: Caller, given: Any, param: str) -> None:
    answer = caller.post("/v1/agents", given, **{"OpenAI-Beta": "agents=v1"})
    assert answer.status == 400
    error = answer.json["error"]
    assert (error["type"], error["param"]) == ("invalid_request_error", param)
    if param == "tempo":
        assert error["message"] == "Unknown parameter: 'tempo'."
    if param in ("model", "tools[0].parameters"):
        assert error["message"] == f"Missing required parameter: '{param}'."


def test_each_dialect_lists_the_agents_of_the_other(
    openai_client: OpenAI, server: ServerProcess, caller: Caller
) -> None:
    with LlamaStackClient(base_url=server.base) as llama:
        theirs = llama.agents.create(agent_config={"model": MODEL, "instructions": "Theirs."})
    seen = openai_client.beta.agents.retrieve(theirs.agent_id)
    assert seen.instructions == "Theirs."
    assert seen.id in [one.id for one in openai_client.beta.agents.list(limit=100)]
    tools: Any = [function("f")]
    ours = openai_client.beta.agents.create(model=MODEL, instructions="Ours.", tools=tools)
    config = caller.get(f"/v1/agents/{ours.id}").json["agent_config"]
    assert config["instructions"] == "Ours."
    assert [tool["name"] for tool in config["client_tools"]] == ["f"]


def test_an_inline_agent_is_in_no_list_and_cannot_be_named(openai_client: OpenAI) -> None:
    talk = Talk.begin(openai_client, "say Hi.")
    inline = talk.now().agent.id
    assert inline not in [one.id for one in openai_client.beta.agents.list(limit=100)]
    with pytest.raises(NotFoundError):
        openai_client.beta.agents.retrieve(inline)
    with pytest.raises(BadRequestError) as refused:
        openai_client.beta.agents.sessions.create(agent_id=inline, environment=NONE, input="Hello")
    assert refused.value.code == "agent_not_persisted"
