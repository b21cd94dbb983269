"""Turns external turns into drafts of stored turns."""

from __future__ import annotations

from agents.record.models.choices import Api, Source, TurnStatus
from agents.record.store.totals import TurnTotals
from agents.record.store.turn_rows import TurnDraft, TurnState
from agents.telemetry.reading.prepared_turns import PreparedTurn
from agents.telemetry.store.external.owners import Owner, external_id

SOURCES = {"otlp": Source.OTLP, "openai_agents": Source.OPENAI_AGENTS, "langsmith": Source.LANGSMITH}
"""The sources of turns by the format of their spans; spans of other formats are imported."""


def source_of(turn: PreparedTurn) -> Source:
    return SOURCES.get(turn.format, Source.IMPORT)


def turn_draft(owner: Owner, turn: PreparedTurn, keys: tuple[int, int, int, int], totals: TurnTotals) -> TurnDraft:
    """Build the draft of a turn; ``keys`` are the turn, its session, its agent, its number."""
    key, session, agent, number = keys
    status = TurnStatus[turn.status.upper()]
    ended = turn.ended_us if status != TurnStatus.IN_PROGRESS else None
    return TurnDraft(
        key=key,
        session=session,
        number=number,
        owner=owner.user,
        scope=owner.scope,
        api=Api.NONE,
        source=source_of(turn),
        state=TurnState(status, turn.started_us, ended, turn.stop_reason, turn.error, turn.waited_us),
        totals=totals,
        agent=agent,
        model=turn.model,
        provider=turn.provider,
        user=turn.user,
        iterations=totals.inference_count,
        foreign_id=external_id(turn.id),
    )
