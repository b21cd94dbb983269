"""Which nodes of a trace are one turn.

=====================================  ==========================================================================
on top of the trace                    turns
=====================================  ==========================================================================
an agent, a workflow or a chain        one, of which that span is the top; plain spans above are looked through, so
                                       that several agents' runs below one request are several turns
models, tools and the like beside it   belong to it
only such                              `Bare`: `talks` finds out which of them belong together
spans whose parent never came          they belong to the top that is there; an agent alone below a foreign parent is
                                       one, too; where there is none they are one turn
=====================================  ==========================================================================
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

from agents.telemetry.reading import kinds
from agents.telemetry.reading.tree import Node, Trace


@dataclass(slots=True)
class Group:
    """One turn's nodes: its ``roots`` in order, one of which may be the turn itself (``top``). ``begun`` is the id of
    the span that began it, also where that has not come; ``adopted`` counts nodes whose parent never came."""

    roots: list[Node]
    top: Node | None
    begun: str
    adopted: int = 0
    traces: list[Trace] = field(default_factory=list)

    @property
    def key(self) -> tuple[int, str, str]:
        return min(node.key for node in self.roots)


@dataclass(slots=True)
class Grouped:
    groups: list[Group]
    bare: list[Node]


def group(trace: Trace) -> Grouped:
    """The turns of a trace, in order."""
    if len(trace.roots) == 1 and _is_announced(trace.roots[0]):
        return Grouped([], [])
    tops = [node for node in trace.roots if not node.missing and node.kind in kinds.TOPS]
    loose = [node for node in trace.roots if not node.missing and node.kind not in kinds.TOPS]
    orphans = [node for node in trace.roots if node.missing]
    if tops:
        groups = [Group([top], top, top.span.id) for top in tops]
        _adopt(groups, loose, orphans)
    else:
        groups = _of_orphans(orphans)
        if groups and loose:
            _adopt(groups, loose, [])
    for one in groups:
        one.roots.sort(key=lambda node: node.key)
        one.traces = [trace]
    groups.sort(key=lambda one: one.key)
    return Grouped(groups, [] if groups else loose)


def _is_announced(node: Node) -> bool:
    """The Agents SDK tells of a trace before anything happened in it: no time, nothing below."""
    return not node.span.start_ns and not node.children and not node.facts.settles


def _adopt(groups: list[Group], loose: Sequence[Node], orphans: Sequence[Node]) -> None:
    """Give each node to the last top that began before it, else to the first."""
    groups.sort(key=lambda one: one.key)
    begun = [one.key for one in groups]
    for node in (*loose, *orphans):
        chosen = groups[max(0, bisect_right(begun, node.key) - 1)]
        chosen.roots.append(node)
        chosen.adopted += bool(node.missing)


def _of_orphans(orphans: Sequence[Node]) -> list[Group]:
    by_parent: dict[str, list[Node]] = {}
    for node in orphans:
        by_parent.setdefault(node.missing, []).append(node)
    groups: list[Group] = []
    rest: list[Node] = []
    for missing, nodes in by_parent.items():
        if not any(node.kind in (kinds.AGENT, kinds.WORKFLOW) for node in nodes):
            rest.extend(nodes)
        elif len(nodes) == 1:
            groups.append(Group(nodes, nodes[0], nodes[0].span.id))
        else:
            groups.append(Group(nodes, None, missing, adopted=len(nodes)))
    if groups and rest:
        _adopt(groups, [], rest)
    elif rest:
        first = min(rest, key=lambda node: node.key)
        groups.append(Group(rest, None, first.missing, adopted=len(rest)))
    return groups
