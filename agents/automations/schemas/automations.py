"""Automations in requests and answers: as OpenAI's Agents API has them. Times are seconds since 1970."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from agents.base.schemas.wire import WireOutput
from agents.openai_agents.schemas.agents import AgentFields, Metadata, Params
from agents.openai_agents.schemas.sessions import EnvironmentParams, UserInput

MAX_EXPRESSION = 200
MAX_TARGET_BYTES = 64 * 1024
"""Of a target as JSON: each run keeps the automation as it was."""
MAX_RUN_AT = 253_402_300_799
"""The last second of the year 9999."""
Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
Expression = Annotated[str, Field(min_length=1, max_length=MAX_EXPRESSION)]
TimeZone = Annotated[str, Field(min_length=1, max_length=80)]
RunAt = Annotated[int, Field(ge=0, le=MAX_RUN_AT)]
Json = dict[str, Any]


class NewSessionTarget(Params):
    """Begin a session each time, with the saved agent of ``agent_id`` or with ``agent``, which needs a model then."""

    type: Literal["new_session"]
    environment: EnvironmentParams
    input: Annotated[list[UserInput], Field(min_length=1, max_length=100)]
    agent: AgentFields | None = None
    agent_id: str | None = None
    metadata: Metadata | None = None
    vault_ids: list[str] | None = None


class ExistingSessionTarget(Params):
    """Say something in a session each time."""

    type: Literal["existing_session"]
    session_id: str
    instructions: Annotated[str, Field(min_length=1)]


Target = Annotated[NewSessionTarget | ExistingSessionTarget, Field(discriminator="type")]


class CreateAutomation(Params):
    """``periodic`` ones need ``expression``, a cron expression of five fields, and ``timezone``, by its IANA name;
    those that run ``once`` need ``run_at``, which is to come."""

    type: Literal["periodic", "once"]
    name: Name
    target: Target
    expression: Expression | None = None
    timezone: TimeZone | None = None
    run_at: RunAt | None = None
    metadata: Metadata | None = None


class UpdateAutomation(Params):
    """What is left out stays. A target is replaced as a whole, by one of the same type."""

    name: Name | None = None
    target: Target | None = None
    expression: Expression | None = None
    timezone: TimeZone | None = None
    run_at: RunAt | None = None
    metadata: Metadata | None = None


class AutomationObject(WireOutput):
    """An automation. ``expression`` and ``timezone`` are those of a periodic one, ``run_at`` that of one that runs
    once. ``next_run_at`` is ours."""

    id: str
    object: Literal["agent.automation"]
    type: Literal["periodic", "once"]
    name: str
    status: Literal["active", "paused", "completed"]
    pause_reason: Literal["target_session_failed"] | None
    target: Json
    created_at: int
    created_by: Json
    metadata: dict[str, str]
    next_run_at: int | None
    expression: str | None = None
    timezone: str | None = None
    run_at: int | None = None


class AutomationList(WireOutput):
    object: Literal["list"]
    data: list[AutomationObject]
    first_id: str | None
    last_id: str | None
    has_more: bool


class AutomationDeleted(WireOutput):
    id: str
    object: Literal["agent.automation.deleted"]
    deleted: Literal[True]


class InvocationObject(WireOutput):
    """One time of an automation that has come, or that was asked for. *Completed* is one whose turn has begun;
    ``turn_id``, which is ours, says which. ``error`` says why none could."""

    id: str
    object: Literal["agent.automation.invocation"]
    automation_id: str
    status: Literal["queued", "completed", "failed", "skipped"]
    created_at: int
    scheduled_at: int | None
    session_id: str | None
    turn_id: str | None
    skip_reason: Literal["pending_delivery"] | None
    error: Json | None
    source: Json


class InvocationList(WireOutput):
    object: Literal["list"]
    data: list[InvocationObject]
    first_id: str | None
    last_id: str | None
    has_more: bool
