"""Lists and expires traces without turns: none of their spans is an agent's, a model call or a tool. They are kept for
a while, so that users who miss a run can find out why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models import F

from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import NotFound
from agents.base.store.writer import writer
from agents.base.timestamps import to_datetime, to_us
from agents.telemetry.models.traces import Trace
from agents.telemetry.reading.spans import Span
from agents.telemetry.store.external import trace_deletion
from agents.telemetry.store.external.due_traces import spans_of
from agents.telemetry.store.external.provenance import first_report

MAX_LISTED = 100
"""Traces of a listing."""
MAX_SPAN_NAMES = 4
"""Names of spans that a listing has of a trace."""
SERVICE_ATTRIBUTE = "service.name"
BATCH_SIZE = 500
"""Traces that are deleted in one commit."""


@dataclass(frozen=True, slots=True)
class UnmatchedTrace:
    """A trace without turns: the sender's id and the names of some spans. Timestamps are microseconds since 1970."""

    key: int
    name: str
    service: str
    span_count: int
    received_at: int
    span_names: tuple[str, ...]

    @property
    def public_id(self) -> str:
        return ids.public(ids.Kind.TRACE, self.key)


def listing(actor: Actor, limit: int = MAX_LISTED) -> list[UnmatchedTrace]:
    """The newest ones that the actor may see."""
    rows = _rows(actor).order_by("-updated_at", "-pk")[:limit]
    return [_unmatched(row) for row in rows]


def count(actor: Actor, limit: int = MAX_LISTED) -> int:
    """How many there are, up to ``limit``."""
    return len(_rows(actor).order_by("-updated_at").values_list("pk", flat=True)[:limit])


def spans(actor: Actor, public_id: str) -> list[Span]:
    """All spans of such a trace, in the order they arrived. Raises NotFound."""
    row = _rows(actor).filter(pk=ids.parse(ids.Kind.TRACE, public_id) or 0).first()
    if row is None:
        raise NotFound(f"Trace '{public_id[:80]}' not found.")
    return spans_of(row.pk)


def expire(before_us: int) -> int:
    """Delete those that got no spans since that time; returns how many."""
    of_no_turn = Trace.objects.unscoped("retention").filter(turn_count=0, projected__gt=0, arrived=F("projected"))
    old = of_no_turn.filter(updated_at__lt=to_datetime(before_us)).order_by("updated_at")
    return writer.write(lambda: _delete(old)) if old.exists() else 0


def _delete(old: Any) -> int:
    keys = list(old.values_list("pk", flat=True)[:BATCH_SIZE])
    trace_deletion.delete_traces(keys)
    return len(keys)


def _rows(actor: Actor) -> Any:
    return Trace.objects.visible_to(actor).filter(turn_count=0, projected__gt=0)


def _unmatched(row: Trace) -> UnmatchedTrace:
    sample = first_report(row.pk)
    service = next(
        (str(span.resource[SERVICE_ATTRIBUTE]) for span in sample if span.resource.get(SERVICE_ATTRIBUTE)), row.service
    )
    names = dict.fromkeys(span.name for span in sample if span.name)
    return UnmatchedTrace(
        row.pk,
        row.foreign_id,
        service[:300],
        row.span_count,
        to_us(row.received_at),
        tuple(name[:200] for name in names)[:MAX_SPAN_NAMES],
    )
