"""Seals what clients keep for this server, a model's reasoning and its summaries, and opens what they send back.

The sealed text is for this server and this user alone. Reasoning that cannot be opened is of another server, or of
another user: it says nothing here. A summary that cannot be opened is refused: a conversation would go on without it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from agents.base.access import Actor
from agents.base.errors import InvalidRequest
from agents.base.store import sealed
from agents.responses.schemas.input_items import CompactionItem, OtherItem

INCLUDED = "reasoning.encrypted_content"
"""The word in ``include`` that asks for it."""


def seal_for(actor: Actor, include: Sequence[str]) -> Callable[[str], str] | None:
    """Return the function that seals reasoning for a client; None for one that has not asked for it."""
    return partial(sealed.seal_text, _context(actor)) if INCLUDED in include else None


def seal_of_summaries(actor: Actor) -> Callable[[str], str]:
    """Return the function that seals a summary of the conversation."""
    return partial(sealed.seal_text, _summary_context(actor))


def opened(actor: Actor, items: Sequence[Any], param: str = "input") -> list[Any]:
    """Return the items with what was sealed here for this actor. Raises InvalidRequest for a summary that cannot be
    opened."""
    return [_opened(actor, item, f"{param}.{position}") for position, item in enumerate(items)]


def _opened(actor: Actor, item: Any, param: str) -> Any:
    match item:
        case OtherItem(type="reasoning"):
            return _opened_reasoning(actor, item)
        case CompactionItem():
            return _opened_summary(actor, item, param)
        case _:
            return item


def _opened_summary(actor: Actor, item: CompactionItem, param: str) -> CompactionItem:
    summary = sealed.unseal_text(_summary_context(actor), item.encrypted_content)
    if summary is None:
        message = f"{param}.encrypted_content: this server has not made it for this user."
        raise InvalidRequest(message, param=f"{param}.encrypted_content", code="invalid_encrypted_content")
    return item.model_copy(update={"summary": summary})


def _opened_reasoning(actor: Actor, item: OtherItem) -> OtherItem:
    fields = item.__pydantic_extra__ or {}
    content = fields.get("encrypted_content")
    text = sealed.unseal_text(_context(actor), content) if isinstance(content, str) and content else None
    if not text or fields.get("content"):
        return item
    return item.model_copy(update={"content": [{"type": "reasoning_text", "text": text}]})


def _summary_context(actor: Actor) -> str:
    return f"summary for user {actor.user_id or 0}"


def _context(actor: Actor) -> str:
    return f"reasoning of user {actor.user_id or 0}"
