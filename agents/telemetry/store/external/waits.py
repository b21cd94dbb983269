"""Ends the waits of external turns: a turn that ended with a question waits until its session goes on with another
turn, which has the answer. It is then completed, and its output stays the question. It is also where it was cancelled
meanwhile, since nobody had answered for long."""

from __future__ import annotations

from collections.abc import Sequence

from agents.base.models.changes import ChangeKind
from agents.base.store import changes
from agents.base.store.sql import SelectAmong, execute_many
from agents.record.models.choices import TurnStatus
from agents.record.models.turns import Turn

UNANSWERED = "no answer was reported"
"""Why a turn was cancelled that waited too long: the answer may come after all."""
_OVER = SelectAmong(
    Turn,
    "id",
    "session_id",
    "(status = %s OR stop_reason = %s) "
    "AND id <> (SELECT last_turn FROM agents_session WHERE agents_session.id = agents_turn.session_id)",
)
_COMPLETE = (
    "UPDATE agents_turn SET status = %s, "
    "stop_reason = CASE stop_reason WHEN %s THEN 'end_of_turn' ELSE stop_reason END WHERE id = %s"
)


def end_waits(sessions: Sequence[int]) -> None:
    """Complete the turns of these sessions that wait and are not the last: one query, unless there are any."""
    if over := [key for (key,) in _OVER.all(sessions, TurnStatus.AWAITING_INPUT.value, UNANSWERED)]:
        execute_many(_COMPLETE, ((TurnStatus.COMPLETED.value, UNANSWERED, key) for key in over))
        for key in over:
            changes.note(ChangeKind.TURN, key)
