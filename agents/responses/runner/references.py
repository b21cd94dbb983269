"""References to stored items in an input: the items themselves take their place."""

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


def resolved(actor: Actor, items: Sequence[Any], param: str) -> list[Any]:
    """The items, each reference replaced by what it names. Raises NotFound, also for what the actor may
    not see."""
    return [_named(actor, item.id, param) if isinstance(item, ReferenceItem) else item for item in items]


def _named(actor: Actor, item_id: str, param: str) -> Any:
    for item in items_json(stored_items.near(actor, item_id)):
        if item["id"] == item_id:
            return _ITEM.validate_python(item)
    raise NotFound(f"{param}: Item '{item_id[:80]}' not found.", param=param)
