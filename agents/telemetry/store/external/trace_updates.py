"""Updates of traces at the end of a transaction, in the order of their keys: what has arrived, what was projected.

A report and a projection on two processes would otherwise each hold a trace that the other waits for."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from django.db import connection

from agents.base.store.cursors import direct_cursor
from agents.base.store.sql import MAX_VALUES, execute_many

_COUNT = "UPDATE agents_trace SET arrived = arrived + %s, span_count = span_count + %s, updated_at = %s WHERE id = %s"
_MARK_PROJECTED = (
    "UPDATE agents_trace SET projected = %s, turn_count = %s, conversation = %s, service = %s, is_bare = %s "
    "WHERE id = %s"
)
_MARK_FAILED = "UPDATE agents_trace SET projected = %s WHERE id = %s"


class TraceUpdates:
    """The updates that the jobs of this thread's transaction have noted."""

    def __init__(self) -> None:
        self._noted = threading.local()

    def count(self, trace: int, spans: int, now_us: int) -> None:
        """Count a report with these spans."""
        counts: dict[int, tuple[int, int, int]] = self._noted.__dict__.setdefault("counts", {})
        reports, spans_before, _ = counts.get(trace, (0, 0, 0))
        counts[trace] = reports + 1, spans_before + spans, now_us

    def mark_projected(self, rows: Sequence[Sequence[object]]) -> None:
        """Note what was made of traces: rows of the reports that are in it, the turns, conversation, service, whether
        the trace is bare, and its key."""
        self._noted.__dict__.setdefault("projected", []).extend(rows)

    def mark_failed(self, trace: int, arrived: int) -> None:
        """Note that these reports of a trace cannot be projected."""
        self._noted.__dict__.setdefault("failed", []).append((arrived, trace))

    def forget(self) -> None:
        self._noted.__dict__.clear()

    def flush(self) -> None:
        noted: dict[str, Any] = dict(self._noted.__dict__)
        self._noted.__dict__.clear()
        counts = [(*sums, trace) for trace, sums in noted.get("counts", {}).items()]
        updates = (
            (_COUNT, counts),
            (_MARK_PROJECTED, noted.get("projected", ())),
            (_MARK_FAILED, noted.get("failed", ())),
        )
        kinds = [(text, sorted(rows, key=lambda row: row[-1])) for text, rows in updates if rows]
        if len(kinds) > 1:
            _lock({row[-1] for _, rows in kinds for row in rows})
        for text, rows in kinds:
            execute_many(text, rows)


def _lock(traces: set[int]) -> None:
    """Lock the rows before several statements change them, each in the order of its own."""
    if not connection.features.has_select_for_no_key_update:
        return
    keys = sorted(traces)
    for start in range(0, len(keys), MAX_VALUES):
        with direct_cursor() as cursor:
            sql = "SELECT id FROM agents_trace WHERE id = ANY(%s) ORDER BY id FOR NO KEY UPDATE"
            cursor.execute(sql, [keys[start : start + MAX_VALUES]])


trace_updates = TraceUpdates()
