"""What all readers of session files do alike: spans that are opened, told more about, and closed."""

from __future__ import annotations

from typing import Any

from agents.telemetry.reading.decoding import MAX_ID_CHARS
from agents.telemetry.reading.spans import Format, Span

JsonObject = dict[str, Any]

_HALF = (MAX_ID_CHARS - 1) // 2
"""A trace is named by its session and its turn."""


def object_field(value: Any, name: str) -> JsonObject:
    """The object of this name; {} of anything else."""
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def objects_in(value: Any) -> list[JsonObject]:
    """The objects in a list; [] of anything else."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def without_empty(**values: Any) -> JsonObject:
    """Without what was not said."""
    return {name: value for name, value in values.items() if value is not None and value != ""}


class SessionTurn:
    """A turn and what belongs to it. Of one that is not ``shown`` another file tells; here are only parts of it."""

    def __init__(self, format: Format, session: str, key: str, at: int) -> None:
        self.trace = f"{session[:_HALF]}:{key[:_HALF]}"
        self.span = Span(trace=self.trace, id=key[:_HALF], name="turn", start_ns=at, format=format)
        self.span.attributes = {"kind": "turn", "session": session}
        self.spans: dict[str, Span] = {}
        self.is_reported = True

    def child(self, kind: str, id: str, at: int, parent: str | None = None) -> Span:
        """The span of this id, new or known; below the turn unless another parent is named."""
        if id not in self.spans:
            above = self.span.id if parent is None else parent
            made = Span(trace=self.trace, id=id, parent=above, start_ns=at, format=self.span.format)
            made.attributes = {"kind": kind}
            self.spans[id] = made
        return self.spans[id]

    def add_input(self, message: Any) -> None:
        self.span.attributes.setdefault("input", []).append(message)

    def close(self, at: int) -> None:
        """The turn is over, and with it whatever was still going on: nobody will answer it any more."""
        at = max([at, *(span.end_ns for span in self.spans.values())])
        self.span.end_ns = self.span.end_ns or at
        for span in self.spans.values():
            if not span.end_ns:
                span.end_ns = max(at, span.start_ns)
                span.attributes["interrupted"] = True

    def all_spans(self) -> list[Span]:
        return [*([self.span] if self.is_reported else []), *self.spans.values()]
