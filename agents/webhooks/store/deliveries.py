"""Deliveries: what is due is claimed by one process, sent, and its result stored, in as many attempts as it takes.

A claim is a lease: it moves the time at which the delivery is due, and counts the attempt, if neither has changed
meanwhile. Where the process dies the delivery is due again when that is noticed, or else when its lease is over; a
result of an attempt that is not the last one any more is dropped.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import F, Q

from agents.base import ids
from agents.base.store import processes
from agents.base.store.writer import writer
from agents.base.timestamps import to_datetime, to_us, us_or_none
from agents.webhooks.models import DeliveryState, WebhookDelivery, WebhookEndpoint, WebhookEvent
from agents.webhooks.schemas.event_types import BY_NUMBER, EventType
from agents.webhooks.store import retrying

LEASE_US = 60_000_000
"""For how long a claim holds: longer than an attempt may take."""
FAILING_US = 3 * 86_400_000_000
"""An endpoint at which nothing has arrived for this long is disabled."""
FAILING = "nothing has arrived here for three days"
GONE = "it answered 410 Gone"
MAX_ANSWER, MAX_ERROR = 1000, 300
MAX_DUE = 200
"""Deliveries that are looked at together."""
EXPIRY_BATCH = 1000


@dataclass(frozen=True, slots=True)
class DueDelivery:
    """A delivery that is due since ``due_at``, in microseconds since 1970."""

    key: int
    endpoint: int
    due_at: int
    attempts: int


@dataclass(frozen=True, slots=True)
class Attempt:
    """A claimed delivery, the attempt it is by its ``number``, and everything that is sent. ``secrets`` are sealed."""

    key: int
    number: int
    endpoint: int
    url: str
    secrets: str
    old_secret_until: int | None
    event: int
    kind: EventType
    created_at: int
    data: str
    is_test: bool

    @property
    def webhook_id(self) -> str:
        """The id that all attempts of the delivery have."""
        return ids.openai(ids.Kind.WEBHOOK_DELIVERY, self.key)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of an attempt: the status and the beginning of the body of an answer, or why there was none.
    ``asked_s`` is the pause that the answer asks for."""

    status_code: int | None = None
    answer: str = ""
    error: str = ""
    duration_us: int = 0
    asked_s: int = 0

    @property
    def arrived(self) -> bool:
        return self.status_code is not None and 200 <= self.status_code < 300


# ------------------------------------------------------------------------------------- making and claiming


def add(event: int, endpoints: Sequence[int], now_us: int) -> None:
    """Add the deliveries of an event, due at once, in the caller's transaction."""
    now = to_datetime(now_us)
    WebhookDelivery.objects.bulk_create(
        WebhookDelivery(event_id=event, endpoint_id=endpoint, began_at=now, due_at=now) for endpoint in endpoints
    )


def due(now_us: int, without: Collection[int]) -> list[DueDelivery]:
    """Return deliveries that are due, the longest waiting first, but for those to endpoints ``without``."""
    rows = _sendable().filter(due_at__lte=to_datetime(now_us)).exclude(endpoint_id__in=without)
    columns = ("pk", "endpoint_id", "due_at", "attempts")
    found = rows.order_by("due_at").values_list(*columns)[:MAX_DUE]
    return [DueDelivery(key, endpoint, to_us(at), attempts) for key, endpoint, at, attempts in found]


def _sendable() -> Any:
    is_on = Q(endpoint__disabled_at=None, endpoint__owner__is_active=True)
    return WebhookDelivery.objects.filter(is_on, state=DeliveryState.PENDING)


def claim(wanted: Sequence[DueDelivery], process: str, now_us: int) -> list[Attempt]:
    """Claim deliveries for a process, all but those that another has claimed meanwhile."""

    def job() -> list[int]:
        return [delivery.key for delivery in wanted if _claim(delivery, process, now_us)]

    return _attempts(writer.write(job)) if wanted else []


def _claim(delivery: DueDelivery, process: str, now_us: int) -> bool:
    rows = WebhookDelivery.objects.filter(
        pk=delivery.key,
        state=DeliveryState.PENDING,
        due_at=to_datetime(delivery.due_at),
        attempts=delivery.attempts,
    )
    lease = to_datetime(now_us + LEASE_US)
    return bool(rows.update(due_at=lease, attempts=F("attempts") + 1, claimed_by=process))


def release(now_us: int) -> int:
    """Make due what processes had claimed that have ended; returns how many deliveries."""
    rows = WebhookDelivery.objects.filter(state=DeliveryState.PENDING).exclude(claimed_by="")
    claimants = set(rows.values_list("claimed_by", flat=True))
    gone = claimants - processes.living(claimants) if claimants else None
    if not gone:
        return 0
    return writer.write(lambda: rows.filter(claimed_by__in=gone).update(due_at=to_datetime(now_us), claimed_by=""))


def claim_sample(endpoint: int, kind: EventType, data: str, now_us: int) -> Attempt:
    """Make a sample event with its delivery to one endpoint, which the caller has claimed."""
    event, delivery, now = ids.new_key(), ids.new_key(), to_datetime(now_us)

    def job() -> None:
        owner = WebhookEndpoint.objects.unscoped("the actor's").filter(pk=endpoint).values_list("owner_id", flat=True)
        row = WebhookEvent(pk=event, type=kind.number, owner_id=owner.get(), data=data, is_test=True, waits=False)
        row.created_at = now
        row.save(force_insert=True)
        WebhookDelivery(
            pk=delivery,
            event_id=event,
            endpoint_id=endpoint,
            began_at=now,
            due_at=to_datetime(now_us + LEASE_US),
            attempts=1,
        ).save(force_insert=True)

    writer.write(job)
    [attempt] = _attempts([delivery])
    return attempt


_ATTEMPT = (
    *("pk", "attempts", "endpoint_id", "endpoint__url", "endpoint__secrets", "endpoint__old_secret_until"),
    *("event_id", "event__type", "event__created_at", "event__data", "event__is_test"),
)


def _attempts(keys: Sequence[int]) -> list[Attempt]:
    rows = WebhookDelivery.objects.filter(pk__in=keys).order_by("pk").values_list(*_ATTEMPT)
    return [_attempt(*row) for row in rows]


def _attempt(*row: Any) -> Attempt:
    key, number, endpoint, url, secrets, old_until, event, kind, created_at, data, is_test = row
    sent = event, BY_NUMBER[kind], to_us(created_at), data, is_test
    return Attempt(key, number, endpoint, url, secrets, us_or_none(old_until), *sent)


# ---------------------------------------------------------------------------------------------- results


def store(attempt: Attempt, outcome: Outcome, now_us: int) -> None:
    """Store what became of an attempt, and when the next one is; or that there is none, and perhaps that its endpoint
    is disabled."""

    def job() -> None:
        row = _last_of(attempt)
        if row is None:
            return
        row.tried_at, row.duration_us, row.claimed_by = to_datetime(now_us), outcome.duration_us, ""
        row.status_code, row.answer, row.error = outcome.status_code, outcome.answer, outcome.error
        if outcome.arrived:
            row.state = DeliveryState.DELIVERED
        else:
            row.failures += 1
            _plan(row, attempt, outcome, now_us)
        row.save(force_update=True)
        if not attempt.is_test:
            _note_at_endpoint(attempt.endpoint, outcome, now_us)

    writer.write(job)


def _last_of(attempt: Attempt) -> WebhookDelivery | None:
    """Return the row of a delivery, locked, unless it is another attempt's meanwhile."""
    rows = WebhookDelivery.objects.select_for_update().filter(pk=attempt.key, attempts=attempt.number)
    return rows.filter(state=DeliveryState.PENDING).first()


def _plan(row: WebhookDelivery, attempt: Attempt, outcome: Outcome, now_us: int) -> None:
    due_at = retrying.next_attempt(row.pk, row.failures, to_us(row.began_at), now_us, outcome.asked_s)
    if due_at is None or attempt.is_test:
        row.state = DeliveryState.FAILED
    else:
        row.due_at = to_datetime(due_at)


def _note_at_endpoint(endpoint: int, outcome: Outcome, now_us: int) -> None:
    """Note at an endpoint since when nothing has arrived, or that something has; disable it where that is too long."""
    rows = WebhookEndpoint.objects.unscoped("a delivery of its own").filter(pk=endpoint)
    if outcome.arrived:
        rows.filter(failing_since__isnull=False).update(failing_since=None)
        return
    rows.filter(failing_since=None).update(failing_since=to_datetime(now_us))
    reason = GONE if outcome.status_code == 410 else FAILING
    if reason == FAILING:
        rows = rows.filter(failing_since__lte=to_datetime(now_us - FAILING_US))
    if rows.filter(disabled_at=None).update(disabled_at=to_datetime(now_us), disabled_reason=reason):
        give_up(endpoint, reason)


def give_up(endpoint: int, reason: str) -> None:
    """End the deliveries that wait for an endpoint which is disabled, in the caller's transaction."""
    rows = WebhookDelivery.objects.filter(endpoint_id=endpoint, state=DeliveryState.PENDING)
    rows.filter(tried_at=None).update(error=f"The endpoint was disabled before: {reason}."[:MAX_ERROR])
    rows.update(state=DeliveryState.FAILED)


# --------------------------------------------------------------------------------------------- deleting


def delete_of_endpoint(endpoint: int) -> None:
    """Delete the deliveries of an endpoint, in the caller's transaction."""
    WebhookDelivery.objects.filter(endpoint_id=endpoint)._raw_delete("default")


def expire(now_us: int, days: int) -> int:
    """Delete the oldest events of more than so many days ago, with their deliveries; returns how many."""
    before = ids.first_key(now_us - days * 86_400_000_000)
    keys = list(WebhookEvent.objects.filter(pk__lt=before).order_by("pk").values_list("pk", flat=True)[:EXPIRY_BATCH])

    def job() -> None:
        WebhookDelivery.objects.filter(event_id__in=keys)._raw_delete("default")
        WebhookEvent.objects.filter(pk__in=keys)._raw_delete("default")

    if keys:
        writer.write(job)
    return len(keys)
