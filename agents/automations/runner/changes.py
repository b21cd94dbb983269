"""What requests make of automations: new ones, changed ones, paused ones. Blocking."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from agents.automations.providers import cron
from agents.automations.schemas.automations import (
    MAX_TARGET_BYTES,
    CreateAutomation,
    ExistingSessionTarget,
    NewSessionTarget,
    UpdateAutomation,
)
from agents.automations.schemas.records import AutomationRecord, Schedule, StoredTarget
from agents.automations.store import automations
from agents.automations.store.automations import NewAutomation
from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import Conflict, InvalidRequest
from agents.loop.images import check_images
from agents.openai_agents.runner.configs import config_of, missing, unavailable
from agents.openai_agents.runner.sessions import messages_of, named_agent
from agents.openai_agents.store import sessions
from agents.openai_agents.wire.agents import agent_id
from agents.openai_agents.wire.sessions import session_id

_ONLY_PERIODIC, _ONLY_ONCE = ("expression", "timezone"), ("run_at",)


def create(actor: Actor, body: CreateAutomation) -> AutomationRecord:
    """Store an automation. Raises InvalidRequest naming the field, NotFound for what it names."""
    schedule = _schedule(body)
    new = NewAutomation(
        name=body.name,
        schedule=schedule,
        target=_target(actor, body.target),
        metadata=body.metadata or {},
        next_at=_first_time(schedule),
    )
    return automations.create(actor, new)


def _schedule(body: CreateAutomation) -> Schedule:
    if body.type == "once":
        _refuse(body, _ONLY_PERIODIC, "periodic")
        if body.run_at is None:
            raise missing("run_at")
        return Schedule(run_at=body.run_at * 1_000_000)
    _refuse(body, _ONLY_ONCE, "once")
    if body.expression is None or body.timezone is None:
        raise missing("expression" if body.expression is None else "timezone")
    return Schedule(body.expression, body.timezone)


def _refuse(body: CreateAutomation | UpdateAutomation, names: tuple[str, ...], type: str) -> None:
    wrong = next((name for name in names if getattr(body, name) is not None), None)
    if wrong is not None:
        raise InvalidRequest(f"{wrong}: only for automations of the type '{type}'.", param=wrong, code="invalid_value")


def _first_time(schedule: Schedule) -> int:
    """Return when an automation is due first. Raises InvalidRequest for what is never, or over."""
    if schedule.run_at is not None:
        if schedule.run_at <= ids.now_us():
            raise InvalidRequest("run_at: it is to come.", param="run_at", code="invalid_value")
        return schedule.run_at
    at = next_time(schedule, ids.now_us())
    if at is None:
        raise InvalidRequest("expression: it never comes.", param="expression", code="invalid_value")
    return at


def next_time(schedule: Schedule, after_us: int) -> int | None:
    """Return the next time of a periodic schedule. Raises InvalidRequest for one that cannot be read."""
    try:
        zone = cron.zone_of(schedule.timezone)
    except ValueError as error:
        raise InvalidRequest(f"timezone: {error}.", param="timezone", code="invalid_value") from None
    try:
        return cron.next_after(cron.parse(schedule.expression), zone, after_us)
    except ValueError as error:
        raise InvalidRequest(f"expression: {error}.", param="expression", code="invalid_value") from None


# ---------------------------------------------------------------------------------------------- targets


def _target(actor: Actor, given: NewSessionTarget | ExistingSessionTarget) -> StoredTarget:
    if isinstance(given, ExistingSessionTarget):
        row = sessions.get(actor, given.session_id)
        session = session_id(row.key)
        body: Mapping[str, Any] = {"type": given.type, "session": row.key, "instructions": given.instructions}
        return _checked(StoredTarget({**body, "session_id": session}, row.key))
    if given.vault_ids:
        raise unavailable("target.vault_ids", "vaults")
    if (given.agent is None) == (given.agent_id is None):
        message = "target: it needs one of agent and agent_id."
        raise InvalidRequest(message, param="target.agent_id", code="invalid_value")
    check_images(messages_of(given.input))
    config = None if given.agent is None else config_of(actor, given.agent, None, "target.agent.")
    named = None if given.agent_id is None else agent_id(named_agent(actor, given.agent_id).key)
    parts = [message.model_dump(mode="json", exclude={"type"}) for message in given.input]
    body = {
        "type": given.type,
        "agent_id": named,
        "config": None if config is None else config.model_dump(mode="json", exclude_none=True),
        "input": [{"type": "message", **message} for message in parts],
        "metadata": given.metadata or {},
    }
    return _checked(StoredTarget(body))


def _checked(target: StoredTarget) -> StoredTarget:
    if len(target.json.encode()) > MAX_TARGET_BYTES:
        message = f"target: it is larger than {MAX_TARGET_BYTES // 1024} KiB of JSON."
        raise InvalidRequest(message, param="target", code="too_large")
    return target


# ---------------------------------------------------------------------------------------------- changes


def update(actor: Actor, public_id: str, body: UpdateAutomation) -> AutomationRecord:
    """Change an automation. Raises InvalidRequest naming the field, NotFound, Conflict for the time of one that has
    run."""
    before = automations.get(actor, public_id, "manage")
    _refuse(body, _ONLY_ONCE if before.is_periodic else _ONLY_PERIODIC, "once" if before.is_periodic else "periodic")
    target = None
    if body.target is not None:
        if body.target.type != before.target.body["type"]:
            message = f"target.type: it stays '{before.target.body['type']}'."
            raise InvalidRequest(message, param="target.type", code="invalid_value")
        target = _target(actor, body.target)
    schedule = _changed_schedule(before, body)
    first = None if schedule is None else _first_time(schedule)

    def change(now: AutomationRecord) -> AutomationRecord:
        changed = replace(now, name=body.name or now.name, target=target or now.target)
        if body.metadata is not None:
            changed = replace(changed, metadata=body.metadata)
        if schedule is None:
            return changed
        if now.status == "completed":
            raise Conflict("run_at: it has run already.", param="run_at", code="conflict_error")
        return replace(changed, schedule=schedule, next_at=None if now.status == "paused" else first)

    return automations.change(actor, public_id, change)


def _changed_schedule(before: AutomationRecord, body: UpdateAutomation) -> Schedule | None:
    if body.run_at is not None:
        return Schedule(run_at=body.run_at * 1_000_000)
    if body.expression is None and body.timezone is None:
        return None
    old = before.schedule
    return Schedule(body.expression or old.expression, body.timezone or old.timezone)


def pause(actor: Actor, public_id: str) -> AutomationRecord:
    """Pause an automation; one that is paused stays so. Raises NotFound, Conflict for one that has run."""

    def change(now: AutomationRecord) -> AutomationRecord:
        _check_not_over(now)
        return now if now.status == "paused" else replace(now, next_at=None, paused_at=ids.now_us(), pause_reason="")

    return automations.change(actor, public_id, change)


def resume(actor: Actor, public_id: str) -> AutomationRecord:
    """Go on with an automation: what it has missed is left out, but for the one time of one that runs once. Raises
    NotFound, Conflict for one that has run."""

    def change(now: AutomationRecord) -> AutomationRecord:
        _check_not_over(now)
        if now.status == "active":
            return now
        schedule = now.schedule
        at = schedule.run_at if schedule.run_at is not None else next_time(schedule, ids.now_us())
        return replace(now, next_at=at, paused_at=None, pause_reason="")

    return automations.change(actor, public_id, change)


def _check_not_over(now: AutomationRecord) -> None:
    if now.status == "completed":
        raise Conflict("The automation has run, and is over.", code="conflict_error")
