"""Facts of Claude Code's calls and tools from outside their spans: from log records that name the interaction, and from
the span below a tool that times its run.

No record names its call. ``api_request`` (cost) is of the call that ended nearest to it, of those with the same model
and the same tokens, ``assistant_response`` (text) of those with the same model; each call has one of each at most.
``tool_result`` and ``tool.execution`` name their tool.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from typing import Any

from agents.telemetry.reading import kinds
from agents.telemetry.reading.coerce import count, json_of, nano_dollars, text
from agents.telemetry.reading.dialects import claude_code
from agents.telemetry.reading.facts import HistoryMessage, LazyMessages, RequestedCall, SpanFacts
from agents.telemetry.reading.failures import error_of
from agents.telemetry.reading.spans import Span, SpanEvent

Pair = tuple[Span, SpanFacts]

_TOKENS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_creation_tokens")
_RUN = "tool.execution"


def applies_to(spans: Iterable[Span]) -> bool:
    """Whether these spans are Claude Code's."""
    return any(span.scope == claude_code.SCOPE for span in spans)


def add_logs(spans: Collection[Span], facts_by_id: Mapping[str, SpanFacts]) -> None:
    """Complete the facts of one trace, by the ids of their spans, from its other spans and log records."""
    pairs = [(span, facts_by_id[span.id]) for span in spans if span.id in facts_by_id]
    models = sorted((pair for pair in pairs if pair[1].kind == kinds.LLM), key=_start_key)
    tools = sorted((pair for pair in pairs if pair[1].kind == kinds.TOOL), key=_start_key)
    records = sorted((event for span in spans for event in span.events), key=_order)
    _add_tool_results(tools, spans, records)
    _add_costs(models, records)
    _add_answers(models, tools, records)


def _start_key(pair: Pair) -> tuple[int, str]:
    return pair[0].start_ns, pair[0].id


def _order(event: SpanEvent) -> tuple[int, int]:
    return event.at_ns, count(event.attributes.get("event.sequence"))


def _add_costs(models: list[Pair], records: list[SpanEvent]) -> None:
    requests = (event for event in records if event.name.endswith("api_request"))
    for (_, facts), event in _matches(
        models, requests, lambda attributes: (text(attributes.get("model")), *_counts(attributes))
    ):
        facts.cost_nano = nano_dollars(event.attributes.get("cost_usd"))


def _counts(attributes: Mapping[str, Any]) -> tuple[int, ...]:
    return tuple(count(attributes.get(name)) for name in _TOKENS)


def _matches(
    models: list[Pair], records: Iterable[SpanEvent], key: Callable[[Mapping[str, Any]], Hashable]
) -> Iterator[tuple[Pair, SpanEvent]]:
    """Match calls to their records: calls with equal keys by time, skipping each call whose successor ended nearer to
    the record."""
    queues: dict[Hashable, deque[Pair]] = {}
    for pair in sorted((pair for pair in models if pair[0].end_ns), key=lambda pair: (pair[0].end_ns, pair[0].id)):
        queues.setdefault(key(pair[0].attributes), deque()).append(pair)
    for event in records:
        queue = queues.get(key(event.attributes))
        while queue and len(queue) > 1 and _distance_ns(queue[1], event) < _distance_ns(queue[0], event):
            queue.popleft()
        if queue:
            yield queue.popleft(), event


def _distance_ns(pair: Pair, event: SpanEvent) -> int:
    return abs(pair[0].end_ns - event.at_ns)


def _add_answers(models: list[Pair], tools: list[Pair], records: list[SpanEvent]) -> None:
    """Add the texts, and the tool calls that a model stopped for."""
    matches = _matches(models, filter(_is_answer, records), lambda texts: text(texts.get("model")))
    answers = {span.id: text(event.attributes["response"]) for (span, _), event in matches}
    calls = _requested_tools(models, tools)
    for span, facts in models:
        texts = [answers[span.id]] if span.id in answers else []
        requested = calls.get(span.id, []) if facts.finish == "tool_use" else []
        if texts or requested:
            facts.output_messages = LazyMessages([HistoryMessage("assistant", list(texts), requested)], None)


def _is_answer(event: SpanEvent) -> bool:
    response = text(event.attributes.get("response"))
    return event.name.endswith("assistant_response") and response not in ("", claude_code.REDACTED)


def _requested_tools(models: list[Pair], tools: list[Pair]) -> dict[str, list[RequestedCall]]:
    """Return the tools that ran after each model's call and before the next one beside it, by the ids of the models."""
    last: dict[str, str] = {}
    requests: dict[str, list[RequestedCall]] = {}
    for span, facts in sorted([*models, *tools], key=_start_key):
        if facts.kind == kinds.LLM:
            last[span.parent] = span.id
        elif span.parent in last:
            requests.setdefault(last[span.parent], []).append(RequestedCall(facts.call_id, facts.tool, facts.arguments))
    return requests


def _add_tool_results(tools: list[Pair], spans: Iterable[Span], records: list[SpanEvent]) -> None:
    results = {text(event.attributes.get("tool_use_id")): event for event in records if _is_result(event)}
    runs = {span.parent: span.attributes for span in spans if span.attributes.get("span.type") == _RUN}
    for span, facts in tools:
        record = results[facts.call_id].attributes if facts.call_id in results else {}
        arguments = json_of(record.get("tool_input"))
        if isinstance(arguments, dict) and arguments:
            facts.arguments = arguments
        for outcome in (record, runs.get(span.id, {})):
            if facts.error is None and outcome.get("success") in (False, "false"):
                facts.error = error_of(text(outcome.get("error")))


def _is_result(event: SpanEvent) -> bool:
    return event.name.endswith("tool_result") and bool(event.attributes.get("tool_use_id"))
