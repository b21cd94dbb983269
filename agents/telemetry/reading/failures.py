"""Why a span failed, from wherever its sender put it."""

from __future__ import annotations

import re

from agents.record.schemas.events import ErrorInfo
from agents.telemetry.reading.coerce import text
from agents.telemetry.reading.facts import SpanFacts
from agents.telemetry.reading.spans import Span, SpanEvent

MAX_MESSAGE_CHARS = 4000
_TYPED = re.compile(
    r"((?:[A-Za-z_]\w{0,99}\.){0,9}\w{0,99}(?:Error|Exception|Exit|Interrupt|Timeout|Failure))(?::\s+|\((?=['\"]))"
)
"""``ValueError: no such city``, or ``ValueError('no such city')`` as Python shows it."""
_UNKNOWN = ("error", "_OTHER", "")
_TRACE = "Traceback (most recent call last)"


def failure_of(span: Span, facts: SpanFacts) -> ErrorInfo | None:
    """The error of a span that failed, None where it did not. Texts of libraries can hold a whole traceback: their
    first line is the message, what stands behind it the span still has."""
    given = facts.error
    if given is None and not span.failed and "error.type" not in span.attributes:
        return None
    raised = next((event for event in reversed(span.events) if event.name.endswith("exception")), None)
    words = (given.message if given is not None else "") or span.message
    if not words and raised is not None:
        words = text(raised.attributes.get("exception.message"))
    kind = text(span.attributes.get("error.type")) or _type_raised(raised) or (given.type if given else "error")
    return error_of(words, kind)


def error_of(words: str, kind: str = "error") -> ErrorInfo:
    """A message without its traceback, nor the type that it begins with; that is the type where none is known."""
    begun = words[: MAX_MESSAGE_CHARS * 2].partition(_TRACE)[0].strip()
    line = begun.partition("\n")[0].strip()
    typed = _TYPED.match(line)
    if typed is not None and _is_same(typed[1], kind):
        kind, line = typed[1] if kind in _UNKNOWN else kind, _without_type(line, typed)
    return ErrorInfo.model_construct(
        type=(kind or "error")[:200], message=(line or kind or "error")[:MAX_MESSAGE_CHARS]
    )


def _is_same(begun: str, kind: str) -> bool:
    """Whether a message begins with its own type, which may be told with its module or without."""
    return kind in _UNKNOWN or begun.rpartition(".")[2] == kind.rpartition(".")[2]


def _without_type(line: str, typed: re.Match[str]) -> str:
    rest = line[typed.end() :]
    if line[typed.end() - 1] == "(" and rest.endswith(")"):
        rest = rest[:-1].strip("'\"")
    return rest or line


def _type_raised(event: SpanEvent | None) -> str:
    return text(event.attributes.get("exception.type")) if event is not None else ""
