"""The errors of failed spans, wherever their sender put them."""

from __future__ import annotations

import re

from agents.record.schemas.events import ErrorInfo
from agents.telemetry.reading.coerce import text
from agents.telemetry.reading.facts import SpanFacts
from agents.telemetry.reading.spans import Span, SpanEvent

MAX_MESSAGE_CHARS = 4000
_TYPE_PREFIX = re.compile(
    r"((?:[A-Za-z_]\w{0,99}\.){0,9}\w{0,99}(?:Error|Exception|Exit|Interrupt|Timeout|Failure))(?::\s+|\((?=['\"]))"
)
"""``ValueError: no such city``, or ``ValueError('no such city')`` as Python shows it."""
_UNKNOWN = ("error", "_OTHER", "")
_TRACE = "Traceback (most recent call last)"


def failure_of(span: Span, facts: SpanFacts) -> ErrorInfo | None:
    """Return the error of a failed span, None where it did not fail. Texts of libraries can hold a whole traceback: the
    first line is the message; the span still has the rest."""
    reported = facts.error
    if facts.question is not None:
        return None
    if reported is None and not span.failed and "error.type" not in span.attributes:
        return None
    exception_event = next((event for event in reversed(span.events) if event.name.endswith("exception")), None)
    message = (reported.message if reported is not None else "") or span.message
    if not message and exception_event is not None:
        message = text(exception_event.attributes.get("exception.message"))
    kind = (
        text(span.attributes.get("error.type"))
        or _exception_type(exception_event)
        or (reported.type if reported else "error")
    )
    return error_of(message, kind)


def error_of(message: str, kind: str = "error") -> ErrorInfo:
    """Build an error of a message, without its traceback and leading type; that type is used where none is known."""
    head = message[: MAX_MESSAGE_CHARS * 2].partition(_TRACE)[0].strip()
    line = head.partition("\n")[0].strip()
    type_match = _TYPE_PREFIX.match(line)
    if type_match is not None and _is_own_type(type_match[1], kind):
        kind, line = type_match[1] if kind in _UNKNOWN else kind, _without_type(line, type_match)
    return ErrorInfo.model_construct(
        type=(kind or "error")[:200], message=(line or kind or "error")[:MAX_MESSAGE_CHARS]
    )


def _is_own_type(prefix: str, kind: str) -> bool:
    """Whether a message begins with its own type, with or without its module."""
    return kind in _UNKNOWN or prefix.rpartition(".")[2] == kind.rpartition(".")[2]


def _without_type(line: str, type_match: re.Match[str]) -> str:
    message = line[type_match.end() :]
    if line[type_match.end() - 1] == "(" and message.endswith(")"):
        message = message[:-1].strip("'\"")
    return message or line


def _exception_type(event: SpanEvent | None) -> str:
    return text(event.attributes.get("exception.type")) if event is not None else ""
