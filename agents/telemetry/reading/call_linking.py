"""Linking of tool runs to the calls that models asked for, and tool runs inferred from messages.

A tool's span that names its call is linked by it. Others (the Agents SDK, MLflow, Langfuse) take the next unused call
of the same name that was asked for before they began. Where a sender reports no runs of a tool at all (bare loops
around a model), they are inferred from its messages: a call in one answer, its result in a later history.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from agents.telemetry.reading import kinds
from agents.telemetry.reading.facts import HistoryMessage, RequestedCall
from agents.telemetry.reading.tree import SpanNode

HANDOFF_PREFIX = "transfer_to_"
"""The Agents SDK's prefix of the tools by which a model hands over: they never run."""


@dataclass(slots=True)
class InferredToolRun:
    """A tool run that only messages show; ``model_node`` is the model's span that asked for it."""

    call: RequestedCall
    answer: HistoryMessage | None
    model_node: SpanNode


@dataclass(slots=True)
class CallLinks:
    """The calls of a turn: ``calls`` by the id of the tool's span, ``inferred`` runs in the order they were asked
    for."""

    calls: dict[tuple[str, str], RequestedCall]
    inferred: list[InferredToolRun]


def requested_calls(node: SpanNode) -> list[RequestedCall]:
    """Return the tool calls that a model's span asked for."""
    return [call for message in node.facts.output_messages.messages() for call in message.calls]


def link_calls(nodes: Sequence[SpanNode]) -> CallLinks:
    """Link the nodes of a turn, which are ordered by start time."""
    models = [node for node in nodes if node.kind == kinds.LLM]
    tools = [node for node in nodes if node.kind == kinds.TOOL]
    requests = [(call, node) for node in models for call in requested_calls(node)]
    by_id = {call.id: call for call, _ in requests if call.id}
    linked = {node_id(tool): by_id[tool.facts.call_id] for tool in tools if tool.facts.call_id in by_id}
    used = {id(call) for call in linked.values()}  # by identity: senders may repeat ids, or leave them out
    _link_by_name(tools, requests, linked, used)
    reported_tools = {tool.facts.tool for tool in tools}
    open_calls = [(call, node) for call, node in requests if id(call) not in used and call.name not in reported_tools]
    return CallLinks(linked, _inferred_runs(open_calls, models) if open_calls else [])


def node_id(node: SpanNode) -> tuple[str, str]:
    """Return the trace and the span id of a node."""
    return node.span.trace, node.span.id


def _link_by_name(
    tools: list[SpanNode],
    requests: list[tuple[RequestedCall, SpanNode]],
    linked: dict[tuple[str, str], RequestedCall],
    used: set[int],
) -> None:
    unused: dict[str, deque[tuple[RequestedCall, SpanNode]]] = {}
    for call, model in requests:
        if id(call) not in used:
            unused.setdefault(call.name, deque()).append((call, model))
    for tool in tools:
        if tool.facts.call_id or not (queue := unused.get(tool.facts.tool)):
            continue
        if queue[0][1].span.start_ns <= tool.span.start_ns:
            call = queue.popleft()[0]
            linked[node_id(tool)] = call
            used.add(id(call))


def _inferred_runs(open_calls: list[tuple[RequestedCall, SpanNode]], models: list[SpanNode]) -> list[InferredToolRun]:
    """Return the runs whose result is in a later history."""
    answers: dict[str, HistoryMessage] = {}
    for model in models:
        for message in model.facts.input_messages.messages():
            if message.role == "tool" and message.answered_call:
                answers.setdefault(message.answered_call, message)
    seen: set[str] = set()
    runs: list[InferredToolRun] = []
    for call, model in open_calls:
        if call.id in answers and call.id not in seen and not call.name.startswith(HANDOFF_PREFIX):
            seen.add(call.id)
            runs.append(InferredToolRun(call, answers[call.id], model))
    return runs
