"""Encodes the items of a session for OpenAI's APIs: input items as received, output items from their steps.

A model's message and its calls are one row. Once one of its items was deleted, the row holds the remaining
ones in both forms: the message for a model, and the list of items.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import msgspec

from agents.base import ids
from agents.base.ids import Kind
from agents.record.schemas.turns import ItemSnapshot, StepSnapshot
from agents.responses.schemas.client_calls import FORMS, OUTPUT_KEY
from agents.responses.wire import responses as wire

JSON = dict[str, Any]


@dataclass(frozen=True, slots=True)
class RemainingItems:
    """The remaining items of a row: the message for a model (empty: none), and the list of items."""

    body: bytes
    wire: bytes


def items_json(rows: Iterable[ItemSnapshot]) -> list[JSON]:
    """Return the items of these rows in order; a row may have several or none."""
    return [item for row in rows for item in items_of_row(row)]


def items_of_row(row: ItemSnapshot) -> list[JSON]:
    """Return the items of a row."""
    if row.wire:
        stored = msgspec.json.decode(row.wire)
        return stored if isinstance(stored, list) else [stored]
    step = row.step
    if step is None or (step.type == "other" and row.body):  # a step of what the client said while the turn ran
        return [item for message in messages(row.body) if (item := _message_item(row.key, message))]
    match step.type:
        case "inference":
            return _inference_items(row, step)
        case "tool_execution" if not step.server_side:
            return [_output_item(row, step)]
        case "shield_call":
            refusal = wire.refusal_text(step)
            return [] if refusal is None else [wire.refusal_item(step.key, refusal)]
        case _:
            return wire.items_of_step(step, {})


def _inference_items(row: ItemSnapshot, step: StepSnapshot) -> list[JSON]:
    """Return a model's message and its calls of the client's tools."""
    calls = [item for call in row.calls for item in wire.items_of_step(call)]
    return [*wire.items_of_step(step, {}), *calls]


def _output_item(row: ItemSnapshot, step: StepSnapshot) -> JSON:
    message, detail = msgspec.json.decode(row.body), msgspec.json.decode(step.detail or b"{}")
    answers = detail.get("tool_responses") or [{}]
    if detail.get("approval"):
        return wire.approval_response_item(row.key, step.key, detail, message["content"])
    head = {"id": ids.part("fco", Kind.ITEM, row.key), "call_id": message["tool_call_id"]}
    status = "completed" if step.status == "completed" else "incomplete"
    if said := (answers[0].get("metadata") or {}).get(OUTPUT_KEY):
        return {"status": status, **said, **head}
    if kind := detail.get("kind"):
        return {"type": FORMS[kind].output_type, "status": status, **head, **FORMS[kind].answer(message["content"])}
    return {"type": "function_call_output", **head, "output": message["content"], "status": status}


def without_item(row: ItemSnapshot, item_id: str) -> RemainingItems | None:
    """Remove an item from a row; returns the remaining items, None if there are none."""
    items = items_of_row(row)
    deleted = next(item for item in items if item["id"] == item_id)
    remaining = [item for item in items if item is not deleted]
    is_single = row.wire and not row.wire.startswith(b"[")
    body = b"" if is_single or not row.body.startswith(b'{"role":"assistant"') else _body_without(row.body, deleted)
    return RemainingItems(body, wire.encode(remaining)) if remaining or body else None


def _body_without(body: bytes, deleted: JSON) -> bytes:
    """Remove an item from a model's message, which never has its reasoning."""
    message = msgspec.json.decode(body)
    if deleted["type"] == "message":
        message["content"] = ""
    elif deleted["type"] != "reasoning":
        message["tool_calls"] = [call for call in message.get("tool_calls", ()) if call["id"] != deleted.get("call_id")]
    if not message.get("tool_calls"):
        message.pop("tool_calls", None)
    return wire.encode(message) if message.get("content") or message.get("tool_calls") else b""


def messages(body: bytes) -> list[JSON]:
    """Decode the chat messages of a row."""
    decoded: list[JSON] = msgspec.json.decode(b"[%b]" % body)
    return decoded


def _message_item(key: int, message: JSON) -> JSON | None:
    """Return the item of a message of the Agents API, or of one written for a turn that ended early."""
    content = message.get("content") or ""
    if message["role"] == "tool":
        output = content if isinstance(content, str) else wire.answer_text(message)
        head = {"id": ids.part("fco", Kind.ITEM, key), "type": "function_call_output"}
        return {**head, "call_id": message["tool_call_id"], "output": output, "status": "completed"}
    kind = "output_text" if message["role"] == "assistant" else "input_text"
    parts = [_text(kind, content)] if isinstance(content, str) else list(map(_part, content))
    head = {"id": ids.part("msg", Kind.ITEM, key), "type": "message", "role": message["role"]}
    return {**head, "status": "completed", "content": parts}


def _text(kind: str, text: str) -> JSON:
    return wire.text_part(text) if kind == "output_text" else {"type": kind, "text": text}


def _part(part: JSON) -> JSON:
    if part.get("type") == "image_url":
        return {"type": "input_image", "image_url": part["image_url"]["url"], "detail": "auto"}
    return {"type": "input_text", "text": str(part.get("text", ""))}
