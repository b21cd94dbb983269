"""Forks: their sources, the forks of a turn, and their position in a session's history.

A fork stands beside its source: it continues what the source continued, and the session's later turns do not
see it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.db.models import Q

from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import InvalidRequest
from agents.base.store import terms
from agents.base.store.sql import Insert, Select, SelectAmong
from agents.record.models.forks import Fork
from agents.record.models.turns import Item, Response, Turn
from agents.record.store.history import NewItem


@dataclass(frozen=True, slots=True)
class NewFork:
    """The values of a new fork. ``changes`` and ``settings`` are JSON."""

    source: int
    step: int
    step_number: int
    replays: bool
    changes: str = "{}"
    settings: str = "{}"


@dataclass(frozen=True, slots=True)
class ForkPosition:
    """The position of a turn and of its forks: the turn and response that it continues, and the number of the item
    before which its history ends."""

    parent: int | None
    previous: int | None
    history_end: int


_TURN = Select(Turn, "parent_id", "id = %s")
_FIRST = Select(Response, "previous_id first_item", "turn_id = %s AND number = 1")
_FORK = Select(Fork, "history_end", "turn_id = %s")
_FORKS = SelectAmong(Fork, "turn_id", "turn_id")
_ADD = Insert(Fork, "turn_id session_id source_id step_id step_number history_end replays changes settings")


def position_of(turn: int) -> ForkPosition:
    """Return the position of a turn, which its forks share. Raises InvalidRequest for a deleted one."""
    row, first = _TURN.first(turn), _FIRST.first(turn)
    if row is None or first is None:
        raise InvalidRequest("The turn was deleted just now.", code="turn_deleted")
    fork = _FORK.first(turn)
    return ForkPosition(row[0], first[0], fork[0] if fork else first[1])


def among(turns: Sequence[int]) -> set[int]:
    """Return those of these turns that are forks."""
    return {turn for (turn,) in _FORKS.all(turns)}


def add(turn: int, session: int, new: NewFork) -> None:
    """Store a turn as a fork, in the caller's transaction."""
    end = position_of(new.source).history_end
    _ADD.execute(turn, session, new.source, new.step, new.step_number, end, new.replays, new.changes, new.settings)


def inputs(turn: int) -> list[NewItem]:
    """Copy the input items of a turn for a fork, under new keys."""
    rows = Response.objects.unscoped("its turn was let in").filter(turn_id=turn, number=1)
    first, input_items = rows.values_list("first_item", "input_items").get()
    items = Item.objects.unscoped("its turn was let in").filter(turn_id=turn)
    own = items.filter(number__gte=first, number__lt=first + input_items).order_by("number").values_list("body", "wire")
    return [NewItem(ids.new_key(), bytes(body), bytes(wire)) for body, wire in own]


def root_of(turn: int) -> int:
    """Follow the sources of a fork to the first turn, which is no fork itself."""
    rows = Fork.objects.unscoped("its turn was let in")
    while True:
        source = rows.filter(pk=turn).values_list("source_id", flat=True).first()
        if source is None:
            return turn
        turn = source


# ------------------------------------------------------------------------------------------- looking


@dataclass(frozen=True, slots=True)
class ForkRecord:
    """A fork: ``source`` is None where it was deleted, or the actor may not see it. ``model`` and ``started_at`` are
    the fork's."""

    turn: int
    source: int | None
    step: int
    step_number: int
    replays: bool
    changes: str
    model: str = ""

    @property
    def started_at(self) -> int:
        return ids.key_time_us(self.turn)


_COLUMNS = ("pk", "source_id", "step_id", "step_number", "replays", "changes")


def of_turn(actor: Actor, turn: int) -> ForkRecord | None:
    """Return the fork that a turn is; None where it is none, or the actor may not see it."""
    row = Fork.objects.visible_to(actor).filter(pk=turn).values_list(*_COLUMNS).first()
    if row is None:
        return None
    source = row[1]
    is_visible = source is not None and Turn.objects.visible_to(actor).filter(pk=source).exists()
    return ForkRecord(row[0], source if is_visible else None, *row[2:])


def from_turn(actor: Actor, turn: int, limit: int = 50) -> list[ForkRecord]:
    """List the forks of a turn, newest first."""
    rows = Fork.objects.visible_to(actor).filter(source_id=turn).order_by("-turn_id")
    columns = list(rows.values_list(*_COLUMNS, "turn__model_id")[:limit])
    names = terms.texts({row[-1] for row in columns})
    return [replace(ForkRecord(*row[:-1]), model=names[row[-1]]) for row in columns]


def settings_of(turn: int) -> str:
    """Return the settings of a turn that differ from its agent's, as JSON; ``{}`` where it is no fork. The caller has
    checked that the turn is visible."""
    row = _SETTINGS.first(turn)
    return row[0] if row else "{}"


_SETTINGS = Select(Fork, "settings", "turn_id = %s")


def path_end(session: int, count: int) -> int:
    """Return the number after the last item of the session's main path; ``count`` is the number of all items."""
    if not Fork.objects.unscoped("its session was let in").filter(session_id=session).exists():
        return count
    off = Fork.objects.unscoped("its session was let in").filter(session_id=session).values("turn_id")
    items = Item.objects.unscoped("its session was let in").filter(session_id=session)
    last = items.filter(Q(turn=None) | ~Q(turn_id__in=off)).order_by("-number").values_list("number", flat=True).first()
    return 0 if last is None else last + 1
