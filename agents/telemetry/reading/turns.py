"""Spans to turns: what they mean, told again from the beginning whenever one more has come.

`tree` finds what lies below what, `dialects` what each span says, `groups` and `talks` which of them are one turn;
`telling` makes a record of it: `linking` which call a tool answers, `words` what was asked and answered, `steps`,
`outcome`. Nothing here remembers anything: the same spans give the same turns, in whatever order and however often
they came.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from agents.telemetry.reading import exported_turns
from agents.telemetry.reading.agent_names import own_nodes
from agents.telemetry.reading.build_turn import TRACE_SESSION_PREFIX, turn_of
from agents.telemetry.reading.conversation_links import ConversationLinks, links_of_tree
from agents.telemetry.reading.conversations import chain_turns, group_conversations
from agents.telemetry.reading.groups import GroupedTrace, TurnGroup, group_trace
from agents.telemetry.reading.import_overrides import apply_overrides
from agents.telemetry.reading.records import ExternalTurn
from agents.telemetry.reading.span_metadata import session_of, session_of_resource
from agents.telemetry.reading.spans import Span
from agents.telemetry.reading.steps import walk_trees
from agents.telemetry.reading.tree import TraceTree, build_tree, merge_spans


def build_turns(spans: Iterable[Span]) -> list[ExternalTurn]:
    """The turns of one trace, or of several that belong together, in order of their beginnings."""
    return _told(merge_spans(spans))[1]


def build_turns_and_links(spans: Iterable[Span]) -> tuple[ConversationLinks, list[ExternalTurn]]:
    """The turns of one trace, and its links: its tree is grown once."""
    return _told(merge_spans(spans))


def _told(merged: dict[str, dict[str, Span]]) -> tuple[ConversationLinks, list[ExternalTurn]]:
    own = {name: turn for name, found in merged.items() if (turn := exported_turns.turn_of(name, found)) is not None}
    traces = {name: build_tree(name, found) for name, found in merged.items() if name not in own}
    grouped = {name: group_trace(trace) for name, trace in traces.items()}
    links = ConversationLinks()
    if len(merged) == 1 == len(traces):
        [name] = traces
        links = links_of_tree(traces[name], grouped[name])
    turns = [*own.values(), *_of_groups(traces, grouped), *_of_talks(traces, grouped)]
    return links, sorted((apply_overrides(turn, merged) for turn in turns), key=lambda turn: (turn.started_us, turn.id))


def _of_groups(traces: dict[str, TraceTree], grouped: dict[str, GroupedTrace]) -> Iterator[ExternalTurn]:
    """The turns of traces in which something tells what belongs together."""
    for name, found in grouped.items():
        for place, one in enumerate(found.groups):
            session = _session_of(one, traces[name]) or TRACE_SESSION_PREFIX + name
            yield turn_of(one, session, name if place == 0 else f"{name}:{one.first_span_id}")


def _of_talks(traces: dict[str, TraceTree], grouped: dict[str, GroupedTrace]) -> Iterator[ExternalTurn]:
    """The turns of bare calls of models, which only their conversations put together."""
    bare = [(traces[name], found.bare) for name, found in grouped.items() if found.bare]
    for session, nodes in group_conversations(bare):
        named: set[str] = set()
        for one in chain_turns(nodes, traces):
            trace = one.roots[0].span.trace
            key = f"{trace}:{one.first_span_id}" if trace in named else trace
            named.add(trace)
            yield turn_of(one, session or TRACE_SESSION_PREFIX + nodes[0].span.trace, key)


def _session_of(group: TurnGroup, trace: TraceTree) -> str:
    """The session that the turn's own span names, else a span above it, else any of the turn; agents that a tool or
    another agent called may have conversations of their own, which never count."""
    return _session_above(group, trace) or _session_within(group)


def _session_above(group: TurnGroup, trace: TraceTree) -> str:
    above: Span | None = group.top.span if group.top is not None else None
    seen: set[str] = set()
    while above is not None and above.id not in seen:
        seen.add(above.id)
        if found := session_of(above):
            return found
        above = trace.spans.get(above.parent)
    return ""


def _session_within(group: TurnGroup) -> str:
    nodes = sorted(own_nodes(list(walk_trees(group.roots))), key=lambda node: node.key)
    for read in (session_of, session_of_resource):
        for node in nodes:
            if found := read(node.span):
                return found
    return ""
