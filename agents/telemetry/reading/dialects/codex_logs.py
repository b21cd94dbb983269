"""What Codex says of its turns, calls and tools beside their spans: in log records, and in spans that are looked
through.

=======================  ======================================================  ==================================
what                     where                                                   whose it is
=======================  ======================================================  ==================================
``codex.user_prompt``    a record below the turn, where ``log_user_prompt`` is   the turn above
``codex.tool_result``    a record that names its ``call_id``                     the tool of that id
tokens                   ``gen_ai.usage.*`` of a ``handle_responses``            the model's call beside it
a wish for a tool        the tool's span, which lies below ``handle_responses``  the model's call beside that
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
_DEEPEST = 64
_USAGE = "gen_ai.usage."
_EXIT = re.compile(r"^Process exited with code ([1-9]\d*)$", re.MULTILINE)


def applies_to(known: Mapping[str, SpanFacts]) -> bool:
    """Whether facts are Codex's: a turn of it, or what belongs to one that has not come yet."""
    return any(facts.sender_kind in (codex.TURN, codex.CALL) for facts in known.values())


def add_logs(spans: Mapping[str, Span], known: Mapping[str, SpanFacts]) -> None:
    """Tell the facts (by the ids of their spans) of one trace what its other spans and its records say of them."""
    calls = {spans[one].parent: one for one, facts in sorted(known.items()) if facts.sender_kind == codex.CALL}
    for span in sorted(spans.values(), key=lambda one: (one.start_ns, one.id)):
        if _USAGE + "input_tokens" in span.attributes:
            for place in _above(span, spans):
                if place in calls:
                    _tell_tokens(known[calls[place]], span)
                    break
    for place, one in calls.items():
        if place in spans:
            known[one].model = known[one].model or text(spans[place].attributes.get("model"))
    _tell_records(spans, known)
    _tell_wishes(spans, known, calls)


def _above(span: Span, spans: Mapping[str, Span]) -> Iterator[str]:
    """The ids of the spans above one, the nearest first."""
    place = span.parent
    for _ in range(_DEEPEST):
        yield place
        if place not in spans:
            return
        place = spans[place].parent


def _tell_tokens(facts: SpanFacts, span: Span) -> None:
    told = span.attributes
    facts.usage = token_usage(
        count(told.get(_USAGE + "input_tokens")),
        count(told.get(_USAGE + "output_tokens")),
        count(told.get(_USAGE + "cache_read.input_tokens")),
        count(told.get("codex.usage.reasoning_output_tokens")),
        count(told.get(_USAGE + "cache_write.input_tokens")),
    )


def _tell_records(spans: Mapping[str, Span], known: Mapping[str, SpanFacts]) -> None:
    tools = {facts.call_id: facts for facts in known.values() if facts.kind == kinds.TOOL and facts.call_id}
    asked: dict[str, list[HistoryMessage]] = {}
    for event, span in _records(spans):
        if event.name == "codex.tool_result" and (tool := tools.get(text(event.attributes.get("call_id")))):
            _tell_result(event, tool)
        elif (words := _prompt(event)) and (turn := _turn_of(span, spans, known)):
            asked.setdefault(turn, []).append(HistoryMessage("user", [words]))
    for turn, messages in asked.items():
        known[turn].input_messages = LazyMessages(messages, None)


def _records(spans: Mapping[str, Span]) -> list[tuple[SpanEvent, Span]]:
    """In order of time, whatever came first."""
    found = [(event, span) for span in spans.values() for event in span.events if event.name in _RECORDS]
    return sorted(found, key=lambda pair: (pair[0].at_ns, pair[1].id))


def _prompt(event: SpanEvent) -> str:
    words = text(event.attributes.get("prompt"))
    return "" if words == REDACTED else words


def _turn_of(span: Span, spans: Mapping[str, Span], known: Mapping[str, SpanFacts]) -> str:
    return next((one for one in (span.id, *_above(span, spans)) if _is_turn(known.get(one))), "")


def _is_turn(facts: SpanFacts | None) -> bool:
    return facts is not None and facts.sender_kind == codex.TURN


def _tell_result(event: SpanEvent, tool: SpanFacts) -> None:
    """A command that ended badly has not failed as far as Codex is concerned; its session files say that it has."""
    said = event.attributes
    output = text(said.get("output"))
    given = json_of(said.get("arguments"))
    tool.arguments = tool.arguments if given is None else given
    tool.result = output
    left = _EXIT.search(output.partition("\nOutput:\n")[0])
    if left is not None:
        tool.error = error_of(f"exit code {left[1]}")
    elif said.get("success") in (False, "false"):
        tool.error = error_of(output)


def _tell_wishes(spans: Mapping[str, Span], known: Mapping[str, SpanFacts], calls: Mapping[str, str]) -> None:
    """The tools that each call of a model asked for, in the order in which they ran."""
    wished: dict[str, list[RequestedCall]] = {}
    tools = (spans[one] for one, facts in known.items() if facts.kind == kinds.TOOL)
    for span in sorted(tools, key=lambda one: (one.start_ns, one.id)):
        place = next((one for one in _above(span, spans) if one in calls), "")
        if place:
            facts = known[span.id]
            wished.setdefault(calls[place], []).append(RequestedCall(facts.call_id, facts.tool, facts.arguments))
    for one, wishes in wished.items():
        known[one].output_messages = LazyMessages([HistoryMessage("assistant", [], wishes)], None)
