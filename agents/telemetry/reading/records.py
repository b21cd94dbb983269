"""Turns and steps as the readers build them from spans, not yet stored. Ids are the senders' own."""

from __future__ import annotations

from typing import Any

import msgspec

from agents.record.schemas.content import CompletionMessage, TurnMessage, Usage
from agents.record.schemas.events import ErrorInfo, StepDetail, StepStatus, StepType
from agents.record.schemas.feedback import ReportedFeedback

ExternalStatus = StepStatus
"""The status of a step or a turn."""


class ExternalStep(msgspec.Struct, frozen=True):
    """One step, built from the span ``id`` of ``trace``; ``parent`` is the id of the step it lies in, ''
    at the top. Times are microseconds since 1970, None where not known. ``usage`` is set only where
    the step itself spent the tokens; ``cost_nano`` where the sender reported its cost. ``kind`` is the kind of an
    ``other`` step, and of all others the sender's name for it. ``agent`` is the agent that did it. ``is_inferred`` says
    that no span reported it: it was read from the messages of neighbouring steps. ``hidden`` that its text was
    not captured."""

    id: str
    trace: str
    type: StepType
    kind: str
    name: str
    detail: StepDetail
    status: ExternalStatus
    parent: str = ""
    started_us: int | None = None
    ended_us: int | None = None
    ttft_us: int | None = None
    waited_us: int | None = None
    model: str = ""
    provider: str = ""
    usage: Usage | None = None
    cost_nano: int | None = None
    error: ErrorInfo | None = None
    agent: str = ""
    is_inferred: bool = False
    hidden: bool = False


class ExternalTurn(msgspec.Struct, frozen=True):
    """One turn. ``id`` stays the same whatever arrives later, and in whatever order. ``session`` is the sender's id of
    the conversation, or ``trace:<id>`` where there is none; ``session_name`` its display name, where that is something
    else, None where it has none. ``agents`` are all that took part, ``agent`` the one that was asked. ``warnings`` are
    sentences for the reader (attributes that were cut, a parent that never arrived). ``run`` is the id that a coding
    agent itself gives the turn, the same in all reports of it, ``format`` that of the spans it is reported in.
    ``agent_model`` is the model of the agent's configuration, where that is reported. ``stop_reason`` is set only where
    the sender says it of the turn itself: else its last message has it."""

    id: str
    session: str
    agent: str
    status: ExternalStatus
    started_us: int
    ended_us: int | None = None
    waited_us: int | None = None
    agents: tuple[str, ...] = ()
    traces: tuple[str, ...] = ()
    input: tuple[TurnMessage, ...] = ()
    output: CompletionMessage | None = None
    error: ErrorInfo | None = None
    stop_reason: str | None = None
    steps: tuple[ExternalStep, ...] = ()
    model: str = ""
    provider: str = ""
    user: str = ""
    tags: tuple[str, ...] = ()
    metadata: dict[str, str] = {}
    instructions: str = ""
    tools: tuple[dict[str, Any], ...] = ()
    hidden: bool = False
    warnings: tuple[str, ...] = ()
    session_name: str | None = ""
    agent_model: str = ""
    run: str = ""
    format: str = ""
    feedback: tuple[ReportedFeedback, ...] = ()
