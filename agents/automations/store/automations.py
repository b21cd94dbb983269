"""Automations: each belongs to its owner, who and whose admins alone see it, as it acts with its owner's rights."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
from django.db.models import F

from agents.automations.models import Automation
from agents.automations.schemas.records import AutomationRecord, Schedule, StoredTarget
from agents.base import ids
from agents.base.access import Action, Actor, require
from agents.base.errors import InvalidRequest, NotFound
from agents.base.store import keyset, scopes
from agents.base.store.keyset import Cursor
from agents.base.store.writer import writer
from agents.base.timestamps import to_datetime, to_us, us_or_none
from agents.record.store import inputs

MAX_AUTOMATIONS = 100
"""Automations of one owner."""
SESSION_FAILED = "target_session_failed"
"""The reason of an automation that was paused because the session it goes on with is gone."""


@dataclass(frozen=True, slots=True)
class NewAutomation:
    """The values of a new automation, which is due at ``next_at`` first."""

    name: str
    schedule: Schedule
    target: StoredTarget
    metadata: Mapping[str, str]
    next_at: int | None


def create(actor: Actor, new: NewAutomation) -> AutomationRecord:
    """Store an automation. Raises NotAllowed, and InvalidRequest where the actor has too many, or is no user."""
    require(actor, "manage")
    if actor.user_id is None:
        raise InvalidRequest("Only a user's automations can act for somebody.", code="no_owner")
    key, now = ids.new_key(), to_datetime(ids.now_us())

    def job() -> None:
        if Automation.objects.unscoped("counted").filter(owner_id=actor.user_id).count() >= MAX_AUTOMATIONS:
            raise InvalidRequest(f"You have {MAX_AUTOMATIONS} automations: no more.", code="too_many_automations")
        _, actor_key, actor_scope = inputs.sender_columns(actor)
        row = Automation(pk=key, owner_id=actor.user_id, scope_id=scopes.scope_for(actor), name=new.name)
        row.actor_key, row.actor_scope = actor_key, actor_scope
        row.created_at = row.updated_at = now
        _put(row, new.schedule, new.target, new.metadata)
        row.next_at = _moment(new.next_at)
        row.save(force_insert=True)

    writer.write(job)
    return _record(_all().get(pk=key))


def _put(row: Automation, schedule: Schedule, target: StoredTarget, metadata: Mapping[str, str]) -> None:
    row.expression, row.timezone, row.run_at = schedule.expression, schedule.timezone, _moment(schedule.run_at)
    row.target, row.target_session = target.json, target.session
    row.metadata = msgspec.json.encode(metadata).decode()


def _moment(at_us: int | None) -> Any:
    return None if at_us is None else to_datetime(at_us)


def get(actor: Actor, public_id: str, action: Action = "read") -> AutomationRecord:
    """Return an automation of the actor's, or anyone's for an admin. Raises NotFound."""
    return _record(_row(actor, public_id, action))


def page(actor: Actor, cursor: Cursor, session: int | None = None) -> tuple[list[AutomationRecord], bool]:
    """Return a page of the actor's automations, or of those that go on with a session, and whether more follow. Raises
    InvalidRequest for an id that is none."""
    own = _own(actor, "read")
    if session is not None:
        own = own.filter(target_session=session)
    rows, has_more = keyset.page(own, keyset.bounds(ids.Kind.AUTOMATION, cursor), "pk")
    by_key = {row.pk: row for row in _all().filter(pk__in=[key for (key,) in rows])}
    return [_record(by_key[key]) for (key,) in rows if key in by_key], has_more


Change = Callable[[AutomationRecord], AutomationRecord]


def change(actor: Actor, public_id: str, change: Change, action: Action = "manage") -> AutomationRecord:
    """Store what ``change`` makes of an automation. Raises NotFound, and what it raises."""

    def job() -> int:
        row = _row(actor, public_id, action, locks=True)
        changed = change(_record(row))
        row.name, row.next_at, row.paused_at = changed.name, _moment(changed.next_at), _moment(changed.paused_at)
        row.pause_reason = changed.pause_reason
        _put(row, changed.schedule, changed.target, changed.metadata)
        row.updated_at = to_datetime(ids.now_us())
        row.save(force_update=True)
        return int(row.pk)

    return _record(_all().get(pk=writer.write(job)))


def pause(key: int, reason: str) -> None:
    """Pause an automation that runs in vain: its session is gone, or its owner."""
    now = to_datetime(ids.now_us())
    rows = Automation.objects.unscoped("it runs in vain").filter(pk=key, next_at__isnull=False)
    values = {"next_at": None, "paused_at": now, "updated_at": now, "pause_reason": reason}
    writer.write(lambda: rows.update(**values))


def delete(actor: Actor, public_id: str) -> None:
    """Delete an automation with its runs; what they have begun stays. Raises NotFound."""

    def job() -> None:
        row = _row(actor, public_id, "manage", locks=True)
        row.runs.all()._raw_delete("default")
        _all().filter(pk=row.pk)._raw_delete("default")

    writer.write(job)


def due(now_us: int, limit: int) -> list[AutomationRecord]:
    """Return automations whose time has come, the longest waiting first."""
    rows = _all().filter(next_at__lte=to_datetime(now_us)).order_by("next_at")
    return [_record(row) for row in rows[:limit]]


def of_key(key: int) -> AutomationRecord | None:
    """Return an automation for its own run; None where it was deleted."""
    row = _all().filter(pk=key).first()
    return None if row is None else _record(row)


def _all() -> Any:
    return Automation.objects.unscoped("checked by the caller").annotate(owner_name=F("owner__username"))


def _own(actor: Actor, action: Action) -> Any:
    rows = Automation.objects.visible_to(actor, action)
    return rows if actor.is_admin else rows.filter(owner_id=actor.user_id or 0)


def _row(actor: Actor, public_id: str, action: Action, *, locks: bool = False) -> Automation:
    key = ids.parse_openai(ids.Kind.AUTOMATION, public_id)
    rows = _own(actor, action).annotate(owner_name=F("owner__username"))
    if locks:
        rows = rows.select_for_update(of=("self",))
    row: Automation | None = rows.filter(pk=key).first() if key is not None else None
    if row is None:
        raise NotFound(f"Automation '{public_id[:80]}' not found.")
    return row


def _record(row: Any) -> AutomationRecord:
    return AutomationRecord(
        key=row.pk,
        name=row.name,
        schedule=Schedule(row.expression, row.timezone, us_or_none(row.run_at)),
        target=StoredTarget(msgspec.json.decode(row.target), row.target_session),
        metadata=msgspec.json.decode(row.metadata),
        owner=row.owner_name or "",
        sender=(row.owner_id, row.actor_key, row.actor_scope),
        next_at=us_or_none(row.next_at),
        paused_at=us_or_none(row.paused_at),
        pause_reason=row.pause_reason,
        created_at=to_us(row.created_at),
        updated_at=to_us(row.updated_at),
    )
