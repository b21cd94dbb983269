"""The provenance of an external turn: its traces, their spans, its warnings.

Callers have checked that the actor may read the turn: the traces of a turn are its owner's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from django.db.models import QuerySet

from agents.base.errors import NotFound
from agents.base.store import encoding
from agents.base.store.sql import Select
from agents.base.timestamps import to_datetime
from agents.record.models.turns import Step, Turn, TurnBody
from agents.record.schemas.origins import SpanOrigin, parse_provenance
from agents.telemetry.models.traces import SpanBatch, Trace
from agents.telemetry.reading.spans import Span
from agents.telemetry.store.external.due_traces import spans_of
from agents.telemetry.store.external.owners import ID_PREFIX_LENGTH, external_id

MAX_TRACES = 200
"""Traces of one turn that are read."""
MAX_SCOPES = 8
MAX_SAMPLE_BYTES = 1_000_000
"""Stored bytes of a report that is read to find its sender."""


def origin(turn: int) -> SpanOrigin:
    """Read the origin of a turn from the smallest report of its traces: all reports of a process have the same."""
    traces = _traces(turn)
    sample = first_report(traces[0][0]) if traces else []
    service = next((service for _, service, _ in traces if service), "")
    resources = [span.resource for span in sample]
    scopes = dict.fromkeys(_with_version(span.scope, span.scope_version) for span in sample)
    return SpanOrigin(
        service=service or _first_value(resources, "service.name"),
        sdk=_sdk(resources),
        scopes=tuple(scope for scope in scopes if scope)[:MAX_SCOPES],
        spans=sum(count for *_, count in traces),
    )


def _traces(turn: int) -> list[tuple[int, str, int]]:
    """(key, service, number of spans) of a turn's traces."""
    return list(_rows(turn, MAX_TRACES).order_by("id").values_list("pk", "service", "span_count"))


def _rows(turn: int, limit: int | None = None) -> QuerySet[Trace]:
    rows = Turn.objects.unscoped("its reader was let in").filter(pk=turn).values("owner_id", "scope_id")
    traces = Trace.objects.unscoped("the turn's own")
    return traces.filter(**rows[0], foreign_id__in=trace_ids(turn)[:limit]) if rows else traces.none()


def trace_ids(turn: int) -> list[str]:
    """The stored ids of the traces that a turn was made of."""
    body = TurnBody.objects.unscoped("its reader was let in").filter(pk=turn).values_list("request", flat=True)
    return [external_id(name) for name in parse_provenance(body.first() or "").traces]


def has_news(turn: int, since_us: int) -> bool:
    """Tell whether something of a turn has come at or after a moment."""
    return _rows(turn).filter(updated_at__gte=to_datetime(since_us)).exists()


_LAST_TURN = Select(Turn, "id", "agent_id = %s ORDER BY id DESC LIMIT 1")


def service_of_agent(agent: int) -> str:
    """The service in which an agent ran last, '' where none was reported. The caller has checked access to the
    agent."""
    turn = _LAST_TURN.first(agent)
    return next((service for _, service, _ in _traces(turn[0]) if service), "") if turn else ""


_SMALLEST = Select(SpanBatch, "encoding body", "trace_id = %s AND length(body) < %s ORDER BY length(body), id LIMIT 1")
_decode = msgspec.json.Decoder(list[Span]).decode


def first_report(trace: int) -> list[Span]:
    """The spans of the smallest report of a trace, none where all are large."""
    row = _SMALLEST.first(trace, MAX_SAMPLE_BYTES)
    return _decode(encoding.unpack(row[0], bytes(row[1]))) if row else []


def _first_value(resources: Sequence[dict[str, Any]], name: str) -> str:
    return next((str(resource[name])[:300] for resource in resources if resource.get(name)), "")


def _sdk(resources: Sequence[dict[str, Any]]) -> str:
    """``opentelemetry python 1.45.0``."""
    names = ("telemetry.sdk.name", "telemetry.sdk.language", "telemetry.sdk.version")
    return " ".join(part for name in names if (part := _first_value(resources, name)))


def _with_version(scope: str, version: str) -> str:
    return f"{scope} {version}".strip()[:300]


def spans(turn: int) -> Iterator[Span]:
    """All spans of a turn's traces, in the order they arrived."""
    for trace, _, _ in _traces(turn):
        yield from spans_of(trace)


_SIZES = Select(SpanBatch, "id spans", "trace_id = %s ORDER BY id")
_BODY = Select(SpanBatch, "encoding body", "id = %s")


def spans_page(turn: int, first: int, limit: int) -> tuple[list[Span], int]:
    """At most ``limit`` of `spans` from the number ``first`` on, and how many there are. Only the reports that hold
    them are read."""
    sizes = [size for trace, _, _ in _traces(turn) for size in _SIZES.all(trace)]
    page: list[Span] = []
    before = 0
    for batch, size in sizes:
        if before + size > first and len(page) < limit:
            page += _decode(_body(batch))[max(first - before, 0) : first + limit - before]
        before += size
    return page, before


def _body(batch: int) -> bytes:
    row = _BODY.first(batch)
    return encoding.unpack(row[0], bytes(row[1])) if row else b"[]"


def reports_of_span(turn: int, span_id: str) -> list[Span]:
    """All reports of one span of a turn, by the id of its step: the span, reported once or again, and log records that
    name it. Raises NotFound."""
    reports = [span for span in _spans_mentioning(turn, span_id) if external_id(span.id) == span_id]
    if not reports:
        raise NotFound(f"Span '{span_id[:80]}' not found.")
    return list({msgspec.json.encode(span): span for span in reports}.values())


def _spans_mentioning(turn: int, span_id: str) -> Iterator[Span]:
    """The spans of all reports that may hold this id: searching the bytes is quicker than decoding them."""
    # a shortened id ends in a hash, which no report holds
    prefix = msgspec.json.encode(span_id[:ID_PREFIX_LENGTH])[1:-1]
    for trace, _, _ in _traces(turn):
        for batch, _ in _SIZES.all(trace):
            if prefix in (body := _body(batch)):
                yield from _decode(body)


_STEP = Select(Step, "number", "turn_id = %s AND foreign_id = %s ORDER BY number LIMIT 1")


def step_number(turn: int, span_id: str) -> int | None:
    """The number of the step that was made of a span."""
    row = _STEP.first(turn, external_id(span_id))
    return int(row[0]) if row else None
