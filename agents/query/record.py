"""Plain rows for `matches`: what a query can see of a turn and of its steps.

The attributes are the columns that the table of fields names. Absent is None, or empty for texts
and lists. Ids are public ids as text, moments and lengths of time microseconds, costs billionths
of a dollar (``cost_nano``). Must not know tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_MARKS = {"queued": ("live",), "in_progress": ("live",), "awaiting_input": ("waiting",)}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Record:
    """What turns and steps have in common. ``marks`` are the values of ``is:``."""

    id: str
    status: str
    started_us: int | None = None
    ended_us: int | None = None
    duration_us: int | None = None
    ttft_us: int | None = None
    model: str = ""
    tokens_total: int | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_cached: int | None = None
    tokens_reasoning: int | None = None
    cost_nano: int | None = None
    error_type: str = ""
    error_message: str = ""

    @property
    def marks(self) -> tuple[str, ...]:
        return _MARKS.get(self.status, ())


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRecord(_Record):
    """``tool`` is empty for all but tool executions, ``server_side`` None. ``text`` is all that
    can be found in the step: what it said, its arguments, its result."""

    type: str
    kind: str = ""
    tool: str = ""
    server_side: bool | None = None
    provider: str = ""
    finish_reason: str = ""
    violation_level: str = ""
    violation_message: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRecord(_Record):
    """``input`` and ``output`` are the texts of its messages, ``metadata`` decoded JSON."""

    session_id: str
    session_name: str = ""
    agent_id: str = ""
    agent_name: str = ""
    user: str = ""
    tags: tuple[str, ...] = ()
    env: str = ""
    key: str = ""
    api: str = ""
    source: str = ""
    stop_reason: str = ""
    input: str = ""
    output: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    steps: tuple[StepRecord, ...] = ()


Record = TurnRecord | StepRecord
