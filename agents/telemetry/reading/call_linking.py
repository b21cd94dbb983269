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
from agents.telemetry.reading.facts import HistoryMessage, RequestedCall
from agents.telemetry.reading.tree import SpanNode

HANDOFF_PREFIX = "transfer_to_"
"""How the Agents SDK calls the tools by which a model hands over: they never run."""


@dataclass(slots=True)
class InferredToolRun:
    """A run of a tool that only messages tell of; ``after`` is the model's span that asked for it."""

    call: RequestedCall
    answer: HistoryMessage | None
    model_node: SpanNode


@dataclass(slots=True)
class CallLinks:
    """``calls`` by the id of the tool's span, ``made`` in the order they were asked for."""

    calls: dict[tuple[str, str], RequestedCall]
    inferred: list[InferredToolRun]


def requested_calls(node: SpanNode) -> list[RequestedCall]:
    """What a model's span asked for."""
    return [call for message in node.facts.output_messages.messages() for call in message.calls]


def link_calls(nodes: Sequence[SpanNode]) -> CallLinks:
    """Link the nodes of a turn, which are in order of their beginnings."""
    models = [node for node in nodes if node.kind == kinds.LLM]
    tools = [node for node in nodes if node.kind == kinds.TOOL]
    asked = [(call, node) for node in models for call in requested_calls(node)]
    by_id = {call.id: call for call, _ in asked if call.id}
    linked = {node_id(tool): by_id[tool.facts.call_id] for tool in tools if tool.facts.call_id in by_id}
    used = {id(call) for call in linked.values()}
    _link_by_name(tools, asked, linked, used)
    told = {tool.facts.tool for tool in tools}
    open_calls = [(call, node) for call, node in asked if id(call) not in used and call.name not in told]
    return CallLinks(linked, _made(open_calls, models) if open_calls else [])


def node_id(node: SpanNode) -> tuple[str, str]:
    return node.span.trace, node.span.id


def _link_by_name(
    tools: list[SpanNode],
    asked: list[tuple[RequestedCall, SpanNode]],
    linked: dict[tuple[str, str], RequestedCall],
    used: set[int],
) -> None:
    waiting: dict[str, deque[tuple[RequestedCall, SpanNode]]] = {}
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


def _made(open_calls: list[tuple[RequestedCall, SpanNode]], models: list[SpanNode]) -> list[InferredToolRun]:
    """Runs that a later history has the answer of."""
    answers: dict[str, HistoryMessage] = {}
    for model in models:
        for message in model.facts.input_messages.messages():
            if message.role == "tool" and message.answered_call:
                answers.setdefault(message.answered_call, message)
    seen: set[str] = set()
    found: list[InferredToolRun] = []
    for call, model in open_calls:
        if call.id in answers and call.id not in seen and not call.name.startswith(HANDOFF_PREFIX):
            seen.add(call.id)
            found.append(InferredToolRun(call, answers[call.id], model))
    return found
