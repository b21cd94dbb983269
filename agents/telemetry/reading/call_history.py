"""What a model's call shows of the conversation it is in: what it gave, what its history holds, who spoke last."""

from __future__ import annotations

from hashlib import blake2b

from agents.telemetry.reading import kinds
from agents.telemetry.reading.facts import HistoryMessage
from agents.telemetry.reading.tree import SpanNode

MAX_AMBIGUOUS_CHARS = 12
"""Answers up to this many characters ("Done.") are said in many conversations."""


_MODELS = (kinds.LLM, kinds.WRAPPER)


def _mark(kind: str, words: str) -> str:
    return blake2b(f"{kind}{words}".encode(errors="replace"), digest_size=8).hexdigest()


def _marks(messages: list[HistoryMessage]) -> set[str]:
    """Short hashes of the calls that models asked for, and of the words they said."""
    found: set[str] = set()
    for message in messages:
        if message.role == "assistant":
            found.update(_mark("c", call.id) for call in message.calls if call.id)
            words = message.text.strip()
            if len(words) > MAX_AMBIGUOUS_CHARS:
                found.add(_mark("t", words))
        elif message.answered_call:
            found.add(_mark("c", message.answered_call))
    return found


def output_marks(node: SpanNode) -> set[str]:
    return _marks(node.facts.output_messages.messages()) if node.kind in _MODELS else set()


def input_marks(node: SpanNode) -> set[str]:
    """What it was told, and of a tool that ran by itself: whose call it answers."""
    if node.kind in _MODELS:
        return _marks(node.facts.input_messages.messages())
    if node.kind == kinds.TOOL and node.facts.call_id:
        return {_mark("c", node.facts.call_id)}
    return set()


def is_continuation(node: SpanNode) -> bool:
    """Whether this call carries on what began before: its last message is a tool's result, or it is a tool."""
    if node.kind == kinds.TOOL:
        return True
    told = node.facts.input_messages.messages()
    return node.kind in _MODELS and bool(told) and told[-1].role == "tool"


def ends_with_user(node: SpanNode) -> bool:
    """Whether a user spoke last."""
    told = node.facts.input_messages.messages()
    return node.kind in _MODELS and bool(told) and told[-1].role == "user"
