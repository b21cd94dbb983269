"""Limits how many spans may wait to be projected into turns; each sender has a fair share."""

from __future__ import annotations

import threading
import time
from collections import Counter

from django.conf import settings
from django.db.models import F, Min, Sum

from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import RateLimited
from agents.base.shares import may_hold_more
from agents.base.timestamps import to_us
from agents.telemetry.models.traces import Trace

RECOUNT_S, RECOUNT_FACTOR = 1.0, 20.0
"""The spans are counted again after the first, and after this many times what the last count took."""
RETRY_AFTER_S = 5


class Backlog:
    """Counts the waiting spans by sender. Safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.reset()

    def reset(self) -> None:
        """Drop the cached counts, so that the next check counts again."""
        self._waiting: Counter[int | None] = Counter()
        self._fresh_until = 0.0

    def check(self, actor: Actor, new_spans: int = 0) -> None:
        """Add ``new_spans`` to the actor's count. Raises RateLimited where the actor's share is used up."""
        with self._lock:
            self._count()
            waiting = self._waiting.get(actor.user_id, 0)
            if not may_hold_more(waiting, settings.MAX_SPANS_WAITING - self._waiting.total()):
                message = f"{waiting} of your spans wait to be made into turns: no more now."
                raise RateLimited(message, code="too_many_spans", headers={"Retry-After": str(RETRY_AFTER_S)})
            if new_spans:
                self._waiting[actor.user_id] += new_spans

    @property
    def waiting(self) -> int:
        """The number of waiting spans, at most a few seconds old."""
        with self._lock:
            self._count()
            return self._waiting.total()

    def _count(self) -> None:
        started = time.monotonic()
        if started < self._fresh_until:
            return
        due = Trace.objects.unscoped("backlog").filter(arrived__gt=F("projected"))
        self._waiting = Counter(dict(due.values_list("owner_id").annotate(Sum("span_count"))))
        now = time.monotonic()
        self._fresh_until = now + max(RECOUNT_S, RECOUNT_FACTOR * (now - started))


backlog = Backlog()
"""The backlog of this process."""


def lag_seconds() -> float:
    """Return for how long the trace waits that has waited longest for its projection; 0 where none does."""
    due = Trace.objects.unscoped("backlog").filter(arrived__gt=F("projected"))
    first = due.aggregate(first=Min("updated_at"))["first"]
    return 0.0 if first is None else max(ids.now_us() - to_us(first), 0) / 1e6
