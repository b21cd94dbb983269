"""How a foreign turn came to be known: its traces, their spans, what its reader should be told besides.

Whoever calls this has been let in to the turn: the traces of a turn are its owner's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from agents.base.errors import NotFound
from agents.base.store import encoding
from agents.base.store.sql import Select
from agents.record.models.choices import FOREIGN
from agents.record.models.turns import Step, Turn, TurnBody
from agents.telemetry.models.traces import SpanBatch, Trace
from agents.telemetry.reading.spans import Span
from agents.telemetry.store.external.owners import CUT_AT, foreign_id
from agents.telemetry.store.external.projection import spans_of

LABELS = tuple(source.label for source in FOREIGN)
"""The sources of what ran elsewhere, as rows name them."""
MOST_TRACES = 200
"""Traces of one turn that are looked at."""
MOST_SCOPES = 8
LARGEST_SAMPLE = 1_000_000
"""Bytes, as they are kept, of a report that is read to see what sent it."""


class Told(msgspec.Struct):
    """What is said of a turn beside its steps; ``hidden``: its words were not captured."""

    warnings: list[str] = []
    hidden: bool = False
    agents: list[str] = []
    traces: list[str] = []


class _Request(msgspec.Struct):
    foreign: Told = msgspec.field(default_factory=Told)


def told(request: str) -> Told:
    """From what `agents.telemetry.store.external.write_turns` keeps as a turn's request."""
    try:
        return msgspec.json.decode(request or "{}", type=_Request).foreign
    except (msgspec.MsgspecError, RecursionError):
        return Told()


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a turn's spans came from: the service, the SDK that sent them, and the libraries that made them,
    each with its version where it has one. ``spans`` is how many are kept."""

    service: str = ""
    sdk: str = ""
    scopes: tuple[str, ...] = ()
    spans: int = 0


def origin(turn: int) -> Origin:
    """Told by the smallest report of the turn's traces: all of one process say the same."""
    traces = _traces(turn)
    sample = first_report(traces[0][0]) if traces else []
    service = next((service for _, service, _ in traces if service), "")
    said = [span.resource for span in sample]
    scopes = dict.fromkeys(_versioned(span.scope, span.scope_version) for span in sample)
    return Origin(
        service=service or _first(said, "service.name"),
        sdk=_sdk(said),
        scopes=tuple(scope for scope in scopes if scope)[:MOST_SCOPES],
        spans=sum(count for *_, count in traces),
    )


def _traces(turn: int) -> list[tuple[int, str, int]]:
    """(key, service, number of spans) of a turn's traces."""
    rows = Turn.objects.unscoped("its reader was let in").filter(pk=turn).values("owner_id", "scope_id")
    body = TurnBody.objects.unscoped("its reader was let in").filter(pk=turn).values_list("request", flat=True)
    if not rows:
        return []
    names = [foreign_id(name) for name in told(body.first() or "").traces[:MOST_TRACES]]
    found = Trace.objects.unscoped("the turn's own").filter(**rows[0], foreign_id__in=names).order_by("id")
    return list(found.values_list("pk", "service", "span_count"))


_LAST_TURN = Select(Turn, "id", "agent_id = %s ORDER BY id DESC LIMIT 1")


def service_of_agent(agent: int) -> str:
    """The service in which an agent ran last, '' where nobody told. The caller has been let in to the agent."""
    found = _LAST_TURN.first(agent)
    return next((service for _, service, _ in _traces(found[0]) if service), "") if found else ""


_SMALLEST = Select(SpanBatch, "encoding body", "trace_id = %s AND length(body) < %s ORDER BY length(body), id LIMIT 1")
_decode = msgspec.json.Decoder(list[Span]).decode


def first_report(trace: int) -> list[Span]:
    """The spans of the smallest report of a trace, none where all are large."""
    found = _SMALLEST.first(trace, LARGEST_SAMPLE)
    return _decode(encoding.unpack(found[0], bytes(found[1]))) if found else []


def _first(said: Sequence[dict[str, Any]], name: str) -> str:
    return next((str(one[name])[:300] for one in said if one.get(name)), "")


def _sdk(said: Sequence[dict[str, Any]]) -> str:
    """``opentelemetry python 1.45.0``."""
    names = ("telemetry.sdk.name", "telemetry.sdk.language", "telemetry.sdk.version")
    return " ".join(part for name in names if (part := _first(said, name)))


def _versioned(scope: str, version: str) -> str:
    return f"{scope} {version}".strip()[:300]


def spans(turn: int) -> Iterator[Span]:
    """All that came of a turn's traces, in the order it came."""
    for trace, _, _ in _traces(turn):
        yield from spans_of(trace)


_SIZES = Select(SpanBatch, "id spans", "trace_id = %s ORDER BY id")
_BODY = Select(SpanBatch, "encoding body", "id = %s")


def some_spans(turn: int, first: int, most: int) -> tuple[list[Span], int]:
    """Those of `spans` from a number on, at most so many; and how many there are. Only the reports that hold them
    are read."""
    sizes = [size for trace, _, _ in _traces(turn) for size in _SIZES.all(trace)]
    found: list[Span] = []
    before = 0
    for batch, size in sizes:
        if before + size > first and len(found) < most:
            found += _decode(_body(batch))[max(first - before, 0) : first + most - before]
        before += size
    return found, before


def _body(batch: int) -> bytes:
    row = _BODY.first(batch)
    return encoding.unpack(row[0], bytes(row[1])) if row else b"[]"


def reports(turn: int, span_id: str) -> list[Span]:
    """All that came of one span of a turn, by the id of its step: a span, told of once or again, and log
    records that name it. Raises NotFound."""
    found = [span for span in _mentions(turn, span_id) if foreign_id(span.id) == span_id]
    if not found:
        raise NotFound(f"Span '{span_id[:80]}' not found.")
    return list({msgspec.json.encode(span): span for span in found}.values())


def _mentions(turn: int, span_id: str) -> Iterator[Span]:
    """The spans of all reports that may hold this id: to look for it is quicker than to read them."""
    # an id that was cut has a hash at its end, which stands nowhere
    begun = msgspec.json.encode(span_id[:CUT_AT])[1:-1]
    for trace, _, _ in _traces(turn):
        for batch, _ in _SIZES.all(trace):
            if begun in (body := _body(batch)):
                yield from _decode(body)


_STEP = Select(Step, "number", "turn_id = %s AND foreign_id = %s ORDER BY number LIMIT 1")


def step_of(turn: int, span_id: str) -> int | None:
    """The number of the step that was made of a span."""
    found = _STEP.first(turn, foreign_id(span_id))
    return int(found[0]) if found else None
