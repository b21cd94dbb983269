"""Grouping of bare model calls into turns: each may be a trace of its own, and no span above joins them.

Within one conversation, in order: a call whose last message is a user's begins a turn, one whose last message is a
tool's result continues it. Calls within one trace stay together unless a later one answers a user who has read an
earlier answer. The session joins the calls of one conversation; without one, a history that holds a call's id or an
answer that an earlier call of the same service gave.
"""

from __future__ import annotations

from collections.abc import Iterable

from agents.telemetry.reading.call_history import (
    answered_marks,
    ends_with_user,
    input_marks,
    is_continuation,
    output_marks,
)
from agents.telemetry.reading.coerce import text
from agents.telemetry.reading.groups import TurnGroup
from agents.telemetry.reading.span_metadata import session_of, session_of_resource
from agents.telemetry.reading.tree import SpanNode, TraceTree


def service_of(trace: TraceTree) -> str:
    """Return the smallest service name among the spans: there is only one, but for hostile senders."""
    names = {text(span.resource.get("service.name")) for span in trace.spans.values()}
    return min(names - {""}, default="")


def session_of_trace(trace: TraceTree) -> str:
    """Return the conversation of a trace of bare calls, '' if there is none."""
    spans = sorted(trace.spans.values(), key=lambda span: (span.start_ns, span.id))
    for read in (session_of, session_of_resource):
        for span in spans:
            if session := read(span):
                return session
    return ""


def group_conversations(bare: Iterable[tuple[TraceTree, list[SpanNode]]]) -> list[tuple[str, list[SpanNode]]]:
    """Return the conversations of bare traces: the session of each, or '', with its calls in order."""
    by_session: dict[str, list[SpanNode]] = {}
    without_session: list[tuple[TraceTree, list[SpanNode]]] = []
    for trace, nodes in bare:
        session = session_of_trace(trace)
        if session:
            by_session.setdefault(session, []).extend(nodes)
        else:
            without_session.append((trace, nodes))
    conversations = [*by_session.items(), *(("", nodes) for nodes in _joined_by_marks(without_session))]
    return [(session, sorted(nodes, key=lambda node: node.key)) for session, nodes in conversations]


def _joined_by_marks(traces: list[tuple[TraceTree, list[SpanNode]]]) -> list[list[SpanNode]]:
    """Join the traces without a session by their marks (union-find). The earliest trace that gave a mark counts."""
    traces.sort(key=lambda entry: min(node.key for node in entry[1]))
    owners: dict[tuple[str, str], int] = {}
    parents = list(range(len(traces)))
    for index, (trace, nodes) in enumerate(traces):
        service = service_of(trace)
        for mark in sorted(set().union(*map(input_marks, nodes))):
            owner = owners.get((service, mark))
            if owner is not None:
                _join(parents, index, owner)
        for mark in set().union(*map(output_marks, nodes)):
            owners.setdefault((service, mark), index)
    joined: dict[int, list[SpanNode]] = {}
    for index, (_, nodes) in enumerate(traces):
        joined.setdefault(_root(parents, index), []).extend(nodes)
    return list(joined.values())


def _root(parents: list[int], index: int) -> int:
    while parents[index] != index:
        parents[index] = parents[parents[index]]
        index = parents[index]
    return index


def _join(parents: list[int], index: int, other: int) -> None:
    first, second = sorted((_root(parents, index), _root(parents, other)))
    parents[second] = first


def chain_turns(nodes: list[SpanNode], traces: dict[str, TraceTree]) -> list[TurnGroup]:
    """Split one conversation, whose calls are in order, into turns."""
    turn_chain = _TurnChain(traces)
    for node in nodes:
        turn_chain.add(node)
    return turn_chain.groups


class _TurnChain:
    def __init__(self, traces: dict[str, TraceTree]) -> None:
        self.traces = traces
        self.groups: list[TurnGroup] = []
        self.by_trace: dict[str, TurnGroup] = {}
        self.by_mark: dict[str, TurnGroup] = {}

    def add(self, node: SpanNode) -> None:
        group = self._continued_turn(node)
        if group is None:
            group = TurnGroup([node], None, node.span.id)
            self.groups.append(group)
        else:
            group.roots.append(node)
        trace = self.traces[node.span.trace]
        if all(trace is not existing for existing in group.traces[-1:]):
            group.traces.append(trace)
        self.by_trace[node.span.trace] = group
        for mark in output_marks(node):
            self.by_mark[mark] = group

    def _continued_turn(self, node: SpanNode) -> TurnGroup | None:
        """Return the turn that this call continues, None where it begins one."""
        current = self.by_trace.get(node.span.trace)
        if current is not None:
            is_new_question = ends_with_user(node) and any(
                self.by_mark.get(mark) is current for mark in input_marks(node)
            )
            return None if is_new_question else current
        if not is_continuation(node):
            return None
        answered = answered_marks(node)
        if not answered:
            return self.groups[-1] if self.groups else None  # without ids: what came last
        requesting = [self.by_mark[mark] for mark in answered if mark in self.by_mark]
        if requesting:
            return max(requesting, key=lambda group: group.roots[0].key)
        matches = [self.by_mark[mark] for mark in input_marks(node) if mark in self.by_mark]
        if matches:
            return max(matches, key=lambda group: group.roots[0].key)
        return self.groups[-1] if self.groups else None
