"""Makes a history valid for chat endpoints: each call is followed by its answer, each answer has its call.

Items of a conversation can be added and removed one by one, so that a history may hold only half
of such a pair. Messages are bytes, as in `agents.record.schemas.items`; only calls and answers are parsed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec

_CALLS, _ANSWER = b'"tool_calls"', b'{"role":"tool"'


def messages_of_row(body: bytes) -> list[bytes]:
    """Split the messages of an item's row, which are joined by commas: most rows have one."""
    if b"}," + _ANSWER not in body:
        return [body]
    return [bytes(raw) for raw in msgspec.json.decode(b"[%b]" % body, type=list[msgspec.Raw])]


def paired_history(history: Sequence[bytes], answered: Collection[str] = ()) -> list[bytes]:
    """Drop calls without an answer and answers without a call, and move answers right behind their calls. The calls
    in ``answered`` stay: their answers follow later."""
    answers, waiting = _matched(history)
    answered_ids = frozenset(answered)
    unanswered = _calls_by_position(
        {call_id: positions for call_id, positions in waiting.items() if call_id not in answered_ids}
    )
    out: list[bytes] = []
    for position, message in enumerate(history):
        if message.startswith(_ANSWER):
            continue
        stripped = _without_calls(message, unanswered.get(position, ()))
        out += [stripped] if stripped is not None else []
        out += answers.get(position, ())
    return out


def _matched(history: Sequence[bytes]) -> tuple[dict[int, list[bytes]], dict[str, list[int]]]:
    """Return the answers by the position of the calling message, and the positions of the unanswered calls by id. Of
    several calls with one id the last is answered first."""
    answers: dict[int, list[bytes]] = {}
    waiting: dict[str, list[int]] = {}
    for position, message in enumerate(history):
        if message.startswith(_ANSWER):
            positions = waiting.get(msgspec.json.decode(message)["tool_call_id"])
            if positions:
                answers.setdefault(positions.pop(), []).append(message)
        elif _CALLS in message:
            for call_id in _calls(message):
                waiting.setdefault(call_id, []).append(position)
    return answers, waiting


def call_ids(history: Sequence[bytes]) -> set[str]:
    """Return the ids of all calls in a history."""
    return {call_id for message in history if _CALLS in message for call_id in _calls(message)}


def _calls(message: bytes) -> list[str]:
    return [call["id"] for call in msgspec.json.decode(message).get("tool_calls", ())]


def _calls_by_position(waiting: Mapping[str, Sequence[int]]) -> dict[int, set[str]]:
    """Turn positions by call into calls by position."""
    calls_at: dict[int, set[str]] = {}
    for call_id, positions in waiting.items():
        for position in positions:
            calls_at.setdefault(position, set()).add(call_id)
    return calls_at


def _without_calls(message: bytes, unanswered: Collection[str]) -> bytes | None:
    """Remove some calls of a message; None where nothing remains."""
    if not unanswered:
        return message
    fields: dict[str, Any] = msgspec.json.decode(message)
    calls = [call for call in fields.pop("tool_calls", ()) if call["id"] not in unanswered]
    if calls:
        fields["tool_calls"] = calls
    return msgspec.json.encode(fields) if calls or fields.get("content") else None
