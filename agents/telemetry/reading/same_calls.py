"""Spans that report one and the same call of a model: it counts once, with the words and numbers of all of them.

==============================================  ===================================================================
how they lie                                    which one is the call
==============================================  ===================================================================
one inside the other                            the innermost: the others are wrappers of it
beside each other, or in a trace of its own     of those with the id of one answer, at one time, the one with the
                                                most words: the others are moved below it, so that none is lost
==============================================  ===================================================================

The second comes of two instrumentations, of which one does not make its span the current one: a client library that
has spans of its own, for instance, below a framework that calls it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from agents.telemetry.reading import kinds
from agents.telemetry.reading.facts import NO_MESSAGES, LazyMessages, SpanFacts, fill_missing
from agents.telemetry.reading.tree import SpanNode, TraceTree


def join_same_calls(traces: Iterable[TraceTree]) -> None:
    """Change the trees so that each call of a model has one span of its kind."""
    trees = list(traces)
    for tree in trees:
        for root in tree.roots:
            _mark_wrappers(root)
    _join_reports(trees)


def answer_ids(tree: TraceTree) -> set[str]:
    """Return the ids of the answers that a trace's calls of models gave."""
    return {node.facts.answer_id for root in tree.roots for node in root.walk() if node.facts.answer_id}


# --------------------------------------------------------------------------------------- one inside the other


def _mark_wrappers(root: SpanNode) -> None:
    """Mark a model's span that holds another one as its wrapper. Models below a tool or an agent inside it are calls of
    their own; a wrapper of several calls keeps its words."""
    for node in reversed(list(root.walk())):
        if node.kind != kinds.LLM:
            continue
        inner = list(_models_below(node))
        if inner:
            node.facts.kind = kinds.WRAPPER
        if len(inner) == 1:
            _complete(inner[0].facts, node.facts)


def _models_below(node: SpanNode) -> Iterator[SpanNode]:
    stack = list(node.children)
    while stack:
        current = stack.pop()
        if current.kind == kinds.LLM:
            yield current
        elif current.kind in (kinds.CHAIN, kinds.WRAPPER):
            stack.extend(current.children)


# --------------------------------------------------------------------------------------- beside each other


def _join_reports(trees: list[TraceTree]) -> None:
    reports: dict[str, list[SpanNode]] = {}
    for tree in trees:
        for root in tree.roots:
            for node in root.walk():
                if node.kind == kinds.LLM and node.facts.answer_id:
                    reports.setdefault(node.facts.answer_id, []).append(node)
    for nodes in reports.values():
        if len(nodes) > 1:
            for call, others in _at_one_time(nodes):
                for other in others:
                    _complete(call.facts, other.facts)
                    other.facts.kind = kinds.WRAPPER
                    _move_below(call, other)
    for tree in trees:
        tree.roots = [root for root in tree.roots if root.parent is None]


def _at_one_time(nodes: list[SpanNode]) -> Iterator[tuple[SpanNode, list[SpanNode]]]:
    """Yield each call with the other reports of it: a fake model may give all its answers one id."""
    remaining = sorted(nodes, key=lambda node: (-_richness(node), node.key))
    while remaining:
        call = remaining.pop(0)
        others = [node for node in remaining if _overlap(call, node)]
        remaining = [node for node in remaining if not any(node is other for other in others)]
        if others:
            yield call, others


def _richness(node: SpanNode) -> int:
    """Rank a report by its words; one that lies in something else beats one by itself."""
    message_count = sum(map(_has_words, (node.facts.input_messages, node.facts.output_messages)))
    return 2 * message_count + (node.parent is not None or bool(node.missing_parent))


def _overlap(first: SpanNode, second: SpanNode) -> bool:
    span, other = first.span, second.span
    return (not span.end_ns or other.start_ns <= span.end_ns) and (not other.end_ns or span.start_ns <= other.end_ns)


def _move_below(call: SpanNode, other: SpanNode) -> None:
    if other.parent is not None:
        other.parent.children = [node for node in other.parent.children if node is not other]
    other.parent, other.missing_parent = call, ""
    call.children.append(other)
    call.children.sort(key=lambda node: node.key)


# --------------------------------------------------------------------------------------- what both know


def _complete(call: SpanFacts, other: SpanFacts) -> None:
    """Add to a call what another report of it has: its words where it has none, the larger usage, and what is
    missing."""
    for name in ("input_messages", "output_messages"):
        if not _has_words(getattr(call, name)):
            setattr(call, name, NO_MESSAGES)
    if call.usage is not None and other.usage is not None:
        call.usage = max(call.usage, other.usage, key=lambda usage: usage.input_tokens + usage.output_tokens)
    fill_missing(call, other)


def _has_words(messages: LazyMessages) -> bool:
    return any(message.items or message.calls or message.reasoning for message in messages.messages())
