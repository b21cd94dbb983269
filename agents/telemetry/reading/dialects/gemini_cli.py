"""Gemini CLI over OTLP: ``llm_call``, ``tool_call`` and ``schedule_tool_calls``, each in a trace of its own.

A call's attributes are those of `genai`, but for messages in Google's shape (``parts`` with ``functionCall``, role
``model``), which `messages` reads; a tool's id is under ``gen_ai.tool.call_id``, its request and its outcome are
messages (``{callId, name, args, …}``, ``{status, request, response: {responseParts}, …}``). All of that only with
``telemetry.traces``. Traps: a call's id is ``<tool>__<id>`` there and ``<id>`` in histories; the log record of a call
repeats its messages, and the model's text as the system's; the first message begins with text that nobody wrote.
The session is the resource's. ``schedule_tool_calls`` only groups others. Its session files are `session_files`.
"""

from __future__ import annotations

from typing import Any

from agents.telemetry.reading import kinds
from agents.telemetry.reading.coerce import mapping, sequence, text, text_or_json
from agents.telemetry.reading.dialects import source
from agents.telemetry.reading.dialects.reader import EVERY, Dialect
from agents.telemetry.reading.dialects.source import Values
from agents.telemetry.reading.facts import HistoryMessage, SpanFacts
from agents.telemetry.reading.failures import error_of
from agents.telemetry.reading.messages import read_input, read_output
from agents.telemetry.reading.spans import Span

ADVICE = 'Gemini CLI did not send the words. "traces": true in the settings of its telemetry makes it send them.'
CONTEXT = "<session_context>"
_KINDS = {"llm_call": kinds.LLM, "tool_call": kinds.TOOL, "schedule_tool_calls": ""}


def _sender_kind(_: Values, span: Span) -> str | None:
    is_own = span.name in _KINDS and "gemini" in text(span.resource.get("service.name")).lower()
    return span.name if is_own else None


def _input_messages(value: Any) -> list[HistoryMessage]:
    """Read the history without the program's own first text."""
    messages = read_input(value)
    for message in messages:
        if message.role == "user":
            message.items = [item for item in message.items if not (isinstance(item, str) and item.startswith(CONTEXT))]
    return messages


def _output_messages(value: Any) -> list[HistoryMessage]:
    messages = read_output(value)
    for call in (call for message in messages for call in message.calls):
        call.id = _call_id(call.id, call.name)
    return messages


def _call_id(call_id: str, tool: str) -> str:
    """Return a call's id as histories have it: answers and tools have the tool's name before it."""
    return call_id.removeprefix(f"{tool}__")


def _read_tool(facts: SpanFacts, _values: Values, _span: Span) -> None:
    """Unwrap the id, the request and the outcome of a tool's call."""
    facts.call_id = _call_id(facts.call_id, facts.tool)
    request, outcome = mapping(facts.arguments), mapping(facts.result)
    if "args" in request and "callId" in request:
        facts.arguments = request["args"]
    if "response" in outcome and "status" in outcome:
        answer = _response_value(mapping(outcome["response"]))
        facts.result = text_or_json(answer.get("output", answer.get("error", answer)))
        if outcome["status"] == "error":
            facts.error = error_of(text(answer.get("error")))


def _response_value(response: dict[str, Any]) -> dict[str, Any]:
    """Return the model's view of a result: ``{output}`` or ``{error}``."""
    for part in sequence(response.get("responseParts")):
        answer = mapping(mapping(part).get("functionResponse")).get("response")
        if isinstance(answer, dict):
            return answer
    return {}


DIALECT = Dialect(
    sender_kind=_sender_kind,
    kinds=_KINDS,
    facts={
        EVERY: {"agent": source.constant("gemini-cli")},
        kinds.LLM: {
            "input_messages": source.messages("gen_ai.input.messages", read=_input_messages),
            "output_messages": source.messages("gen_ai.output.messages", read=_output_messages),
            "advice": source.constant(ADVICE),
        },
        kinds.TOOL: {
            "tool": ("gen_ai.tool.name", "function_name", "tool_name"),
            "call_id": "gen_ai.tool.call_id",
            "arguments": ("gen_ai.tool.call.arguments", "gen_ai.input.messages", "input"),
            "result": ("gen_ai.tool.call.result", "gen_ai.output.messages", "output"),
        },
    },
    finish={kinds.TOOL: _read_tool},
)
