"""What Claude Code says of its calls and tools beside their spans: in log records that name the interaction, and in
the span below a tool that times its run.

No record names its call. ``api_request`` (cost) is of the call that ended nearest to it, of those with the same model
and the same tokens, ``assistant_response`` (words) of those with the same model; each call has one of each at most.
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
    """Whether these are Claude Code's."""
    return any(span.scope == claude_code.SCOPE for span in spans)


def add_logs(spans: Collection[Span], known: Mapping[str, SpanFacts]) -> None:
    """Tell the facts (by the ids of their spans) of one trace what its other spans and its records say of them."""
    pairs = [(span, known[span.id]) for span in spans if span.id in known]
    models = sorted((pair for pair in pairs if pair[1].kind == kinds.LLM), key=_begun)
    tools = sorted((pair for pair in pairs if pair[1].kind == kinds.TOOL), key=_begun)
    records = sorted((event for span in spans for event in span.events), key=_order)
    _tell_tools(tools, spans, records)
    _tell_costs(models, records)
    _tell_answers(models, tools, records)


def _begun(pair: Pair) -> tuple[int, str]:
    return pair[0].start_ns, pair[0].id


def _order(event: SpanEvent) -> tuple[int, int]:
    return event.at_ns, count(event.attributes.get("event.sequence"))


def _tell_costs(models: list[Pair], records: list[SpanEvent]) -> None:
    asked = (event for event in records if event.name.endswith("api_request"))
    for (_, facts), event in _matched(models, asked, lambda said: (text(said.get("model")), *_counts(said))):
        facts.cost_nano = nano_dollars(event.attributes.get("cost_usd"))


def _counts(said: Mapping[str, Any]) -> tuple[int, ...]:
    return tuple(count(said.get(name)) for name in _TOKENS)


def _matched(
    models: list[Pair], records: Iterable[SpanEvent], key: Callable[[Mapping[str, Any]], Hashable]
) -> Iterator[tuple[Pair, SpanEvent]]:
    """Calls and the records of them: those of one key in order of time, each call passed over whose follower ended
    nearer to the record."""
    waiting: dict[Hashable, deque[Pair]] = {}
    for pair in sorted((pair for pair in models if pair[0].end_ns), key=lambda pair: (pair[0].end_ns, pair[0].id)):
        waiting.setdefault(key(pair[0].attributes), deque()).append(pair)
    for event in records:
        queue = waiting.get(key(event.attributes))
        while queue and len(queue) > 1 and _off(queue[1], event) < _off(queue[0], event):
            queue.popleft()
        if queue:
            yield queue.popleft(), event


def _off(pair: Pair, event: SpanEvent) -> int:
    return abs(pair[0].end_ns - event.at_ns)


def _tell_answers(models: list[Pair], tools: list[Pair], records: list[SpanEvent]) -> None:
    """Words, and the calls of tools that a model stopped for."""
    told = _matched(models, filter(_is_answer, records), lambda said: text(said.get("model")))
    words = {span.id: text(event.attributes["response"]) for (span, _), event in told}
    calls = _asked(models, tools)
    for span, facts in models:
        said = [words[span.id]] if span.id in words else []
        wished = calls.get(span.id, []) if facts.finish == "tool_use" else []
        if said or wished:
            facts.output_messages = LazyMessages([HistoryMessage("assistant", list(said), wished)], None)


def _is_answer(event: SpanEvent) -> bool:
    said = text(event.attributes.get("response"))
    return event.name.endswith("assistant_response") and said not in ("", claude_code.REDACTED)


def _asked(models: list[Pair], tools: list[Pair]) -> dict[str, list[RequestedCall]]:
    """The tools that ran after each model's call and before the next one beside it, by the ids of the models."""
    last: dict[str, str] = {}
    found: dict[str, list[RequestedCall]] = {}
    for span, facts in sorted([*models, *tools], key=_begun):
        if facts.kind == kinds.LLM:
            last[span.parent] = span.id
        elif span.parent in last:
            found.setdefault(last[span.parent], []).append(RequestedCall(facts.call_id, facts.tool, facts.arguments))
    return found


def _tell_tools(tools: list[Pair], spans: Iterable[Span], records: list[SpanEvent]) -> None:
    results = {text(event.attributes.get("tool_use_id")): event for event in records if _is_result(event)}
    runs = {span.parent: span.attributes for span in spans if span.attributes.get("span.type") == _RUN}
    for span, facts in tools:
        said = results[facts.call_id].attributes if facts.call_id in results else {}
        given = json_of(said.get("tool_input"))
        if isinstance(given, dict) and given:
            facts.arguments = given
        for outcome in (said, runs.get(span.id, {})):
            if facts.error is None and outcome.get("success") in (False, "false"):
                facts.error = error_of(text(outcome.get("error")))


def _is_result(event: SpanEvent) -> bool:
    return event.name.endswith("tool_result") and bool(event.attributes.get("tool_use_id"))
