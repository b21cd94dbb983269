"""The trace that work belongs to, as W3C's Trace Context has it: taken from a request, handed on to whoever is asked.

A request's ``traceparent`` is the parent of what it causes. A turn of such a request is part of its trace; the turn,
and each of its steps, is a span of it, with the ids under which they are exported (`span_id`). Where turns are
exported, one without a parent is a trace of its own.
"""

from __future__ import annotations

import re
from contextvars import ContextVar
from dataclasses import dataclass, replace

MAX_HEADER = 55
"""Characters of a ``traceparent`` of version 00."""
MAX_STATE = 512
"""Characters of a ``tracestate`` that are handed on; a longer one is dropped, as the specification allows."""
_PARENT = re.compile(r"(?P<version>[0-9a-f]{2})-(?P<trace>[0-9a-f]{32})-(?P<span>[0-9a-f]{16})-(?P<flags>[0-9a-f]{2})")
_SAMPLED = 1


@dataclass(frozen=True, slots=True)
class TraceContext:
    """A position in a trace: its id (32 hex digits) and that of the span which causes what comes next (16)."""

    trace: str
    span: str
    is_sampled: bool = True
    state: str = ""

    @property
    def header(self) -> str:
        """The value of ``traceparent``."""
        return f"00-{self.trace}-{self.span}-{int(self.is_sampled):02x}"

    def below(self, public_id: str) -> TraceContext:
        """The position in the span of a turn or step."""
        return replace(self, span=span_id(public_id))


current: ContextVar[TraceContext | None] = ContextVar("trace", default=None)
"""The position of the present request, turn or step; None where there is no trace."""

_are_exported = False


def export_turns(are_exported: bool) -> None:
    """Say whether turns are exported, so that those without a parent are traces too."""
    global _are_exported
    _are_exported = are_exported


def parse(parent: str, state: str = "") -> TraceContext | None:
    """Parse a ``traceparent`` and its ``tracestate``; None for one that is to be ignored. Of a later version than 00
    the known part counts."""
    found = _PARENT.match(parent)
    if found is None or found["version"] == "ff" or not int(found["trace"], 16) or not int(found["span"], 16):
        return None
    rest = parent[found.end() :]
    if rest and (found["version"] == "00" or not rest.startswith("-")):
        return None
    is_kept = len(state) <= MAX_STATE and state.isascii() and state.isprintable()
    return TraceContext(
        found["trace"], found["span"], bool(int(found["flags"], 16) & _SAMPLED), state if is_kept else ""
    )


def of_turn(parent: TraceContext | None, public_id: str) -> TraceContext | None:
    """Return the position in the span of a turn whose request came with ``parent``."""
    if parent is not None:
        return parent.below(public_id)
    return TraceContext(digits(public_id), span_id(public_id)) if _are_exported else None


def enter(public_id: str) -> None:
    """Make a turn or step the cause of what comes next, where there is a trace."""
    position = current.get()
    if position is not None:
        current.set(position.below(public_id))


def headers() -> dict[str, str]:
    """Return the headers by which a request to others becomes part of the trace; none without one."""
    position = current.get()
    if position is None:
        return {}
    return {"traceparent": position.header, **({"tracestate": position.state} if position.state else {})}


def digits(public_id: str) -> str:
    """The 32 hex digits of an id: a trace's."""
    return public_id.replace("-", "").lower()


def span_id(public_id: str) -> str:
    """The id of the span of a turn or step."""
    return digits(public_id)[-16:]
