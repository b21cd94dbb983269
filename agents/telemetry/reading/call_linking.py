"""Which wish of a model each run of a tool answers, and runs that no span tells of.

A tool's span that names its call is linked by it. Others (the Agents SDK, MLflow, Langfuse) take the next unused call
of the same name that was asked for before they began. Where a sender tells of no runs of a tool at all (bare loops
around a model), they are read out of its messages: a call in one answer, its result in a later history.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from agents.telemetry.reading import kinds
from agents.telemetry.reading.facts import Call, Message
from agents.telemetry.reading.tree import Node

HANDOFFS = "transfer_to_"
"""How the Agents SDK calls the tools by which a model hands over: they never run."""


@dataclass(slots=True)
class Made:
    """A run of a tool that only messages tell of; ``after`` is the model's span that asked for it."""

    call: Call
    answer: Message | None
    after: Node


@dataclass(slots=True)
class Linked:
    """``calls`` by the id of the tool's span, ``made`` in the order they were asked for."""

    calls: dict[tuple[str, str], Call]
    made: list[Made]


def calls_of(node: Node) -> list[Call]:
    """What a model's span asked for."""
    return [call for message in node.facts.answer.messages() for call in message.calls]


def link(nodes: Sequence[Node]) -> Linked:
    """Link the nodes of a turn, which are in order of their beginnings."""
    models = [node for node in nodes if node.kind == kinds.LLM]
    tools = [node for node in nodes if node.kind == kinds.TOOL]
    asked = [(call, node) for node in models for call in calls_of(node)]
    by_id = {call.id: call for call, _ in asked if call.id}
    linked = {node_id(tool): by_id[tool.facts.call_id] for tool in tools if tool.facts.call_id in by_id}
    used = {id(call) for call in linked.values()}
    _link_by_name(tools, asked, linked, used)
    told = {tool.facts.tool for tool in tools}
    open_calls = [(call, node) for call, node in asked if id(call) not in used and call.name not in told]
    return Linked(linked, _made(open_calls, models) if open_calls else [])


def node_id(node: Node) -> tuple[str, str]:
    return node.span.trace, node.span.id


def _link_by_name(
    tools: list[Node], asked: list[tuple[Call, Node]], linked: dict[tuple[str, str], Call], used: set[int]
) -> None:
    waiting: dict[str, deque[tuple[Call, Node]]] = {}
    for call, model in asked:
        if id(call) not in used:
            waiting.setdefault(call.name, deque()).append((call, model))
    for tool in tools:
        if tool.facts.call_id or not (queue := waiting.get(tool.facts.tool)):
            continue
        if queue[0][1].span.start_ns <= tool.span.start_ns:
            call = queue.popleft()[0]
            linked[node_id(tool)] = call
            used.add(id(call))


def _made(open_calls: list[tuple[Call, Node]], models: list[Node]) -> list[Made]:
    """Runs that a later history has the answer of."""
    answers: dict[str, Message] = {}
    for model in models:
        for message in model.facts.given.messages():
            if message.role == "tool" and message.answers:
                answers.setdefault(message.answers, message)
    seen: set[str] = set()
    found: list[Made] = []
    for call, model in open_calls:
        if call.id in answers and call.id not in seen and not call.name.startswith(HANDOFFS):
            seen.add(call.id)
            found.append(Made(call, answers[call.id], model))
    return found
