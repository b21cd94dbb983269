"""Numbers the external turns of a session by the time they started, in whatever order they were reported."""

from __future__ import annotations

from agents.base.models.changes import ChangeKind
from agents.base.store import changes
from agents.base.store.sql import Select, execute, execute_many
from agents.record.models.agents import Session
from agents.record.models.turns import Turn
from agents.record.store import deletion
from agents.telemetry.store.external.find_or_create import SessionDraft, is_placeholder

_NEWEST = Select(Turn, "number", "session_id = %s ORDER BY number DESC LIMIT 1")
_LAST = Select(Turn, "id started_at", "session_id = %s ORDER BY number DESC LIMIT %s")
_ALL = Select(Turn, "id number parent_id", "session_id = %s ORDER BY started_at, id")
_SET_NUMBER = "UPDATE agents_turn SET number = %s, parent_id = %s WHERE id = %s"
_SET_PARENT = "UPDATE agents_turn SET parent_id = %s WHERE id = %s"
_SET_LAST_TURN = "UPDATE agents_session SET last_turn = %s WHERE id = %s"


def next_number(draft: SessionDraft) -> int:
    """The number after all stored turns; `renumber` moves the turn to its place."""
    if draft.created_from:
        return len(draft.joined)
    row = _NEWEST.first(draft.key)
    return (row[0] + 1 if row else 0) + len(draft.joined)


def renumber(draft: SessionDraft) -> None:
    """Number a session's turns by the time they started, each with the one before it as its parent. Turns that joined
    the session come last until then; a turn that is all of a new session has its number already."""
    if draft.needs_renumbering:
        _renumber_all(draft.key)
    elif draft.joined and not (draft.created_from and len(draft.joined) == 1):
        newest = _LAST.all(draft.key, len(draft.joined) + 1)[::-1]
        start_times = [(started, key) for key, started in newest]
        if start_times == sorted(start_times):
            _append(draft, [key for key, *_ in newest])
        else:
            _renumber_all(draft.key)


def _append(draft: SessionDraft, newest: list[int]) -> None:
    """Link the turns that joined, each to the one before; ``newest`` are they and the one before them, if any."""
    parents = [None, *newest]
    start = len(newest) - len(draft.joined)
    links = [(parents[index], key) for index, key in enumerate(newest) if index >= start]
    execute_many(_SET_PARENT, links)
    execute(_SET_LAST_TURN, newest[-1], draft.key)


def _renumber_all(session: int) -> None:
    turns = _ALL.all(session)
    parents = [None, *(key for key, _, _ in turns)]
    misplaced = [
        (new_number, parents[new_number], key)
        for new_number, (key, number, parent) in enumerate(turns)
        if (number, parent) != (new_number, parents[new_number])
    ]
    first_free = len(turns) + max((number for _, number, _ in turns), default=0)
    # two passes: no two turns of a session may have the same number, not even within the transaction
    execute_many(_SET_NUMBER, ((first_free + new_number, parent, key) for new_number, parent, key in misplaced))
    execute_many(_SET_NUMBER, misplaced)
    execute(_SET_LAST_TURN, parents[-1], session)


def update_left_session(session: int) -> None:
    """Update a session that a turn has left: its sums, or its deletion where it is a placeholder without turns."""
    deletion.recount(session)
    row = Session.objects.unscoped("projection").filter(pk=session).values_list("turn_count", "foreign_id").first()
    if row and row[0] == 0 and is_placeholder(row[1] or ""):
        deletion.delete_sessions([session])
    else:
        changes.note(ChangeKind.SESSION, session)
