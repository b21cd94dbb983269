"""The record of one turn, made of the nodes that are it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from agents.record.schemas.content import CompletionMessage
from agents.telemetry.reading import kinds
from agents.telemetry.reading.agent_names import agents_of, name_agents, own_of
from agents.telemetry.reading.call_linking import link, node_id
from agents.telemetry.reading.groups import Group
from agents.telemetry.reading.input_output import input_of, instructions_of, output_of, tools_of
from agents.telemetry.reading.outcome import Outcome, outcome_of
from agents.telemetry.reading.records import ForeignStep, ForeignTurn
from agents.telemetry.reading.span_metadata import add_metadata, tags_of, user_of
from agents.telemetry.reading.steps import made_model, ordered, steps_of
from agents.telemetry.reading.tree import Node
from agents.telemetry.reading.turn_warnings import warnings_of

NO_SESSION = "trace:"
"""Begins the name of a session that no sender named; what follows is the trace it began with."""

MOST_TAGS = 50
_COUNTED = (kinds.LLM, kinds.WRAPPER)
_LONGEST = 300


@dataclass(slots=True)
class Cast:
    """Who plays in a turn. ``nodes`` have each parent before its children, the others are in order of time;
    ``models`` and ``tools`` are the turn's own agents', ``tellers`` whom to ask about the whole of it."""

    group: Group
    nodes: list[Node]
    by_time: list[Node] = field(init=False)
    models: list[Node] = field(init=False)
    tools: list[Node] = field(init=False)
    tellers: list[Node] = field(init=False)

    def __post_init__(self) -> None:
        name_agents(self.nodes)
        self.by_time = sorted(self.nodes, key=_key)
        own = sorted(own_of(self.nodes), key=_key)
        self.models = [node for node in own if node.kind == kinds.LLM]
        self.tools = [node for node in own if node.kind == kinds.TOOL]
        self.tellers = self.by_time if self.group.top is None else [self.group.top, *self.by_time]


def _key(node: Node) -> tuple[int, str, str]:
    return node.key


def turn_of(group: Group, session: str, key: str) -> ForeignTurn:
    """The turn of this id and session."""
    cast = Cast(group, list(ordered(group.roots)))
    agents = agents_of(cast.nodes)
    outcome = outcome_of(group, cast.by_time)
    steps = _steps(cast, agents[0])
    asked, answer = input_of(group.top, cast.models), _answer(cast, outcome)
    heads = [node for node in (group.top, *cast.models[:1]) if node is not None]
    return ForeignTurn(
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
        user=next((user for node in cast.tellers if (user := user_of(node.span))), ""),
        tags=_tags(cast.tellers),
        metadata=_metadata(cast.tellers),
        instructions=instructions_of(heads),
        tools=tools_of(heads[::-1]),
        hidden=not asked and answer is None and any(step.hidden for step in steps),
        warnings=warnings_of(group, cast.by_time, steps, outcome, named=not session.startswith(NO_SESSION)),
    )


def _answer(cast: Cast, outcome: Outcome) -> CompletionMessage | None:
    return None if outcome.status == "failed" else output_of(cast.group.top, cast.models, cast.tools)


def _first(cast: Cast, name: str) -> str:
    """The first model or provider that was asked, by whichever agent; else what the turn's own span names."""
    models = (node for node in cast.by_time if node.kind == kinds.LLM)
    found = (value for node in (*models, *cast.tellers[:1]) if (value := getattr(node.facts, name)))
    return str(next(found, ""))[:_LONGEST]


def _steps(cast: Cast, agent: str) -> list[ForeignStep]:
    top = cast.group.top
    tops = frozenset({node_id(top)}) if top is not None else frozenset()
    found = steps_of(cast.nodes, tops, link(cast.by_time), agent)
    if top is not None and top.facts.usage and all(node.kind not in _COUNTED for node in cast.nodes):
        found.append(made_model(top, agent))
    return found


def _metadata(tellers: Sequence[Node]) -> dict[str, str]:
    found: dict[str, str] = {}
    for node in tellers[:2]:
        add_metadata(node.span, found)
    return found


def _tags(tellers: Sequence[Node]) -> tuple[str, ...]:
    told: list[str] = next((tags for node in tellers if (tags := tags_of(node.span))), [])
    return tuple(dict.fromkeys(told))[:MOST_TAGS]
