"""What tells which traces belong to one conversation, so that whoever stores them can bring them together.

`turns.of_spans` does the same among the spans it is given; this is for finding the others.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from agents.telemetry.reading.call_history import gave, got
from agents.telemetry.reading.conversations import service_of, session_of_trace
from agents.telemetry.reading.groups import Grouped, group
from agents.telemetry.reading.spans import Span
from agents.telemetry.reading.tree import Trace, grow, unique


@dataclass(frozen=True, slots=True)
class Links:
    """``session`` is the sender's id of the conversation, '' if it told none. ``is_bare``: no agent, workflow or
    chain is on top, only calls of models and tools. Then, without a session, ``gave`` and ``got`` are short
    hashes of the calls and answers that this trace's models gave, and that their histories hold: a trace
    whose ``got`` meets an earlier one's ``gave``, of the same ``service``, is of its conversation."""

    session: str = ""
    is_bare: bool = False
    gave: frozenset[str] = frozenset()
    got: frozenset[str] = frozenset()
    service: str = ""


def of_trace(spans: Iterable[Span]) -> Links:
    """The links of one trace; nothing of several."""
    traces = unique(spans)
    if len(traces) != 1:
        return Links()
    ((name, found),) = traces.items()
    trace = grow(name, found)
    return of_grown(trace, group(trace))


def of_grown(trace: Trace, grouped: Grouped) -> Links:
    """The same of a trace whose tree is known."""
    bare = grouped.bare
    session, service = session_of_trace(trace), service_of(trace)
    if session or not bare:
        return Links(session, bool(bare), service=service)
    return Links(
        session="",
        is_bare=True,
        gave=frozenset().union(*map(gave, bare)),
        got=frozenset().union(*map(got, bare)),
        service=service,
    )
