"""LangChain's own objects, as they stand in what others report of it.

A tool answers with a message, which alone knows the call; where the tool handles its own failures, only the message's
``status`` is ``error``. Who calls a graph may give a message as the pair of who speaks and the words.
"""

from __future__ import annotations

from typing import Any

from agents.telemetry.reading.coerce import mapping
from agents.telemetry.reading.facts import SpanFacts
from agents.telemetry.reading.failures import error_of
from agents.telemetry.reading.messages import messages_of
from agents.telemetry.reading.sanitize import MAX_ITEMS

_SPEAKERS = frozenset({"human", "user", "ai", "assistant", "system", "developer", "tool", "function"})


def answer_of_tool(facts: SpanFacts, value: Any) -> None:
    """A tool's call, result and failure, where ``value`` is its message; else nothing happens."""
    told = [one for one in messages_of(value) if one.role == "tool"]
    if told:
        facts.call_id = facts.call_id or told[0].answered_call
        facts.result = told[0].text
        if _has_failed(mapping(value)):
            facts.error = error_of(told[0].text)


def _has_failed(message: dict[str, Any]) -> bool:
    """The fields are the message's own, or under ``data`` or ``kwargs``, as it was written."""
    written = (message, message.get("data"), message.get("kwargs"))
    return any(isinstance(one, dict) and one.get("status") == "error" for one in written)


def with_messages(given: Any) -> Any:
    """A graph's input, with messages for the pairs in it."""
    read = mapping(given)
    said = read.get("messages")
    if not isinstance(said, list) or not any(map(_is_pair, said[:MAX_ITEMS])):
        return given
    return {**read, "messages": [_message(one) for one in said[:MAX_ITEMS]]}


def _is_pair(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) == 2
        and isinstance(value[0], str)
        and value[0] in _SPEAKERS
        and isinstance(value[1], (str, list))
    )


def _message(value: Any) -> Any:
    return {"role": value[0], "content": value[1]} if _is_pair(value) else value
