"""Automations in a real server, by OpenAI's own client."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from openai import APIStatusError, BadRequestError, NotFoundError, OpenAI
from openai.types.beta.agents.one_time_automation import OneTimeAutomation
from openai.types.beta.agents.periodic_automation import PeriodicAutomation

from tests.automations.conftest import target
from tests.support.live.agents_api import Talk
from tests.support.live.mcp_process import McpProcess
from tests.support.live.process import ServerProcess, eventually

pytestmark = pytest.mark.server


@pytest.fixture
def client(searching: ServerProcess) -> Iterator[OpenAI]:
    """One that checks each answer against its types."""
    with OpenAI(
        base_url=f"{searching.base}/v1", api_key="none", max_retries=0, _strict_response_validation=True
    ) as client:
        yield client


def periodic(client: OpenAI, **more: Any) -> Any:
    given: Any = {"expression": "0 0 1 1 *", "timezone": "Europe/Berlin", "name": "New year", "target": target()}
    return client.beta.agents.automations.create(type="periodic", **{**given, **more})


def once(client: OpenAI, in_s: int = 2, **more: Any) -> Any:
    given: Any = {"run_at": int(time.time()) + in_s, "name": "Soon", "target": target(), **more}
    return client.beta.agents.automations.create(type="once", **given)


def ended(client: OpenAI, automation: str, number: int = 1) -> list[Any]:
    """The invocations of an automation, once so many are over."""
    listing = client.beta.agents.automations.invocations.list

    def over() -> list[Any] | None:
        found = list(listing(automation, order="asc"))
        return found if len(found) >= number and all(one.status != "queued" for one in found) else None

    found: list[Any] = eventually(over)
    return found


def test_what_runs_once_runs(client: OpenAI) -> None:
    made = once(client, metadata={"of": "tests"})
    assert isinstance(made, OneTimeAutomation)
    assert (made.status, made.metadata, made.created_by.type) == ("active", {"of": "tests"}, "developer")
    [run] = ended(client, made.id)
    assert (run.status, run.scheduled_at, run.error) == ("completed", made.run_at, None)
    assert run.source.automation.id == made.id
    session = client.beta.agents.sessions.retrieve(run.session_id)
    talk = Talk(client, session.id)
    talk.until("idle")
    assert talk.texts()[-1] == "Good morning."
    automations = client.beta.agents.automations
    assert automations.invocations.retrieve(run.id, automation_id=made.id) == run
    assert automations.retrieve(made.id).status == "completed"


def test_the_methods_of_the_client(client: OpenAI) -> None:
    automations = client.beta.agents.automations
    agent = client.beta.agents.create(model="scripted/fast", name="desk")
    made = periodic(client, target=target(agent_id=agent.id))
    assert isinstance(made, PeriodicAutomation)
    assert (made.expression, made.timezone, made.status) == ("0 0 1 1 *", "Europe/Berlin", "active")
    wanted: Any = made.target
    assert (wanted.agent_id, wanted.agent, wanted.environment.type) == (agent.id, None, "none")
    assert wanted.input[0].content[0].text.startswith("!script")
    inline: Any = periodic(client).target
    assert (inline.agent.model, inline.agent_id) == ("scripted/fast", None)

    changed: Any = automations.update(made.id, name="Other", expression="30 8 * * *", metadata={"a": "b"})
    assert (changed.name, changed.expression, changed.metadata) == ("Other", "30 8 * * *", {"a": "b"})
    assert automations.pause(made.id).status == "paused"
    assert automations.pause(made.id).status == "paused"
    assert automations.resume(made.id).status == "active"
    assert made.id in [one.id for one in automations.list(limit=1)]
    run = automations.invocations.create(made.id)
    assert (run.status, run.source.type) == ("queued", "manual")
    [done] = ended(client, made.id)
    assert (done.id, done.status) == (run.id, "completed")
    gone = automations.delete(made.id)
    assert (gone.id, gone.deleted, gone.object) == (made.id, True, "agent.automation.deleted")
    for ask in (automations.retrieve, automations.pause, automations.invocations.create, automations.delete):
        with pytest.raises(NotFoundError):
            ask(made.id)
    assert client.beta.agents.sessions.retrieve(done.session_id).agent.id == agent.id


def test_a_session_is_gone_on_with(client: OpenAI) -> None:
    talk = Talk.begin(client, "say First.")
    talk.until("idle")
    said: Any = {"type": "existing_session", "session_id": talk.id, "instructions": "!script\nsay Second."}
    made = once(client, target=said)
    [run] = ended(client, made.id)
    assert (run.status, run.session_id) == ("completed", talk.id)
    talk.until("idle")
    assert talk.texts()[1::2] == ["First.", "Second."]
    assert [one.id for one in client.beta.agents.automations.list(session_id=talk.id)] == [made.id]
    assert list(client.beta.agents.automations.list(session_id="sess_1")) == []


def test_a_server_that_is_required_and_gone_is_said(client: OpenAI, mcp: McpProcess) -> None:
    for url, expected in ((mcp.url, "completed"), ("http://127.0.0.1:9/mcp", "failed")):
        transport = {"type": "http", "server_url": url, "authorization": "a secret"}
        tool = {"type": "mcp", "server_label": "lab", "transport": transport, "required": True}
        made = periodic(client, target=target(agent={"model": "scripted/fast", "tools": [tool]}))
        assert "a secret" not in made.to_json()
        client.beta.agents.automations.invocations.create(made.id)
        [run] = ended(client, made.id)
        assert run.status == expected
        assert (run.error.code if run.error else None) in (None, "mcp_server_startup_failed")


@pytest.mark.parametrize(
    ("wrong", "param", "said"),
    [
        ({"expression": "0 0 * *"}, "expression", "five fields"),
        ({"expression": "0 0 31 2 *"}, "expression", "no such day"),
        ({"timezone": "Mars/Olympus"}, "timezone", "there is no time zone"),
        ({"name": ""}, "name", ""),
        ({"target": {**target(), "vault_ids": ["v_1"]}}, "target.vault_ids", "this server has no vaults"),
        ({"target": {**target(), "environment": {"type": "openai_hosted"}}}, "target.environment.type", ""),
        ({"target": {**target(), "agent_id": "agent_1"}}, "target.agent_id", "one of agent and agent_id"),
        ({"target": {**target(), "agent": {"instructions": "x"}}}, "target.agent.model", "Missing"),
        ({"target": {**target(), "input": []}}, "target.input", ""),
        ({"target": target("x" * 70_000)}, "target", "larger than 64 KiB"),
        ({"extra_body": {"run_at": 1}}, "run_at", "only for automations of the type 'once'"),
        ({"extra_body": {"enabled": True}}, "enabled", "Unknown parameter"),
    ],
)
def test_what_is_wrong_is_said(client: OpenAI, wrong: dict[str, Any], param: str, said: str) -> None:
    with pytest.raises(BadRequestError) as refused:
        periodic(client, **wrong)
    body: Any = refused.value.body
    assert body["param"] == param
    assert said in body["message"]


def test_a_time_that_is_over_is_refused(client: OpenAI) -> None:
    with pytest.raises(BadRequestError, match="it is to come"):
        once(client, in_s=-1)
    made = once(client, in_s=3600)
    for wrong in ({"expression": "* * * * *"}, {"run_at": 1}):
        given: Any = wrong
        with pytest.raises(BadRequestError):
            client.beta.agents.automations.update(made.id, **given)
    later = client.beta.agents.automations.update(made.id, run_at=made.run_at + 60)
    assert isinstance(later, OneTimeAutomation)
    assert later.run_at == made.run_at + 60


def test_a_target_keeps_its_type(client: OpenAI) -> None:
    made = periodic(client)
    talk = Talk.begin(client, "say Hi.")
    other: Any = {"type": "existing_session", "session_id": talk.id, "instructions": "Go on."}
    with pytest.raises(APIStatusError) as refused:
        client.beta.agents.automations.update(made.id, target=other)
    body: Any = refused.value.body
    assert (refused.value.status_code, body["param"]) == (400, "target.type")
    second: Any = target("!script\nsay Other.")
    new: Any = client.beta.agents.automations.update(made.id, target=second)
    assert new.target.input[0].content[0].text == "!script\nsay Other."
