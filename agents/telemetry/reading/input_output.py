"""What a turn was asked and what came of it, found where its sender put it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agents.record.schemas.content import CompletionMessage, UserMessage
from agents.telemetry.reading.calls import completion, user_message
from agents.telemetry.reading.coerce import json_of, sequence, text_or_json
from agents.telemetry.reading.details import result_text
from agents.telemetry.reading.facts import HistoryMessage, SpanFacts
from agents.telemetry.reading.message_parts import blocks_text
from agents.telemetry.reading.messages import HIDDEN, messages_of
from agents.telemetry.reading.sanitize import clean_json
from agents.telemetry.reading.tree import SpanNode

MAX_TOOLS = 256
_ASKED = (
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
_ANSWERED = ("output", "answer", "result", "response", "final_output", "final_answer", "content", "text", "message")


def input_of(top: SpanNode | None, models: Sequence[SpanNode]) -> tuple[UserMessage, ...]:
    """The user's last words: told by the turn's own span, else by its first model's, in whatever shape."""
    if top is not None:
        asked = _asked(top.facts.input_messages.messages(), last=False) or _asked_in(top.facts.input)
        if asked:
            return asked
    for model in models[:1]:
        asked = _asked(model.facts.input_messages.messages(), last=True)
        if asked:
            return asked
    rest = None if top is None else top.facts.input
    return (user_message([_words(rest)]),) if rest not in (None, "", HIDDEN) and _words(rest) else ()


def _asked(messages: list[HistoryMessage], *, last: bool) -> tuple[UserMessage, ...]:
    """The user's messages behind the last answer; with ``last``, else the last one at all: a call that brings a
    tool's result still has the question further up."""
    begun = next((at for at in range(len(messages), 0, -1) if messages[at - 1].role == "assistant"), 0)
    asked = [one for one in messages[begun:] if one.role == "user" and one.items]
    if not asked and last:
        asked = [one for one in messages if one.role == "user" and one.items][-1:]
    return tuple(user_message(one.items) for one in asked)


def _asked_in(value: Any) -> tuple[UserMessage, ...]:
    """What was asked, out of a function's or a graph's input."""
    if value is None or value == HIDDEN:
        return ()
    read = json_of(value)
    if isinstance(read, str):
        return (user_message([read]),) if read else ()
    told = messages_of(read)
    words = _named(read, _ASKED) if isinstance(read, dict) else ""
    by_name = (user_message([words]),) if words else ()
    return _asked(told, last=False) or by_name or _asked(told, last=True)


def _named(value: dict[str, Any], names: Sequence[str]) -> str:
    """The text under the first of these names; of a call's ``args`` the first that is one."""
    for name in names:
        if isinstance(value.get(name), str) and value[name]:
            return str(value[name])
    kwargs, args = value.get("kwargs"), value.get("args")
    if isinstance(kwargs, dict) and (found := _named({**kwargs, "kwargs": None, "args": None}, names)):
        return found
    return next((one for one in args if isinstance(one, str) and one), "") if isinstance(args, list) else ""


def _words(value: Any) -> str:
    read = json_of(value)
    return read if isinstance(read, str) else text_or_json(read)


def output_of(top: SpanNode | None, models: Sequence[SpanNode], tools: Sequence[SpanNode]) -> CompletionMessage | None:
    """The answer: of the turn's own span, else the last model's words, else what a tool called ``final_answer`` got.
    ``models`` and ``tools`` are those of the turn's own agents, in order."""
    if top is not None:
        told = _answered(top.facts)
        if told is not None:
            return told
    for model in reversed(models):
        answer, _, _ = completion(model.facts.output_messages.messages(), model.facts.finish)
        if answer.content:
            return _without_calls(answer)
    for tool in reversed(tools):
        if tool.facts.tool == "final_answer" and (words := result_text(tool.facts.result)):
            return CompletionMessage.model_construct(content=words)
    return None


def _without_calls(answer: CompletionMessage) -> CompletionMessage:
    """The words alone, and without the line break that Strands ends them with."""
    content = answer.content.rstrip() if isinstance(answer.content, str) else answer.content
    return CompletionMessage.model_construct(content=content, stop_reason=answer.stop_reason, tool_calls=[])


def _answered(facts: SpanFacts) -> CompletionMessage | None:
    """The last message with words, or what a function or a graph returned."""
    for message in reversed(facts.output_messages.messages()):
        if message.items and message.role == "assistant":
            answer, _, _ = completion([message], facts.finish)
            return _without_calls(answer)
    if facts.output in (None, "", HIDDEN):
        return None
    read = json_of(facts.output)
    if isinstance(read, (dict, list)):
        words = _last_words(read)
        return CompletionMessage.model_construct(content=words) if words else None
    return CompletionMessage.model_construct(content=_words(read))


def _last_words(read: Any) -> str:
    told = [one.text for one in messages_of(read, "assistant") if one.role == "assistant" and one.text]
    if told:
        return told[-1]
    return (_named(read, _ANSWERED) if isinstance(read, dict) else "") or text_or_json(read)


def instructions_of(tops: Sequence[SpanNode]) -> str:
    """The system's words: told by themselves, or at the beginning of a history."""
    for node in tops:
        given = json_of(node.facts.instructions)
        if given is not None and given != "":
            found = _system(given)
            if found:
                return found
    for node in tops:
        found = "\n".join(one.text for one in node.facts.input_messages.messages() if one.role == "system" and one.text)
        if found:
            return found
    return ""


def _system(given: Any) -> str:
    """A text, or parts of one: ``[{"type": "text", "content": …}]``."""
    if isinstance(given, list):
        parts = [one.get("content", one.get("text")) if isinstance(one, dict) else one for one in given]
        return "\n".join(one for one in parts if isinstance(one, str) and one)
    return blocks_text(given) if isinstance(given, str) else ""


def tools_of(nodes: Sequence[SpanNode]) -> tuple[dict[str, Any], ...]:
    """The tools that a model could call: ``{"name", "description", "input_schema"}``, as far as they are told."""
    for node in nodes:
        found = [one for tool in sequence(node.facts.tools)[:MAX_TOOLS] if (one := _tool(tool))]
        if found:
            return tuple(found)
    return ()


def _tool(value: Any) -> dict[str, Any] | None:
    tool = json_of(value)
    if not isinstance(tool, dict):
        return None
    inner = tool.get("function")
    about = inner if isinstance(inner, dict) else tool
    name = about.get("name") or about.get("type")
    if not isinstance(name, str):
        return None
    found: dict[str, Any] = {"name": name[:200]}
    if isinstance(about.get("description"), str):
        found["description"] = about["description"]
    for key in ("parameters", "input_schema", "inputSchema", "parameters_json_schema"):
        if isinstance(about.get(key), dict):
            found["input_schema"] = clean_json(about[key])
            break
    return found
