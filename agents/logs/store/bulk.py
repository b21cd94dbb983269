"""One thing done to many rows: tags put on and taken away, sessions and turns deleted.

Each piece is one job of the writer, so that runs get their turn in between. What the actor may not `run`
is not touched, as if it were not there; what runs at the moment is not deleted.
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
from agents.record.models.choices import LIVE
from agents.record.models.turns import Response, Step, Turn
from agents.record.store import deletion, removal, tags, targets
from agents.record.store.targets import RecordTarget

PIECE = 100
"""Rows of one job."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """``running`` are those left alone because they run, ``closed`` those the actor may read, and no more."""

    done: int = 0
    running: int = 0
    closed: int = 0

    def __add__(self, other: Outcome) -> Outcome:
        return Outcome(self.done + other.done, self.running + other.running, self.closed + other.closed)


Act = Callable[[Actor, Level, Sequence[int]], Outcome]


def to_keys(actor: Actor, level: Level, keys: Sequence[int], act: Act) -> Outcome:
    """Do something to these rows, those the actor cannot see left out."""
    outcome = Outcome()
    for start in range(0, len(keys), PIECE):
        seen = listing.visible(level, actor).filter(pk__in=list(keys[start : start + PIECE]))
        outcome += act(actor, level, list(seen.order_by("-pk").values_list("pk", flat=True)))
    return outcome


def to_all(actor: Actor, query: Query, act: Act, told: Callable[[Outcome], None] = lambda _: None) -> Outcome:
    """Do something to every row that a query accepts when its piece is looked for, newest first; ``told``
    hears after each piece how it stands. Raises Unavailable."""
    outcome, after = Outcome(), None
    while True:
        keys, after = export.keys_of(actor, query, after, PIECE)
        if keys:
            outcome += act(actor, query.level, keys)
            told(outcome)
        if after is None:
            return outcome


def tagging(add: Collection[str] = (), remove: Collection[str] = ()) -> Act:
    """Tags sessions, turns and steps; of responses, their turns."""
    return partial(_tag, add=add, remove=remove)


def _tag(actor: Actor, level: Level, keys: Sequence[int], *, add: Collection[str], remove: Collection[str]) -> Outcome:
    kind = {"session": "sessions", "step": "steps"}.get(level, "turns")

    def job() -> int:
        abouts = _abouts(actor, level, keys)  # in here: nothing is deleted between
        found = {kind: [about.key for about in abouts]}
        if add:
            tags.add(add, **found)
        if remove:
            tags.remove(remove, **found)
        for about in abouts:
            targets.note_change(about)
        return len(abouts)

    done = writer.write(job)
    return Outcome(done=done, closed=len(keys) - done)


def _abouts(actor: Actor, level: Level, keys: Sequence[int]) -> list[RecordTarget]:
    """What the actor may run of these."""
    chosen = list(keys)
    match level:
        case "session":
            found = Session.objects.visible_to(actor, "run").filter(pk__in=chosen).values_list("pk")
        case "turn":
            found = Turn.objects.visible_to(actor, "run").filter(pk__in=chosen).values_list("session_id", "pk")
        case "step":
            rows = Step.objects.visible_to(actor, "run").filter(pk__in=chosen)
            found = rows.values_list("turn__session_id", "turn_id", "pk")
        case "response":
            rows = Response.objects.visible_to(actor, "run").filter(pk__in=chosen)
            found = rows.values_list("turn__session_id", "turn_id")
        case _:
            raise InvalidRequest("level: rows of this level have no tags.", param="level")
    return [RecordTarget(*row) for row in found]


def delete(actor: Actor, level: Level, keys: Sequence[int]) -> Outcome:
    """Deletes sessions and turns for good. A turn goes without those that continue it: they stay, as the
    beginning of what they are."""
    if level not in ("session", "turn"):
        raise InvalidRequest("level: only turns and sessions can be deleted.", param="level")
    allowed = [about.key for about in _abouts(actor, level, keys)]
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
    done += sum(writer.write(partial(_delete, level, some)) for some in removal.batches(rows))
    return Outcome(done, running=len(allowed) - done, closed=len(keys) - len(allowed))


def _rows(level: Level, keys: list[int]) -> dict[int, int]:
    """About how many rows lie below each of these."""
    if level == "session":
        return removal.rows_below(keys)
    rows = Turn.objects.unscoped("checked").filter(pk__in=keys).values_list("pk", "step_count")
    return dict.fromkeys(keys, 0) | dict(rows)


def _delete(level: Level, keys: list[int]) -> int:
    """How many of these were there, and did not run."""
    if level == "session":
        return _delete_sessions(keys)
    rows = Turn.objects.unscoped("checked").filter(pk__in=keys).exclude(status__in=LIVE)
    found = dict(rows.values_list("pk", "session_id"))
    deletion.delete_turns(list(found))
    for session in set(found.values()):
        targets.note_change(RecordTarget(session))
    return len(found)


def _delete_sessions(keys: list[int]) -> int:
    running = Turn.objects.unscoped("checked").filter(session_id__in=keys, status__in=LIVE)
    rows = Session.objects.unscoped("checked").filter(pk__in=keys).exclude(pk__in=running.values("session_id"))
    found = list(rows.values_list("pk", flat=True))
    deletion.delete_sessions(found)
    return len(found)
