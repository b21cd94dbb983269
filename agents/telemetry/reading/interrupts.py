"""Interrupts of LangGraph: a graph's node calls ``interrupt(value)``, the run ends, and a later run of the same thread
brings the answer (`resumed_graphs`).

Senders report the exception with which LangGraph leaves the node, ``GraphInterrupt((Interrupt(value={'question': …},
id='…'),))``, on every span that it passes; the graph's own span ends well. The value is there only as Python shows it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from agents.telemetry.reading import kinds
from agents.telemetry.reading.coerce import mapping, text, text_or_json
from agents.telemetry.reading.facts import SpanFacts
from agents.telemetry.reading.sanitize import clean_json
from agents.telemetry.reading.spans import Span

_RAISED = re.compile(r"^(?:[\w.]{0,200}\.)?(?:Graph|Node)Interrupt\b")
_TRACEBACK = "Traceback (most recent call last)"
_MAX_CHARS = 20_000
"""The longest exception that is parsed."""
_QUESTIONS = ("question", "message", "prompt", "query", "description", "text", "content", "title")
_REQUESTS = ("action_requests", "action_request", "action")
_UNREADABLE = (ValueError, TypeError, SyntaxError, MemoryError, RecursionError)


def add_interrupt(facts: SpanFacts, span: Span) -> None:
    """Mark a span that an interrupt left, with the question: '' where its value is not readable."""
    raised = _raised(span) if span.failed or span.events or "error.type" in span.attributes else None
    if raised is None and facts.kind not in kinds.TOPS:
        return
    values = _values_of_output(facts.output) if raised is None else _values(raised)
    if raised is None and not values:
        return
    facts.interrupted, facts.error = True, None
    facts.question = "\n".join(filter(None, map(_question, values)))
    if facts.output in (None, "", "{}", {}) or raised is None:
        facts.output = clean_json(values[0] if len(values) == 1 else values) if values else None


def _raised(span: Span) -> str | None:
    """Return the text of the interrupt that left a span; None where none did."""
    event = next((event for event in span.events if event.name == "exception"), None)
    attributes = event.attributes if event is not None else {}
    message = span.message or text(attributes.get("exception.message"))
    types = (span.attributes.get("error.type"), attributes.get("exception.type"), message[:300])
    return message if any(_RAISED.match(text(type_)) for type_ in types) else None


def _values(raised: str) -> list[Any]:
    """Return the values in an exception as Python shows it; of unreadable ones nothing."""
    try:
        tree = ast.parse(raised.partition(_TRACEBACK)[0][:_MAX_CHARS].strip(), mode="eval")
        return list(_literals(tree))
    except _UNREADABLE:
        return []


def _literals(tree: ast.AST) -> Iterator[Any]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Interrupt":
            value = [keyword.value for keyword in node.keywords if keyword.arg == "value"] or node.args[:1]
            yield from map(ast.literal_eval, value)


def _values_of_output(output: Any) -> list[Any]:
    """Return the values under ``__interrupt__``, which callers of a graph get: objects, or Python's text of them."""
    if isinstance(output, str) and "__interrupt__" not in output:
        return []
    fields = mapping(output)
    interrupts = fields.get("__interrupt__") or mapping(fields.get("outputs")).get("__interrupt__")
    values: list[Any] = []
    for entry in interrupts if isinstance(interrupts, list) else ():
        values += [entry["value"]] if isinstance(entry, dict) and "value" in entry else _values(text(entry))
    return values


def _question(value: Any) -> str:
    """Return what a person is asked: the text in a value, of calls to approve their descriptions, else all of it."""
    if isinstance(value, (list, tuple)):
        return "\n".join(filter(None, map(_question, value)))
    if isinstance(value, dict):
        texts = (value[name] for name in _QUESTIONS if isinstance(value.get(name), str) and value[name])
        requests = (value[name] for name in _REQUESTS if isinstance(value.get(name), (list, dict)))
        question = next(texts, "")
        return question or next(map(_question, requests), "") or text_or_json(value)
    return text_or_json(value)
