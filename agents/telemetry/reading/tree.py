"""Spans of one trace as a tree of what they mean, whatever order they came in.

Spans that are none of an agent's doings (a web server's, a database's) are looked through: a node's ``parent`` is
the nearest span above it that is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from agents.telemetry.reading import dialects, kinds
from agents.telemetry.reading.dialects import claude_code_logs, codex_logs
from agents.telemetry.reading.facts import SpanFacts
from agents.telemetry.reading.merging import merge
from agents.telemetry.reading.spans import Span


@dataclass(slots=True, eq=False)
class SpanNode:
    """``missing`` is the id of a span above that has not come, or '' where all have."""

    span: Span
    facts: SpanFacts
    parent: SpanNode | None = None
    missing_parent: str = ""
    children: list[SpanNode] = field(default_factory=list)

    @property
    def key(self) -> tuple[int, str, str]:
        """When it began; equal moments are told apart by ids, so that order never hangs on what came first."""
        return self.span.start_ns, self.span.trace, self.span.id

    @property
    def kind(self) -> str:
        return self.facts.kind

    def walk(self) -> Iterator[SpanNode]:
        """This node and all below it, each before its children, which are in order."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(node.children))


@dataclass(slots=True)
class TraceTree:
    """``roots`` are its topmost nodes in order; ``spans`` all that came, also those without a meaning."""

    id: str
    spans: dict[str, Span]
    roots: list[SpanNode]


def merge_spans(spans: Iterable[Span]) -> dict[str, dict[str, Span]]:
    """The spans of each trace by their ids; what was told twice is merged."""
    found: dict[str, dict[str, Span]] = {}
    for span in spans:
        trace = found.setdefault(span.trace, {})
        known = trace.get(span.id)
        trace[span.id] = span if known is None else merge(known, span)
    return found


def build_tree(trace: str, spans: dict[str, Span]) -> TraceTree:
    """The tree of a trace. A record whose span has not come yet is no node."""
    known = _read(spans)
    nodes = {name: SpanNode(spans[name], facts) for name, facts in known.items()}
    _hang(nodes, spans)
    for node in nodes.values():
        if node.parent is not None:
            node.parent.children.append(node)
    roots = [node for node in nodes.values() if node.parent is None]
    for node in nodes.values():
        if len(node.children) > 1:
            node.children.sort(key=_key)
    roots.sort(key=_key)
    for root in roots:
        _wrap(root)
    return TraceTree(trace, spans, roots)


def _read(spans: dict[str, Span]) -> dict[str, SpanFacts]:
    """What the spans say that are of an agent's doings, by their ids, with what others and records say of them."""
    known: dict[str, SpanFacts] = {}
    for span in spans.values():
        if not span.is_log:
            facts = dialects.read(span)
            if facts.kind:
                known[span.id] = facts
    if claude_code_logs.applies_to(spans.values()):
        claude_code_logs.add_logs(spans.values(), known)
    if codex_logs.applies_to(known):
        codex_logs.add_logs(spans, known)
    return known


def _key(node: SpanNode) -> tuple[int, str, str]:
    return node.key


def _hang(nodes: dict[str, SpanNode], spans: dict[str, Span]) -> None:
    """Find for each node the one above it, or what of it is missing."""
    known: dict[str, tuple[SpanNode | None, str]] = {"": (None, "")}
    for node in nodes.values():
        node.parent, node.missing_parent = _at_or_above(node.span.parent, nodes, spans, known)
    safe: set[str] = set()
    for node in nodes.values():
        _break_circle(node, safe)


def _at_or_above(
    place: str, nodes: dict[str, SpanNode], spans: dict[str, Span], known: dict[str, tuple[SpanNode | None, str]]
) -> tuple[SpanNode | None, str]:
    """The node of this id, or the nearest above it. Each span is passed once, whatever hangs below it."""
    passed: list[str] = []
    while place not in known:
        if place in nodes:
            known[place] = (nodes[place], "")
        elif place not in spans or spans[place].is_log:
            known[place] = (None, place)
        else:
            known[place] = (None, "")  # stands if the way comes back to here
            passed.append(place)
            place = spans[place].parent
    for one in passed:
        known[one] = known[place]
    return known[place]


def _break_circle(node: SpanNode, safe: set[str]) -> None:
    """Spans that are each other's parents: the earliest of them counts as being on top."""
    way: dict[str, SpanNode] = {}
    at: SpanNode | None = node
    while at is not None and at.span.id not in safe:
        if at.span.id in way:
            ids = list(way)
            circle = [way[one] for one in ids[ids.index(at.span.id) :]]
            min(circle, key=_key).parent = None
            break
        way[at.span.id] = at
        at = at.parent
    safe.update(way)


def _wrap(root: SpanNode) -> None:
    """A model's span that holds another one is only its wrapper: two instrumentations tell of one call, and only
    the innermost is counted. What a tool or an agent below it calls is another matter."""
    for node in root.walk():
        if node.kind == kinds.LLM and any(_holds_model(child) for child in node.children):
            node.facts.kind = kinds.WRAPPER


def _holds_model(node: SpanNode) -> bool:
    stack = [node]
    while stack:
        one = stack.pop()
        if one.kind == kinds.LLM:
            return True
        if one.kind in (kinds.CHAIN, kinds.WRAPPER):
            stack.extend(one.children)
    return False
