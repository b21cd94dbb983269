"""What log lines say besides their message: of which request, turn and caller they tell."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import Context, ContextVar
from types import MappingProxyType

from agents.base import tracing
from agents.base.access import Actor

_fields: ContextVar[Mapping[str, str]] = ContextVar("log fields", default=MappingProxyType({}))


def begin(**fields: str) -> None:
    """Set the fields of the lines to come, and drop all others."""
    _fields.set(fields)


def add(**fields: str) -> None:
    """Add fields to the lines to come, in this request or task."""
    _fields.set({**_fields.get(), **fields})


def add_caller(actor: Actor) -> None:
    """Add who acts, by the numbers of user and key: names are other people's words."""
    if not actor.is_anonymous:
        add(caller=caller_of(actor))


def take_over(context: Context) -> None:
    """Set the fields that were set in another context, such as that of a view on its thread."""
    _fields.set(context[_fields])


def caller_of(actor: Actor) -> str:
    """Return who acts: ``user 5``, ``user 5 key 7``; without either, the name that the server itself has for it."""
    user = f"user {actor.user_id}" if actor.user_id is not None else ""
    key = f"key {actor.key_id}" if actor.key_id is not None else ""
    return " ".join(filter(None, (user, key))) or actor.name[:100]


def fields() -> dict[str, str]:
    """Return the fields of a line that is written now."""
    position = tracing.current.get()
    return {**_fields.get(), **({"trace_id": position.trace} if position else {})}
