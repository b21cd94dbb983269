"""Turns external turns into drafts of stored turns."""

from __future__ import annotations

from typing import Any

import msgspec

from agents.record.models.choices import Api, Source, TurnStatus
from agents.record.store import turn_rows
from agents.record.store.totals import TurnTotals
from agents.record.store.turn_rows import TurnBodyDraft, TurnDraft, TurnState, stop_reason
from agents.telemetry.reading.records import ExternalTurn
from agents.telemetry.store.external.owners import Owner, external_id


def turn_draft(
    owner: Owner, record: ExternalTurn, source: Source, keys: tuple[int, int, int, int], totals: TurnTotals
) -> TurnDraft:
    """Build the draft of a turn; ``keys`` are the turn, its session, its agent, its number."""
    key, session, agent, number = keys
    status = TurnStatus[record.status.upper()]
    ended = record.ended_us if status != TurnStatus.IN_PROGRESS else None
    return TurnDraft(
        key=key,
        session=session,
        number=number,
        owner=owner.user,
        scope=owner.scope,
        api=Api.NONE,
        source=source,
        state=TurnState(status, record.started_us, ended, stop_reason(record.output, record.error), record.error),
        totals=totals,
        agent=agent,
        model=record.model,
        provider=record.provider,
        user=record.user,
        iterations=totals.inference_count,
        foreign_id=external_id(record.id),
    )


def body_columns(record: ExternalTurn) -> tuple[Any, ...]:
    """Build the columns of a turn's body but the first."""
    draft = TurnBodyDraft(record.input, _request_json(record), record.metadata, record.output, record.error)
    return turn_rows.body_columns(draft)


def _request_json(record: ExternalTurn) -> str:
    """The provenance of a turn as JSON, '' where there is none."""
    fields = {"warnings": record.warnings, "hidden": record.hidden, "agents": record.agents, "traces": record.traces}
    details = {name: value for name, value in fields.items() if value}
    return msgspec.json.encode({"foreign": details}).decode() if details else ""
