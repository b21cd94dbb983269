"""Read responses of OpenAI's API for a list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agents.base import ids
from agents.base.store import terms
from agents.base.timestamps import to_us, us_or_none
from agents.logs.schemas.rows import ResponseRow, TurnRow
from agents.logs.store.rows import cells, turns
from agents.record.models.choices import TRUNCATING, TurnStatus
from agents.record.models.turns import Response

_COLUMNS = (
    "pk",
    "turn_id",
    "number",
    "status",
    "model_id",
    "turn__leg_count",
    "created_at",
    "completed_at",
    "input_tokens",
    "output_tokens",
    "cached_tokens",
    "reasoning_tokens",
)


def rows(keys: Sequence[int]) -> list[ResponseRow]:
    """Read the rows of these responses, in this order."""
    responses = Response.objects.unscoped("ids checked").filter(pk__in=list(keys)).values_list(*_COLUMNS)
    by_key = {row[0]: row for row in responses}
    turn_of = {row.id: row for row in turns.rows(sorted({row[1] for row in by_key.values()}))}
    names = terms.texts({row[4] for row in by_key.values()})
    return [
        _row(by_key[key], turn_of[by_key[key][1]], names) for key in keys if key in by_key and by_key[key][1] in turn_of
    ]


def _is_cut(turn: TurnRow, status: int, is_last: bool) -> bool:
    is_complete = status == TurnStatus.COMPLETED and turn.status == "completed"
    return is_complete and is_last and turn.stop_reason in TRUNCATING


def _row(row: tuple[Any, ...], turn: TurnRow, names: dict[int | None, str]) -> ResponseRow:
    key, _, number, status, model, response_count, created, completed, *tokens = row
    started = to_us(created)
    ended = us_or_none(completed)
    error = turn.error if TurnStatus(status) == TurnStatus.FAILED else None
    return ResponseRow(
        id=ids.openai(ids.Kind.RESPONSE, key),
        number=number,
        turn_id=turn.id,
        session_id=turn.session_id,
        conversation_id=ids.openai(ids.Kind.SESSION, turn.session_id),
        session_name=turn.session_name,
        status="incomplete" if _is_cut(turn, status, number == response_count) else TurnStatus(status).label,
        model=names[model],
        user=turn.user,
        tags=turn.tags,
        input_preview=turn.input_preview,
        output_preview=turn.output_preview,
        started_at=started,
        completed_at=ended,
        duration_ms=None if ended is None else max(ended - started, 0) / 1000,
        usage=cells.tokens(*tokens),
        error=error,
        steps=turn.steps,
    )
