"""Rows of the lists: turns, steps and sessions, each in a few lines that begin with its id."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agents.base import ids
from agents.base.timestamps import to_datetime
from agents.log_tools.wire.bounds import one_line
from agents.logs.schemas.rows import SessionRow, StepRow, TokenCounts, TurnRow
from agents.record.schemas.events import ErrorInfo

PREVIEW_CHARS = 200
"""Characters of a text in a row. A row has a place in the shortest answer, so that each answer leads further."""
NAME_CHARS = 60


def turn_row(row: TurnRow) -> str:
    """Write a turn: what became of it, what it was asked and answered, why it failed."""
    counts = row.counts
    facts = [
        f"turn {ids.public(ids.Kind.TURN, row.id)}",
        _status(row.status, row.stop_reason, undecided=row.undecided),
        *_times(row.started_at, row.duration_ms),
        _named("agent", row.agent_name),
        _named("model", row.model),
        _tokens(row.usage),
        _cost(row.cost_usd),
        f"{counts.steps} steps, {counts.tools} tool calls, {counts.errors} errors",
        _tags(row.tags),
    ]
    output = "" if row.error else row.output_preview
    return _paragraph(facts, {"input": row.input_preview, "output": output}, row.error)


def step_row(row: StepRow) -> str:
    """Write a step: where it stands, what it was given and what came of it."""
    facts = [
        f"step {ids.public(ids.Kind.STEP, row.id)}",
        f"no. {row.number + 1} of turn {ids.public(ids.Kind.TURN, row.turn_id)}",
        " ".join(filter(None, (row.type, one_line(row.kind, NAME_CHARS), one_line(row.name, NAME_CHARS)))),
        _status(row.status, row.finish),
        *_times(row.started_at, row.duration_ms),
        _named("agent", row.agent_name),
        _tokens(row.usage),
        _cost(row.cost_usd),
        _tags(row.tags),
    ]
    output = "" if row.error else row.output_preview
    return _paragraph(facts, {"input": row.input_preview, "output": output}, row.error)


def session_row(row: SessionRow) -> str:
    """Write a session, with its last turn."""
    facts = [
        f"session {ids.public(ids.Kind.SESSION, row.id)}",
        _named("name", row.name),
        _named("agent", row.agent_name),
        f"{row.turn_count} turns",
        *_times(row.started_at, None),
        _tokens(row.usage),
        _cost(row.cost_usd),
        _tags(row.tags),
    ]
    last = row.last_turn
    return _paragraph(facts, {}, None) + (f"\n  last {turn_row(last)}" if last else "")


ROWS: Mapping[str, Callable[[Any], str]] = {"turn": turn_row, "step": step_row, "session": session_row}
"""How to write a row, by level."""
KINDS: Mapping[str, ids.Kind] = {"turn": ids.Kind.TURN, "step": ids.Kind.STEP, "session": ids.Kind.SESSION}


def error_text(error: ErrorInfo | None, size: int) -> str:
    """Write why something failed, on one line."""
    if error is None:
        return ""
    provider = f" ({error.provider})" if error.provider else ""
    return one_line(f"{error.type}{provider}: {error.message}", size)


def time_text(at_us: int) -> str:
    """Write a time in UTC, to the second."""
    return f"{to_datetime(at_us):%Y-%m-%dT%H:%M:%SZ}"


def duration_text(ms: float | None) -> str:
    """Write a duration in a unit that suits it; empty where there is none."""
    if ms is None:
        return ""
    return f"{ms:,.0f} ms" if ms < 10_000 else f"{ms / 1000:,.1f} s"


def _paragraph(facts: Sequence[str], texts: Mapping[str, str], error: ErrorInfo | None) -> str:
    lines = [" | ".join(filter(None, facts))]
    lines += [f"  {name}: {one_line(text, PREVIEW_CHARS)}" for name, text in texts.items() if text]
    lines += [f"  error: {error_text(error, PREVIEW_CHARS)}"] if error else []
    return "\n".join(lines)


def _status(status: str | None, reason: str | None, *, undecided: bool = False) -> str:
    words = [status or "", f"({one_line(reason, NAME_CHARS)})" if reason else ""]
    return " ".join(filter(None, [*words, "undecided" if undecided else ""]))


def _times(started_at: int, duration_ms: float | None) -> list[str]:
    return [time_text(started_at), duration_text(duration_ms)]


def _named(label: str, name: str) -> str:
    return f"{label} {one_line(name, NAME_CHARS)}" if name else ""


def _tokens(usage: TokenCounts) -> str:
    return f"{usage.input_tokens:,}+{usage.output_tokens:,} tokens" if usage.total_tokens else ""


def _cost(usd: float | None) -> str:
    return f"${usd:.4f}" if usd else ""


def _tags(tags: Sequence[str]) -> str:
    return f"tags {one_line(', '.join(tags), NAME_CHARS)}" if tags else ""
