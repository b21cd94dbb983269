"""Seals a model's reasoning for clients that keep the history themselves, and opens what they send back.

The sealed text is for this server and this user alone. A seal that cannot be opened is of another server, or of another
user: it says nothing here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from agents.base.access import Actor
from agents.base.store import sealed
from agents.responses.schemas.input_items import OtherItem

INCLUDED = "reasoning.encrypted_content"
"""The word in ``include`` that asks for it."""


def seal_for(actor: Actor, include: Sequence[str]) -> Callable[[str], str] | None:
    """Return the function that seals reasoning for a client; None for one that has not asked for it."""
    return partial(sealed.seal_text, _context(actor)) if INCLUDED in include else None


def opened(actor: Actor, items: Sequence[Any]) -> list[Any]:
    """Return the items, with the text of those whose reasoning was sealed here for this actor."""
    return [
        _opened(actor, item) if isinstance(item, OtherItem) and item.type == "reasoning" else item for item in items
    ]


def _opened(actor: Actor, item: OtherItem) -> OtherItem:
    fields = item.__pydantic_extra__ or {}
    content = fields.get("encrypted_content")
    text = sealed.unseal_text(_context(actor), content) if isinstance(content, str) and content else None
    if not text or fields.get("content"):
        return item
    return item.model_copy(update={"content": [{"type": "reasoning_text", "text": text}]})


def _context(actor: Actor) -> str:
    return f"reasoning of user {actor.user_id or 0}"
