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
    """A history without calls that have no answer and answers that have no call; answers stand right
    behind their calls. Those to the calls in ``answered`` are still to come."""
    answers: dict[int, list[bytes]] = {}
    waiting: list[tuple[str, int]] = []
    for place, message in enumerate(history):
        if message.startswith(_ANSWER):
            call_id = msgspec.json.decode(message)["tool_call_id"]
            found = next((one for one in reversed(waiting) if one[0] == call_id), None)
            if found is not None:
                waiting.remove(found)
                answers.setdefault(found[1], []).append(message)
        elif _CALLS in message:
            calls = msgspec.json.decode(message).get("tool_calls", ())
            waiting += [(call["id"], place) for call in calls]
    if not waiting and not answers:
        return [message for message in history if not message.startswith(_ANSWER)]
    out: list[bytes] = []
    for place, message in enumerate(history):
        if message.startswith(_ANSWER):
            continue
        lost = {call_id for call_id, where in waiting if where == place and call_id not in answered}
        told = _without_calls(message, lost)
        out += [told] if told is not None else []
        out += answers.get(place, ())
    return out


def _without_calls(message: bytes, lost: Collection[str]) -> bytes | None:
    """A message without some of its calls; None where nothing is left of it."""
    if not lost:
        return message
    fields: dict[str, Any] = msgspec.json.decode(message)
    calls = [call for call in fields.pop("tool_calls", ()) if call["id"] not in lost]
    if calls:
        fields["tool_calls"] = calls
    return msgspec.json.encode(fields) if calls or fields.get("content") else None
