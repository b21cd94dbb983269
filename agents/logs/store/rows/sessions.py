"""Read sessions for a list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agents.base import ids
from agents.base.timestamps import to_us
from agents.logs.schemas.rows import SessionRow, TokenCounts, TurnRow
from agents.logs.store import row_feedback
from agents.logs.store.row_feedback import NO_FEEDBACK
from agents.logs.store.rows import cells, turns
from agents.record.models.agents import Agent, Session
from agents.record.models.choices import Api, Source
from agents.record.models.tags import SessionTag
from agents.record.store import agent_calls
from agents.record.store.tags import tags_of

_COLUMNS = (
    "pk",
    "name",
    "agent_id",
    "api",
    "source",
    "created_at",
    "updated_at",
    "turn_count",
    "item_count",
    "input_tokens",
    "output_tokens",
    "cost_nano",
    "metadata",
    "last_turn",
)


def rows(keys: Sequence[int]) -> list[SessionRow]:
    """Read the rows of these sessions, in this order."""
    sessions = Session.objects.unscoped("ids checked").filter(pk__in=list(keys)).values_list(*_COLUMNS)
    by_key = {row[0]: row for row in sessions}
    last_turns = {row.id: row for row in turns.rows([row[-1] for row in by_key.values() if row[-1]])}
    agents = Agent.objects.unscoped("ids checked").filter(pk__in={row[2] for row in by_key.values() if row[2]})
    names = {key: name or model for key, name, model in agents.values_list("pk", "name", "model")}
    tags = tags_of(SessionTag, "session_id", keys)
    callers, feedback = agent_calls.callers_of_sessions(keys), row_feedback.reader.of_rows("session", keys)
    return [
        _row(by_key[key], last_turns, names, tags.get(key, [])).model_copy(
            update={"caller_id": callers.get(key), "feedback": feedback.get(key, NO_FEEDBACK)}
        )
        for key in keys
        if key in by_key
    ]


def _row(
    row: tuple[Any, ...], last_turns: Mapping[int, TurnRow], agents: Mapping[int, str], tags: list[str]
) -> SessionRow:
    (
        key,
        name,
        agent,
        api,
        source,
        created,
        updated,
        count,
        items,
        input_tokens,
        output_tokens,
        cost,
        metadata,
        last_key,
    ) = row
    turn = last_turns.get(last_key)
    return SessionRow(
        id=key,
        conversation_id=ids.openai(ids.Kind.SESSION, key),
        name=name,
        agent_id=agent,
        agent_name=agents.get(agent, ""),
        api=Api(api).label,
        source=Source(source).label,
        status=turn.status if turn else None,
        tags=tags,
        metadata=metadata,
        started_at=to_us(created),
        updated_at=to_us(updated),
        turn_count=count,
        item_count=items,
        usage=TokenCounts(
            input_tokens=input_tokens, output_tokens=output_tokens, total_tokens=input_tokens + output_tokens
        ),
        cost_usd=cells.dollars(cost),
        last_turn=turn,
    )
