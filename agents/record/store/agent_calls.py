"""Turns of sub-agents: stored with the call that they answer, found by it, stopped and deleted with its turn.

The limits of a tree of such turns are checked here, in the transaction that stores a turn: two calls at once cannot
both pass the last place.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from agents.base.errors import Conflict
from agents.base.store.sql import Insert, Select
from agents.record.models.agent_calls import AgentCall
from agents.record.models.choices import LIVE, Api, TurnStatus
from agents.record.models.turns import Turn
from agents.record.store import closing
from agents.record.store.closing import TurnEnding

MAX_TREE = 100
"""Most turns of sub-agents below one turn that a client began."""
MAX_DEPTH = 10
"""Most calls that may be below one another, whatever an agent says."""
PARENT_ENDED = "its caller has ended"


@dataclass(frozen=True, slots=True)
class NewCall:
    """The call that a new turn answers: of the ``step`` of the turn ``parent``, which allows that many levels below it
    (``max_depth``) and that many turns (``max_turns``)."""

    parent: int
    step: int
    max_depth: int
    max_turns: int


class CallRefused(Conflict):
    """A sub-agent that may not be called any more."""

    code = "subagent_refused"


class AlreadyCalled(Exception):
    """A call that a turn answers already."""

    def __init__(self, turn: int) -> None:
        super().__init__(turn)
        self.turn = turn


@dataclass(frozen=True, slots=True)
class _Place:
    root: int
    depth: int
    levels_left: int


_PARENT = Select(Turn, "status api", "id = %s", locks=True)
_PLACE = Select(AgentCall, "root_id depth levels_left", "turn_id = %s")
_OF_PARENT = Select(AgentCall, "turn_id", "parent_id = %s")
_OF_ROOT = Select(AgentCall, "turn_id", "root_id = %s")
_OF_STEP = Select(AgentCall, "turn_id", "step_id = %s")
_ADD = Insert(AgentCall, "turn_id parent_id step_id root_id depth levels_left")


def add(turn: int, new: NewCall) -> None:
    """Store what a new turn answers, in the caller's transaction. Raises CallRefused, AlreadyCalled."""
    parent = _PARENT.first(new.parent)
    if parent is None or parent[1] == Api.UNSTORED:
        raise CallRefused("A turn that is not stored has no sub-agents: the request says store=false.")
    if parent[0] not in LIVE:
        raise CallRefused("The turn that calls has ended.")
    answered = turn_of_step(new.step)
    if answered is not None:
        raise AlreadyCalled(answered)
    position = _place_below(new)
    _check_number(new, position)
    _ADD.execute(turn, new.parent, new.step, position.root, position.depth, position.levels_left)


def _place_below(new: NewCall) -> _Place:
    own = _PLACE.first(new.parent)
    root, depth, allowed = (own[0], own[1], min(own[2], new.max_depth)) if own else (new.parent, 0, new.max_depth)
    if allowed < 1:
        levels = "1 level" if depth == 1 else f"{depth} levels"
        raise CallRefused(f"Not called: sub-agents may not call further ones here, {levels} down. Go on without.")
    return _Place(root, depth + 1, allowed - 1)


def _check_number(new: NewCall, position: _Place) -> None:
    """Raise CallRefused where a turn, or the tree it belongs to, has called as many as it may."""
    if len(_OF_PARENT.all(new.parent)) >= new.max_turns:
        raise CallRefused(f"Not called: this turn may call sub-agents {new.max_turns} times, and has. Go on without.")
    if len(_OF_ROOT.all(position.root)) >= MAX_TREE:
        raise CallRefused(f"Not called: {MAX_TREE} turns of sub-agents have been run for one turn. Go on without.")


def turn_of_step(step: int) -> int | None:
    """Return the turn that answers the call of a step."""
    row = _OF_STEP.first(step)
    return row[0] if row else None


# -------------------------------------------------------------------------------------------- looking


def root_of(turn: int) -> int:
    """Return the turn at the top of the tree that a turn is in: itself, where nobody called it. All that is done for
    one request of a client is done in this tree. The caller has checked that the turn is visible."""
    row = _PLACE.first(turn)
    return row[0] if row else turn


def callers_of_sessions(sessions: Sequence[int]) -> dict[int, int | None]:
    """Return, of those of these sessions that a sub-agent began, the turn that called it. The caller has checked that
    they are visible."""
    rows = AgentCall.objects.unscoped("its session is visible").filter(turn__session_id__in=sessions)
    return dict(rows.values_list("turn__session_id", "parent_id"))


# ------------------------------------------------------------------------------------------- stopping


def close_below(turn: int) -> list[tuple[int, int]]:
    """Stop the turns that an ended one has called and that are not over, in the caller's transaction; those below them
    are stopped by their ends. Returns these turns, each with the epoch it ran in."""
    statuses = (*LIVE, TurnStatus.AWAITING_INPUT)
    rows = Turn.objects.unscoped("called by a turn that has ended").filter(agent_call__parent=turn, status__in=statuses)
    ending = TurnEnding("cancelled", PARENT_ENDED)
    running = list(rows.values_list("pk", "lease_epoch"))
    return [(key, epoch) for key, epoch in running if closing.close_turn(key, ending, statuses=statuses)]


# ------------------------------------------------------------------------------------------- deleting


def sessions_below(turns: Collection[int]) -> list[int]:
    """Return the sessions of the turns that these have called, and of all below them, the lowest first."""
    return _below(
        list(AgentCall.objects.unscoped("delete").filter(parent_id__in=turns).values_list("turn_id", flat=True))
    )


def with_sessions_below(sessions: Sequence[int]) -> list[int]:
    """Return these sessions, and before them those of the turns that their turns have called, the lowest first."""
    rows = AgentCall.objects.unscoped("delete").filter(parent__session_id__in=sessions)
    below = _below(list(rows.values_list("turn_id", flat=True)))
    return [*(key for key in below if key not in set(sessions)), *sessions]


def _below(called: list[int]) -> list[int]:
    """Return the sessions of called turns and of those that any turn of these sessions has called."""
    reached: dict[int, None] = {}
    while called:
        rows = Turn.objects.unscoped("delete").filter(pk__in=called).values_list("session_id", flat=True)
        sessions = [key for key in dict.fromkeys(rows) if key not in reached]
        reached.update(dict.fromkeys(sessions))
        further = AgentCall.objects.unscoped("delete").filter(parent__session_id__in=sessions)
        called = list(further.values_list("turn_id", flat=True))
    return list(reversed(reached))
