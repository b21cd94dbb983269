"""Encodes the calls that a client answers as the items that it knows them by."""

from __future__ import annotations

from typing import Any

import msgspec

from agents.base import ids
from agents.base.ids import Kind
from agents.responses.schemas.client_calls import FORMS, own_name

JSON = dict[str, Any]


def arguments_of(call: JSON) -> str:
    """Return a call's arguments as the model wrote them."""
    raw = call.get("arguments_json")
    if isinstance(raw, str):
        return raw
    arguments = call.get("arguments") or {}
    return arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()


def client_item(step: int, detail: JSON, call: JSON) -> JSON:
    """Return the item of a call of the client's tool: of a function, or of the kind that its step's detail tells."""
    kind, namespace = detail.get("kind"), detail.get("label")
    named = {"name": own_name(call["tool_name"], namespace), **({"namespace": namespace} if namespace else {})}
    if kind is None:
        own = {**named, "arguments": arguments_of(call)}
        head = _head(step, "fc", "function_call", call)
    else:
        form = FORMS[kind]
        own = {**(named if kind == "custom" else {}), **form.fields(call.get("arguments") or {})}
        head = _head(step, form.id_prefix, form.item_type, call)
    return {**head, **own, "status": "completed"}


def _head(step: int, prefix: str, kind: str, call: JSON) -> JSON:
    return {"id": ids.part(prefix, Kind.STEP, step), "type": kind, "call_id": call["call_id"]}
