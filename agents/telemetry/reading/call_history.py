"""Marks of a model call's history, by which calls of one conversation are recognized, and who spoke last in it.

A mark is a short hash of a requested tool call's id or of an answer's text.
"""

from __future__ import annotations

from hashlib import blake2b

from agents.telemetry.reading import kinds
from agents.telemetry.reading.facts import HistoryMessage
from agents.telemetry.reading.tree import SpanNode

MAX_AMBIGUOUS_CHARS = 12
"""Shorter answers ("Done.") occur in many conversations, and get no mark."""


_MODELS = (kinds.LLM, kinds.WRAPPER)


def _mark(kind: str, text: str) -> str:
    return blake2b(f"{kind}{text}".encode(errors="replace"), digest_size=8).hexdigest()


def _marks(messages: list[HistoryMessage]) -> set[str]:
    """Return the marks of the calls that models asked for, and of their answers."""
    marks: set[str] = set()
    for message in messages:
        if message.role == "assistant":
            marks.update(_mark("c", call.id) for call in message.calls if call.id)
            text = message.text.strip()
            if len(text) > MAX_AMBIGUOUS_CHARS:
                marks.add(_mark("t", text))
        elif message.answered_call:
            marks.add(_mark("c", message.answered_call))
    return marks


def output_marks(node: SpanNode) -> set[str]:
    """Return the marks of a model call's output."""
    return _marks(node.facts.output_messages.messages()) if node.kind in _MODELS else set()


def input_marks(node: SpanNode) -> set[str]:
    """Return the marks of a model call's history; of a tool that ran by itself, the mark of the call it answers."""
    if node.kind in _MODELS:
        return _marks(node.facts.input_messages.messages())
    if node.kind == kinds.TOOL and node.facts.call_id:
        return {_mark("c", node.facts.call_id)}
    return set()


def answered_marks(node: SpanNode) -> set[str]:
    """Return the marks of the calls that this call's history answers at its end; none where they have no ids."""
    if node.kind == kinds.TOOL:
        return input_marks(node)
    marks: set[str] = set()
    for message in reversed(node.facts.input_messages.messages()):
        if message.role != "tool":
            break
        if message.answered_call:
            marks.add(_mark("c", message.answered_call))
    return marks


def is_continuation(node: SpanNode) -> bool:
    """Whether this call continues a turn: its last message is a tool's result, or it is a tool."""
    if node.kind == kinds.TOOL:
        return True
    messages = node.facts.input_messages.messages()
    return node.kind in _MODELS and bool(messages) and messages[-1].role == "tool"


def ends_with_user(node: SpanNode) -> bool:
    """Whether the last message of this call's history is a user's."""
    messages = node.facts.input_messages.messages()
    return node.kind in _MODELS and bool(messages) and messages[-1].role == "user"
