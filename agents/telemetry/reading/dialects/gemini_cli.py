"""Gemini CLI over OTLP: ``llm_call``, ``tool_call`` and ``schedule_tool_calls``, each in a trace of its own.

What a call says is `genai`'s, but for messages in Google's shape (``parts`` with ``functionCall``, role ``model``),
which `messages` reads; a tool's id is under ``gen_ai.tool.call_id``, its request and its outcome are told as messages
(``{callId, name, args, …}``, ``{status, request, response: {responseParts}, …}``). All of that only with
``telemetry.traces``. Traps: a call's id is ``<tool>__<id>`` there and ``<id>`` in histories; the log record of a call
tells its messages once more, and what the model said as the system's; the first message begins with words that nobody
said. The session is the resource's. ``schedule_tool_calls`` only holds others. Its session files are `sessions`.
"""

from __future__ import annotations

from typing import Any

from agents.telemetry.reading import kinds
from agents.telemetry.reading.coerce import first, first_text, mapping, said, sequence, text
from agents.telemetry.reading.facts import Facts, Message, Unread
from agents.telemetry.reading.failures import error_of
from agents.telemetry.reading.messages import answered, asked
from agents.telemetry.reading.spans import Span

ADVICE = 'Gemini CLI did not send the words. "traces": true in the settings of its telemetry makes it send them.'
CONTEXT = "<session_context>"
_KINDS = {"llm_call": kinds.LLM, "tool_call": kinds.TOOL, "schedule_tool_calls": ""}


def read(span: Span) -> Facts | None:
    if span.name not in _KINDS or "gemini" not in text(span.resource.get("service.name")).lower():
        return None
    facts = Facts(kind=_KINDS[span.name], word=span.name, agent="gemini-cli")
    if facts.kind == kinds.TOOL:
        _tool(facts, span.attributes)
    elif facts.kind == kinds.LLM:
        facts.advice = ADVICE
        _words(facts, span.attributes)
    return facts


def _words(facts: Facts, attributes: dict[str, Any]) -> None:
    if "gen_ai.input.messages" in attributes:
        facts.given = Unread(attributes["gen_ai.input.messages"], _given)
    if "gen_ai.output.messages" in attributes:
        facts.answer = Unread(attributes["gen_ai.output.messages"], _answered)


def _given(value: Any) -> list[Message]:
    """The history without what the program itself says first."""
    messages = asked(value)
    for message in messages:
        if message.role == "user":
            message.items = [one for one in message.items if not (isinstance(one, str) and one.startswith(CONTEXT))]
    return messages


def _answered(value: Any) -> list[Message]:
    messages = answered(value)
    for call in (call for message in messages for call in message.calls):
        call.id = _id(call.id, call.name)
    return messages


def _id(told: str, tool: str) -> str:
    """A call's id as histories have it: answers and tools have the tool's name before it."""
    return told.removeprefix(f"{tool}__")


def _tool(facts: Facts, attributes: dict[str, Any]) -> None:
    facts.tool = first_text(attributes, "gen_ai.tool.name", "function_name", "tool_name")
    facts.call_id = _id(text(attributes.get("gen_ai.tool.call_id")), facts.tool)
    facts.arguments = first(attributes, "gen_ai.tool.call.arguments", "gen_ai.input.messages", "input")
    facts.result = first(attributes, "gen_ai.tool.call.result", "gen_ai.output.messages", "output")
    request, outcome = mapping(facts.arguments), mapping(facts.result)
    if "args" in request and "callId" in request:
        facts.arguments = request["args"]
    if "response" in outcome and "status" in outcome:
        answer = _answer(mapping(outcome["response"]))
        facts.result = said(answer.get("output", answer.get("error", answer)))
        if outcome["status"] == "error":
            facts.error = error_of(text(answer.get("error")))


def _answer(response: dict[str, Any]) -> dict[str, Any]:
    """What the model is told: ``{output}`` or ``{error}``."""
    for part in sequence(response.get("responseParts")):
        told = mapping(mapping(part).get("functionResponse")).get("response")
        if isinstance(told, dict):
            return told
    return {}
