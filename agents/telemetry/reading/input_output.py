"""Input, output, instructions and tools of a turn, found wherever its sender put them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from agents.record.schemas.content import CompletionMessage, UserMessage, text_of
from agents.telemetry.reading.calls import completion, user_message
from agents.telemetry.reading.coerce import json_of, sequence, text_or_json
from agents.telemetry.reading.details import result_text
from agents.telemetry.reading.facts import HistoryMessage, SpanFacts
from agents.telemetry.reading.message_parts import blocks_text
from agents.telemetry.reading.messages import HIDDEN, messages_of
from agents.telemetry.reading.resumed_graphs import answer_in
from agents.telemetry.reading.sanitize import clean_json
from agents.telemetry.reading.tree import SpanNode

MAX_TOOLS = 256
_DUMP_CHARS = 4_000
_REPR = re.compile(
    r"^[A-Z]\w*\(\w+=|[\[{:] ?\"?[A-Z]\w*\(\w+=|\"<\w+\("
    r"|<[\w.]+ object at 0x[0-9a-f]+>|<class '[\w.]+'>|^id='[^']{1,64}' source='"
)
"""Finds what only Python writes."""
_INPUT_NAMES = (
    "task",
    "input",
    "query",
    "question",
    "prompt",
    "message",
    "user_input",
    "user_message",
    "text",
    "content",
    "q",
)
_OUTPUT_NAMES = (
    "output",
    "answer",
    "result",
    "response",
    "final_output",
    "final_answer",
    "content",
    "text",
    "message",
    "raw",
)


def input_of(top: SpanNode | None, models: Sequence[SpanNode]) -> tuple[UserMessage, ...]:
    """Return the user's last messages: from the turn's own span, else from its first model's, in whatever shape. A dump
    of a program's objects counts only where there is nothing else."""
    own: tuple[UserMessage, ...] = ()
    if top is not None:
        own = _last_user_messages(top.facts.input_messages.messages(), last=False) or _user_messages_in(top.facts.input)
        if own and not is_dump(text_of(own[-1].content)):
            return own
    for model in models[:1]:
        messages = _last_user_messages(model.facts.input_messages.messages(), last=True)
        if messages:
            return messages
    if own:
        return own
    raw_input = None if top is None else top.facts.input
    return (user_message([_as_text(raw_input)]),) if raw_input not in (None, "", HIDDEN) and _as_text(raw_input) else ()


def _last_user_messages(messages: list[HistoryMessage], *, last: bool) -> tuple[UserMessage, ...]:
    """Return the user's messages after the last answer; with ``last``, else the user's last message anywhere: a call
    that brings a tool's result still has the question further up."""
    start = next(
        (position for position in range(len(messages), 0, -1) if messages[position - 1].role == "assistant"), 0
    )
    user_messages = [message for message in messages[start:] if message.role == "user" and message.items]
    if not user_messages and last:
        user_messages = [message for message in messages if message.role == "user" and message.items][-1:]
    return tuple(user_message(message.items) for message in user_messages)


def _user_messages_in(value: Any) -> tuple[UserMessage, ...]:
    """Return the user's messages in a function's or a graph's input; the answer that a graph goes on with is one, in
    whatever shape."""
    if value is None or value == HIDDEN:
        return ()
    answer = answer_in(value)
    if answer is not None:
        return _user_messages_in_answer(json_of(answer))
    parsed = json_of(value)
    if isinstance(parsed, str):
        return (user_message([parsed]),) if parsed else ()
    messages = messages_of(parsed)
    text = _text_under(parsed, _INPUT_NAMES) if isinstance(parsed, dict) else ""
    by_name = (user_message([text]),) if text else ()
    return _last_user_messages(messages, last=False) or by_name or _last_user_messages(messages, last=True)


def _user_messages_in_answer(answer: Any) -> tuple[UserMessage, ...]:
    """Return messages, the only text under its name, or all of it as text."""
    is_named = isinstance(answer, dict) and len(answer) == 1
    messages = messages_of(answer) if isinstance(answer, (dict, list)) else []
    text = (_text_under(answer, _INPUT_NAMES) if is_named else "") or text_or_json(answer)
    return _last_user_messages(messages, last=True) or ((user_message([text]),) if text else ())


def _text_under(value: dict[str, Any], names: Sequence[str]) -> str:
    """Return the text under the first of these names; of a call's ``args`` the first that is text."""
    for name in names:
        if isinstance(value.get(name), str) and value[name]:
            return str(value[name])
    for inner in (value.get("kwargs"), value.get("input_args")):
        if isinstance(inner, dict) and (text := _text_under({**inner, "kwargs": None, "args": None}, names)):
            return text
    args = value.get("args")
    return next((item for item in args if isinstance(item, str) and item), "") if isinstance(args, list) else ""


def _as_text(value: Any) -> str:
    parsed = json_of(value)
    return parsed if isinstance(parsed, str) else text_or_json(parsed)


def output_of(top: SpanNode | None, models: Sequence[SpanNode], tools: Sequence[SpanNode]) -> CompletionMessage | None:
    """Return the answer: of the turn's own span, else the last model's text, else the result of a tool
    ``final_answer``; a dump of a program's objects only where there is nothing else. ``models`` and ``tools`` are those
    of the turn's own agents, in order."""
    own = None if top is None else _own_answer(top.facts)
    if own is not None and not is_dump(text_of(own.content)):
        return own
    for model in reversed(models):
        answer, _, _ = completion(model.facts.output_messages.messages(), model.facts.finish)
        if answer.content:
            return _without_calls(answer)
    for tool in reversed(tools):
        if tool.facts.tool == "final_answer" and (text := result_text(tool.facts.result)):
            return CompletionMessage.model_construct(content=text)
    return own


def is_dump(text: str) -> bool:
    """Tell whether a text is a dump of a Python program's objects, which nobody said: ``ChatMessage(role=…)``,
    ``<Context object at 0x7f…>``, ``<class 'str'>``."""
    head = text[:_DUMP_CHARS]
    # most texts are prose, in which the expression would be tried at each letter
    may_be = "<" in head or ("(" in head and "=" in head) or head.startswith("id='")
    return may_be and _REPR.search(head) is not None


def _without_calls(answer: CompletionMessage) -> CompletionMessage:
    """Return the text alone, without the line break that Strands ends it with."""
    content = answer.content.rstrip() if isinstance(answer.content, str) else answer.content
    return CompletionMessage.model_construct(content=content, stop_reason=answer.stop_reason, tool_calls=[])


def _own_answer(facts: SpanFacts) -> CompletionMessage | None:
    """Return the last message with text, or a function's or a graph's return value."""
    for message in reversed(facts.output_messages.messages()):
        if message.items and message.role == "assistant":
            answer, _, _ = completion([message], facts.finish)
            return _without_calls(answer)
    if facts.output in (None, "", HIDDEN):
        return None
    parsed = json_of(facts.output)
    if isinstance(parsed, (dict, list)):
        text = _last_text(parsed)
        return CompletionMessage.model_construct(content=text) if text else None
    return CompletionMessage.model_construct(content=_as_text(parsed))


def _last_text(value: Any) -> str:
    texts = [
        message.text for message in messages_of(value, "assistant") if message.role == "assistant" and message.text
    ]
    if texts:
        return texts[-1]
    return (_text_under(value, _OUTPUT_NAMES) if isinstance(value, dict) else "") or text_or_json(value)


def instructions_of(tops: Sequence[SpanNode]) -> str:
    """Return the system prompt: a field of its own, or the beginning of a history."""
    for node in tops:
        instructions = json_of(node.facts.instructions)
        if instructions is not None and instructions != "":
            text = _instructions_text(instructions)
            if text:
                return text
    for node in tops:
        text = "\n".join(
            message.text
            for message in node.facts.input_messages.messages()
            if message.role == "system" and message.text
        )
        if text:
            return text
    return ""


def _instructions_text(value: Any) -> str:
    """Return a text, or the joined parts of one: ``[{"type": "text", "content": …}]``."""
    if isinstance(value, list):
        parts = [part.get("content", part.get("text")) if isinstance(part, dict) else part for part in value]
        return "\n".join(part for part in parts if isinstance(part, str) and part)
    return blocks_text(value) if isinstance(value, str) else ""


def tools_of(nodes: Sequence[SpanNode]) -> tuple[dict[str, Any], ...]:
    """Return the tools that a model could call: ``{"name", "description", "input_schema"}``, as far as they are
    known."""
    for node in nodes:
        tools = [definition for tool in sequence(node.facts.tools)[:MAX_TOOLS] if (definition := _tool(tool))]
        if tools:
            return tuple(tools)
    return ()


def _tool(value: Any) -> dict[str, Any] | None:
    tool = json_of(value)
    if not isinstance(tool, dict):
        return None
    inner = tool.get("function")
    definition = inner if isinstance(inner, dict) else tool
    name = definition.get("name") or definition.get("type")
    if not isinstance(name, str):
        return None
    entry: dict[str, Any] = {"name": name[:200]}
    if isinstance(definition.get("description"), str):
        entry["description"] = definition["description"]
    for key in ("parameters", "input_schema", "inputSchema", "parameters_json_schema"):
        if isinstance(definition.get(key), dict):
            entry["input_schema"] = clean_json(definition[key])
            break
    return entry
