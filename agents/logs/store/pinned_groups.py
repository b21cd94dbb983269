"""Store the lists in groups that people have pinned to their overview."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from agents.base import ids
from agents.base.access import Actor, require
from agents.base.errors import InvalidRequest
from agents.base.store.writer import writer
from agents.logs.models.pinned_groups import PinnedGroups
from agents.query.tree import Level

MAX_PINNED = 12
"""Lists in groups on one overview: each is counted when it is looked at."""


@dataclass(frozen=True, slots=True)
class PinnedList:
    """A list in groups, known by what it shows: the level and query of its rows, what they are grouped ``by``, and the
    measure."""

    level: Level
    query: str
    by: tuple[str, ...]
    measure: str


def listing(actor: Actor) -> list[PinnedList]:
    """List those of the actor's overview, oldest first."""
    rows = PinnedGroups.objects.filter(owner_id=actor.user_id or 0).order_by("pk")
    return [PinnedList(cast(Level, row.level), row.query, tuple(row.by.split(",")), row.measure) for row in rows]


def pin(actor: Actor, new: PinnedList) -> None:
    """Pin a list to the actor's overview; one that is there stays there once. Raises NotAllowed, and InvalidRequest
    where there are very many."""
    require(actor, "run")
    owner = actor.user_id
    if owner is None:
        raise InvalidRequest("Only somebody with an account has an overview of their own.", code="no_account")

    def job() -> None:
        pinned = listing(actor)
        if new in pinned:
            return
        if len(pinned) >= MAX_PINNED:
            raise InvalidRequest(f"You have {MAX_PINNED} pinned already: unpin one first.", code="too_many_pinned")
        PinnedGroups(
            pk=ids.new_key(),
            owner_id=owner,
            level=new.level,
            query=new.query,
            by=",".join(new.by),
            measure=new.measure,
            created_at=ids.now_us(),
        ).save(force_insert=True)

    writer.write(job)


def unpin(actor: Actor, pinned: PinnedList) -> None:
    """Take a list off the actor's overview; nothing happens where it is not on it."""
    require(actor, "run")
    rows = PinnedGroups.objects.filter(
        owner_id=actor.user_id or 0,
        level=pinned.level,
        query=pinned.query,
        by=",".join(pinned.by),
        measure=pinned.measure,
    )
    writer.write(lambda: rows.delete())
