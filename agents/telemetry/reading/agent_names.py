"""Names of the agents that took part in a turn, and the nodes that are the turn's own."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agents.telemetry.reading import kinds
from agents.telemetry.reading.coerce import text
from agents.telemetry.reading.sanitize import MAX_NAME_CHARS
from agents.telemetry.reading.tree import SpanNode

UNKNOWN = "unknown"
_OPERATION_AFFIXES = re.compile(
    r"^(?:invoke_agent|create_agent|agent run)\s+|(?:\.(?:run|agent|invoke|arun|run_stream))+$"
)


def name_agents(nodes: Sequence[SpanNode]) -> None:
    """Name the agents without a name after their span; one above named agents becomes their workflow. ``nodes``
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
            node.facts.name = (
                node.facts.agent or _OPERATION_AFFIXES.sub("", node.span.name[:MAX_NAME_CHARS]) or node.span.name
            )


def agents_of(nodes: Sequence[SpanNode]) -> tuple[str, ...]:
    """Return the names of all agents, first the one that was asked: the topmost agent, of several the earliest.
    Without an agent's span it is an agent that any span names, then the workflow, the program, the service."""
    depths = _depths(nodes)
    agents = [node for node in nodes if node.kind == kinds.AGENT and node.facts.name]
    agents.sort(key=lambda node: (depths[id(node)], node.key))
    names = [node.facts.name for node in agents]
    names += [node.facts.agent for node in sorted(nodes, key=lambda node: node.key) if node.facts.agent]
    if not names:
        names = [_fallback_name(nodes)]
    return tuple(dict.fromkeys(name[:MAX_NAME_CHARS] for name in names))


def _depths(nodes: Sequence[SpanNode]) -> dict[int, int]:
    depths: dict[int, int] = {}
    for node in nodes:
        depths[id(node)] = 0 if node.parent is None else depths.get(id(node.parent), 0) + 1
    return depths


def _fallback_name(nodes: Sequence[SpanNode]) -> str:
    workflow = next((node.facts.name for node in nodes if node.kind == kinds.WORKFLOW and node.facts.name), "")
    program = next((node.facts.program for node in nodes if node.facts.program), "")
    service = min({text(node.span.resource.get("service.name")) for node in nodes} - {""}, default="")
    return workflow or program or service or UNKNOWN


def own_nodes(nodes: Sequence[SpanNode]) -> list[SpanNode]:
    """Return the nodes of the turn itself, not those of an agent that a tool or another agent called. ``nodes``
    have each parent before its children. Agents of one name inside each other are one agent, in two spans; where all
    models are called by agents that others called, those of the topmost of these count."""
    places = _places(nodes)
    models = [
        agents for node, (inside, agents) in zip(nodes, places, strict=True) if node.kind == kinds.LLM and not inside
    ]
    deepest = max(1, min(models, default=1))
    return [node for node, (inside, agents) in zip(nodes, places, strict=True) if not inside and agents <= deepest]


def _places(nodes: Sequence[SpanNode]) -> list[tuple[bool, int]]:
    """Return for each node whether it lies in a tool or a model's call, and how many agents lie above it."""
    below: dict[int, tuple[bool, int, str]] = {}
    places: list[tuple[bool, int]] = []
    for node in nodes:
        inside, agents, name = below.get(id(node.parent), (False, 0, ""))
        places.append((inside, agents))
        if node.kind == kinds.AGENT and (node.facts.name != name or not name):
            agents, name = agents + 1, node.facts.name
        below[id(node)] = (inside or node.kind in (kinds.TOOL, kinds.LLM), agents, name)
    return places
