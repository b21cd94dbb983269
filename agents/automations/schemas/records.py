"""Automations and their runs as they are stored: the types that the store returns.

A target is a JSON object. Of the type ``new_session`` it has ``agent_id`` or ``config`` (a configuration of an agent),
``input`` (messages as on the wire) and ``metadata``; of the type ``existing_session`` it has ``session``, the key,
``session_id`` and ``instructions``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from agents.base import ids


@dataclass(frozen=True, slots=True)
class Schedule:
    """When an automation runs: by a cron ``expression`` in a ``timezone``, or once, at ``run_at`` (microseconds since
    1970)."""

    expression: str = ""
    timezone: str = ""
    run_at: int | None = None


@dataclass(frozen=True, slots=True)
class StoredTarget:
    """What an automation says to whom, as it is stored: JSON, and the key of the session that it goes on with."""

    body: Mapping[str, Any]
    session: int | None = None

    @property
    def json(self) -> str:
        return msgspec.json.encode(self.body).decode()


@dataclass(frozen=True, slots=True)
class AutomationRecord:
    """An automation. Times are microseconds since 1970; ``sender`` are the user, API key and scope that it acts for."""

    key: int
    name: str
    schedule: Schedule
    target: StoredTarget
    metadata: Mapping[str, str]
    owner: str
    sender: tuple[int | None, int | None, int | None]
    next_at: int | None
    paused_at: int | None
    pause_reason: str
    created_at: int
    updated_at: int

    @property
    def public_id(self) -> str:
        return ids.openai(ids.Kind.AUTOMATION, self.key)

    @property
    def is_periodic(self) -> bool:
        return bool(self.schedule.expression)

    @property
    def status(self) -> str:
        if self.next_at is not None:
            return "active"
        return "paused" if self.paused_at is not None else "completed"


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A run. Times are microseconds since 1970, ``snapshot`` is JSON."""

    key: int
    automation: int
    scheduled_at: int | None
    snapshot: str
    state: str
    session: int
    turn: int | None
    error_code: str
    error: str
    created_at: int

    @property
    def public_id(self) -> str:
        return ids.openai(ids.Kind.AUTOMATION_RUN, self.key)
