"""What the items of a request stand for: references for stored items, sealed texts for what was sealed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import ConfigDict, TypeAdapter

from agents.base.access import Actor
from agents.base.errors import NotFound
from agents.record.store import items as stored_items
from agents.responses.runner import prompts, sealed_items
from agents.responses.schemas.input_items import InputItem, ReferenceItem
from agents.responses.schemas.requests import CreateResponse
from agents.responses.wire.items import items_json

_ITEM: TypeAdapter[Any] = TypeAdapter(InputItem, config=ConfigDict(defer_build=True))


def resolved(actor: Actor, items: Sequence[Any], param: str = "input") -> list[Any]:
    """Return items with each reference replaced by its item, and with what was sealed here for this actor. Raises
    NotFound, also for an item that the actor may not see; InvalidRequest for a summary that cannot be opened."""
    resolved = [_stored_item(actor, item.id, param) if isinstance(item, ReferenceItem) else item for item in items]
    return sealed_items.opened(actor, resolved, param)


def resolved_body(actor: Actor, body: CreateResponse) -> CreateResponse:
    """Return a request with its prompt filled in and the items of its input `resolved`."""
    body = prompts.filled(actor, body)
    if isinstance(body.input, str):
        return body
    return body.model_copy(update={"input": resolved(actor, body.input)})


def _stored_item(actor: Actor, item_id: str, param: str) -> Any:
    for item in items_json(stored_items.near(actor, item_id)):
        if item["id"] == item_id:
            return _ITEM.validate_python(item)
    raise NotFound(f"{param}: Item '{item_id[:80]}' not found.", param=param)
