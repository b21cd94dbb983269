"""Bare models' calls, chained to turns: each may be a trace of its own, and nothing above tells what they are part of.

Of one conversation, in order: a call whose last message is a user's begins a turn, one whose last message is a tool's
result goes on. Calls within one trace stay together unless a later one answers a user who has read an earlier answer.
Which calls are of one conversation their session says; without one, a history that holds a call's id or an answer
that an earlier call of the same service gave.
"""

from __future__ import annotations

from collections.abc import Iterable

from agents.telemetry.reading.call_history import ends_with_user, input_marks, is_continuation, output_marks
from agents.telemetry.reading.coerce import text
from agents.telemetry.reading.groups import TurnGroup
from agents.telemetry.reading.span_metadata import session_of, session_of_resource
from agents.telemetry.reading.tree import SpanNode, TraceTree


def service_of(trace: TraceTree) -> str:
    """The smallest name among its spans': there is one, but for hostile senders."""
    names = {text(span.resource.get("service.name")) for span in trace.spans.values()}
    return min(names - {""}, default="")


def session_of_trace(trace: TraceTree) -> str:
    """The conversation of a trace of bare calls."""
    spans = sorted(trace.spans.values(), key=lambda span: (span.start_ns, span.id))
    for read in (session_of, session_of_resource):
        for span in spans:
            if found := read(span):
                return found
    return ""


def group_conversations(bare: Iterable[tuple[TraceTree, list[SpanNode]]]) -> list[tuple[str, list[SpanNode]]]:
    """The conversations that bare traces are of: the session of each, or '', with its calls in order."""
    named: dict[str, list[SpanNode]] = {}
    nameless: list[tuple[TraceTree, list[SpanNode]]] = []
    for trace, nodes in bare:
        session = session_of_trace(trace)
        if session:
            named.setdefault(session, []).extend(nodes)
        else:
            nameless.append((trace, nodes))
    found = [*named.items(), *(("", nodes) for nodes in _stitched(nameless))]
    return [(session, sorted(nodes, key=lambda node: node.key)) for session, nodes in found]


def _stitched(traces: list[tuple[TraceTree, list[SpanNode]]]) -> list[list[SpanNode]]:
    """Traces without a session, put together by what they say. The earliest giver of a mark counts."""
    traces.sort(key=lambda one: min(node.key for node in one[1]))
    givers: dict[tuple[str, str], int] = {}
    leader = list(range(len(traces)))
    for place, (trace, nodes) in enumerate(traces):
        service = service_of(trace)
        for mark in sorted(set().union(*map(input_marks, nodes))):
            giver = givers.get((service, mark))
            if giver is not None:
                _join(leader, place, giver)
        for mark in set().union(*map(output_marks, nodes)):
            givers.setdefault((service, mark), place)
    found: dict[int, list[SpanNode]] = {}
    for place, (_, nodes) in enumerate(traces):
        found.setdefault(_lead(leader, place), []).extend(nodes)
    return list(found.values())


def _lead(leader: list[int], place: int) -> int:
    while leader[place] != place:
        leader[place] = leader[leader[place]]
        place = leader[place]
    return place


def _join(leader: list[int], one: int, other: int) -> None:
    first, second = sorted((_lead(leader, one), _lead(leader, other)))
    leader[second] = first


def chain_turns(nodes: list[SpanNode], traces: dict[str, TraceTree]) -> list[TurnGroup]:
    """The turns of one conversation; its calls are in order."""
    chained = _Chain(traces)
    for node in nodes:
        chained.add(node)
    return chained.groups


class _Chain:
    def __init__(self, traces: dict[str, TraceTree]) -> None:
        self.traces = traces
        self.groups: list[TurnGroup] = []
        self.of_trace: dict[str, TurnGroup] = {}
        self.of_mark: dict[str, TurnGroup] = {}

    def add(self, node: SpanNode) -> None:
        group = self._continued(node)
        if group is None:
            group = TurnGroup([node], None, node.span.id)
            self.groups.append(group)
        else:
            group.roots.append(node)
        trace = self.traces[node.span.trace]
        if all(trace is not one for one in group.traces[-1:]):
            group.traces.append(trace)
        self.of_trace[node.span.trace] = group
        for mark in output_marks(node):
            self.of_mark[mark] = group

    def _continued(self, node: SpanNode) -> TurnGroup | None:
        """The turn that this call goes on with, None where it begins one."""
        same = self.of_trace.get(node.span.trace)
        if same is not None:
            known = ends_with_user(node) and any(self.of_mark.get(mark) is same for mark in input_marks(node))
            return None if known else same
        if not is_continuation(node):
            return None
        answered = [self.of_mark[mark] for mark in input_marks(node) if mark in self.of_mark]
        if answered:
            return max(answered, key=lambda group: group.roots[0].key)
        return self.groups[-1] if self.groups else None
