"""Deletes large sessions and agents in short jobs of the writer.

A small one is deleted in one job. A large one is *marked* by the first job: from then on it is invisible and no turn
starts in it. Its turns are deleted in batches, the newest first: a turn is deleted before the one it continues, so
that nothing ever refers to a deleted row. The mark is stored; what a process left when it ended,
`continue_removals` deletes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from django.db.models import Count, F, Sum

from agents.base import ids
from agents.base.errors import Conflict
from agents.base.models.changes import ChangeKind
from agents.base.store import changes, portions
from agents.base.store.writer import writer
from agents.base.timestamps import to_datetime
from agents.record.models.agents import Agent, AgentRevision, Session
from agents.record.models.choices import EXTERNAL, LIVE
from agents.record.models.turns import Item, Step, Turn
from agents.record.store import agent_calls, deletion, deletion_hooks, references

ROWS_PER_JOB = 2_000
"""Most rows deleted in one job, unless one turn alone has more."""
STEPS_PER_JOB = 500
"""Steps of one turn, or four times as many items, that go in one job, where it has more than those."""
MAX_KEYS_PER_JOB = 100
"""Sessions or turns that go in one job at most."""
ROWS_PER_TURN = 5
"""Rows every turn has beside its steps and items."""
MAX_LISTED = 1_000
"""Sessions of an agent that are looked at together."""


def remove_sessions(sessions: Sequence[int]) -> None:
    """Delete sessions, with those of the sub-agents that their turns called. Raises Conflict while a turn of one runs:
    some of the others may be deleted then."""
    keys = agent_calls.with_sessions_below(sessions)
    if len(keys) > len(sessions):
        deletion.refuse_running(keys)  # before the first of them is gone
    rows = rows_below(keys)
    large = [key for key in keys if rows[key] > ROWS_PER_JOB]
    for key in large:
        if writer.write(partial(_mark, key)):
            finish(key)
    for batch in batches({key: size for key, size in rows.items() if size <= ROWS_PER_JOB}):
        writer.write(partial(deletion.delete_sessions, batch))


def rows_below(sessions: Sequence[int]) -> dict[int, int]:
    """Estimate the number of rows below each of these sessions."""
    turns = Turn.objects.unscoped("delete").filter(session_id__in=sessions).order_by()
    counted = turns.values("session_id").annotate(rows=Count("pk") * ROWS_PER_TURN + Sum("step_count"))
    items = Session.objects.unscoped("delete").filter(pk__in=sessions).values_list("pk", "item_count")
    below = dict(counted.values_list("session_id", "rows"))
    return dict.fromkeys(sessions, 0) | {key: count + below.get(key, 0) for key, count in items}


def batches(rows: Mapping[int, int]) -> Iterator[list[int]]:
    """Group keys, with the number of rows below each, into jobs."""
    return portions.groups(rows.items(), ROWS_PER_JOB, MAX_KEYS_PER_JOB)


def continue_removals() -> int:
    """Delete what remains of marked sessions and agents; returns how many were finished. Those in use are retried
    later."""
    due = {"removed_at__lte": to_datetime(ids.now_us())}
    sessions = list(Session.objects.unscoped("removal").filter(**due).values_list("pk", flat=True)[:MAX_LISTED])
    agents = list(Agent.objects.unscoped("removal").filter(**due).values_list("pk", flat=True)[:MAX_LISTED])
    return sum(_try_remove(finish, key) for key in sessions) + sum(_try_remove(_finish_agent, key) for key in agents)


def _try_remove(remove: Callable[[int], None], key: int) -> bool:
    try:
        remove(key)
    except Conflict:
        return False
    return True


# ------------------------------------------------------------------------------------------- a session


def begin(sessions: Sequence[int]) -> list[int]:
    """Delete sessions within the caller's transaction; returns those that hold too much for that, and that `finish` is
    to follow for. Raises Conflict while a turn of one runs."""
    rows = rows_below(sessions)
    small = [key for key in sessions if rows[key] <= ROWS_PER_JOB]
    deletion.delete_sessions(small)
    return [key for key in sessions if rows[key] > ROWS_PER_JOB and _mark(key)]


def finish(session: int) -> None:
    """Delete what remains of a marked session, and the session."""
    turns = _rows_of_turns(session)
    for turn, rows in turns.items():
        if rows > ROWS_PER_JOB:
            _empty(turn)
    for batch in batches({turn: min(rows, ROWS_PER_JOB) for turn, rows in turns.items()}):
        writer.write(partial(deletion.delete_turns, batch))
    items = Item.objects.unscoped("delete").filter(session_id=session)
    while writer.write(partial(_delete_items, items)):
        pass
    writer.write(partial(deletion.delete_sessions, [session]))


def _mark(session: int) -> bool:
    """Mark a session as removed; returns whether it exists. Later reports under its external id create a new session,
    and no more turns are built from earlier reports."""
    deletion.lock(Session, [session])
    deletion.refuse_running([session])
    rows = Session.objects.unscoped("delete").filter(pk=session)
    if not rows.update(removed_at=to_datetime(ids.now_us()), foreign_id=None):
        return False
    reported = Turn.objects.unscoped("delete").filter(session_id=session, source__in=EXTERNAL)
    deletion_hooks.drop_sources(list(reported.values_list("pk", flat=True)))
    changes.note(ChangeKind.SESSION, session, deleted=True)
    return True


def _rows_of_turns(session: int) -> dict[int, int]:
    """Return the turns of a session, newest first, with about how many rows each has."""
    turns = Turn.objects.unscoped("delete").filter(session_id=session).order_by("-number")
    items = Item.objects.unscoped("delete").filter(session_id=session).exclude(turn=None).order_by()
    item_counts = dict(items.values("turn_id").annotate(items=Count("pk")).values_list("turn_id", "items"))
    steps = turns.annotate(rows=F("step_count") + ROWS_PER_TURN).values_list("pk", "rows")
    return {turn: rows + item_counts.get(turn, 0) for turn, rows in steps}


def _empty(turn: int) -> None:
    """Delete steps and items of a turn, all but what one job deletes with it."""
    while writer.write(partial(_delete_steps, turn)):
        pass
    items = Item.objects.unscoped("delete").filter(turn_id=turn)
    while writer.write(partial(_delete_items, items)):
        pass


def _delete_steps(turn: int) -> int:
    """Delete the last steps of a turn, all of it but what one job deletes with it; returns how many."""
    rows = Step.objects.unscoped("delete").filter(turn_id=turn).order_by("-number")
    steps = list(rows.values_list("pk", flat=True)[: 2 * STEPS_PER_JOB])
    if len(steps) <= STEPS_PER_JOB:
        return 0
    steps = steps[:STEPS_PER_JOB]
    references.plan(Step, part_of=Turn).delete(steps)
    for key in steps:
        changes.note(ChangeKind.STEP, key, deleted=True)
    return len(steps)


def _delete_items(items: Any) -> int:
    """Delete the last of these items; returns how many."""
    keys = list(items.order_by("-number").values_list("pk", flat=True)[: 4 * STEPS_PER_JOB])
    Item.objects.unscoped("delete").filter(pk__in=keys)._raw_delete("default")
    return len(keys)


# --------------------------------------------------------------------------------------------- a turn


def empty(turn: int) -> None:
    """Delete most rows below a turn that is to be deleted. Raises Conflict where it runs."""
    writer.write(partial(_drop_sources, turn))
    _empty(turn)


def _drop_sources(turn: int) -> None:
    """Delete the reports that a turn was built from."""
    deletion.lock(Turn, [turn])
    deletion.refuse(Turn.objects.unscoped("delete").filter(pk=turn, status__in=LIVE))
    deletion_hooks.drop_sources([turn])


# -------------------------------------------------------------------------------------------- an agent


def remove_agent(key: int) -> None:
    """Delete an agent with its sessions. Raises Conflict while a turn of one runs; where one began at the last moment,
    others may be gone then."""
    writer.write(partial(_mark_agent, key))
    try:
        _finish_agent(key)
    except Conflict:
        writer.write(partial(_unmark_agent, key))
        raise


def _finish_agent(agent: int) -> None:
    """Delete the sessions of an agent, and those that were made meanwhile, then the agent."""
    while not writer.write(partial(delete_agent, agent)):
        remove_sessions(_sessions_of(agent))


def _sessions_of(agent: int) -> list[int]:
    rows = Session.objects.unscoped("all of a removed agent").filter(agent_id=agent).order_by("-pk")
    return list(rows.values_list("pk", flat=True)[:MAX_LISTED])


def _mark_agent(key: int) -> None:
    running = Turn.objects.unscoped("delete").filter(session__agent_id=key, status__in=LIVE)
    deletion.refuse(running)
    rows = Agent.objects.unscoped("checked by the caller").filter(pk=key)
    rows.update(removed_at=to_datetime(ids.now_us()), foreign_id=None)
    changes.note(ChangeKind.AGENT, key, deleted=True)


def _unmark_agent(key: int) -> None:
    Agent.objects.unscoped("checked by the caller").filter(pk=key).update(removed_at=None)
    changes.note(ChangeKind.AGENT, key)


def delete_agent(key: int) -> bool:
    """Delete an agent if it has no sessions, within the caller's transaction; returns whether it was deleted."""
    if Session.objects.unscoped("all of a removed agent").filter(agent_id=key).exists():
        return False
    rows = Agent.objects.unscoped("checked by the caller").filter(pk=key)
    rows.update(revision=None)
    AgentRevision.objects.filter(agent_id=key)._raw_delete("default")
    rows._raw_delete("default")
    changes.note(ChangeKind.AGENT, key, deleted=True)
    return True
