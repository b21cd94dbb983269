"""The columns of an external turn: of its row, and of its body."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any

import msgspec

from agents.base.models.terms import TermKind
from agents.base.store import terms
from agents.record.models.choices import Api, Source, StepType, TurnStatus
from agents.record.schemas.content import TurnMessage, Usage, has_images, text_of
from agents.record.schemas.events import ShieldDetail
from agents.record.store.recorder import preview
from agents.record.store.step_rows import error_term
from agents.telemetry.reading.records import ExternalStep, ExternalTurn
from agents.telemetry.store.external.owners import Owner, external_id

FIELDS = (
    "id session_id agent_id number owner_id scope_id api source status stop_reason model_id provider_id end_user_id "
    "error_type_id started_at completed_at duration_us ttft_us input_tokens output_tokens cached_tokens "
    "reasoning_tokens cost_nano step_types step_count tool_count error_count violation_count iterations leg_count "
    "next_seq lease_owner foreign_id"
)
BODY_FIELDS = (
    "turn_id input_preview output_preview input_messages output_message request error metadata attachments sanitized"
)
IMAGES_FLAG = 1


@dataclass(frozen=True, slots=True)
class StepTotals:
    """Sums over the steps of a turn."""

    steps: int
    types: int
    usage: Usage
    cost_nano: int | None
    tools: int
    errors: int
    violations: int
    rounds: int
    ttft_us: int | None

    @classmethod
    def of(cls, record: ExternalTurn, counted: Sequence[ExternalStep], cost_nano: int | None) -> StepTotals:
        """Sum up some of a turn's steps, or all."""
        return cls(
            steps=len(counted),
            types=reduce(or_, (1 << StepType[step.type.upper()] for step in counted), 0),
            usage=_total_usage([step.usage for step in counted if step.usage is not None]),
            cost_nano=cost_nano,
            tools=sum(step.type == "tool_execution" for step in counted),
            errors=sum(step.status == "failed" for step in counted),
            violations=sum(_violates(step) for step in counted),
            rounds=sum(step.type == "inference" for step in counted),
            ttft_us=_ttft(record, counted),
        )

    def __add__(self, later: StepTotals) -> StepTotals:
        """Add the sums of later steps of the same turn."""
        costs = [cost for cost in (self.cost_nano, later.cost_nano) if cost is not None]
        return StepTotals(
            steps=self.steps + later.steps,
            types=self.types | later.types,
            usage=_total_usage([self.usage, later.usage]),
            cost_nano=sum(costs) if costs else None,
            tools=self.tools + later.tools,
            errors=self.errors + later.errors,
            violations=self.violations + later.violations,
            rounds=self.rounds + later.rounds,
            ttft_us=later.ttft_us if self.ttft_us is None else self.ttft_us,
        )


def _violates(step: ExternalStep) -> bool:
    return isinstance(step.detail, ShieldDetail) and step.detail.violation is not None


def _total_usage(usages: Sequence[Usage]) -> Usage:
    return Usage(
        input_tokens=sum(usage.input_tokens for usage in usages),
        output_tokens=sum(usage.output_tokens for usage in usages),
        cached_tokens=sum(usage.cached_tokens for usage in usages),
        reasoning_tokens=sum(usage.reasoning_tokens for usage in usages),
    )


def _ttft(record: ExternalTurn, steps: Sequence[ExternalStep]) -> int | None:
    """The time to the first token, from the first step that reports one."""
    for step in steps:
        if step.ttft_us is not None and step.started_us is not None:
            return max(step.started_us - record.started_us, 0) + step.ttft_us
    return None


def turn_row(
    owner: Owner, record: ExternalTurn, source: Source, keys: tuple[int, int, int, int], sums: StepTotals
) -> Sequence[Any]:
    """The columns `FIELDS`; ``keys`` are the turn, its session, its agent, its number."""
    status = TurnStatus[record.status.upper()]
    ended = record.ended_us if status != TurnStatus.IN_PROGRESS else None
    term_ids = (
        terms.intern(TermKind.MODEL, record.model),
        terms.intern(TermKind.PROVIDER, record.provider),
        terms.intern(TermKind.END_USER, record.user),
        error_term(record.error),
    )
    usage = sums.usage
    tokens = (usage.input_tokens, usage.output_tokens, usage.cached_tokens, usage.reasoning_tokens)
    times = (record.started_us, ended, None if ended is None else max(ended - record.started_us, 0), sums.ttft_us)
    counts = (sums.types, sums.steps, sums.tools, sums.errors, sums.violations, sums.rounds, 1, 0)
    head = (*keys, owner.user, owner.scope, Api.NONE.value, source.value, status.value, _stop_reason(record))
    return (*head, *term_ids, *times, *tokens, sums.cost_nano, *counts, "", external_id(record.id))


def _stop_reason(record: ExternalTurn) -> str:
    return "" if record.error or record.output is None else record.output.stop_reason


def body_row(record: ExternalTurn) -> Sequence[Any]:
    """The columns `BODY_FIELDS` but the first."""
    answer = text_of(record.output.content) if record.output else ""
    outcome = record.error.message if record.error else answer
    messages = "[" + ",".join(message.model_dump_json(exclude_none=True) for message in record.input) + "]"
    return (
        preview(input_text(record)),
        preview(outcome),
        messages,
        record.output.model_dump_json(exclude_none=True) if record.output else "",
        _request_json(record),
        record.error.model_dump_json(exclude_none=True) if record.error else "",
        msgspec.json.encode(record.metadata).decode(),
        IMAGES_FLAG * any(has_images(message.content) for message in record.input),
        False,
    )


def _request_json(record: ExternalTurn) -> str:
    """The provenance of a turn as JSON, '' where there is none."""
    fields = {"warnings": record.warnings, "hidden": record.hidden, "agents": record.agents, "traces": record.traces}
    details = {name: value for name, value in fields.items() if value}
    return msgspec.json.encode({"foreign": details}).decode() if details else ""


def input_text(record: ExternalTurn) -> str:
    """The text of the input that a turn answers."""
    return "\n".join(text_of(message.content) for message in record.input if _is_input(message))


def _is_input(message: TurnMessage) -> bool:
    return message.role in ("user", "tool")
