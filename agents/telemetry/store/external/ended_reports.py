"""Turns that other programs reported, as far as a collector is told of them once they have ended."""

from __future__ import annotations

from collections.abc import Collection

from agents.base.timestamps import to_us
from agents.record.models.choices import EXTERNAL, FINAL, Source
from agents.record.models.turns import Turn
from agents.telemetry.reading import otlp_ids
from agents.telemetry.reading.exported_turns import SCOPE, SERVICE
from agents.telemetry.store.external import provenance

_LIVE = frozenset(EXTERNAL) - {Source.IMPORT}


def ended(keys: Collection[int], since_us: int) -> dict[int, tuple[int, int]]:
    """Return those of these turns that have ended, and of which a program, not a file, told something at or after
    ``since_us``: with the time of their end and the number of their steps. Turns of a server like this one are not
    among them: two that told each other of all they hear would never end."""
    rows = Turn.objects.unscoped("export").filter(pk__in=keys, source__in=_LIVE, status__in=FINAL)
    return {
        key: (to_us(ended_at), steps)
        for key, ended_at, steps in rows.values_list("pk", "completed_at", "step_count")
        if ended_at is not None and provenance.has_news(key, since_us) and not _is_of_a_server(key)
    }


def _is_of_a_server(turn: int) -> bool:
    origin = provenance.origin(turn)
    return origin.service == SERVICE and SCOPE in origin.scopes


def trace_of(turn: int) -> str:
    """The trace that a turn was reported in, as 32 hex digits; '' where there are several, or the id is none of
    OpenTelemetry's."""
    names = provenance.trace_ids(turn)
    return otlp_ids.id_from_text(names[0], otlp_ids.TRACE_BYTES) if len(names) == 1 else ""
