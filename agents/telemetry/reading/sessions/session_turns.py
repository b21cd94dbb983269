"""Shared parts of the readers of session files: a turn's spans are opened, completed and closed."""

from __future__ import annotations

from typing import Any

from agents.telemetry.reading.decoding import MAX_ID_CHARS
from agents.telemetry.reading.spans import Format, Span

JsonObject = dict[str, Any]

_MAX_NAME_CHARS = (MAX_ID_CHARS - 1) // 2
"""Characters of a session's and of a turn's name, which together name a trace."""


def object_field(value: Any, name: str) -> JsonObject:
    """Return the object of this name; {} of anything else."""
    item = value.get(name) if isinstance(value, dict) else None
    return item if isinstance(item, dict) else {}


def objects_in(value: Any) -> list[JsonObject]:
    """Return the objects in a list; [] of anything else."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def without_empty(**values: Any) -> JsonObject:
    """Return the values without None and empty texts."""
    return {name: value for name, value in values.items() if value is not None and value != ""}


class SessionTurn:
    """The spans of a turn. ``is_reported`` is false where another file has the turn itself, and this one only parts of
    it."""

    def __init__(self, format: Format, session: str, key: str, at: int) -> None:
        self.trace = f"{session[:_MAX_NAME_CHARS]}:{key[:_MAX_NAME_CHARS]}"
        self.span = Span(trace=self.trace, id=key[:_MAX_NAME_CHARS], name="turn", start_ns=at, format=format)
        self.span.attributes = {"kind": "turn", "session": session}
        self.spans: dict[str, Span] = {}
        self.is_reported = True

    def child(self, kind: str, id: str, at: int, parent: str | None = None) -> Span:
        """Return the span of this id, new or existing; below the turn unless another parent is named."""
        if id not in self.spans:
            parent_id = self.span.id if parent is None else parent
            span = Span(trace=self.trace, id=id, parent=parent_id, start_ns=at, format=self.span.format)
            span.attributes = {"kind": kind}
            self.spans[id] = span
        return self.spans[id]

    def add_input(self, message: Any) -> None:
        """Add a message of the user to the turn's input."""
        self.span.attributes.setdefault("input", []).append(message)

    def close(self, at: int) -> None:
        """End the turn, and interrupt all spans that are still open: nobody will answer them any more."""
        at = max([at, *(span.end_ns for span in self.spans.values())])
        self.span.end_ns = self.span.end_ns or at
        for span in self.spans.values():
            if not span.end_ns:
                span.end_ns = max(at, span.start_ns)
                span.attributes["interrupted"] = True

    def all_spans(self) -> list[Span]:
        """Return the turn's own span, if it is reported here, and all below it."""
        return [*([self.span] if self.is_reported else []), *self.spans.values()]
