"""Runs: written when their time comes, claimed by one process each, and ended by it.

A claim is a lease: it moves the time at which the run is due, and counts the attempt, if neither has changed meanwhile.
Where the process dies the run is due again; whoever makes it again finds what was begun.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import F

from agents.automations.models import Automation, AutomationRun, RunState
from agents.automations.schemas.records import AutomationRecord, RunRecord
from agents.base import ids
from agents.base.errors import NotFound, RateLimited
from agents.base.news import News
from agents.base.store import keyset, processes
from agents.base.store.cursors import direct_cursor
from agents.base.store.keyset import Cursor
from agents.base.store.writer import writer
from agents.base.timestamps import to_datetime, to_us, us_or_none

LEASE_US = 60_000_000
"""For how long a claim holds."""
MAX_QUEUED = 10
"""Runs of an automation that wait to begin."""
MAX_RUNS = 1000
"""Runs of an automation that are kept."""
MAX_ERROR, MAX_CODE = 500, 64
EXPIRY_BATCH = 1000


@dataclass(frozen=True, slots=True)
class DueRun:
    """A run that is due since ``due_at``, in microseconds since 1970."""

    key: int
    due_at: int
    attempts: int


@dataclass(frozen=True, slots=True)
class ClaimedRun:
    """A run with the attempt at it, by its number; ``session`` is the key of the session that it begins or goes on
    with."""

    key: int
    automation: int
    session: int
    number: int
    created_at: int

    @property
    def public_id(self) -> str:
        return ids.openai(ids.Kind.AUTOMATION_RUN, self.key)


# ---------------------------------------------------------------------------------------------- planning


def plan(automation: AutomationRecord, next_at: int | None, snapshot: str) -> bool:
    """Write the run of an automation whose time has come, and when the next one is. Several processes may try: one
    does, and the others are told False."""
    assert automation.next_at is not None  # its time has come

    def job() -> bool:
        rows = Automation.objects.unscoped("its time has come").filter(
            pk=automation.key,
            next_at=to_datetime(automation.next_at or 0),
            updated_at=to_datetime(automation.updated_at),
        )
        values = {"next_at": None if next_at is None else to_datetime(next_at)}
        if next_at is None and automation.is_periodic:  # its time zone is known no more
            values["paused_at"] = to_datetime(ids.now_us())
        if not rows.update(**values):
            return False
        waits = AutomationRun.objects.filter(automation_id=automation.key, state=RunState.QUEUED).exists()
        row = _new(automation, snapshot)
        row.scheduled_at = to_datetime(automation.next_at or 0)
        if waits:
            row.state, row.ended_at = RunState.SKIPPED, row.created_at
        row.save(force_insert=True)
        return True

    return writer.write(job)


def add_manual(automation: AutomationRecord) -> RunRecord:
    """Write a run that someone has asked for, due at once. Raises RateLimited where too many wait."""

    def job() -> int:
        if AutomationRun.objects.filter(automation_id=automation.key, state=RunState.QUEUED).count() >= MAX_QUEUED:
            message = f"{MAX_QUEUED} runs of this automation wait to begin: no more now."
            raise RateLimited(message, code="too_many_runs", headers={"Retry-After": "5"})
        row = _new(automation, "")
        row.save(force_insert=True)
        return int(row.pk)

    key = writer.write(job)
    news.tell()
    return _record(*AutomationRun.objects.filter(pk=key).values_list(*_COLUMNS).get())


def _new(automation: AutomationRecord, snapshot: str) -> AutomationRun:
    now = to_datetime(ids.now_us())
    row = AutomationRun(pk=ids.new_key(), automation_id=automation.key, snapshot=snapshot, created_at=now, due_at=now)
    row.session = automation.target.session or ids.new_key()
    return row


news = News()
"""Tells this process's scheduler that there may be something to do at once."""

_LOOK = """
    SELECT (SELECT MIN(next_at) FROM agents_automation WHERE next_at IS NOT NULL),
      (SELECT MIN(due_at) FROM agents_automationrun WHERE state = %s)
"""


def next_due() -> int | None:
    """Return when there is something to do next, in microseconds since 1970: one statement, which is all that an idle
    process costs."""
    with direct_cursor() as cursor:
        cursor.execute(_LOOK, [RunState.QUEUED.value])
        return min((at for at in cursor.fetchone() if at is not None), default=None)


# ---------------------------------------------------------------------------------------------- claiming


def due(now_us: int, limit: int) -> list[DueRun]:
    """Return runs that are due, the longest waiting first."""
    rows = AutomationRun.objects.filter(state=RunState.QUEUED, due_at__lte=to_datetime(now_us)).order_by("due_at")
    return [
        DueRun(key, to_us(at), attempts) for key, at, attempts in rows.values_list("pk", "due_at", "attempts")[:limit]
    ]


def claim(wanted: Sequence[DueRun], process: str, now_us: int) -> list[ClaimedRun]:
    """Claim runs for a process, all but those that another has claimed meanwhile."""

    def job() -> list[int]:
        return [run.key for run in wanted if _claim(run, process, now_us)]

    rows = AutomationRun.objects.filter(pk__in=writer.write(job)) if wanted else AutomationRun.objects.none()
    claimed = rows.order_by("pk").values_list("pk", "automation_id", "session", "attempts", "created_at")
    return [ClaimedRun(key, automation, session, number, to_us(at)) for key, automation, session, number, at in claimed]


def _claim(run: DueRun, process: str, now_us: int) -> bool:
    rows = AutomationRun.objects.filter(
        pk=run.key, state=RunState.QUEUED, due_at=to_datetime(run.due_at), attempts=run.attempts
    )
    return bool(rows.update(due_at=to_datetime(now_us + LEASE_US), attempts=F("attempts") + 1, claimed_by=process))


def release(now_us: int) -> int:
    """Make due what processes had claimed that have ended; returns how many runs."""
    rows = AutomationRun.objects.filter(state=RunState.QUEUED).exclude(claimed_by="")
    claimants = set(rows.values_list("claimed_by", flat=True))
    ended = claimants - processes.living(claimants) if claimants else None
    if not ended:
        return 0
    return writer.write(lambda: rows.filter(claimed_by__in=ended).update(due_at=to_datetime(now_us), claimed_by=""))


# ---------------------------------------------------------------------------------------------- ends


def begun(run: ClaimedRun, turn: int) -> None:
    """Note the turn that a run has begun, or that has taken what it says."""
    _end(run, state=RunState.COMPLETED, turn_id=turn)


def failed(run: ClaimedRun, code: str, reason: str) -> None:
    """Note why a run cannot begin."""
    _end(run, state=RunState.FAILED, error_code=code[:MAX_CODE], error=reason[:MAX_ERROR])


def _end(run: ClaimedRun, **values: Any) -> None:
    now = to_datetime(ids.now_us())
    writer.write(lambda: _attempted(run).update(ended_at=now, claimed_by="", **values))


def postpone(run: ClaimedRun, due_at_us: int, reason: str) -> None:
    """Note that a run has to wait, and why."""
    values = {"due_at": to_datetime(due_at_us), "claimed_by": "", "error": reason[:MAX_ERROR]}
    writer.write(lambda: _attempted(run).update(**values))


def _attempted(run: ClaimedRun) -> Any:
    return AutomationRun.objects.filter(pk=run.key, attempts=run.number, state=RunState.QUEUED)


# ---------------------------------------------------------------------------------------------- reading

_COLUMNS = (
    *("pk", "automation_id", "scheduled_at", "snapshot", "state", "session", "turn_id"),
    *("error_code", "error", "created_at"),
)


def page(automation: AutomationRecord, cursor: Cursor) -> tuple[list[RunRecord], bool]:
    """Return a page of the runs of an automation that the actor was let into, and whether more follow. Raises
    InvalidRequest for an id that is none."""
    rows = AutomationRun.objects.filter(automation_id=automation.key)
    page_rows, has_more = keyset.page(rows, keyset.bounds(ids.Kind.AUTOMATION_RUN, cursor), *_COLUMNS)
    return [_record(*row) for row in page_rows], has_more


def get(automation: AutomationRecord, public_id: str) -> RunRecord:
    """Return a run of an automation that the actor was let into. Raises NotFound."""
    key = ids.parse_openai(ids.Kind.AUTOMATION_RUN, public_id)
    rows = AutomationRun.objects.filter(automation_id=automation.key, pk=key) if key is not None else None
    row = rows.values_list(*_COLUMNS).first() if rows is not None else None
    if row is None:
        raise NotFound(f"Invocation '{public_id[:80]}' not found.")
    return _record(*row)


def _record(*row: Any) -> RunRecord:
    key, automation, scheduled, snapshot, state, session, turn, code, error, created = row
    label = RunState(state).label
    return RunRecord(
        key, automation, us_or_none(scheduled), snapshot, label, session, turn, code, error, to_us(created)
    )


def expire(now_us: int, days: int) -> int:
    """Delete the oldest runs of more than so many days ago, and of an automation with more than `MAX_RUNS` those
    before; returns how many."""
    before = ids.first_key(now_us - days * 86_400_000_000)
    ended = AutomationRun.objects.exclude(state=RunState.QUEUED)
    keys = list(ended.filter(pk__lt=before).order_by("pk").values_list("pk", flat=True)[:EXPIRY_BATCH])
    if not keys:
        keys = _beyond_kept()
    if keys:
        writer.write(lambda: AutomationRun.objects.filter(pk__in=keys)._raw_delete("default"))
    return len(keys)


_CROWDED = """
    SELECT automation_id FROM agents_automationrun WHERE state <> %s
    GROUP BY automation_id HAVING COUNT(*) > %s ORDER BY 1 LIMIT 1
"""


def _beyond_kept() -> list[int]:
    with direct_cursor() as cursor:
        cursor.execute(_CROWDED, [RunState.QUEUED.value, MAX_RUNS])
        row = cursor.fetchone()
    if row is None:
        return []
    rows = AutomationRun.objects.filter(automation_id=row[0]).exclude(state=RunState.QUEUED).order_by("-pk")
    return list(rows.values_list("pk", flat=True)[MAX_RUNS : MAX_RUNS + EXPIRY_BATCH])
