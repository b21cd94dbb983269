"""Change many rows at once: add and remove tags, delete sessions and turns.

Each batch is one job of the writer, so that runs can write in between. Rows the actor may not `run` are
left alone, as if they did not exist; rows that run at the moment are not deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from agents.base.access import Actor
from agents.base.errors import Conflict, InvalidRequest
from agents.base.store.writer import writer
from agents.logs.store import export, listing
from agents.query.tree import Level, Query
from agents.record.models.agents import Session
from agents.record.models.choices import LIVE, TurnStatus
from agents.record.models.turns import Response, Step, Turn
from agents.record.store import agent_calls, deletion, removal, tags, targets
from agents.record.store.targets import RecordTarget

BATCH_ROWS = 100
"""Rows of one job of the writer."""


@dataclass(frozen=True, slots=True)
class BulkResult:
    """The numbers of rows changed: ``running`` were left alone because they run, ``closed`` because the actor may
    only read them."""

    done: int = 0
    running: int = 0
    closed: int = 0

    def __add__(self, other: BulkResult) -> BulkResult:
        return BulkResult(self.done + other.done, self.running + other.running, self.closed + other.closed)


RowAction = Callable[[Actor, Level, Sequence[int]], BulkResult]


def to_keys(actor: Actor, level: Level, keys: Sequence[int], action: RowAction) -> BulkResult:
    """Apply an action to these rows, except those the actor cannot see."""
    result = BulkResult()
    for start in range(0, len(keys), BATCH_ROWS):
        visible_rows = listing.visible(level, actor).filter(pk__in=list(keys[start : start + BATCH_ROWS]))
        result += action(actor, level, list(visible_rows.order_by("-pk").values_list("pk", flat=True)))
    return result


def to_all(
    actor: Actor, query: Query, action: RowAction, on_progress: Callable[[BulkResult], None] = lambda _: None
) -> BulkResult:
    """Apply an action to every row that the query accepts at the time its batch is read, newest first;
    ``on_progress`` gets the result so far after each batch. Raises Unavailable."""
    result, after = BulkResult(), None
    while True:
        keys, after = export.keys_of(actor, query, after, BATCH_ROWS)
        if keys:
            result += action(actor, query.level, keys)
            on_progress(result)
        if after is None:
            return result


def tag_action(add: Collection[str] = (), remove: Collection[str] = ()) -> RowAction:
    """Build the action that tags sessions, turns and steps; of responses it tags their turns."""
    return partial(_tag, add=add, remove=remove)


def _tag(
    actor: Actor, level: Level, keys: Sequence[int], *, add: Collection[str], remove: Collection[str]
) -> BulkResult:
    kind = {"session": "sessions", "step": "steps"}.get(level, "turns")

    def job() -> int:
        runnable = _runnable(actor, level, keys)  # in here: nothing is deleted between
        keys_by_kind = {kind: [target.key for target in runnable]}
        if add:
            tags.add(add, **keys_by_kind)
        if remove:
            tags.remove(remove, **keys_by_kind)
        for target in runnable:
            targets.note_change(target)
        return len(runnable)

    done = writer.write(job)
    return BulkResult(done=done, closed=len(keys) - done)


def _runnable(actor: Actor, level: Level, keys: Sequence[int]) -> list[RecordTarget]:
    """Return the targets among these rows that the actor may run."""
    chosen = list(keys)
    match level:
        case "session":
            parents_and_keys = Session.objects.visible_to(actor, "run").filter(pk__in=chosen).values_list("pk")
        case "turn":
            parents_and_keys = (
                Turn.objects.visible_to(actor, "run").filter(pk__in=chosen).values_list("session_id", "pk")
            )
        case "step":
            rows = Step.objects.visible_to(actor, "run").filter(pk__in=chosen)
            parents_and_keys = rows.values_list("turn__session_id", "turn_id", "pk")
        case "response":
            rows = Response.objects.visible_to(actor, "run").filter(pk__in=chosen)
            parents_and_keys = rows.values_list("turn__session_id", "turn_id")
        case _:
            raise InvalidRequest("level: rows of this level have no tags.", param="level")
    return [RecordTarget(*row) for row in parents_and_keys]


def delete(actor: Actor, level: Level, keys: Sequence[int], *, spared: Sequence[TurnStatus] = LIVE) -> BulkResult:
    """Delete sessions and turns for good, with the sessions of the sub-agents that these called. Turns that continue a
    deleted one stay, and so do turns with a status of ``spared``."""
    if level not in ("session", "turn"):
        raise InvalidRequest("level: only turns and sessions can be deleted.", param="level")
    allowed = [target.key for target in _runnable(actor, level, keys)]
    _delete_below(level, allowed, spared)
    rows, done = _rows(level, allowed), 0
    for key in [key for key, size in rows.items() if size > removal.ROWS_PER_JOB]:
        with suppress(Conflict):  # it runs, and stays
            if level == "session":
                del rows[key]
                removal.remove_sessions([key])
                done += 1
            else:
                removal.empty(key)
                rows[key] = removal.ROWS_PER_JOB
    done += sum(writer.write(partial(_delete, level, batch, spared)) for batch in removal.batches(rows))
    return BulkResult(done, running=len(allowed) - done, closed=len(keys) - len(allowed))


def _delete_below(level: Level, keys: Sequence[int], spared: Sequence[TurnStatus]) -> None:
    """Delete the sessions of sub-agents that were called by what is deleted, before it."""
    rows = Turn.objects.unscoped("checked")
    if level == "session":
        running = rows.filter(session_id__in=keys, status__in=LIVE)
        turns = rows.filter(session_id__in=keys).exclude(session_id__in=running.values("session_id"))
    else:
        turns = rows.filter(pk__in=keys).exclude(status__in=spared)
    for session in agent_calls.sessions_below(turns.values_list("pk", flat=True)):
        with suppress(Conflict):  # it runs, and stays
            removal.remove_sessions([session])


def _rows(level: Level, keys: list[int]) -> dict[int, int]:
    """Estimate the number of rows below each of these."""
    if level == "session":
        return removal.rows_below(keys)
    rows = Turn.objects.unscoped("checked").filter(pk__in=keys).values_list("pk", "step_count")
    return dict.fromkeys(keys, 0) | dict(rows)


def _delete(level: Level, keys: list[int], spared: Sequence[TurnStatus]) -> int:
    """Delete those that do not run, and return their number."""
    if level == "session":
        return _delete_sessions(keys)
    rows = Turn.objects.unscoped("checked").filter(pk__in=keys).exclude(status__in=spared)
    sessions = dict(rows.values_list("pk", "session_id"))
    deletion.delete_turns(list(sessions))
    for session in set(sessions.values()):
        targets.note_change(RecordTarget(session))
    return len(sessions)


def _delete_sessions(keys: list[int]) -> int:
    running = Turn.objects.unscoped("checked").filter(session_id__in=keys, status__in=LIVE)
    rows = Session.objects.unscoped("checked").filter(pk__in=keys).exclude(pk__in=running.values("session_id"))
    deletable = list(rows.values_list("pk", flat=True))
    deletion.delete_sessions(deletable)
    return len(deletable)
