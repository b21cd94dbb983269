"""Sums over the steps of a turn, and over the turns of a session.

What is summed is declared here, once: whoever writes steps, prices them, reports them again or deletes them adds a
difference to the stored sums, or counts them again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from agents.base.store.sql import Update, execute, execute_many
from agents.record.store.step_rows import TYPES, StepDraft, StepOutcome

TOKENS = ("input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens")
_TURN_SUMS = (*TOKENS, "step_count", "tool_count", "error_count", "violation_count")
TURN_COLUMNS = " ".join((*_TURN_SUMS, "cost_nano", "step_types", "ttft_us"))
_SESSION_SUMS = {
    "turn_count": "COUNT(*)",
    "input_tokens": "COALESCE(SUM(counted.input_tokens), 0)",
    "output_tokens": "COALESCE(SUM(counted.output_tokens), 0)",
    "cost_nano": "SUM(counted.cost_nano)",
}
"""The columns of a session's sums, and how each is counted from its turns."""
SESSION_COLUMNS = " ".join(_SESSION_SUMS)
SHARE_COLUMNS = SESSION_COLUMNS.removeprefix("turn_count ")
"""The columns of a turn that its session sums up."""


@dataclass(slots=True)
class TurnTotals:
    """Sums over steps of a turn: over all of them, or over those of a batch. ``cost_nano`` is None while no cost is
    known, ``step_types`` a bit mask; ``ttft_us`` is the time from the turn's start to the first token of the first
    step that reports one."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    step_count: int = 0
    tool_count: int = 0
    error_count: int = 0
    violation_count: int = 0
    inference_count: int = 0
    cost_nano: int | None = None
    step_types: int = 0
    ttft_us: int | None = None

    @classmethod
    def of(cls, drafts: Iterable[StepDraft], turn_started_us: int) -> TurnTotals:
        totals = cls()
        for draft in drafts:
            totals.count(draft.type)
            if draft.outcome:
                totals.count_outcome(draft.outcome, turn_started_us)
        return totals

    def count(self, step_type: str) -> None:
        """Count a step that begins."""
        self.step_count += 1
        self.step_types |= 1 << TYPES[step_type]
        self.tool_count += step_type == "tool_execution"
        self.inference_count += step_type == "inference"

    def count_outcome(self, outcome: StepOutcome, turn_started_us: int) -> None:
        """Add what a step came to."""
        self.error_count += outcome.status == "failed"
        self.violation_count += outcome.nature.violates
        if self.ttft_us is None and outcome.ttft_us is not None:
            self.ttft_us = max(outcome.started_us - turn_started_us, 0) + outcome.ttft_us
        if (usage := outcome.usage) is not None:
            self.input_tokens += usage.input_tokens
            self.output_tokens += usage.output_tokens
            self.cached_tokens += usage.cached_tokens
            self.reasoning_tokens += usage.reasoning_tokens
            self.cost_nano = _sum(self.cost_nano, outcome.cost[0])

    def add(self, later: TurnTotals) -> None:
        """Add the sums over later steps of the same turn."""
        for name in _TURN_SUMS:
            setattr(self, name, getattr(self, name) + getattr(later, name))
        self.inference_count += later.inference_count
        self.cost_nano = _sum(self.cost_nano, later.cost_nano)
        self.step_types |= later.step_types
        self.ttft_us = later.ttft_us if self.ttft_us is None else self.ttft_us

    @property
    def tokens(self) -> dict[str, int]:
        """The tokens by their kind."""
        return {name.removesuffix("_tokens"): getattr(self, name) for name in TOKENS}

    @property
    def has_usage(self) -> bool:
        """Whether a step has reported tokens."""
        return bool(self.input_tokens or self.output_tokens)

    def columns(self) -> tuple[Any, ...]:
        """Return the columns `TURN_COLUMNS` of a turn that has no other steps."""
        return (*(getattr(self, name) for name in _TURN_SUMS), self.cost_nano, self.step_types, self.ttft_us)

    def add_to(self, turn: Update) -> None:
        """Add these sums to those of a stored turn."""
        for name in _TURN_SUMS:
            turn.add(name, getattr(self, name))
        if self.cost_nano is not None:
            turn.add_to_unknown("cost_nano", self.cost_nano)
        if self.step_types:
            turn.set_expression("step_types", "step_types | %s", self.step_types)
        if self.ttft_us is not None:
            turn.set_expression("ttft_us", "COALESCE(ttft_us, %s)", self.ttft_us)

    def add_tokens_to(self, response: Update) -> None:
        """Add the tokens to those of the response that spent them."""
        for name in TOKENS:
            response.add(name, getattr(self, name))


def _sum(cost_nano: int | None, more: int | None) -> int | None:
    return cost_nano if more is None else (cost_nano or 0) + more


@dataclass(slots=True)
class SessionTotals:
    """Sums over the turns of a session, or a difference between two: the columns `SESSION_COLUMNS`. ``cost_nano`` is
    None where no turn has a known cost."""

    turn_count: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_nano: int | None = None

    @classmethod
    def of(cls, turn: TurnTotals) -> SessionTotals:
        """Return the share of a turn, or of some of its steps; the turn itself is not counted."""
        return cls(0, turn.input_tokens, turn.output_tokens, turn.cost_nano)

    def add(self, more: SessionTotals, sign: Literal[1, -1] = 1) -> None:
        """Add a sum, or subtract it."""
        self.turn_count += sign * more.turn_count
        self.input_tokens += sign * more.input_tokens
        self.output_tokens += sign * more.output_tokens
        self.cost_nano = _sum(self.cost_nano, None if more.cost_nano is None else sign * more.cost_nano)

    def columns(self) -> tuple[int | None, ...]:
        """Return the columns `SESSION_COLUMNS` of a session that has no other turns."""
        return self.turn_count, self.input_tokens, self.output_tokens, self.cost_nano

    def add_to(self, session: Update) -> None:
        """Add these sums to those of a stored session, with other changes of it."""
        session.add("turn_count", self.turn_count)
        session.add("input_tokens", self.input_tokens)
        session.add("output_tokens", self.output_tokens)
        if self.cost_nano is not None:
            session.add_to_unknown("cost_nano", self.cost_nano)


_ADDED = ", ".join(f"{column} = {column} + %s" for column in _SESSION_SUMS if column != "cost_nano")
_ADD = f"UPDATE agents_session SET {_ADDED}, cost_nano = COALESCE(cost_nano + %s, cost_nano, %s) WHERE id = %s"  # noqa: S608 - columns of ours


def add(differences: Mapping[int, SessionTotals]) -> None:
    """Add to the sums of stored sessions, by key, within the caller's transaction."""
    execute_many(_ADD, ((*sums.columns(), sums.cost_nano, session) for session, sums in differences.items()))


_OF_TURNS = "FROM agents_turn AS counted WHERE counted.session_id = agents_session.id"
_COUNTED = ", ".join(f"{column} = (SELECT {total} {_OF_TURNS})" for column, total in _SESSION_SUMS.items())
_RECOUNT = f"UPDATE agents_session SET {_COUNTED} WHERE id = %s AND removed_at IS NULL"  # noqa: S608 - columns of ours


def recount(session: int) -> None:
    """Count a session's sums again from its turns, within the caller's transaction. Sessions that are being removed
    are left out: nobody reads their sums, and each time all remaining turns would be read."""
    execute(_RECOUNT, session)
