"""Actors, and the one rule of what each may see, computed in Python.

Each root row points to a *scope*, a distinct set of attributes. There are few of them, so which
scopes an actor may read is worked out here over that small table, and the query only says
``scope_id IN (…) OR owner_id = …``.

The default policy is Llama Stack's with its holes closed: a row with attributes is visible when
*every* category on it shares a value with the actor; the owner always; a row without attributes
only to its owner and to actors with the ``admin`` role.

Knows no tables: the scopes are handed in by whoever loads them (`use_scopes`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from agents.base.errors import NotAllowed
from agents.base.schemas.identity import ADMIN_ROLE, CATEGORIES, GRANTING_ROLES, OPERATOR_ROLE, READER_ROLE, Attributes

Action = Literal["read", "run", "ingest", "manage"]
ACTIONS: frozenset[Action] = frozenset({"read", "run", "ingest", "manage"})


@dataclass(frozen=True, slots=True)
class Actor:
    """A user or API key that acts: built once at the edge, passed on as an argument, stored with what it does.

    ``user_id`` is None for anonymous and system actors; ``key_id`` is set when the request came with an API key;
    ``actions`` are those of the user, narrowed by the key's. ``keeps_unstored`` says whether the log keeps what is
    asked for not to be stored; None leaves it to the server."""

    name: str
    user_id: int | None = None
    key_id: int | None = None
    attributes: Attributes = field(default_factory=dict)
    actions: frozenset[Action] = frozenset()
    keeps_unstored: bool | None = None

    @property
    def is_admin(self) -> bool:
        """Holds the product's ``admin`` role (not: may enter Django's admin)."""
        return ADMIN_ROLE in self.attributes.get("roles", frozenset())

    @property
    def is_anonymous(self) -> bool:
        return not self.actions

    @property
    def caller(self) -> tuple[int | None, int | None]:
        """The identity that fair shares are counted by: a key, or a user without one."""
        return self.user_id, self.key_id


ANONYMOUS = Actor("anonymous")


def system(reason: str) -> Actor:
    """Return the actor of the server itself, which acts for ``reason`` (recovery, retention, a command)."""
    return Actor(f"system: {reason}", attributes={"roles": frozenset({ADMIN_ROLE})}, actions=ACTIONS)


def require(actor: Actor, action: Action) -> None:
    """Raise NotAllowed where the actor may not do this to any row. The error is the same whether a row exists or
    not, so that it tells of none."""
    if action not in actor.actions:
        who = "This key" if actor.key_id is not None else "This account"
        raise NotAllowed(f"{who} may not {action}.", code="missing_action")


def require_admin(actor: Actor) -> None:
    """Raise NotAllowed for an actor without the admin role."""
    if not actor.is_admin:
        raise NotAllowed("This is for administrators: the role admin is needed.", code="missing_role")


def attributes_of(raw: Mapping[str, object]) -> Attributes:
    """Parse attributes from JSON: known categories with lists of texts. Raises ValueError for anything else, with
    what was wrong."""
    out: dict[str, frozenset[str]] = {}
    for category, values in raw.items():
        if category not in CATEGORIES:
            raise ValueError(f"unknown category {category!r}; there are {', '.join(CATEGORIES)}")
        if not isinstance(values, list) or not all(isinstance(value, str) and value for value in values):
            raise ValueError(f"{category} must be a list of non-empty texts")
        if values:
            out[category] = frozenset(values)
    return out


def may_read(attributes: Attributes, actor: Actor) -> bool:
    """Tell whether a row with these attributes is visible to the actor, ownership aside."""
    if actor.is_admin:
        return True
    if not attributes:
        return False
    own = actor.attributes
    return all(values & own.get(category, frozenset()) for category, values in attributes.items())


_load_scopes: Callable[[], Mapping[int, Attributes]] = dict


def use_scopes(load: Callable[[], Mapping[int, Attributes]]) -> None:
    """Set the function that loads the scopes (id → attributes); it does its own caching."""
    global _load_scopes
    _load_scopes = load


def readable_scopes(actor: Actor) -> list[int]:
    """Return the ids of the scopes whose rows the actor may read."""
    return [key for key, attributes in _load_scopes().items() if may_read(attributes, actor)]


__all__ = [
    "ACTIONS",
    "ADMIN_ROLE",
    "ANONYMOUS",
    "CATEGORIES",
    "GRANTING_ROLES",
    "OPERATOR_ROLE",
    "READER_ROLE",
    "Action",
    "Actor",
    "Attributes",
    "attributes_of",
    "may_read",
    "readable_scopes",
    "require",
    "require_admin",
    "system",
    "use_scopes",
]
