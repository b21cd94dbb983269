"""Where foreign turns stand in their sessions: by the time they began, whenever they were told of."""

from __future__ import annotations

from agents.base.models.changes import ChangeKind
from agents.base.store import changes
from agents.base.store.sql import Select, execute, execute_many
from agents.record.models.agents import Session
from agents.record.models.turns import Turn
from agents.record.store import deletion
from agents.telemetry.store.external.find_or_create import Talk, is_made_up

_NEWEST = Select(Turn, "number", "session_id = %s ORDER BY number DESC LIMIT 1")
_LAST = Select(Turn, "id started_at", "session_id = %s ORDER BY number DESC LIMIT %s")
_ALL = Select(Turn, "id number parent_id", "session_id = %s ORDER BY started_at, id")
_NUMBER = "UPDATE agents_turn SET number = %s, parent_id = %s WHERE id = %s"
_BEHIND = "UPDATE agents_turn SET parent_id = %s WHERE id = %s"
_IS_LAST = "UPDATE agents_session SET last_turn = %s WHERE id = %s"


def next_number(talk: Talk) -> int:
    """Behind all turns there are: `keep` puts it where it belongs."""
    if talk.made_by:
        return len(talk.joined)
    found = _NEWEST.first(talk.key)
    return (found[0] + 1 if found else 0) + len(talk.joined)


def keep(talk: Talk) -> None:
    """Number a session's turns by the time they began, each behind the one before it. Those that joined it stand
    last; a turn that is all of a new session stands right already."""
    if talk.is_moved:
        _number_again(talk.key)
    elif talk.joined and not (talk.made_by and len(talk.joined) == 1):
        last = _LAST.all(talk.key, len(talk.joined) + 1)[::-1]
        moments = [(began, key) for key, began in last]
        if moments == sorted(moments):
            _follow(talk, [key for key, *_ in last])
        else:
            _number_again(talk.key)


def _follow(talk: Talk, last: list[int]) -> None:
    """Those that joined, each behind the one before; ``last`` are they and the one before them, if there is one."""
    before = [None, *last]
    start = len(last) - len(talk.joined)
    told = [(before[place], key) for place, key in enumerate(last) if place >= start]
    execute_many(_BEHIND, told)
    execute(_IS_LAST, last[-1], talk.key)


def _number_again(session: int) -> None:
    turns = _ALL.all(session)
    behind = [None, *(key for key, _, _ in turns)]
    wrong = [
        (place, behind[place], key)
        for place, (key, number, parent) in enumerate(turns)
        if (number, parent) != (place, behind[place])
    ]
    free = len(turns) + max((number for _, number, _ in turns), default=0)
    # two passes: no two turns of a session may have one number, not even for a moment
    execute_many(_NUMBER, ((free + place, parent, key) for place, parent, key in wrong))
    execute_many(_NUMBER, wrong)
    execute(_IS_LAST, behind[-1], session)


def leave(session: int) -> None:
    """A turn has gone to another session: this one has the others, and goes itself where it was only made
    up and has none."""
    deletion.sum_again(session)
    row = Session.objects.unscoped("projection").filter(pk=session).values_list("turn_count", "foreign_id").first()
    if row and row[0] == 0 and is_made_up(row[1] or ""):
        deletion.delete_sessions([session])
    else:
        changes.note(ChangeKind.SESSION, session)
