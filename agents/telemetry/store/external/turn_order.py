"""Where foreign turns stand in their sessions: by the time they began, whenever they were told of."""

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
    """Behind all turns there are: `keep` puts it where it belongs."""
    if draft.created_from:
        return len(draft.joined)
    row = _NEWEST.first(draft.key)
    return (row[0] + 1 if row else 0) + len(draft.joined)


def renumber(draft: SessionDraft) -> None:
    """Number a session's turns by the time they began, each behind the one before it. Those that joined it stand
    last; a turn that is all of a new session stands right already."""
    if draft.needs_renumbering:
        _renumber_all(draft.key)
    elif draft.joined and not (draft.created_from and len(draft.joined) == 1):
        newest = _LAST.all(draft.key, len(draft.joined) + 1)[::-1]
        positions = [(began, key) for key, began in newest]
        if positions == sorted(positions):
            _append(draft, [key for key, *_ in newest])
        else:
            _renumber_all(draft.key)


def _append(draft: SessionDraft, newest: list[int]) -> None:
    """Those that joined, each behind the one before; ``last`` are they and the one before them, if there is one."""
    parents = [None, *newest]
    start = len(newest) - len(draft.joined)
    links = [(parents[index], key) for index, key in enumerate(newest) if index >= start]
    execute_many(_SET_PARENT, links)
    execute(_SET_LAST_TURN, newest[-1], draft.key)


def _renumber_all(session: int) -> None:
    turns = _ALL.all(session)
    parents = [None, *(key for key, _, _ in turns)]
    wrong = [
        (new_number, parents[new_number], key)
        for new_number, (key, number, parent) in enumerate(turns)
        if (number, parent) != (new_number, parents[new_number])
    ]
    free = len(turns) + max((number for _, number, _ in turns), default=0)
    # two passes: no two turns of a session may have one number, not even for a moment
    execute_many(_SET_NUMBER, ((free + new_number, parent, key) for new_number, parent, key in wrong))
    execute_many(_SET_NUMBER, wrong)
    execute(_SET_LAST_TURN, parents[-1], session)


def update_left_session(session: int) -> None:
    """A turn has gone to another session: this one has the others, and goes itself where it was only made
    up and has none."""
    deletion.sum_again(session)
    row = Session.objects.unscoped("projection").filter(pk=session).values_list("turn_count", "foreign_id").first()
    if row and row[0] == 0 and is_placeholder(row[1] or ""):
        deletion.delete_sessions([session])
    else:
        changes.note(ChangeKind.SESSION, session)
