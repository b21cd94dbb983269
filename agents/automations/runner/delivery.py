"""Begins the turn of a run, or says what it says in the session that it goes on with. Blocking, but for `check`.

It can be repeated: the session of a run has a key that is known before, and its turn is found by the name of the run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from agents.automations.schemas.records import AutomationRecord
from agents.automations.store import automations, runs
from agents.automations.store.automations import SESSION_FAILED
from agents.automations.store.runs import ClaimedRun
from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import AgentsError, Conflict, NotFound, RateLimited, Unavailable
from agents.base.reading import read
from agents.loop.current_service import service
from agents.loop.schemas.turns import CreateTurn
from agents.loop.senders import present_actor
from agents.loop.sent_request import SentRequest
from agents.loop.spending import BudgetReached
from agents.openai_agents.runner import inputs, required_servers
from agents.openai_agents.runner.sessions import agent_for_turn, messages_of, named_agent
from agents.openai_agents.schemas.sessions import UserInput
from agents.openai_agents.store import sessions
from agents.openai_agents.store.sessions import StoredSession
from agents.record.schemas.agents import AgentConfig
from agents.record.schemas.content import UserMessage
from agents.record.store import agents, retries, session_configs
from agents.record.store.sessions import NewSession

PATIENCE_US = 3_600_000_000
"""How long a run waits for room, or for a server that is not there."""
PAUSES_S = (1, 5, 15, 60)
"""Between the attempts at a run that has to wait."""


async def deliver(run: ClaimedRun) -> None:
    """Begin what a run is to begin, and note what became of it."""
    automation = await read(automations.of_key, run.automation)
    if automation is None:
        return  # deleted with its runs
    actor = await read(present_actor, *automation.sender)
    if actor is None:
        message = "Its owner, or the API key that it was made with, may not run anything any more."
        await read(runs.failed, run, "owner_not_allowed", message)
        if automation.sender[0] is None:
            await read(automations.pause, automation.key, "")
        return
    try:
        earlier = await read(_earlier, actor, automation, run)
        if earlier is not None:
            await read(runs.begun, run, earlier)
            return
        config = await read(_config, actor, automation)
        if config is not None:
            await required_servers.check(required_servers.of_config(actor, config, "target.agent"))
        turn = await read(_begin, actor, automation, run)
    except (RateLimited, Unavailable, Conflict) as error:
        await read(_wait, actor, automation, run, error)
    except AgentsError as error:
        await read(_fail, actor, automation, run, error)
        if isinstance(error, _SessionGone):
            await read(automations.pause, run.automation, SESSION_FAILED)
    else:
        await read(runs.begun, run, turn)


def _earlier(actor: Actor, automation: AutomationRecord, run: ClaimedRun) -> int | None:
    """Return the turn that an attempt before has begun in the run's new session; None where there is none."""
    if not _begins_session(automation):
        return None
    row = sessions.of_key(actor, run.session, "run")
    return None if row is None else row.last_turn


def _begins_session(automation: AutomationRecord) -> bool:
    return bool(automation.target.body["type"] == "new_session")


def _config(actor: Actor, automation: AutomationRecord) -> AgentConfig | None:
    """Return the configuration of the agent that a new session is to have. Raises NotFound, InvalidRequest."""
    target = automation.target.body
    if not _begins_session(automation):
        return None
    if target["config"] is not None:
        return AgentConfig.model_validate(target["config"])
    record = named_agent(actor, target["agent_id"])
    agents.check_enabled(record)
    return record.config


def _begin(actor: Actor, automation: AutomationRecord, run: ClaimedRun) -> int:
    """Return the turn that a run has begun, now or at an attempt before, or that has taken what it says."""
    target = automation.target.body
    raw = msgspec.json.encode({"automation_id": automation.public_id, "invocation_id": run.public_id})
    path = f"/v1/agents/automations/{automation.public_id}/invocations"
    sent = SentRequest(raw, retries.read(actor, path, raw, run.public_id, None))
    if _begins_session(automation):
        return _begin_session(actor, target, run, sent)
    row = sessions.of_key(actor, run.session, "run")
    if row is None:
        raise _SessionGone(f"The session '{target['session_id']}' is gone.", code="session_not_found")
    inputs.deliver(actor, row, [UserMessage(content=target["instructions"])], sent)
    newest = sessions.newest_turn(row.key)
    if newest is None:
        raise _SessionGone(f"The session '{target['session_id']}' is gone.", code="session_not_found")
    return newest.key


class _SessionGone(NotFound):
    """The session that an automation goes on with does not exist any more."""


def _begin_session(actor: Actor, target: Any, run: ClaimedRun, sent: SentRequest) -> int:
    row = sessions.of_key(actor, run.session, "run") or _new_session(actor, target, run)
    messages = _messages(target["input"])
    body = CreateTurn.model_validate({"messages": []}).model_copy(update={"messages": messages})
    return service().start_turn(actor, agent_for_turn(actor, row), row.key, body, sent).turn


def _new_session(actor: Actor, target: Any, run: ClaimedRun) -> StoredSession:
    shared: dict[str, Any] = {"metadata": msgspec.json.encode(target["metadata"]).decode()}
    if target["config"] is not None:
        inline = AgentConfig.model_validate(target["config"])
        session_configs.create(actor, NewSession(run.session, ids.new_key(), **shared), inline=inline)
    else:
        record = named_agent(actor, target["agent_id"])
        session_configs.create(actor, NewSession(run.session, record.key, revision=record.revision, **shared))
    row = sessions.of_key(actor, run.session, "run")
    assert row is not None  # it was stored just now
    return row


def _messages(stored: Sequence[Any]) -> list[UserMessage]:
    return messages_of([UserInput.model_validate(message) for message in stored])


# ---------------------------------------------------------------------------------------------- refusals


def _wait(actor: Actor, automation: AutomationRecord, run: ClaimedRun, error: AgentsError) -> None:
    """Postpone a run that may begin later; one whose time is over, or whose budget is, fails."""
    now = ids.now_us()
    if isinstance(error, BudgetReached) or now - run.created_at >= PATIENCE_US:
        _fail(actor, automation, run, error)
        return
    pause_s = PAUSES_S[min(run.number, len(PAUSES_S)) - 1]
    runs.postpone(run, now + pause_s * 1_000_000, error.message)


def _fail(actor: Actor, automation: AutomationRecord, run: ClaimedRun, error: AgentsError) -> None:
    runs.failed(run, error.code or error.type, error.message)
    row = sessions.of_key(actor, run.session, "run") if _begins_session(automation) else None
    if row is not None and row.last_turn is None:
        sessions.delete(actor, row)  # a session that could not begin was not created
