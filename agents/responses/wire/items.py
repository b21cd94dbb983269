"""The items of a session as OpenAI's APIs give them: what was put in as it came, what a turn made of
its steps.

A model's message and its calls are one row. Once a part of it was deleted, the row holds what is left
in both forms: the message that a model is told, and the list of the items.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import msgspec

from agents.base import ids
from agents.base.ids import Kind
from agents.record.schemas.turns import ItemSnapshot, StepSnapshot
from agents.responses.wire import responses as wire

JSON = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Left:
    """What is left of a row: the message a model is told (empty: nothing), and its items as a list."""

    body: bytes
    wire: bytes


def items_json(rows: Iterable[ItemSnapshot]) -> list[JSON]:
    """The items these rows are, in order: a row may be several, or none."""
    return [item for row in rows for item in of_row(row)]


def of_row(row: ItemSnapshot) -> list[JSON]:
    """The items a row is."""
    if row.wire:
        kept = msgspec.json.decode(row.wire)
        return kept if isinstance(kept, list) else [kept]
    step = row.step
    if step is None:
        return [item for message in messages(row.body) if (item := _plain(row.key, message))]
    match step.type:
        case "inference":
            return _said(row, step)
        case "tool_execution" if not step.server_side:
            return [_output(row, step)]
        case "shield_call":
            words = wire.violation(step)
            return [] if words is None else [wire.refusal_item(step.key, words)]
        case _:
            return wire.items_of_step(step, {})


def _said(row: ItemSnapshot, step: StepSnapshot) -> list[JSON]:
    """A model's message, and the client's calls it asked for."""
    asked = [item for call in row.calls for item in wire.items_of_step(call)]
    return [*wire.items_of_step(step, {}), *asked]


def _output(row: ItemSnapshot, step: StepSnapshot) -> JSON:
    message, detail = msgspec.json.decode(row.body), msgspec.json.decode(step.detail or b"{}")
    if detail.get("approval"):
        return wire.approval_answer(row.key, step.key, detail, message["content"])
    return {
        "id": ids.part("fco", Kind.ITEM, row.key),
        "type": "function_call_output",
        "call_id": message["tool_call_id"],
        "output": message["content"],
        "status": "completed" if step.status == "completed" else "incomplete",
    }


def without(row: ItemSnapshot, item_id: str) -> Left | None:
    """What is left of a row when one of its items is taken out; None when nothing is."""
    shown = of_row(row)
    gone = next(item for item in shown if item["id"] == item_id)
    rest = [item for item in shown if item is not gone]
    is_one = row.wire and not row.wire.startswith(b"[")
    body = b"" if is_one or not row.body.startswith(b'{"role":"assistant"') else _told_without(row.body, gone)
    return Left(body, wire.encode(rest)) if rest or body else None


def _told_without(body: bytes, gone: JSON) -> bytes:
    """A model's message without one of its items. A model is never told of its reasoning."""
    left = msgspec.json.decode(body)
    if gone["type"] == "message":
        left["content"] = ""
    elif gone["type"] != "reasoning":
        left["tool_calls"] = [call for call in left.get("tool_calls", ()) if call["id"] != gone.get("call_id")]
    if not left.get("tool_calls"):
        left.pop("tool_calls", None)
    return wire.encode(left) if left.get("content") or left.get("tool_calls") else b""


def messages(body: bytes) -> list[JSON]:
    """The chat messages of a row."""
    found: list[JSON] = msgspec.json.decode(b"[%b]" % body)
    return found


def _plain(key: int, message: JSON) -> JSON | None:
    """An item that came by the Agents API, or was written for a turn that ended early."""
    content = message.get("content") or ""
    if message["role"] == "tool":
        output = content if isinstance(content, str) else wire.words_of(message)
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
