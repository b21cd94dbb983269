"""LangChain's own objects inside the reports of other senders.

A tool answers with a message, which alone knows the call; where the tool handles its own failures, only the message's
``status`` is ``error``. A caller of a graph may give a message as the pair of a role and a text.
"""

from __future__ import annotations

from typing import Any

from agents.telemetry.reading.coerce import json_of, mapping
from agents.telemetry.reading.dialects.source import Values
from agents.telemetry.reading.facts import SpanFacts
from agents.telemetry.reading.failures import error_of
from agents.telemetry.reading.messages import messages_of
from agents.telemetry.reading.sanitize import MAX_ITEMS
from agents.telemetry.reading.spans import Span

_SPEAKERS = frozenset({"human", "user", "ai", "assistant", "system", "developer", "tool", "function"})


def read_tool_message(facts: SpanFacts, _values: Values, _span: Span) -> None:
    """Set a tool's call, result and failure from its result if that is the tool's message."""
    result = facts.result
    if isinstance(result, str) and "tool_call_id" not in result:
        return
    answers = [message for message in messages_of(result) if message.role == "tool"]
    if answers:
        facts.call_id = facts.call_id or answers[0].answered_call
        facts.result = answers[0].text
        if _has_failed(mapping(result)):
            facts.error = error_of(answers[0].text)


def tool_inputs(value: Any) -> Any:
    """Return the arguments in what LangChain's callbacks are given of a tool, anything else as it is: ``{"input_str": a
    Python repr of them, "inputs": them, "tags": …}``."""
    payload = json_of(value) if isinstance(value, str) and '"input_str"' in value else value
    if isinstance(payload, dict) and "input_str" in payload:
        return payload.get("inputs") or payload["input_str"]
    return value


def tool_output(value: Any) -> Any:
    """Return the result in what LangChain's callbacks are given of a tool, ``{"output": …, "kwargs": …}``, anything
    else as it is."""
    output = json_of(value) if isinstance(value, str) and '"output"' in value else value
    return output["output"] if isinstance(output, dict) and output.keys() == {"output", "kwargs"} else value


def _has_failed(message: dict[str, Any]) -> bool:
    """Whether a message has the status ``error``: a field of its own, or under ``data`` or ``kwargs``, as it was
    written."""
    written = (message, message.get("data"), message.get("kwargs"))
    return any(isinstance(fields, dict) and fields.get("status") == "error" for fields in written)


def with_messages(value: Any) -> Any:
    """Return a graph's input, with messages for the pairs in it."""
    parsed = mapping(value)
    messages = parsed.get("messages")
    if not isinstance(messages, list) or not any(map(_is_pair, messages[:MAX_ITEMS])):
        return value
    return {**parsed, "messages": [_message(message) for message in messages[:MAX_ITEMS]]}


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
