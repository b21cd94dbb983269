"""Creates sessions, and says what they are at the moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from agents.base import ids
from agents.base.access import Action, Actor
from agents.base.errors import InvalidRequest, NotFound
from agents.loop import model_names
from agents.loop.current_service import service
from agents.loop.spending import NOT_COUNTABLE
from agents.openai_agents.runner.configs import config_of, missing, unavailable
from agents.openai_agents.schemas.agents import AgentFields
from agents.openai_agents.schemas.sessions import (
    CreateAgentSession,
    InputText,
    SessionSettings,
    UpdateAgentSession,
    UserInput,
)
from agents.openai_agents.store import sessions
from agents.openai_agents.store.sessions import LastTurn, StoredSession, StoredTurn
from agents.openai_agents.wire import agents as agent_wire
from agents.openai_agents.wire import items as item_wire
from agents.openai_agents.wire.sessions import SessionHead, SpendControl, TurnOfSession, session_json
from agents.record.schemas.agents import AgentConfig
from agents.record.schemas.content import ContentItem, ImageData, ImageItem, TextItem, Url, Usage, UserMessage
from agents.record.schemas.events import ErrorInfo
from agents.record.store import agents, budgets, inputs, session_configs, spending, turns
from agents.record.store.agents import AgentRecord
from agents.record.store.sessions import NewSession
from agents.record.store.spending import BudgetState

JSON = dict[str, Any]
NANO_PER_CENT = 10_000_000
UNKNOWN_MODEL = "unknown"
"""Shown for a session that nobody has named a model for."""


def saved_agent(actor: Actor, public_id: str, action: Action = "read") -> AgentRecord:
    """Return a saved agent. Raises NotFound, also for one that the actor may not see, or that is for one session."""
    key = ids.parse_spelled(ids.Kind.AGENT, public_id)
    record = agents.get(actor, key, action) if key is not None else None
    if record is None or record.unlisted:
        raise NotFound(f"Agent '{public_id[:80]}' not found.")
    return record


# -------------------------------------------------------------------------------------------- creation


def create(actor: Actor, body: CreateAgentSession) -> int:
    """Store a new session; returns its key. Raises InvalidRequest naming the field, NotFound for an agent."""
    _check(body)
    if body.vault_ids:
        raise unavailable("vault_ids", "vaults")
    settings = {"prompt_cache_options": body.prompt_cache_options.model_dump()} if body.prompt_cache_options else {}
    shared: dict[str, Any] = {
        "metadata": msgspec.json.encode(body.metadata or {}).decode(),
        "settings": msgspec.json.encode(settings).decode() if settings else "",
    }
    key = ids.new_key()
    if body.agent_id is None:
        if body.agent is None:
            raise missing("agent")
        config = config_of(actor, body.agent, None, "agent.")
        session_configs.create(actor, NewSession(key, ids.new_key(), **shared), inline=config)
        return key
    record = named_agent(actor, body.agent_id)
    agents.check_enabled(record)
    changed = None
    if body.agent is not None and body.agent.model_fields_set:
        changed = config_of(actor, _without_nulls_of_model(body.agent), record.config, "agent.")
    session_configs.create(actor, NewSession(key, record.key, revision=record.revision, **shared), changed=changed)
    return key


def set_limit(actor: Actor, row: StoredSession, body: SessionSettings) -> None:
    """Set what a session may spend, where its request says that. Raises InvalidRequest for a model without a price."""
    if "spend_control" not in body.model_fields_set:
        return
    cents = body.spend_control.limit if body.spend_control else None
    config = config_of_session(actor, row)
    if cents is not None and config is not None:
        _, model = model_names.resolve(service().providers, actor, config.model)
        if not spending.has_price(model, config.model):
            message = f"spend_control.limit: the model '{config.model}' has no price, so that nothing can be counted."
            raise InvalidRequest(message, param="spend_control.limit", code=NOT_COUNTABLE)
    budgets.set_spend_control(actor, row.key, None if cents is None else cents * NANO_PER_CENT)


def _without_nulls_of_model(given: AgentFields) -> AgentFields:
    """Return what is said of an agent without a model of null: the saved agent's holds then."""
    fields = given.model_dump(by_alias=True, exclude_unset=True)
    return AgentFields.model_validate({name: value for name, value in fields.items() if name != "model" or value})


def named_agent(actor: Actor, public_id: str) -> AgentRecord:
    """Return the saved agent that a session is to have. Raises NotFound, InvalidRequest for one that was not saved."""
    key = ids.parse_spelled(ids.Kind.AGENT, public_id)
    record = None
    try:
        record = agents.get(actor, key, "run") if key is not None else None
    except NotFound:
        record = None
    is_of_session = record.unlisted if record else ids.parse_part(ids.Kind.SESSION, public_id) is not None
    if is_of_session:
        message = f"agent_id: '{public_id[:80]}' is the agent of a session, and was not saved."
        raise InvalidRequest(message, param="agent_id", code="agent_not_persisted")
    if record is None:
        raise NotFound(f"Agent '{public_id[:80]}' not found.")
    return record


def _check(body: SessionSettings) -> None:
    """Raise InvalidRequest for what this server cannot keep to."""
    if body.review == "auto_review":
        raise unavailable("review", "automatic review")


def update(actor: Actor, row: StoredSession, body: UpdateAgentSession) -> None:
    """Change a session. Raises InvalidRequest naming the field."""
    _check(body)
    said = body.model_fields_set
    if body.agent is not None and body.agent.model_fields_set:
        before = config_of_session(actor, row)
        session_configs.change(actor, row.key, row.agent, config_of(actor, body.agent, before, "agent."))
    metadata = (body.metadata or {}) if "metadata" in said else None
    settings = None
    if "prompt_cache_options" in said:
        settings = {name: value for name, value in row.settings.items() if name != "prompt_cache_options"}
        if body.prompt_cache_options is not None:
            settings["prompt_cache_options"] = body.prompt_cache_options.model_dump()
    set_limit(actor, row, body)
    if metadata is not None or settings is not None:
        sessions.update(row, metadata, settings)


# ---------------------------------------------------------------------------------------------- agents


def looking(actor: Actor) -> Action:
    """Return the action of an actor that looks at what it may see: one that may only run sees what it runs."""
    return "read" if "read" in actor.actions else "run"


def configs_of(actor: Actor, rows: Sequence[StoredSession]) -> dict[int, AgentConfig]:
    """Return the configurations that the next turns of sessions run with, by their keys. For a session without an agent
    that the actor may see it is the model of its last turn alone; none where it has no turn either."""
    records = agents.visible(actor, [row.agent for row in rows if row.agent is not None], looking(actor))
    last = sessions.last_turns(row for row in rows if row.agent not in records)
    found: dict[int, AgentConfig] = {}
    for row in rows:
        if row.agent in records:
            found[row.key] = agents.at_revision(records[row.agent], row.revision).config
        elif row.last_turn in last and last[row.last_turn].model:
            found[row.key] = AgentConfig(model=last[row.last_turn].model, instructions="")
    return found


def config_of_session(actor: Actor, row: StoredSession) -> AgentConfig | None:
    """Return the configuration of one session (`configs_of`); None where nothing is known of it."""
    return configs_of(actor, [row]).get(row.key)


def agent_for_turn(actor: Actor, row: StoredSession) -> AgentRecord:
    """Return the agent that runs a session's next turn; a session that has none gets one. Raises InvalidRequest where
    no model is known, NotFound."""
    if row.agent is None:
        config = config_of_session(actor, row)
        if config is None:
            message = "This session has no agent yet: name one by updating its agent.model."
            raise InvalidRequest(message, code="no_agent", param="agent.model")
        session_configs.change(actor, row.key, row.agent, config)
        row = sessions.of_key(actor, row.key, "run") or row
    assert row.agent is not None  # it has been given one
    return agents.at_revision(agents.get(actor, row.agent, "run"), row.revision)


# ------------------------------------------------------------------------------------------ what it is


def heads_of(actor: Actor, rows: Sequence[StoredSession]) -> list[SessionHead]:
    """Return what sessions say of themselves, whatever they do."""
    keys = [row.key for row in rows]
    configs, usages, limits = configs_of(actor, rows), sessions.usages_of(keys), budgets.spend_controls(keys)
    unknown = AgentConfig(model=UNKNOWN_MODEL, instructions="")
    heads = []
    for row in rows:
        agent = agent_wire.session_agent_json(agent_id_of(row), configs.get(row.key) or unknown)
        heads.append(_head(row, agent, usages.get(row.key), limits.get(row.key)))
    return heads


def renewed_head(row: StoredSession, head: SessionHead) -> SessionHead:
    """Return what a session says of itself now; its agent is as it was in ``head``."""
    limits = budgets.spend_controls([row.key])
    return _head(row, head.agent, sessions.usage_of(row.key), limits.get(row.key))


def _spend_control(state: BudgetState | None) -> SpendControl | None:
    if state is None:
        return None
    limit = None if state.limit_nano is None else state.limit_nano // NANO_PER_CENT
    return SpendControl(limit, state.spent.cost_nano // NANO_PER_CENT, state.is_reached)


def head_of(actor: Actor, row: StoredSession) -> SessionHead:
    [head] = heads_of(actor, [row])
    return head


def _head(row: StoredSession, agent: JSON, usage: Usage | None, limit: BudgetState | None) -> SessionHead:
    return SessionHead(
        row.key,
        agent,
        row.created_at,
        row.updated_at,
        metadata={str(name): value if isinstance(value, str) else str(value) for name, value in row.metadata.items()},
        settings=row.settings,
        usage=usage or Usage(),
        spend_control=_spend_control(limit),
        last_turn=row.last_turn,
    )


def agent_id_of(row: StoredSession) -> str:
    return agent_wire.nobody_of(row.key) if row.agent is None else agent_wire.agent_id(row.agent)


def objects_of(actor: Actor, rows: Sequence[StoredSession]) -> list[JSON]:
    """Encode sessions as they are now."""
    last = sessions.last_turns(rows)
    return [_object(head, row, last) for head, row in zip(heads_of(actor, rows), rows, strict=True)]


def object_of(actor: Actor, row: StoredSession) -> JSON:
    [made] = objects_of(actor, [row])
    return made


def _object(head: SessionHead, row: StoredSession, last: Mapping[int, LastTurn]) -> JSON:
    found = last.get(row.last_turn) if row.last_turn is not None else None
    status = found.status.label if found else None
    actions = required_actions(row.last_turn) if row.last_turn and status == "awaiting_input" else []
    return session_json(head, status, actions, is_over_budget=head.is_over_budget)


def required_actions(turn: int) -> list[JSON]:
    """Encode what a waiting turn still has no answer to."""
    answered = inputs.answers_of(turn)
    return [
        item_wire.required_action(turn, call.step, msgspec.json.decode(call.detail))
        for call in turns.pending_calls(turn)
        if call.step not in answered
    ]


def turn_head(row: StoredSession, turn: StoredTurn) -> TurnOfSession:
    """Return a turn of a session as it is shown."""
    agent_id = agent_id_of(row) if turn.agent is None else agent_wire.agent_id(turn.agent)
    error = ErrorInfo.model_validate_json(turn.error) if turn.error else None
    times = turn.started_at, turn.completed_at
    return TurnOfSession(turn.key, turn.session, agent_id, turn.status, *times, error, turn.usage)


# --------------------------------------------------------------------------------------------- messages


def messages_of(given: str | Sequence[UserInput]) -> list[UserMessage]:
    """Return the messages of a request's input."""
    if isinstance(given, str):
        return [UserMessage(content=given)]
    return [UserMessage(content=content_of(message.content)) for message in given]


def content_of(parts: Sequence[Any]) -> str | list[ContentItem]:
    """Return content as the record has it: a lone text as it is."""
    items: list[ContentItem] = [
        TextItem(text=part.text)
        if isinstance(part, InputText)
        else ImageItem(image=ImageData(url=Url(uri=part.image_url)))
        for part in parts
    ]
    return items[0].text if len(items) == 1 and isinstance(items[0], TextItem) else items
