"""Facts of Codex's turns, calls and tools from outside their spans: from log records, and from spans that are skipped.

=======================  ======================================================  ==================================
what                     where                                                   belongs to
=======================  ======================================================  ==================================
``codex.user_prompt``    a record below the turn, where ``log_user_prompt`` is   the turn above
``codex.tool_result``    a record that names its ``call_id``                     the tool of that id
tokens                   ``gen_ai.usage.*`` of a ``handle_responses``            the model's call beside it
a requested tool call    the tool's span, which lies below ``handle_responses``  the model's call beside that
=======================  ======================================================  ==================================

A model's call (``codex.sampling``) and its ``handle_responses`` lie below the same ``try_run_sampling_request``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from agents.telemetry.reading import kinds
from agents.telemetry.reading.coerce import count, json_of, text
from agents.telemetry.reading.dialects import codex
from agents.telemetry.reading.dialects.token_usage import token_usage
from agents.telemetry.reading.facts import HistoryMessage, LazyMessages, RequestedCall, SpanFacts
from agents.telemetry.reading.failures import error_of
from agents.telemetry.reading.spans import Span, SpanEvent

REDACTED = "[REDACTED]"
_RECORDS = ("codex.user_prompt", "codex.tool_result")
_MAX_DEPTH = 64
_USAGE = "gen_ai.usage."
_EXIT = re.compile(r"^Process exited with code ([1-9]\d*)$", re.MULTILINE)


def applies_to(facts_by_id: Mapping[str, SpanFacts]) -> bool:
    """Whether facts are Codex's: a turn of it, or parts of one that has not arrived yet."""
    return any(facts.sender_kind in (codex.TURN, codex.CALL) for facts in facts_by_id.values())


def add_logs(spans: Mapping[str, Span], facts_by_id: Mapping[str, SpanFacts]) -> None:
    """Complete the facts of one trace, by the ids of their spans, from its other spans and log records."""
    calls = {
        spans[span_id].parent: span_id
        for span_id, facts in sorted(facts_by_id.items())
        if facts.sender_kind == codex.CALL
    }
    for span in sorted(spans.values(), key=lambda span: (span.start_ns, span.id)):
        if _USAGE + "input_tokens" in span.attributes:
            for parent_id in _ancestor_ids(span, spans):
                if parent_id in calls:
                    _add_tokens(facts_by_id[calls[parent_id]], span)
                    break
    for parent_id, span_id in calls.items():
        if parent_id in spans:
            facts_by_id[span_id].model = facts_by_id[span_id].model or text(spans[parent_id].attributes.get("model"))
    _add_records(spans, facts_by_id)
    _add_requested_calls(spans, facts_by_id, calls)


def _ancestor_ids(span: Span, spans: Mapping[str, Span]) -> Iterator[str]:
    """Iterate over the ids of the spans above one, the nearest first."""
    parent_id = span.parent
    for _ in range(_MAX_DEPTH):
        yield parent_id
        if parent_id not in spans:
            return
        parent_id = spans[parent_id].parent


def _add_tokens(facts: SpanFacts, span: Span) -> None:
    attributes = span.attributes
    facts.usage = token_usage(
        count(attributes.get(_USAGE + "input_tokens")),
        count(attributes.get(_USAGE + "output_tokens")),
        count(attributes.get(_USAGE + "cache_read.input_tokens")),
        count(attributes.get("codex.usage.reasoning_output_tokens")),
        count(attributes.get(_USAGE + "cache_write.input_tokens")),
    )


def _add_records(spans: Mapping[str, Span], facts_by_id: Mapping[str, SpanFacts]) -> None:
    tools = {facts.call_id: facts for facts in facts_by_id.values() if facts.kind == kinds.TOOL and facts.call_id}
    prompts: dict[str, list[HistoryMessage]] = {}
    for event, span in _records(spans):
        if event.name == "codex.tool_result" and (tool := tools.get(text(event.attributes.get("call_id")))):
            _add_result(event, tool)
        elif (prompt := _prompt(event)) and (turn := _turn_of(span, spans, facts_by_id)):
            prompts.setdefault(turn, []).append(HistoryMessage("user", [prompt]))
    for turn, messages in prompts.items():
        facts_by_id[turn].input_messages = LazyMessages(messages, None)


def _records(spans: Mapping[str, Span]) -> list[tuple[SpanEvent, Span]]:
    """Return the log records and their spans in order of time, whatever arrived first."""
    records = [(event, span) for span in spans.values() for event in span.events if event.name in _RECORDS]
    return sorted(records, key=lambda pair: (pair[0].at_ns, pair[1].id))


def _prompt(event: SpanEvent) -> str:
    prompt = text(event.attributes.get("prompt"))
    return "" if prompt == REDACTED else prompt


def _turn_of(span: Span, spans: Mapping[str, Span], facts_by_id: Mapping[str, SpanFacts]) -> str:
    return next(
        (span_id for span_id in (span.id, *_ancestor_ids(span, spans)) if _is_turn(facts_by_id.get(span_id))), ""
    )


def _is_turn(facts: SpanFacts | None) -> bool:
    return facts is not None and facts.sender_kind == codex.TURN


def _add_result(event: SpanEvent, tool: SpanFacts) -> None:
    """Add a tool's result. Codex does not count a command with a bad exit code as failed; its session files do."""
    attributes = event.attributes
    output = text(attributes.get("output"))
    arguments = json_of(attributes.get("arguments"))
    tool.arguments = tool.arguments if arguments is None else arguments
    tool.result = output
    exit_match = _EXIT.search(output.partition("\nOutput:\n")[0])
    if exit_match is not None:
        tool.error = error_of(f"exit code {exit_match[1]}")
    elif attributes.get("success") in (False, "false"):
        tool.error = error_of(output)


def _add_requested_calls(
    spans: Mapping[str, Span], facts_by_id: Mapping[str, SpanFacts], calls: Mapping[str, str]
) -> None:
    """Add the tool calls that each call of a model asked for, in the order in which they ran."""
    requests: dict[str, list[RequestedCall]] = {}
    tools = (spans[span_id] for span_id, facts in facts_by_id.items() if facts.kind == kinds.TOOL)
    for span in sorted(tools, key=lambda span: (span.start_ns, span.id)):
        parent_id = next((span_id for span_id in _ancestor_ids(span, spans) if span_id in calls), "")
        if parent_id:
            facts = facts_by_id[span.id]
            requests.setdefault(calls[parent_id], []).append(RequestedCall(facts.call_id, facts.tool, facts.arguments))
    for span_id, requested in requests.items():
        facts_by_id[span_id].output_messages = LazyMessages([HistoryMessage("assistant", [], requested)], None)
