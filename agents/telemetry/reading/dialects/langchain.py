"""LangChain's own objects inside the reports of other senders.

A tool answers with a message, which alone knows the call; where the tool handles its own failures, only the message's
``status`` is ``error``.
"""

from __future__ import annotations

from typing import Any

from agents.telemetry.reading.coerce import json_of, mapping
from agents.telemetry.reading.dialects.source import Values
from agents.telemetry.reading.facts import SpanFacts
from agents.telemetry.reading.failures import error_of
from agents.telemetry.reading.messages import messages_of
from agents.telemetry.reading.spans import Span


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
