"""Which agents took part in a turn, which one was asked, and what they did themselves."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agents.telemetry.reading import kinds
from agents.telemetry.reading.coerce import text
from agents.telemetry.reading.sanitize import MAX_NAME_CHARS
from agents.telemetry.reading.tree import SpanNode

UNKNOWN = "unknown"
_AROUND = re.compile(r"^(?:invoke_agent|create_agent|agent run)\s+|(?:\.(?:run|agent|invoke|arun|run_stream))+$")


def name_agents(nodes: Sequence[SpanNode]) -> None:
    """Give agents without a name that of their span; one above named agents is rather their workflow. ``nodes``
    have each parent before its children."""
    above_named: set[tuple[str, str]] = set()
    for node in reversed(nodes):
        if node.parent is not None and (
            (node.kind == kinds.AGENT and node.facts.name) or (node.span.trace, node.span.id) in above_named
        ):
            above_named.add((node.parent.span.trace, node.parent.span.id))
    for node in nodes:
        if node.kind != kinds.AGENT or node.facts.name:
            continue
        if (node.span.trace, node.span.id) in above_named:
            node.facts.kind, node.facts.name = kinds.WORKFLOW, node.span.name
        else:
            node.facts.name = node.facts.agent or _AROUND.sub("", node.span.name[:MAX_NAME_CHARS]) or node.span.name


def agents_of(nodes: Sequence[SpanNode]) -> tuple[str, ...]:
    """All of them by name, the one that was asked first: the topmost agent, of several the earliest. Where there is
    none, whoever the spans name, then the workflow, then the service."""
    depths = _depths(nodes)
    agents = [node for node in nodes if node.kind == kinds.AGENT and node.facts.name]
    agents.sort(key=lambda node: (depths[id(node)], node.key))
    named = [node.facts.name for node in agents]
    named += [node.facts.agent for node in sorted(nodes, key=lambda node: node.key) if node.facts.agent]
    if not named:
        named = [_otherwise(nodes)]
    return tuple(dict.fromkeys(name[:MAX_NAME_CHARS] for name in named))


def _depths(nodes: Sequence[SpanNode]) -> dict[int, int]:
    found: dict[int, int] = {}
    for node in nodes:
        found[id(node)] = 0 if node.parent is None else found.get(id(node.parent), 0) + 1
    return found


def _otherwise(nodes: Sequence[SpanNode]) -> str:
    workflow = next((node.facts.name for node in nodes if node.kind == kinds.WORKFLOW and node.facts.name), "")
    service = min({text(node.span.resource.get("service.name")) for node in nodes} - {""}, default="")
    return workflow or service or UNKNOWN


def own_nodes(nodes: Sequence[SpanNode]) -> list[SpanNode]:
    """Those that are the turn's own doing, not that of an agent which a tool or another agent called. ``nodes``
    have each parent before its children."""
    above: dict[int, tuple[bool, int]] = {}
    found: list[SpanNode] = []
    for node in nodes:
        inside, agents = above.get(id(node.parent), (False, 0))
        if not inside and agents < 2:
            found.append(node)
        above[id(node)] = (inside or node.kind in (kinds.TOOL, kinds.LLM), agents + (node.kind == kinds.AGENT))
    return found
