"""The tree of a trace's spans with their facts, whatever order they arrived in.

Spans that are no operation of an agent (a web server's, a database's) are skipped: a node's ``parent`` is
the nearest span above it that is one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from agents.telemetry.reading import dialects
from agents.telemetry.reading.clocks import by_callers_clock
from agents.telemetry.reading.dialects import claude_code_logs, codex_logs
from agents.telemetry.reading.facts import SpanFacts
from agents.telemetry.reading.interrupts import add_interrupt
from agents.telemetry.reading.merging import merge
from agents.telemetry.reading.spans import Span


@dataclass(slots=True, eq=False)
class SpanNode:
    """A span with its facts in the tree. ``missing_parent`` is the id of a span above that has not arrived, '' where
    all have. ``is_moved`` says that its times are not those that were sent: its service has another clock."""

    span: Span
    facts: SpanFacts
    parent: SpanNode | None = None
    missing_parent: str = ""
    is_moved: bool = False
    children: list[SpanNode] = field(default_factory=list)

    @property
    def key(self) -> tuple[int, str, str]:
        """The start time; equal ones are ordered by ids, so that the order never depends on the order of arrival."""
        return self.span.start_ns, self.span.trace, self.span.id

    @property
    def kind(self) -> str:
        return self.facts.kind

    def walk(self) -> Iterator[SpanNode]:
        """Iterate over this node and all below it, each before its children, which are in order."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(node.children))


@dataclass(slots=True)
class TraceTree:
    """The tree of one trace: ``roots`` are its topmost nodes in order; ``spans`` all that arrived, also those without
    facts."""

    id: str
    spans: dict[str, Span]
    roots: list[SpanNode]


def merge_spans(spans: Iterable[Span]) -> dict[str, dict[str, Span]]:
    """Return the spans of each trace by their ids; repeated reports are merged."""
    traces: dict[str, dict[str, Span]] = {}
    for span in spans:
        trace = traces.setdefault(span.trace, {})
        existing = trace.get(span.id)
        trace[span.id] = span if existing is None else merge(existing, span)
    return traces


def build_tree(trace: str, spans: dict[str, Span]) -> TraceTree:
    """Build the tree of a trace. A log record whose span has not arrived yet is no node."""
    spans, moved = by_callers_clock(spans)
    facts_by_id = _read_facts(spans)
    nodes = {name: SpanNode(spans[name], facts, is_moved=name in moved) for name, facts in facts_by_id.items()}
    _link_parents(nodes, spans)
    for node in nodes.values():
        if node.parent is not None:
            node.parent.children.append(node)
    roots = [node for node in nodes.values() if node.parent is None]
    for node in nodes.values():
        if len(node.children) > 1:
            node.children.sort(key=_key)
    roots.sort(key=_key)
    return TraceTree(trace, spans, roots)


def _read_facts(spans: dict[str, Span]) -> dict[str, SpanFacts]:
    """Return the facts of the agent's spans by their ids, completed by other spans and log records."""
    facts_by_id: dict[str, SpanFacts] = {}
    for span in spans.values():
        if not span.is_log:
            facts = dialects.read(span)
            if facts.kind:
                add_interrupt(facts, span)
                facts_by_id[span.id] = facts
    if claude_code_logs.applies_to(spans.values()):
        claude_code_logs.add_logs(spans.values(), facts_by_id)
    if codex_logs.applies_to(facts_by_id):
        codex_logs.add_logs(spans, facts_by_id)
    return facts_by_id


def _key(node: SpanNode) -> tuple[int, str, str]:
    return node.key


def _link_parents(nodes: dict[str, SpanNode], spans: dict[str, Span]) -> None:
    """Set each node's parent, or the id of the missing one."""
    ancestors: dict[str, tuple[SpanNode | None, str]] = {"": (None, "")}
    for node in nodes.values():
        node.parent, node.missing_parent = _nearest_node(node.span.parent, nodes, spans, ancestors)
    checked: set[str] = set()
    for node in nodes.values():
        _break_cycle(node, checked)


def _nearest_node(
    span_id: str, nodes: dict[str, SpanNode], spans: dict[str, Span], ancestors: dict[str, tuple[SpanNode | None, str]]
) -> tuple[SpanNode | None, str]:
    """Return the node of this id, or the nearest above it. Each span is visited once, whatever lies below it."""
    path: list[str] = []
    while span_id not in ancestors:
        if span_id in nodes:
            ancestors[span_id] = (nodes[span_id], "")
        elif span_id not in spans or spans[span_id].is_log:
            ancestors[span_id] = (None, span_id)
        else:
            ancestors[span_id] = (None, "")  # the result if the parents form a cycle
            path.append(span_id)
            span_id = spans[span_id].parent
    for passed_id in path:
        ancestors[passed_id] = ancestors[span_id]
    return ancestors[span_id]


def _break_cycle(node: SpanNode, checked: set[str]) -> None:
    """Cut a cycle of spans that are each other's parents: the earliest becomes a root."""
    path: dict[str, SpanNode] = {}
    current: SpanNode | None = node
    while current is not None and current.span.id not in checked:
        if current.span.id in path:
            ids = list(path)
            cycle = [path[span_id] for span_id in ids[ids.index(current.span.id) :]]
            min(cycle, key=_key).parent = None
            break
        path[current.span.id] = current
        current = current.parent
    checked.update(path)
