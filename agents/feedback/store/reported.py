"""Feedback that other programs report with their turns: stored when a turn is built of its spans, again each time more
of it arrives, and read for exports."""

from __future__ import annotations

from typing import Any, Literal

from django.db.models import Q

from agents.base import ids
from agents.base.models.terms import TermKind
from agents.base.store import terms
from agents.base.store.sql import Select
from agents.base.timestamps import to_datetime, to_us
from agents.base.tokenizer import index_text
from agents.feedback.models import Feedback, Rating
from agents.feedback.store.feedback import RATINGS, is_withdrawn, rows_with
from agents.record.schemas.feedback import ReportedFeedback
from agents.record.store.feedback_hooks import JudgedTurn

_RATINGS: dict[int, Literal["up", "down"]] = {Rating.UP: "up", Rating.DOWN: "down"}


def put(judged: JudgedTurn) -> None:
    """Store what was reported of a turn, within the caller's transaction; each entry once. One that was withdrawn here
    stays withdrawn."""
    stored = {row.foreign_id: row for row in Feedback.objects.filter(turn_id=judged.turn, foreign_id__isnull=False)}
    for entry in judged.entries:
        row = stored.get(entry.id)
        if row is None:
            row = Feedback(pk=ids.new_key(), turn_id=judged.turn, foreign_id=entry.id)
        elif is_withdrawn(row):
            continue
        for column, value in _columns(judged, entry).items():
            setattr(row, column, value)
        row.save()


def _columns(judged: JudgedTurn, entry: ReportedFeedback) -> dict[str, Any]:
    has_score = entry.value is not None and bool(entry.name)
    return {
        "session_id": judged.session,
        "step_id": judged.steps.get(entry.step),
        "author_id": judged.owner,
        "author_name": entry.author[:200],
        "rating": RATINGS[entry.rating] if entry.rating else None,
        "name_id": terms.intern(TermKind.SCORE, entry.name) if has_score else None,
        "value": entry.value if has_score else None,
        "comment": entry.comment,
        "words": f" {index_text(entry.comment)} " if entry.comment else "",
        "created_at": to_datetime(entry.created_us),
        "updated_at": to_datetime(entry.updated_us),
    }


_ANY = Select(Feedback, "id", "turn_id = %s LIMIT 1")


def of_turn(turn: int) -> list[ReportedFeedback]:
    """All feedback of a turn and its steps, oldest first, with public ids."""
    if _ANY.first(turn) is None:  # as of most turns: what follows costs fifty times that
        return []
    return [_entry(row, ids.public(ids.Kind.FEEDBACK, row.pk)) for row in rows_with(Q(turn_id=turn))]


def reported(turn: int, entry_id: str) -> ReportedFeedback | None:
    """The entry of a turn that was reported with this id; None where there is none, or it was withdrawn."""
    row = rows_with(Q(turn_id=turn, foreign_id=entry_id)).first()
    return None if row is None else _entry(row, entry_id)


def _entry(row: Feedback, entry_id: str) -> ReportedFeedback:
    return ReportedFeedback(
        id=entry_id,
        step=ids.public(ids.Kind.STEP, row.step_id) if row.step_id else "",
        rating=_RATINGS.get(row.rating or 0),
        name=row.name.value if row.name else "",
        value=row.value,
        comment=row.comment,
        author=row.author_name,
        created_us=to_us(row.created_at),
        updated_us=to_us(row.updated_at),
    )
