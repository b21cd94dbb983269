"""Traces of which no turn was made: no span of theirs is an agent's, a model call or a tool. They are kept for a
while, so that whoever wonders where a run is finds what came of it."""

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
from agents.telemetry.store.external.projection import spans_of
from agents.telemetry.store.external.provenance import first_report

SHOWN = 100
"""Traces of a listing."""
NAMES = 4
"""Names of spans that tell what a trace is."""
SERVICE = "service.name"
AT_ONCE = 500
"""Traces that are forgotten in one commit."""


@dataclass(frozen=True, slots=True)
class Unmatched:
    """A trace by what its sender calls it and its first spans. Moments are microseconds since 1970."""

    key: int
    name: str
    service: str
    span_count: int
    received_at: int
    span_names: tuple[str, ...]

    @property
    def public_id(self) -> str:
        return ids.public(ids.Kind.TRACE, self.key)


def listing(actor: Actor, limit: int = SHOWN) -> list[Unmatched]:
    """The newest ones that the actor may see."""
    rows = _rows(actor).order_by("-updated_at", "-pk")[:limit]
    return [_unmatched(row) for row in rows]


def count(actor: Actor, most: int = SHOWN) -> int:
    """How many there are, up to ``most``."""
    return len(_rows(actor).order_by("-updated_at").values_list("pk", flat=True)[:most])


def spans(actor: Actor, public_id: str) -> list[Span]:
    """All that came of one, in the order it came. Raises NotFound."""
    row = _rows(actor).filter(pk=ids.parse(ids.Kind.TRACE, public_id) or 0).first()
    if row is None:
        raise NotFound(f"Trace '{public_id[:80]}' not found.")
    return spans_of(row.pk)


def expire(before_us: int) -> int:
    """Forget those of which nothing came since that moment; returns how many."""
    of_no_turn = Trace.objects.unscoped("retention").filter(turn_count=0, projected__gt=0, arrived=F("projected"))
    old = of_no_turn.filter(updated_at__lt=to_datetime(before_us)).order_by("updated_at")
    return writer.write(lambda: _forget(old)) if old.exists() else 0


def _forget(old: Any) -> int:
    keys = list(old.values_list("pk", flat=True)[:AT_ONCE])
    trace_deletion.drop(keys)
    return len(keys)


def _rows(actor: Actor) -> Any:
    return Trace.objects.visible_to(actor).filter(turn_count=0, projected__gt=0)


def _unmatched(row: Trace) -> Unmatched:
    some = first_report(row.pk)
    service = next((str(span.resource[SERVICE]) for span in some if span.resource.get(SERVICE)), row.service)
    names = dict.fromkeys(span.name for span in some if span.name)
    return Unmatched(
        row.pk,
        row.foreign_id,
        service[:300],
        row.span_count,
        to_us(row.received_at),
        tuple(name[:200] for name in names)[:NAMES],
    )
