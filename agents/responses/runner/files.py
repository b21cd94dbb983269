"""Replaces files and images in a response's input by parts that a model can read, before the response
starts. The items are stored as received."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from agents.base.access import Actor
from agents.loop.provider_set import Providers
from agents.responses.runner.extensions import extensions
from agents.responses.runner.requests import ResponseRequest
from agents.responses.schemas.input_items import FilePart, FunctionOutputItem, ImagePart, MessageItem, items_of_input


def need_reading(items: Sequence[Any]) -> bool:
    """Whether items have files that must be read before the model gets them."""
    return any(_needs_reading(part) for item in items for part in _parts(item))


def _parts(item: Any) -> Sequence[Any]:
    content = item.content if isinstance(item, MessageItem) else item.output if _is_output(item) else ()
    return () if isinstance(content, str) else content


def _is_output(item: Any) -> bool:
    return isinstance(item, FunctionOutputItem)


def _needs_reading(part: Any) -> bool:
    return isinstance(part, FilePart) or (isinstance(part, ImagePart) and part.file_id is not None)


def has_files(request: ResponseRequest) -> bool:
    """Whether files of a request must be read before its model gets them."""
    return need_reading(items_of_input(request.body.input))


async def with_files(providers: Providers, request: ResponseRequest) -> ResponseRequest:
    """Return a request with its files `readable`, if it has any."""
    if not has_files(request):
        return request
    items = items_of_input(request.body.input)
    return replace(request, readable=await readable(providers, request.actor, items))


async def readable(providers: Providers, actor: Actor, items: Sequence[Any]) -> list[Any]:
    """Return the items with their files replaced by parts that a model can read. Raises NotFound for an unknown
    file, InvalidRequest for one that cannot be read."""
    return [await _item(providers, actor, item, f"input.{position}") for position, item in enumerate(items)]


async def _item(providers: Providers, actor: Actor, item: Any, where: str) -> Any:
    parts = _parts(item)
    if not any(map(_needs_reading, parts)):
        return item
    name = "output" if _is_output(item) else "content"
    readable_parts = [
        await extensions.read_part(providers, actor, part, f"{where}.{name}.{position}")
        if _needs_reading(part)
        else part
        for position, part in enumerate(parts)
    ]
    return item.model_copy(update={name: readable_parts})
