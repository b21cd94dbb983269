"""Builder of one turn's record from its nodes."""

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
from agents.telemetry.reading.same_turns import run_of
from agents.telemetry.reading.span_metadata import add_metadata, tags_of, user_of
from agents.telemetry.reading.steps import inferred_model_step, steps_of, walk_trees
from agents.telemetry.reading.tree import SpanNode
from agents.telemetry.reading.turn_warnings import warnings_of

TRACE_SESSION_PREFIX = "trace:"
"""Begins the name of a session that no sender named; the id of the first trace follows."""

MAX_TAGS = 50
_MODEL_KINDS = (kinds.LLM, kinds.WRAPPER)
_MAX_CHARS = 300


@dataclass(slots=True)
class TurnNodes:
    """The nodes of a turn. ``nodes`` have each parent before its children, the others are ordered by time; ``models``
    and ``tools`` are the turn's own agents', ``sources`` the nodes that describe the whole turn, best first."""

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
    """Build the turn of this id and session."""
    turn_nodes = TurnNodes(group, list(walk_trees(group.roots)))
    agents = agents_of(turn_nodes.nodes)
    outcome = outcome_of(group, turn_nodes.by_time)
    steps = _steps(turn_nodes, agents[0])
    user_input, answer = input_of(group.top, turn_nodes.models), _answer(turn_nodes, outcome)
    heads = [node for node in (group.top, *turn_nodes.models[:1]) if node is not None]
    return ExternalTurn(
        id=key,
        session=session,
        agent=agents[0],
        status=outcome.status,
        started_us=min((node.span.start_ns for node in turn_nodes.nodes if node.span.start_ns), default=0) // 1000,
        ended_us=outcome.ended_us,
        agents=agents,
        traces=tuple(dict.fromkeys(node.span.trace for node in turn_nodes.by_time)),
        input=user_input,
        output=answer,
        error=outcome.error,
        steps=tuple(steps),
        model=_first(turn_nodes, "model"),
        provider=_first(turn_nodes, "provider"),
        user=next((user for node in turn_nodes.sources if (user := user_of(node.span))), ""),
        tags=_tags(turn_nodes.sources),
        metadata=_metadata(turn_nodes.sources),
        instructions=instructions_of(heads),
        tools=tools_of(heads[::-1]),  # a model's own list is the fuller one
        hidden=not user_input and answer is None and any(step.hidden for step in steps),
        warnings=warnings_of(
            group, turn_nodes.by_time, steps, outcome, has_session=not session.startswith(TRACE_SESSION_PREFIX)
        ),
        run=run_of(group),
        format=turn_nodes.sources[0].span.format,
    )


def _answer(turn_nodes: TurnNodes, outcome: TurnOutcome) -> CompletionMessage | None:
    if outcome.status == "awaiting_input":  # what the graph's state ends with was not said to anybody
        return CompletionMessage.model_construct(content=outcome.question) if outcome.question else None
    return None if outcome.status == "failed" else output_of(turn_nodes.group.top, turn_nodes.models, turn_nodes.tools)


def _first(turn_nodes: TurnNodes, name: str) -> str:
    """Return the first model or provider that any agent called; else the one that the turn's own span names."""
    models = (node for node in turn_nodes.by_time if node.kind == kinds.LLM)
    values = (value for node in (*models, *turn_nodes.sources[:1]) if (value := getattr(node.facts, name)))
    return str(next(values, ""))[:_MAX_CHARS]


def _steps(turn_nodes: TurnNodes, agent: str) -> list[ExternalStep]:
    top = turn_nodes.group.top
    tops = frozenset({node_id(top)}) if top is not None else frozenset()
    steps = steps_of(turn_nodes.nodes, tops, link_calls(turn_nodes.by_time), agent)
    if top is not None and top.facts.usage and all(node.kind not in _MODEL_KINDS for node in turn_nodes.nodes):
        steps.append(inferred_model_step(top, agent))
    return steps


def _metadata(sources: Sequence[SpanNode]) -> dict[str, str]:
    metadata: dict[str, str] = {}
    for node in sources[:2]:
        add_metadata(node.span, metadata)
    return metadata


def _tags(sources: Sequence[SpanNode]) -> tuple[str, ...]:
    first_tags: list[str] = next((tags for node in sources if (tags := tags_of(node.span))), [])
    return tuple(dict.fromkeys(first_tags))[:MAX_TAGS]
