"""Links between traces of one conversation, by which the store finds the traces that belong together.

`turns.build_turns` joins the traces of its spans in the same way; the links serve to find the others.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from agents.telemetry.reading.call_history import input_marks, output_marks
from agents.telemetry.reading.conversations import service_of, session_of_trace
from agents.telemetry.reading.groups import GroupedTrace, group_trace
from agents.telemetry.reading.same_calls import join_same_calls, report_marks
from agents.telemetry.reading.same_turns import runs_of
from agents.telemetry.reading.spans import Span
from agents.telemetry.reading.tree import TraceTree, build_tree, merge_spans


@dataclass(frozen=True, slots=True)
class ConversationLinks:
    """The links of one trace. ``session`` is the sender's id of the conversation, '' if there is none. ``is_bare``: no
    agent, workflow or chain is on top, only calls of models and tools. Then, without a session, ``output_marks`` and
    ``input_marks`` are short hashes of the calls and answers that this trace's models gave, and that their histories
    hold: a trace whose ``input_marks`` meet an earlier one's ``output_marks``, of the same ``service``, is of its
    conversation. ``reports`` tell of the calls of models in it, bare or not, and of coding agents' turns: another
    trace with one of them may report the same call or turn."""

    session: str = ""
    is_bare: bool = False
    output_marks: frozenset[str] = frozenset()
    input_marks: frozenset[str] = frozenset()
    service: str = ""
    reports: frozenset[str] = frozenset()


def links_of(spans: Iterable[Span]) -> ConversationLinks:
    """Return the links of one trace; empty ones of several traces."""
    traces = merge_spans(spans)
    if len(traces) != 1:
        return ConversationLinks()
    ((name, members),) = traces.items()
    trace = build_tree(name, members)
    join_same_calls([trace])
    return links_of_tree(trace, group_trace(trace))


def links_of_tree(trace: TraceTree, grouped: GroupedTrace) -> ConversationLinks:
    """Return the links of a trace whose tree is already built."""
    bare = grouped.bare
    session, service, reports = (
        session_of_trace(trace),
        service_of(trace),
        frozenset(report_marks(trace) | runs_of(grouped)),
    )
    if session or not bare:
        return ConversationLinks(session, bool(bare), service=service, reports=reports)
    return ConversationLinks(
        session="",
        is_bare=True,
        output_marks=frozenset().union(*map(output_marks, bare)),
        input_marks=frozenset().union(*map(input_marks, bare)),
        service=service,
        reports=reports,
    )
