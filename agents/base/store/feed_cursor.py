"""Places in the change feed, as readers are told them.

The feed's number counts what everybody changes, so a reader who saw it, or that it moved, would know
how much others do. A place is told sealed, never the same twice, and is good for its reader alone.
"""

from __future__ import annotations

from agents.base.access import Actor
from agents.base.errors import InvalidRequest
from agents.base.store import changes, sealed

_LONGEST = 400


def newest(actor: Actor) -> str:
    """The place behind all that has changed so far."""
    return told(actor, changes.latest())


def told(actor: Actor, seq: int) -> str:
    """The place behind the change of this number."""
    return sealed.seal(_of(actor), {"seq": f"{seq:019}"})  # as long for any number


def number(actor: Actor, place: str, param: str = "after") -> int:
    """The number of the change that a place is behind. Raises InvalidRequest."""
    is_text = place != "" and place.isascii() and len(place) <= _LONGEST
    found = sealed.unseal(_of(actor), place) if is_text else None
    if found is None:
        words = f"{param}: this is no cursor that you were given; leave it out to begin now."
        raise InvalidRequest(words, param=param, code="unknown_cursor")
    return int(found["seq"])


def _of(actor: Actor) -> str:
    return f"the change feed, for {actor.user_id}"
