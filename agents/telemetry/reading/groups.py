"""Grouping of a trace's nodes into turns.

=====================================  ==========================================================================
on top of the trace                    turns
=====================================  ==========================================================================
an agent, a workflow or a chain        one, of which that span is the top; plain spans above are skipped, so
                                       that several agents' runs below one request are several turns
models, tools and the like beside it   belong to it
only such                              ``bare``: `conversations` finds out which of them belong together
spans whose parent never arrived       they belong to the top that exists; an agent alone below an unknown parent is
                                       one, too; where there is none they are one turn
=====================================  ==========================================================================
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

from agents.telemetry.reading import kinds
from agents.telemetry.reading.tree import SpanNode, TraceTree


@dataclass(slots=True)
class TurnGroup:
    """The nodes of one turn: its ``roots`` in order, one of which may be the turn itself (``top``). ``first_span_id``
    is the id of the span that began it, also where that has not arrived; ``orphan_count`` counts nodes whose parent is
    missing."""

    roots: list[SpanNode]
    top: SpanNode | None
    first_span_id: str
    orphan_count: int = 0
    traces: list[TraceTree] = field(default_factory=list)

    @property
    def key(self) -> tuple[int, str, str]:
        return min(node.key for node in self.roots)


@dataclass(slots=True)
class GroupedTrace:
    """The turns of a trace. ``bare`` are its nodes instead, where no top joins them to turns."""

    groups: list[TurnGroup]
    bare: list[SpanNode]


def group_trace(trace: TraceTree) -> GroupedTrace:
    """Group the nodes of a trace into turns, in order."""
    if len(trace.roots) == 1 and _is_announced(trace.roots[0]):
        return GroupedTrace([], [])
    tops = [node for node in trace.roots if not node.missing_parent and node.kind in kinds.TOPS]
    loose = [node for node in trace.roots if not node.missing_parent and node.kind not in kinds.TOPS]
    orphans = [node for node in trace.roots if node.missing_parent]
    if tops:
        groups = [TurnGroup([top], top, top.span.id) for top in tops]
        _adopt(groups, loose, orphans)
    else:
        groups = _of_orphans(orphans)
        if groups and loose:
            _adopt(groups, loose, [])
    for group in groups:
        group.roots.sort(key=lambda node: node.key)
        group.traces = [trace]
    groups.sort(key=lambda group: group.key)
    return GroupedTrace(groups, [] if groups else loose)


def _is_announced(node: SpanNode) -> bool:
    """Whether a trace is no turn yet: the Agents SDK announces it before anything ran in it, without time and children;
    others report that an agent was made."""
    if node.facts.sender_kind == "create_agent":
        return not node.children
    return not node.span.start_ns and not node.children and not node.facts.reports_failures


def _adopt(groups: list[TurnGroup], loose: Sequence[SpanNode], orphans: Sequence[SpanNode]) -> None:
    """Add each node to the last turn that began before it, else to the first."""
    groups.sort(key=lambda group: group.key)
    starts = [group.key for group in groups]
    for node in (*loose, *orphans):
        group = groups[max(0, bisect_right(starts, node.key) - 1)]
        group.roots.append(node)
        group.orphan_count += bool(node.missing_parent)


def _of_orphans(orphans: Sequence[SpanNode]) -> list[TurnGroup]:
    by_parent: dict[str, list[SpanNode]] = {}
    for node in orphans:
        by_parent.setdefault(node.missing_parent, []).append(node)
    groups: list[TurnGroup] = []
    remaining: list[SpanNode] = []
    for missing, nodes in by_parent.items():
        if not any(node.kind in (kinds.AGENT, kinds.WORKFLOW) for node in nodes):
            remaining.extend(nodes)
        elif len(nodes) == 1:
            groups.append(TurnGroup(nodes, nodes[0], nodes[0].span.id))
        else:
            groups.append(TurnGroup(nodes, None, missing, orphan_count=len(nodes)))
    if groups and remaining:
        _adopt(groups, [], remaining)
    elif remaining:
        first = min(remaining, key=lambda node: node.key)
        groups.append(TurnGroup(remaining, None, first.missing_parent, orphan_count=len(remaining)))
    return groups
