"""Linking of tool runs to the calls that models asked for, and tool runs inferred from messages.

A tool's span that names its call is linked by it; a call that was asked for in an earlier turn, and waited for
somebody's approval, is in the history of the first model. Others (the Agents SDK, MLflow, Langfuse) take the next
unused call of the same name that was asked for before they began. Where a sender reports no runs of a tool at all (bare
loops around a model), they are inferred from its messages: a call in one answer, its result in a later history. A call
without an id (Google's) is recognized there by its name and arguments.
"""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agents.telemetry.reading import kinds
from agents.telemetry.reading.calls import arguments_of
from agents.telemetry.reading.coerce import json_of
from agents.telemetry.reading.facts import HistoryMessage, RequestedCall
from agents.telemetry.reading.tree import SpanNode

HANDOFF_PREFIX = "transfer_to_"
"""The Agents SDK's prefix of the tools by which a model hands over: they never run."""


@dataclass(slots=True)
class InferredToolRun:
    """A tool run that only messages show. ``model_node`` is the model's span that asked for it, ``fallback_id`` the
    id of the run where the call has none."""

    call: RequestedCall
    answer: HistoryMessage | None
    model_node: SpanNode
    fallback_id: str


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
    linked |= _linked_by_history(models[:1], [tool for tool in tools if node_id(tool) not in linked])
    used = {id(call) for call in linked.values()}  # by identity: senders may repeat ids, or leave them out
    _link_by_name(tools, requests, linked, used)
    reported_tools = {tool.facts.tool for tool in tools}
    open_calls = [(call, node) for call, node in requests if id(call) not in used and call.name not in reported_tools]
    return CallLinks(linked, _inferred_runs(open_calls, models) if open_calls else [])


def _linked_by_history(models: list[SpanNode], tools: list[SpanNode]) -> dict[tuple[str, str], RequestedCall]:
    """Return the calls of those tools that name one in a model's history."""
    ids = {tool.facts.call_id for tool in tools} - {""}
    if not ids:
        return {}
    messages = [message for model in models for message in model.facts.input_messages.messages()]
    by_id = {call.id: call for message in messages for call in message.calls if call.id in ids}
    return {node_id(tool): _as_it_ran(by_id[tool.facts.call_id], tool) for tool in tools if tool.facts.call_id in by_id}


def _as_it_ran(call: RequestedCall, tool: SpanNode) -> RequestedCall:
    """Return a call with the argument that its tool had: who approved it may have changed that. OpenInference writes
    the only argument of a tool bare where it is text; a Python repr of all of them is none."""
    asked, own = arguments_of(call.arguments), json_of(tool.facts.arguments)
    if not isinstance(asked, dict) or len(asked) != 1 or not isinstance(own, str) or own[:1] in ("", "{", "(", "["):
        return call
    return RequestedCall(call.id, call.name, dict.fromkeys(asked, own))


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
    """Return the runs whose result is in a later history. Of calls that only their arguments tell apart, the last
    results are the turn's: those before are of earlier turns."""
    answers = _answers(models)
    keys = [call.id if call.id in answers else _shape(call) for call, _ in open_calls]
    repeated = Counter(keys)
    position: Counter[str] = Counter()
    runs: list[InferredToolRun] = []
    for key, (call, model) in zip(keys, open_calls, strict=True):
        results = answers.get(key, [])
        index = max(0, len(results) - repeated[key]) + position[key]
        position[key] += 1
        if index < len(results) and not call.name.startswith(HANDOFF_PREFIX):
            call.id = call.id or results[index].answered_call
            runs.append(InferredToolRun(call, results[index], model, f"{model.span.id}:{len(runs)}"))
    return runs


def _answers(models: list[SpanNode]) -> dict[str, list[HistoryMessage]]:
    """Return the results in the models' histories; of each key those of the history that has the most."""
    answers: dict[str, list[HistoryMessage]] = {}
    for model in models:
        of_history: dict[str, list[HistoryMessage]] = {}
        for key, answer in _answers_in(model.facts.input_messages.messages()):
            of_history.setdefault(key, []).append(answer)
        for key, results in of_history.items():
            if len(results) > len(answers.get(key, ())):
                answers[key] = results
    return answers


def _answers_in(messages: list[HistoryMessage]) -> Iterator[tuple[str, HistoryMessage]]:
    """Yield the results of tools in a history, by the ids of their calls and by their names and arguments. A result
    that names no call is that of the next open one."""
    open_calls: deque[RequestedCall] = deque()
    for message in messages:
        if message.role == "assistant" and message.calls:
            open_calls = deque(message.calls)
        elif message.role == "tool":
            named = next((call for call in open_calls if call.id and call.id == message.answered_call), None)
            call = named or (open_calls[0] if open_calls and not message.answered_call else None)
            if message.answered_call:
                yield message.answered_call, message
            if call is not None:
                open_calls.remove(call)
                yield _shape(call), message


def _shape(call: RequestedCall) -> str:
    """Return the name and the arguments of a call as text that no id can be."""
    return f"{call.name}({json.dumps(arguments_of(call.arguments), sort_keys=True, default=str)})"
