"""What tells which traces belong to one conversation, so that whoever stores them can bring them together.

`turns.of_spans` does the same among the spans it is given; this is for finding the others.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from agents.telemetry.reading.call_history import input_marks, output_marks
from agents.telemetry.reading.conversations import service_of, session_of_trace
from agents.telemetry.reading.groups import GroupedTrace, group_trace
from agents.telemetry.reading.spans import Span
from agents.telemetry.reading.tree import TraceTree, build_tree, merge_spans


@dataclass(frozen=True, slots=True)
class ConversationLinks:
    """``session`` is the sender's id of the conversation, '' if it told none. ``is_bare``: no agent, workflow or
    chain is on top, only calls of models and tools. Then, without a session, ``gave`` and ``got`` are short
    hashes of the calls and answers that this trace's models gave, and that their histories hold: a trace
    whose ``got`` meets an earlier one's ``gave``, of the same ``service``, is of its conversation."""

    session: str = ""
    is_bare: bool = False
    output_marks: frozenset[str] = frozenset()
    input_marks: frozenset[str] = frozenset()
    service: str = ""


def links_of(spans: Iterable[Span]) -> ConversationLinks:
    """The links of one trace; nothing of several."""
    traces = merge_spans(spans)
    if len(traces) != 1:
        return ConversationLinks()
    ((name, found),) = traces.items()
    trace = build_tree(name, found)
    return links_of_tree(trace, group_trace(trace))


def links_of_tree(trace: TraceTree, grouped: GroupedTrace) -> ConversationLinks:
    """The same of a trace whose tree is known."""
    bare = grouped.bare
    session, service = session_of_trace(trace), service_of(trace)
    if session or not bare:
        return ConversationLinks(session, bool(bare), service=service)
    return ConversationLinks(
        session="",
        is_bare=True,
        output_marks=frozenset().union(*map(output_marks, bare)),
        input_marks=frozenset().union(*map(input_marks, bare)),
        service=service,
    )
