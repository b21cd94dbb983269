"""Reports of one and the same turn: a coding agent sends it while it works, and has it in its session file, too; a
session that was forked repeats the turns of the one it comes from.

Both carry the id that the program gave the turn (``run``). The fuller report counts: one that has ended before one that
goes on, a file, which has all words, before spans. What is sent live knows the session that the turn was made in, what
its calls cost and when their first words came.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from agents.telemetry.reading.coerce import text
from agents.telemetry.reading.dialects import claude_code, codex
from agents.telemetry.reading.groups import GroupedTrace, TurnGroup
from agents.telemetry.reading.records import ExternalStep, ExternalTurn

LIVE = "otlp"


def run_of(group: TurnGroup) -> str:
    """Return the id that a coding agent itself gives a turn, with the agent's name; '' of other turns."""
    if group.top is None:
        return ""
    span, kind = group.top.span, group.top.facts.sender_kind
    if span.format in ("claude_code", "codex"):
        run = text(span.attributes.get("prompt_id" if span.format == "claude_code" else "turn_id"))
        return f"{span.format} {run}" if run else ""
    if kind == codex.TURN:
        run = text(span.attributes.get("turn.id"))
        return f"codex {run}" if run else ""
    if kind == claude_code.TURN:
        prompts = [text(event.attributes.get("prompt.id")) for event in span.events]
        return next((f"claude_code {prompt}" for prompt in prompts if prompt), "")
    return ""


def runs_of(grouped: GroupedTrace) -> set[str]:
    """Return the ids that coding agents gave the turns of a trace."""
    return {run for group in grouped.groups if (run := run_of(group))}


def join_same_turns(turns: Iterable[ExternalTurn]) -> list[ExternalTurn]:
    """Return each turn once, in the order of their first reports."""
    by_run: dict[str, list[ExternalTurn]] = {}
    for turn in turns:
        by_run.setdefault(turn.run or f"turn {turn.id}", []).append(turn)
    return [reports[0] if len(reports) == 1 else _joined(reports) for reports in by_run.values()]


def _joined(reports: Sequence[ExternalTurn]) -> ExternalTurn:
    """Join reports; neither their order nor their number matters. The id is that of the live report, which mostly comes
    first and may have comments by then."""
    ordered = sorted(reports, key=lambda turn: (turn.format != LIVE, turn.session, turn.id))
    first = ordered[0]
    fullest = max(reversed(ordered), key=_fullness)
    steps = fullest.steps
    for report in ordered:
        steps = _with_numbers(steps, report.steps)
    return replace(
        fullest,
        id=first.id,
        session=first.session,
        session_name=first.session_name or fullest.session_name,
        format=first.format,
        user=next((turn.user for turn in ordered if turn.user), ""),
        traces=tuple(dict.fromkeys(trace for turn in ordered for trace in turn.traces)),
        steps=steps,
    )


def _fullness(turn: ExternalTurn) -> tuple[bool, bool, int]:
    return turn.ended_us is not None, turn.format != LIVE, len(turn.steps)


def _with_numbers(steps: tuple[ExternalStep, ...], others: tuple[ExternalStep, ...]) -> tuple[ExternalStep, ...]:
    """Add to the calls of models what another report alone knows of them, if it has as many."""
    calls = [step for step in steps if step.type == "inference"]
    reported_calls = [step for step in others if step.type == "inference"]
    if len(calls) != len(reported_calls):
        return steps
    completed = {
        step.id: replace(
            step,
            cost_nano=other.cost_nano if step.cost_nano is None else step.cost_nano,
            ttft_us=other.ttft_us if step.ttft_us is None else step.ttft_us,
        )
        for step, other in zip(calls, reported_calls, strict=True)
    }
    return tuple(completed.get(step.id, step) if step.type == "inference" else step for step in steps)
