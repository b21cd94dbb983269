"""Replaces references to stored items in an input by the items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import TypeAdapter

from agents.base.access import Actor
from agents.base.errors import NotFound
from agents.record.store import items as stored_items
from agents.responses.schemas.input_items import InputItem, ReferenceItem
from agents.responses.wire.items import items_json

_ITEM: TypeAdapter[Any] = TypeAdapter(InputItem)


def resolve_references(actor: Actor, items: Sequence[Any], param: str) -> list[Any]:
    """Return the items with each reference replaced by its item. Raises NotFound, also for an item that the
    actor may not see."""
    return [_stored_item(actor, item.id, param) if isinstance(item, ReferenceItem) else item for item in items]


def _stored_item(actor: Actor, item_id: str, param: str) -> Any:
    for item in items_json(stored_items.near(actor, item_id)):
        if item["id"] == item_id:
            return _ITEM.validate_python(item)
    raise NotFound(f"{param}: Item '{item_id[:80]}' not found.", param=param)
