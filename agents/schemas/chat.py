"""A chat as endpoints take it: each call with its answer behind it, each answer with its call before.

Items of a conversation can be put in and taken out one by one, so that a history may hold only half
of such a pair. Messages are bytes, as in `agents.schemas.items`; only calls and answers are parsed.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import msgspec

_CALLS, _ANSWER = b'"tool_calls"', b'{"role":"tool"'


def messages_of_row(body: bytes) -> list[bytes]:
    """The messages of an item's row, which are joined by commas: most are one."""
    if b"}," + _ANSWER not in body:
        return [body]
    return [bytes(one) for one in msgspec.json.decode(b"[%b]" % body, type=list[msgspec.Raw])]


def paired(history: Sequence[bytes], answered: Collection[str] = ()) -> list[bytes]:
    """A history without calls that have no answer and answers that have no call. The answers to the
    calls in ``answered`` are still to come."""
    kept: list[bytes | None] = list(history)
    waiting: list[tuple[str, int]] = []
    for place, message in enumerate(history):
        if message.startswith(_ANSWER):
            call_id = msgspec.json.decode(message)["tool_call_id"]
            found = next((one for one in reversed(waiting) if one[0] == call_id), None)
            if found is None:
                kept[place] = None
            else:
                waiting.remove(found)
        elif _CALLS in message:
            calls = msgspec.json.decode(message).get("tool_calls", ())
            waiting += [(call["id"], place) for call in calls]
    for place in {place for _, place in waiting}:
        lost = {call_id for call_id, where in waiting if where == place and call_id not in answered}
        kept[place] = _without_calls(history[place], lost)
    return [message for message in kept if message is not None]


def _without_calls(message: bytes, lost: Collection[str]) -> bytes | None:
    """A message without some of its calls; None where nothing is left of it."""
    if not lost:
        return message
    fields: dict[str, Any] = msgspec.json.decode(message)
    calls = [call for call in fields.pop("tool_calls", ()) if call["id"] not in lost]
    if calls:
        fields["tool_calls"] = calls
    return msgspec.json.encode(fields) if calls or fields.get("content") else None
