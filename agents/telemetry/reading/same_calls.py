"""Spans that report one and the same call of a model: it counts once, with the words and numbers of all of them.

==============================================  ===================================================================
how they lie                                    which one is the call
==============================================  ===================================================================
one inside the other                            the innermost: the others are wrappers of it
beside each other, or in a trace of its own     of those with the id of one answer, at one time, the one with the
                                                most words: the others are moved below it, so that none is lost
==============================================  ===================================================================

The second comes of two instrumentations, of which one does not make its span the current one: a client library that
has spans of its own, for instance, below a framework that calls it. Where the framework does not know the answer's id
(LangChain's streams do not), a client's span without words is the call with words around it that has the same tokens.
Logfire reports a stream when it begins, and once more, with its words, when it has ended.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from agents.telemetry.reading import kinds
from agents.telemetry.reading.facts import NO_MESSAGES, LazyMessages, SpanFacts, fill_missing
from agents.telemetry.reading.tree import SpanNode, TraceTree

SAME_END_NS = 10_000_000_000
"""How far apart two reports of one call may end, where their traces are to find each other."""
_CLIENTS_OF = "anthropic"
"""The provider whose clients have spans of their own."""


def join_same_calls(traces: Iterable[TraceTree]) -> None:
    """Change the trees so that each call of a model has one span of its kind."""
    trees = list(traces)
    for tree in trees:
        for root in tree.roots:
            _mark_wrappers(root)
        _join_streams(tree)
    _join_reports(trees)
    _join_clients(trees)
    for tree in trees:
        tree.roots = [root for root in tree.roots if root.parent is None]


def report_marks(tree: TraceTree) -> set[str]:
    """Return what other traces say of the same calls: the ids of their answers; of those calls that a client may report
    without an id in common, their tokens and about when they ended. A session file needs none of these: it has the
    words of its calls, and the calls of two of its turns may well spend the same."""
    nodes = [node for root in tree.roots for node in root.walk() if node.kind == kinds.LLM]
    marks = {node.facts.answer_id for node in nodes if node.facts.answer_id}
    for node in nodes:
        if node.span.format == "otlp" and (_is_client(node) or not node.facts.answer_id):
            marks.update(_tokens_and_times(node))
    return marks


def _tokens_and_times(node: SpanNode) -> Iterator[str]:
    """Yield two marks, of which a report that ends at most `SAME_END_NS` earlier or later has one."""
    usage, ended = node.facts.usage, node.span.end_ns // SAME_END_NS
    if usage is not None and ended and _CLIENTS_OF in node.facts.provider.lower():
        for period in (ended, ended + 1):
            yield f"{node.facts.model} {usage.input_tokens} {usage.output_tokens} {period}"


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
                    _join(call, other)


def _join_clients(trees: list[TraceTree]) -> None:
    """Join the spans of a client that lie in nothing, and have no words, with the calls around them."""
    clients = [root for tree in trees for root in tree.roots if _is_client(root)]
    if not clients:
        return
    calls = [
        node
        for tree in trees
        for root in tree.roots
        for node in root.walk()
        if node.kind == kinds.LLM and not node.facts.answer_id and _has_words(node.facts.output_messages)
    ]
    for client in sorted(clients, key=lambda node: node.key):
        candidates = [call for call in calls if _is_around(call, client)]
        if candidates:
            call = max(candidates, key=lambda node: node.key)
            _join(call, client)
            calls = [other for other in calls if other is not call]


def _is_client(node: SpanNode) -> bool:
    """Tell whether a span is a client's that nothing called, as far as its trace knows."""
    return (
        node.kind == kinds.LLM
        and node.parent is None
        and not node.missing_parent
        and not _has_words(node.facts.input_messages)
        and not _has_words(node.facts.output_messages)
    )


def _is_around(call: SpanNode, client: SpanNode) -> bool:
    usage, other = call.facts.usage, client.facts.usage
    is_same = usage is not None and other is not None and call.facts.model == client.facts.model
    return (
        is_same
        and usage == other
        and call.span.start_ns <= client.span.start_ns
        and bool(client.span.end_ns)
        and (not call.span.end_ns or client.span.end_ns <= call.span.end_ns)
    )


def _join_streams(tree: TraceTree) -> None:
    """Join Logfire's report of a stream's end with the call that began it, the last one beside it without words."""
    for parent in [None, *(node for root in tree.roots for node in root.walk())]:
        begun: SpanNode | None = None
        for node in list(tree.roots if parent is None else parent.children):
            reported = node.span.attributes.get("logfire.span_type") if node.kind == kinds.LLM else None
            if reported == "span" and not _has_words(node.facts.output_messages):
                begun = node
            elif reported == "log" and begun is not None:
                begun.span = msgspec.structs.replace(begun.span, end_ns=max(begun.span.end_ns, node.span.end_ns))
                _join(begun, node)
                begun = None


def _join(call: SpanNode, other: SpanNode) -> None:
    _complete(call.facts, other.facts)
    other.facts.kind = kinds.WRAPPER
    _move_below(call, other)


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
