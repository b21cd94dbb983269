"""Spans to turns: what they mean, told again from the beginning whenever one more has come.

`tree` finds what lies below what, `dialects` what each span says, `groups` and `talks` which of them are one turn;
`telling` makes a record of it: `linking` which call a tool answers, `words` what was asked and answered, `steps`,
`outcome`. Nothing here remembers anything: the same spans give the same turns, in whatever order and however often
they came.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from agents.telemetry.reading import exported_turns
from agents.telemetry.reading.agent_names import own_of
from agents.telemetry.reading.build_turn import NO_SESSION, turn_of
from agents.telemetry.reading.conversation_links import Links, of_grown
from agents.telemetry.reading.conversations import chain, talks
from agents.telemetry.reading.groups import Group, Grouped, group
from agents.telemetry.reading.import_overrides import renamed
from agents.telemetry.reading.records import ForeignTurn
from agents.telemetry.reading.span_metadata import session_of, session_of_resource
from agents.telemetry.reading.spans import Span
from agents.telemetry.reading.steps import ordered
from agents.telemetry.reading.tree import Trace, grow, unique


def of_spans(spans: Iterable[Span]) -> list[ForeignTurn]:
    """The turns of one trace, or of several that belong together, in order of their beginnings."""
    return _told(unique(spans))[1]


def with_links(spans: Iterable[Span]) -> tuple[Links, list[ForeignTurn]]:
    """The turns of one trace, and its links: its tree is grown once."""
    return _told(unique(spans))


def _told(merged: dict[str, dict[str, Span]]) -> tuple[Links, list[ForeignTurn]]:
    own = {name: turn for name, found in merged.items() if (turn := exported_turns.turn_of(name, found)) is not None}
    traces = {name: grow(name, found) for name, found in merged.items() if name not in own}
    grouped = {name: group(trace) for name, trace in traces.items()}
    links = Links()
    if len(merged) == 1 == len(traces):
        [name] = traces
        links = of_grown(traces[name], grouped[name])
    turns = [*own.values(), *_of_groups(traces, grouped), *_of_talks(traces, grouped)]
    return links, sorted((renamed(turn, merged) for turn in turns), key=lambda turn: (turn.started_us, turn.id))


def _of_groups(traces: dict[str, Trace], grouped: dict[str, Grouped]) -> Iterator[ForeignTurn]:
    """The turns of traces in which something tells what belongs together."""
    for name, found in grouped.items():
        for place, one in enumerate(found.groups):
            session = _session_of(one, traces[name]) or NO_SESSION + name
            yield turn_of(one, session, name if place == 0 else f"{name}:{one.begun}")


def _of_talks(traces: dict[str, Trace], grouped: dict[str, Grouped]) -> Iterator[ForeignTurn]:
    """The turns of bare calls of models, which only their conversations put together."""
    bare = [(traces[name], found.bare) for name, found in grouped.items() if found.bare]
    for session, nodes in talks(bare):
        named: set[str] = set()
        for one in chain(nodes, traces):
            trace = one.roots[0].span.trace
            key = f"{trace}:{one.begun}" if trace in named else trace
            named.add(trace)
            yield turn_of(one, session or NO_SESSION + nodes[0].span.trace, key)


def _session_of(group: Group, trace: Trace) -> str:
    """The session that the turn's own span names, else a span above it, else any of the turn; agents that a tool or
    another agent called may have conversations of their own, which never count."""
    return _session_above(group, trace) or _session_within(group)


def _session_above(group: Group, trace: Trace) -> str:
    above: Span | None = group.top.span if group.top is not None else None
    seen: set[str] = set()
    while above is not None and above.id not in seen:
        seen.add(above.id)
        if found := session_of(above):
            return found
        above = trace.spans.get(above.parent)
    return ""


def _session_within(group: Group) -> str:
    nodes = sorted(own_of(list(ordered(group.roots))), key=lambda node: node.key)
    for read in (session_of, session_of_resource):
        for node in nodes:
            if found := read(node.span):
                return found
    return ""
