"""The owner of reported rows, and short keys for the ids of senders."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b

from agents.base.access import Actor
from agents.base.errors import NotAllowed
from agents.base.store import scopes

MAX_ID_LENGTH = 255
"""Characters of an external id that is stored as it is."""
ID_PREFIX_LENGTH = MAX_ID_LENGTH - 33
"""Characters of a longer one that stand before its hash."""


@dataclass(frozen=True, slots=True)
class Owner:
    """The user and the scope that own reported rows. An external id is unique only among these."""

    user: int
    scope: int

    def where(self) -> dict[str, int]:
        return {"owner_id": self.user, "scope_id": self.scope}


def owner_of(actor: Actor) -> Owner:
    """The owner of what an actor sends. Writes: a scope may be new. Raises NotAllowed for an actor who is no user."""
    if actor.user_id is None:
        raise NotAllowed("Only a user, or a key of one, can send what agents did.", code="no_user")
    return Owner(actor.user_id, scopes.scope_for(actor))


def external_id(name: str) -> str:
    """A sender's id as it is stored: one that is too long ends in a hash of the full id."""
    if len(name) <= MAX_ID_LENGTH:
        return name
    digest = blake2b(name.encode("utf-8", "replace"), digest_size=16).hexdigest()
    return f"{name[:ID_PREFIX_LENGTH]}~{digest}"


def link_mark(owner: Owner, service: str, text: str) -> int:
    """A hash by which a tool call or an answer is found again, among those of the same owner and service."""
    key = f"{owner.user}\0{owner.scope}\0{service}\0{text}".encode("utf-8", "replace")
    return int.from_bytes(blake2b(key, digest_size=8).digest(), "big") >> 1


def session_mark(owner: Owner, name: str) -> int:
    """A hash of a session's id as it is stored, among those of the same owner."""
    return int.from_bytes(blake2b(f"{owner.user}\0{owner.scope}\0{name}".encode(), digest_size=8).digest(), "big") >> 1
