"""Reads complete turns for exports that can be imported again: `agents.record.schemas.records` as JSON."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import msgspec

from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import NotFound
from agents.base.schemas.wire import iso
from agents.base.store import terms
from agents.base.timestamps import to_datetime, to_us
from agents.record.models.agents import Agent, AgentRevision, Session
from agents.record.models.choices import FINAL, Api, Source
from agents.record.models.tags import TurnTag
from agents.record.models.turns import Step, Turn, TurnBody
from agents.record.schemas.feedback import ReportedFeedback
from agents.record.schemas.records import VERSION, TurnRecord
from agents.record.schemas.turns import StepSnapshot, TurnSnapshot
from agents.record.store import read_turns
from agents.record.store.feedback_hooks import hooks
from agents.record.store.tags import tags_of

Json = dict[str, Any]

_TURN = (
    "agent_id",
    "revision_id",
    "session_id",
    "source",
    "api",
    "stop_reason",
    "provider_id",
    "end_user_id",
    "waited_us",
)


def of_turn(actor: Actor, key: int) -> Json:
    """Read a turn in the form of `TurnRecord`, with stored JSON as `msgspec.Raw`. Raises NotFound, also for one the
    actor may not see."""
    return of_snapshot(actor, read_turns.turn(actor, key))


def of_snapshot(actor: Actor, turn: TurnSnapshot) -> Json:
    """Make the record of a turn that was read already."""
    row = Turn.objects.unscoped("turn checked").filter(pk=turn.key).values(*_TURN).first()
    if row is None:
        raise NotFound(f"Turn '{ids.public(ids.Kind.TURN, turn.key)}' not found.")
    stored_values = _of_steps(turn.key)
    record = {
        "version": VERSION,
        "id": ids.public(ids.Kind.TURN, turn.key),
        "session": _session(row["session_id"]),
        "agent": _agent(actor, row["agent_id"], row["revision_id"], turn.model),
        "status": turn.status,
        "stop_reason": row["stop_reason"],
        "source": Source(row["source"]).label,
        "api": Api(row["api"]).label,
        "started_at": iso(turn.started_at),
        "completed_at": _iso_or_none(turn.completed_at),
        "waited_us": row["waited_us"],
        "model": turn.model,
        "provider": terms.text(row["provider_id"]),
        "user": terms.text(row["end_user_id"]),
        "traceparent": turn.traceparent,
        "tags": tags_of(TurnTag, "turn_id", [turn.key]).get(turn.key, []),
        "input": msgspec.Raw(turn.input_messages),
        "output": msgspec.Raw(turn.output_message) if turn.output_message else None,
        "error": _error(turn.error),
        "feedback": [_feedback(entry) for entry in hooks.of_turn(turn.key)],
        "steps": [_step(step, stored_values.get(step.key, {})) for step in turn.steps],
        **_body(turn.key),
    }
    return _without_empty(record)


def encoded(record: Json) -> bytes:
    return msgspec.json.encode(record)


def read(actor: Actor, key: int) -> TurnRecord:
    """Read a turn as `TurnRecord`. Raises NotFound, also for one the actor may not see."""
    return TurnRecord.model_validate_json(encoded(of_turn(actor, key)))


def ended_here(keys: Collection[int], since_us: int) -> dict[int, int]:
    """Return those of these turns that ran here and ended at or after ``since_us``, with the time of their end."""
    rows = Turn.objects.unscoped("export").filter(
        pk__in=keys, source=Source.NATIVE, status__in=FINAL, completed_at__gte=to_datetime(since_us)
    )
    return {key: to_us(at) for key, at in rows.values_list("pk", "completed_at")}


def _without_empty(record: Json) -> Json:
    """Drop the fields that are unknown or empty."""
    return {name: value for name, value in record.items() if value not in (None, "", [], {})}


def _session(key: int) -> Json:
    name = Session.objects.unscoped("turn checked").filter(pk=key).values_list("name", flat=True).first()
    return {"id": ids.public(ids.Kind.SESSION, key), "name": name or ""}


def _agent(actor: Actor, key: int | None, revision: int | None, model: str) -> Json:
    """Return the agent's name, which lists show with each turn; its instructions only if the actor may see it."""
    row = Agent.objects.unscoped("turn checked").filter(pk=key).values_list("name", "model", "revision_id").first()
    if row is None:
        return {"model": model}
    name, own_model, current = row
    named = {"name": name, "model": own_model}
    if Agent.objects.visible_to(actor, "read").filter(pk=key).exists():
        configs = AgentRevision.objects.filter(pk=revision or current).values_list("config", flat=True)
        named["instructions"] = _instructions(configs.first())
    return _without_empty(named)


def _instructions(config: Any) -> str:
    config = msgspec.json.decode(config) if isinstance(config, (str, bytes)) else config
    return str((config or {}).get("instructions") or "")


def _body(turn: int) -> Json:
    """Return the caller's metadata, and for an external turn the facts of its import."""
    row = TurnBody.objects.unscoped("turn checked").filter(pk=turn).values_list("metadata", "request").first()
    metadata, request = row or ({}, "")
    settings = msgspec.json.decode(request) if request else {}
    foreign = settings.get("foreign") if isinstance(settings, dict) else None
    return {"metadata": metadata, "foreign": {k: v for k, v in (foreign or {}).items() if k != "traces"}}


def _of_steps(turn: int) -> dict[int, Json]:
    """Return the fields of the steps of a turn that their snapshots lack, by key."""
    steps = Step.objects.unscoped("turn checked").filter(turn_id=turn)
    rows = list(steps.values_list("pk", "cost_nano", "parent_id", "agent_id", "waited_us", "model_id"))
    agents = Agent.objects.unscoped("turn checked").filter(pk__in={row[3] for row in rows if row[3]})
    names = {key: name or model for key, name, model in agents.values_list("pk", "name", "model")}
    return {
        key: {
            "cost_nano": cost_nano,
            "parent": ids.public(ids.Kind.STEP, parent) if parent else "",
            "agent": names.get(agent, ""),
            "waited_us": waited_us,
            "model": terms.text(model),
        }
        for key, cost_nano, parent, agent, waited_us, model in rows
    }


def _step(step: StepSnapshot, stored_values: Json) -> Json:
    spent = step.usage.model_dump(exclude_defaults=True)
    model = {"model": stored_values.get("model", "")} if step.type == "inference" else {}
    with_spent = {"usage": spent} if spent or stored_values.get("cost_nano") is not None else {}
    fields = _without_empty(
        {
            "id": ids.public(ids.Kind.STEP, step.key),
            "number": step.number,
            "round": step.round,
            "type": step.type,
            "name": step.name,
            "status": step.status,
            "server_side": step.server_side,
            "started_at": iso(step.started_at),
            "completed_at": _iso_or_none(step.completed_at),
            "ttft_us": step.ttft_us,
            **stored_values,
            "error": _error(step.error),
            "detail": msgspec.Raw(step.detail) if step.detail else None,
        }
    )
    return fields | model | with_spent


def _feedback(entry: ReportedFeedback) -> Json:
    times = {"created_at": iso(entry.created_us), "updated_at": iso(entry.updated_us)}
    values = msgspec.structs.asdict(entry)
    return _without_empty({name: value for name, value in values.items() if not name.endswith("_us")}) | times


def _iso_or_none(at_us: int | None) -> str | None:
    return None if at_us is None else iso(at_us)


def _error(error: Any) -> Json | None:
    return None if error is None else error.model_dump(exclude_none=True)
