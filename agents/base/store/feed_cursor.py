"""Opaque cursors of the change feed, for readers outside.

The feed's number counts everybody's changes, so a reader who saw it would know how much others do. A
cursor is encrypted, never the same twice, and valid for its reader alone.
"""

from __future__ import annotations

from agents.base.access import Actor
from agents.base.errors import InvalidRequest
from agents.base.store import changes, sealed

_MAX_LENGTH = 400


def newest(actor: Actor) -> str:
    """Return the cursor after all changes so far."""
    return at(actor, changes.latest())


def at(actor: Actor, seq: int) -> str:
    """Return the cursor after the change of this number."""
    return sealed.seal(_context(actor), {"seq": f"{seq:019}"})  # as long for any number


def seq_of(actor: Actor, cursor: str, param: str = "after") -> int:
    """Return the number of the change that a cursor stands after. Raises InvalidRequest."""
    is_text = cursor != "" and cursor.isascii() and len(cursor) <= _MAX_LENGTH
    position = sealed.unseal(_context(actor), cursor) if is_text else None
    if position is None:
        message = f"{param}: this is no cursor that you were given; leave it out to begin now."
        raise InvalidRequest(message, param=param, code="unknown_cursor")
    return int(position["seq"])


def _context(actor: Actor) -> str:
    return f"the change feed, for {actor.user_id}"
