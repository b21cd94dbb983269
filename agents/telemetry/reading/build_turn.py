"""The record of one turn, made of the nodes that are it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from agents.record.schemas.content import CompletionMessage
from agents.telemetry.reading import kinds
from agents.telemetry.reading.agent_names import agents_of, name_agents, own_nodes
from agents.telemetry.reading.call_linking import link_calls, node_id
from agents.telemetry.reading.groups import TurnGroup
from agents.telemetry.reading.input_output import input_of, instructions_of, output_of, tools_of
from agents.telemetry.reading.outcome import TurnOutcome, outcome_of
from agents.telemetry.reading.records import ExternalStep, ExternalTurn
from agents.telemetry.reading.span_metadata import add_metadata, tags_of, user_of
from agents.telemetry.reading.steps import inferred_model_step, steps_of, walk_trees
from agents.telemetry.reading.tree import SpanNode
from agents.telemetry.reading.turn_warnings import warnings_of

TRACE_SESSION_PREFIX = "trace:"
"""Begins the name of a session that no sender named; what follows is the trace it began with."""

MAX_TAGS = 50
_COUNTED = (kinds.LLM, kinds.WRAPPER)
_LONGEST = 300


@dataclass(slots=True)
class TurnNodes:
    """Who plays in a turn. ``nodes`` have each parent before its children, the others are in order of time;
    ``models`` and ``tools`` are the turn's own agents', ``tellers`` whom to ask about the whole of it."""

    group: TurnGroup
    nodes: list[SpanNode]
    by_time: list[SpanNode] = field(init=False)
    models: list[SpanNode] = field(init=False)
    tools: list[SpanNode] = field(init=False)
    sources: list[SpanNode] = field(init=False)

    def __post_init__(self) -> None:
        name_agents(self.nodes)
        self.by_time = sorted(self.nodes, key=_key)
        own = sorted(own_nodes(self.nodes), key=_key)
        self.models = [node for node in own if node.kind == kinds.LLM]
        self.tools = [node for node in own if node.kind == kinds.TOOL]
        self.sources = self.by_time if self.group.top is None else [self.group.top, *self.by_time]


def _key(node: SpanNode) -> tuple[int, str, str]:
    return node.key


def turn_of(group: TurnGroup, session: str, key: str) -> ExternalTurn:
    """The turn of this id and session."""
    cast = TurnNodes(group, list(walk_trees(group.roots)))
    agents = agents_of(cast.nodes)
    outcome = outcome_of(group, cast.by_time)
    steps = _steps(cast, agents[0])
    asked, answer = input_of(group.top, cast.models), _answer(cast, outcome)
    heads = [node for node in (group.top, *cast.models[:1]) if node is not None]
    return ExternalTurn(
        id=key,
        session=session,
        agent=agents[0],
        status=outcome.status,
        started_us=min((node.span.start_ns for node in cast.nodes if node.span.start_ns), default=0) // 1000,
        ended_us=outcome.ended_us,
        agents=agents,
        traces=tuple(dict.fromkeys(node.span.trace for node in cast.by_time)),
        input=asked,
        output=answer,
        error=outcome.error,
        steps=tuple(steps),
        model=_first(cast, "model"),
        provider=_first(cast, "provider"),
        user=next((user for node in cast.sources if (user := user_of(node.span))), ""),
        tags=_tags(cast.sources),
        metadata=_metadata(cast.sources),
        instructions=instructions_of(heads),
        tools=tools_of(heads[::-1]),
        hidden=not asked and answer is None and any(step.hidden for step in steps),
        warnings=warnings_of(group, cast.by_time, steps, outcome, named=not session.startswith(TRACE_SESSION_PREFIX)),
    )


def _answer(cast: TurnNodes, outcome: TurnOutcome) -> CompletionMessage | None:
    return None if outcome.status == "failed" else output_of(cast.group.top, cast.models, cast.tools)


def _first(cast: TurnNodes, name: str) -> str:
    """The first model or provider that was asked, by whichever agent; else what the turn's own span names."""
    models = (node for node in cast.by_time if node.kind == kinds.LLM)
    found = (value for node in (*models, *cast.sources[:1]) if (value := getattr(node.facts, name)))
    return str(next(found, ""))[:_LONGEST]


def _steps(cast: TurnNodes, agent: str) -> list[ExternalStep]:
    top = cast.group.top
    tops = frozenset({node_id(top)}) if top is not None else frozenset()
    found = steps_of(cast.nodes, tops, link_calls(cast.by_time), agent)
    if top is not None and top.facts.usage and all(node.kind not in _COUNTED for node in cast.nodes):
        found.append(inferred_model_step(top, agent))
    return found


def _metadata(tellers: Sequence[SpanNode]) -> dict[str, str]:
    found: dict[str, str] = {}
    for node in tellers[:2]:
        add_metadata(node.span, found)
    return found


def _tags(tellers: Sequence[SpanNode]) -> tuple[str, ...]:
    told: list[str] = next((tags for node in tellers if (tags := tags_of(node.span))), [])
    return tuple(dict.fromkeys(told))[:MAX_TAGS]
