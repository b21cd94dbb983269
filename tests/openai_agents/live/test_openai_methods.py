"""Every method of the client's ``beta.agents`` that the documentation's table claims, sync and async: a walk that calls
each of them, and counts; and the rest of the client's methods are in the other columns."""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from openai import AsyncOpenAI, BadRequestError, NotFoundError, OpenAI
from openai._resource import SyncAPIResource

from tests import ROOT
from tests.support.live.agents_api import MODEL, NONE, function, message
from tests.support.live.caller import script
from tests.support.live.process import ServerProcess

pytestmark = pytest.mark.server

WORD = re.compile(r"`([^`]+)`")


def columns() -> list[set[str]]:
    """The methods of the documentation's row: those that work, those that are refused by name."""
    text = (ROOT / "docs" / "coverage.md").read_text()
    [line] = [line for line in text.splitlines() if line.startswith("| methods of its `beta.agents` |")]
    return [set(WORD.findall(column)) for column in line.split("|")[2:5]]


def methods_of(resource: Any, path: str = "") -> Iterator[str]:
    for name in dir(type(resource)):
        if name.startswith("_") or name.startswith("with_"):
            continue
        inner = getattr(resource, name)
        if isinstance(inner, SyncAPIResource):
            yield from methods_of(inner, f"{path}{name}.")
        elif inspect.ismethod(inner):
            yield f"{path}{name}"


def is_in(method: str, names: set[str]) -> bool:
    return method in names or any(name.endswith("*") and method.startswith(name[:-1]) for name in names)


def test_the_row_names_every_method_of_the_client() -> None:
    works, refused, missing = columns()
    assert not missing
    for method in methods_of(OpenAI(api_key="none").beta.agents):
        assert [is_in(method, works), is_in(method, refused)].count(True) == 1, method


class Caller:
    """Calls methods of a client by their paths, and remembers which."""

    def __init__(self, client: OpenAI | AsyncOpenAI) -> None:
        self.client, self.called = client, set[str]()

    async def ask(self, path: str, *args: Any, **more: Any) -> Any:
        self.called.add(path)
        found: Any = self.client.beta.agents
        for name in path.split("."):
            found = getattr(found, name)
        made = found(*args, **more)
        return await made if inspect.isawaitable(made) else made

    async def final(self, *args: Any, **more: Any) -> Any:
        helper = await self.ask("sessions.stream", *args, **more)
        if hasattr(helper, "__aenter__"):
            async with helper as stream:
                return await stream.get_final_result()
        with helper as stream:
            return stream.get_final_result()

    async def session(self, session_id: str, status: str) -> Any:
        """A session, once it has this status."""
        stream = await self.ask("sessions.events.stream", session_id)
        session = await self.ask("sessions.retrieve", session_id)
        if session.status != status:
            async for event in events_of(stream):
                if event.type == f"agent.session.{status}":
                    session = event.session
                    break
        await closed(stream)
        return session

    async def missing(self, path: str, *args: Any, **more: Any) -> None:
        """Ask for one of what a session has none of."""
        with pytest.raises(NotFoundError):
            await self.ask(path, *args, **more)


async def events_of(stream: Any) -> AsyncIterator[Any]:
    if hasattr(stream, "__aiter__"):
        async for event in stream:
            yield event
    else:
        for event in stream:
            yield event


async def closed(stream: Any) -> None:
    closing = stream.close()
    if inspect.isawaitable(closing):
        await closing


async def walk(call: Caller) -> None:
    made = await call.ask("create", model=MODEL, name="Walker")
    assert (await call.ask("retrieve", made.id)).name == "Walker"
    assert made.id in [one.id for one in (await call.ask("list", limit=100)).data]
    assert (await call.ask("update", made.id, name=None)).name is None
    first: Any = await call.ask("sessions.create", agent_id=made.id, environment=NONE, input=script("say One."))
    await call.session(first.id, "idle")
    assert first.id in [one.id for one in (await call.ask("sessions.list", agent_id=made.id)).data]
    tools = [function("get_time", "zone")]
    assert len((await call.ask("sessions.update", first.id, agent={"tools": tools})).agent.tools) == 1
    handlers = {"get_time": lambda arguments: f"noon in {arguments['zone']}"}
    asked = script('call get_time {"zone": "UTC"}', "then", "say Noon.")
    assert (await call.final(first.id, input=asked, tool_handlers=handlers)).output_text == "Noon."
    stream = await call.ask("sessions.events.stream", first.id)
    await call.ask("sessions.events.create", first.id, events=[message(script("say Two."))])
    async for event in events_of(stream):
        if event.type == "agent.session.idle":
            break
    await closed(stream)
    assert len((await call.ask("sessions.items.list", first.id)).data) == 8
    turns = (await call.ask("sessions.turns.list", first.id)).data
    assert (await call.ask("sessions.turns.retrieve", turns[0].id, session_id=first.id)).status == "completed"
    assert len((await call.ask("sessions.turns.items.list", turns[0].id, session_id=first.id)).data) == 2
    assert len((await call.ask("sessions.traces.list", first.id)).data) == 3
    await nothing(call, first.id)
    await automations(call, first.id)
    await call.session(first.id, "idle")
    assert (await call.ask("sessions.delete", first.id)).deleted
    assert (await call.ask("delete", made.id)).deleted


async def automations(call: Caller, session: str) -> None:
    target: Any = {"type": "existing_session", "session_id": session, "instructions": script("say Three.")}
    schedule: Any = {"type": "periodic", "expression": "0 0 1 1 *", "timezone": "UTC"}
    made = await call.ask("automations.create", name="Walk", target=target, **schedule)
    assert (await call.ask("automations.retrieve", made.id)).target.session_id == session
    assert [one.id for one in (await call.ask("automations.list", session_id=session)).data] == [made.id]
    assert (await call.ask("automations.update", made.id, name="Other")).name == "Other"
    assert (await call.ask("automations.pause", made.id)).status == "paused"
    assert (await call.ask("automations.resume", made.id)).status == "active"
    stream = await call.ask("sessions.events.stream", session)
    run = await call.ask("automations.invocations.create", made.id)
    assert [one.id for one in (await call.ask("automations.invocations.list", made.id)).data] == [run.id]
    async for event in events_of(stream):  # any of the servers begins its turn; before that the session is idle, too
        if event.type == "agent.session.idle":
            break
    await closed(stream)
    one = await call.ask("automations.invocations.retrieve", run.id, automation_id=made.id)
    assert (one.status, one.source.type) == ("completed", "manual")
    assert (await call.ask("automations.delete", made.id)).deleted


async def nothing(call: Caller, session: str) -> None:
    """What a session has none of: its lists are empty."""
    for name in ("subagents", "artifacts"):
        assert (await call.ask(f"sessions.{name}.list", session)).data == []
        await call.missing(f"sessions.{name}.retrieve", "none_1", session_id=session)
    await call.missing("sessions.subagents.items.list", "none_1", session_id=session)
    await call.missing("sessions.subagents.turns.list", "none_1", session_id=session)
    await call.missing("sessions.subagents.turns.retrieve", "turn_1", session_id=session, subagent_id="none_1")
    await call.missing("sessions.subagents.turns.items.list", "turn_1", session_id=session, subagent_id="none_1")
    await call.missing("sessions.artifacts.content", "none_1", session_id=session)
    await call.missing("sessions.artifacts.delete", "none_1", session_id=session)


@pytest.mark.parametrize("kind", [OpenAI, AsyncOpenAI])
def test_every_method_that_is_claimed_works(server: ServerProcess, kind: type[OpenAI] | type[AsyncOpenAI]) -> None:
    async def all_of_them() -> set[str]:
        client = kind(base_url=f"{server.base}/v1", api_key="none", max_retries=0)
        call = Caller(client)
        await walk(call)
        closing = client.close()
        if inspect.isawaitable(closing):
            await closing
        return call.called

    assert asyncio.run(all_of_them()) == columns()[0]


def test_what_is_refused_is_refused_by_name(openai_client: OpenAI) -> None:
    agents = openai_client.beta.agents
    for what, ask in (
        ("environments", lambda: agents.environments.list()),
        ("environments", lambda: agents.environments.templates.list()),
        ("vaults", lambda: agents.vaults.list()),
        ("vaults", lambda: agents.vaults.credentials.list("vault_1")),
    ):
        with pytest.raises(BadRequestError, match=what):
            ask()
