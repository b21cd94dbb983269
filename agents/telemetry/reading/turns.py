"""Spans to turns: a full rebuild whenever one more span has arrived.

`tree` builds the tree of spans, `dialects` read the facts of each, `groups` and `conversations` find which of them are
one turn; `build_turn` makes its record: `call_linking` links tools to calls, `input_output` finds the input and the
output, `steps` and `outcome` the rest. Nothing here keeps state: the same spans give the same turns, in whatever order
and however often they arrived.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from agents.telemetry.reading import evaluations, exported_turns
from agents.telemetry.reading.agent_names import own_nodes
from agents.telemetry.reading.build_turn import TRACE_SESSION_PREFIX, turn_of
from agents.telemetry.reading.conversation_links import ConversationLinks, links_of_tree
from agents.telemetry.reading.conversations import chain_turns, group_conversations
from agents.telemetry.reading.groups import GroupedTrace, TurnGroup, group_trace
from agents.telemetry.reading.import_overrides import apply_overrides
from agents.telemetry.reading.records import ExternalTurn
from agents.telemetry.reading.same_calls import join_same_calls
from agents.telemetry.reading.same_turns import join_same_turns
from agents.telemetry.reading.span_metadata import session_of, session_of_resource
from agents.telemetry.reading.spans import Span
from agents.telemetry.reading.steps import walk_trees
from agents.telemetry.reading.tree import TraceTree, build_tree, merge_spans


def build_turns(spans: Iterable[Span]) -> list[ExternalTurn]:
    """Build the turns of one trace, or of several that belong together, ordered by start time."""
    return _build(merge_spans(spans))[1]


def build_turns_and_links(spans: Iterable[Span]) -> tuple[ConversationLinks, list[ExternalTurn]]:
    """Build the turns of one trace, and its links, from one tree."""
    return _build(merge_spans(spans))


def _build(merged: dict[str, dict[str, Span]]) -> tuple[ConversationLinks, list[ExternalTurn]]:
    merged, judgements = evaluations.taken_out(merged)
    exported = {
        name: turn for name, spans in merged.items() if (turn := exported_turns.turn_of(name, spans)) is not None
    }
    traces = {name: build_tree(name, spans) for name, spans in merged.items() if name not in exported}
    join_same_calls(traces.values())
    grouped = {name: group_trace(trace) for name, trace in traces.items()}
    links = ConversationLinks()
    if len(merged) == 1 == len(traces):
        [name] = traces
        links = links_of_tree(traces[name], grouped[name])
    turns = [*exported.values(), *_of_groups(traces, grouped), *_of_conversations(traces, grouped)]
    turns = [apply_overrides(turn, merged) for turn in join_same_turns(turns)]
    turns.sort(key=lambda turn: (turn.started_us, turn.id))
    return links, evaluations.with_feedback(turns, judgements)


def _of_groups(traces: dict[str, TraceTree], grouped: dict[str, GroupedTrace]) -> Iterator[ExternalTurn]:
    """Build the turns of traces whose spans show which of them belong together."""
    for name, grouped_trace in grouped.items():
        for index, turn_group in enumerate(grouped_trace.groups):
            session = _session_of(turn_group, traces[name]) or TRACE_SESSION_PREFIX + name
            yield turn_of(turn_group, session, name if index == 0 else f"{name}:{turn_group.first_span_id}")


def _of_conversations(traces: dict[str, TraceTree], grouped: dict[str, GroupedTrace]) -> Iterator[ExternalTurn]:
    """Build the turns of bare model calls, which only their conversations join."""
    bare = [(traces[name], grouped_trace.bare) for name, grouped_trace in grouped.items() if grouped_trace.bare]
    for session, nodes in group_conversations(bare):
        used_traces: set[str] = set()
        for turn_group in chain_turns(nodes, traces):
            trace = turn_group.roots[0].span.trace
            key = f"{trace}:{turn_group.first_span_id}" if trace in used_traces else trace
            used_traces.add(trace)
            yield turn_of(turn_group, session or TRACE_SESSION_PREFIX + nodes[0].span.trace, key)


def _session_of(group: TurnGroup, trace: TraceTree) -> str:
    """Return the session that the turn's own span names, else a span above it, else any of the turn; agents that a
    tool or another agent called may have conversations of their own, which never count."""
    return _session_above(group, trace) or _session_within(group)


def _session_above(group: TurnGroup, trace: TraceTree) -> str:
    span: Span | None = group.top.span if group.top is not None else None
    visited: set[str] = set()
    while span is not None and span.id not in visited:
        visited.add(span.id)
        if session := session_of(span):
            return session
        span = trace.spans.get(span.parent)
    return ""


def _session_within(group: TurnGroup) -> str:
    nodes = sorted(own_nodes(list(walk_trees(group.roots))), key=lambda node: node.key)
    for read in (session_of, session_of_resource):
        for node in nodes:
            if session := read(node.span):
                return session
    return ""
