"""The facts that a dialect reads from a span, in our vocabulary and not yet part of a record.

Each module of `dialects` is a table of the names under which senders report these; unknown facts stay empty.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import msgspec

from agents.record.schemas.content import ImageItem, Usage
from agents.record.schemas.events import ErrorInfo

HistoryRole = Literal["system", "user", "assistant", "tool"]


class RequestedCall(msgspec.Struct):
    """A tool call that a model asked for. ``arguments`` as they came: an object, text, or None where the sender hid
    them."""

    id: str
    name: str
    arguments: Any = None


class HistoryMessage(msgspec.Struct):
    """One message of a model's history. ``items`` are its texts and pictures in order; ``answered_call`` is, of a
    tool's message, the id of the call that it answers. ``hidden`` says that the message existed, but its text was not
    captured."""

    role: HistoryRole
    items: list[str | ImageItem] = []
    calls: list[RequestedCall] = []
    answered_call: str = ""
    reasoning: str = ""
    finish: str = ""
    hidden: bool = False

    @property
    def text(self) -> str:
        items = self.items
        if len(items) == 1:
            return items[0] if isinstance(items[0], str) else ""
        return "\n".join(item for item in items if isinstance(item, str))


class LazyMessages:
    """Messages that are parsed on first use: every call of a model repeats its history, and most of them are never
    read."""

    __slots__ = ("_read", "_value")

    def __init__(self, value: Any, read: Callable[[Any], list[HistoryMessage]] | None) -> None:
        self._value = value
        self._read = read

    def messages(self) -> list[HistoryMessage]:
        if self._read is not None:
            self._value, self._read = self._read(self._value), None
        parsed: list[HistoryMessage] = self._value
        return parsed


NO_MESSAGES = LazyMessages([], None)


class SpanFacts(msgspec.Struct):
    """The facts of one span. ``kind`` is one of `kinds`, '' where the span is no operation of an agent;
    ``sender_kind`` the sender's name for it. ``name`` is an agent's or a workflow's own name, ``program`` what the
    sender calls all of it. ``input_messages`` and ``output_messages`` are messages, ``input`` and ``output`` what the
    sender gave instead of them, as text or JSON. ``tools`` are definitions as they came, ``documents`` a retrieval's
    results. ``answer_id`` is the id that a model's endpoint gave its answer. ``cost_nano`` and ``usage`` are the
    sender's numbers for this span, summed over others or not. ``advice`` tells a reader how to capture missing text.
    ``reports_failures`` is false where such a span never shows that something below it failed. ``question`` is what an
    interrupt that left the span asks, '' where that is not readable, None where none left it."""

    kind: str = ""
    sender_kind: str = ""
    name: str = ""
    agent: str = ""
    program: str = ""
    input_messages: LazyMessages = NO_MESSAGES
    output_messages: LazyMessages = NO_MESSAGES
    input: Any = None
    output: Any = None
    tool: str = ""
    call_id: str = ""
    arguments: Any = None
    result: Any = None
    label: str = ""
    tools: Any = None
    instructions: Any = None
    model: str = ""
    provider: str = ""
    finish: str = ""
    answer_id: str = ""
    usage: Usage | None = None
    cost_nano: int | None = None
    ttft_us: int | None = None
    query: str = ""
    vector_store: str = ""
    documents: list[dict[str, Any]] | None = None
    touchpoint: str = ""
    violation: str = ""
    error: ErrorInfo | None = None
    interrupted: bool = False
    question: str | None = None
    advice: str = ""
    reports_failures: bool = True
    extra: dict[str, Any] | None = None


_FILLED = tuple(name for name in SpanFacts.__struct_fields__ if name != "reports_failures")
_EMPTY = ("", None, False)


def fill_missing(facts: SpanFacts, other: SpanFacts) -> None:
    """Copy from ``other`` the facts that ``facts`` lacks: the dialect that was read first wins."""
    for name in _FILLED:
        current = getattr(facts, name)
        if current is NO_MESSAGES or current in _EMPTY:
            setattr(facts, name, getattr(other, name))
