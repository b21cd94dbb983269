"""Status, error and end of a turn, as far as its spans show them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from agents.record.schemas.events import ErrorInfo
from agents.telemetry.reading import kinds
from agents.telemetry.reading.failures import failure_of
from agents.telemetry.reading.groups import TurnGroup
from agents.telemetry.reading.records import ExternalStatus
from agents.telemetry.reading.steps import microseconds
from agents.telemetry.reading.tree import SpanNode


@dataclass(frozen=True, slots=True)
class TurnOutcome:
    """How a turn ended, or that it still runs, or waits for the answer to ``question``."""

    status: ExternalStatus | Literal["awaiting_input"]
    error: ErrorInfo | None = None
    ended_us: int | None = None
    question: str = ""


def outcome_of(group: TurnGroup, by_time: Sequence[SpanNode]) -> TurnOutcome:
    """Return the outcome of the turn's own span. Where it has not arrived the turn still runs; bare calls end with the
    last. A turn that would be over waits if the last that it did was to ask."""
    outcome = _outcome(group, by_time)
    questions = [] if outcome.status not in ("completed", "interrupted") else _open_questions(by_time)
    if not questions:
        return outcome
    question = "\n".join(dict.fromkeys(filter(None, questions)))
    return TurnOutcome("awaiting_input", ended_us=outcome.ended_us, question=question)


def _open_questions(nodes: Sequence[SpanNode]) -> list[str]:
    """Return the questions of interrupts after which nothing began."""
    asking = [node for node in nodes if node.facts.question is not None]
    return [node.facts.question or "" for node in asking if not _went_on(node)]


def _went_on(node: SpanNode) -> bool:
    """Whether something beside a node, or beside one above it, began after it had ended: what runs in parallel began
    before."""
    ended, inner = node.span.end_ns, node
    while inner.parent is not None:
        if any(sibling.span.start_ns >= ended for sibling in inner.parent.children if sibling is not inner):
            return True
        inner = inner.parent
    return False


def _outcome(group: TurnGroup, by_time: Sequence[SpanNode]) -> TurnOutcome:
    top = group.top
    if group.orphan_count and (top is None or top.missing_parent):
        return TurnOutcome("in_progress")
    if top is None:
        return _outcome_of_node(max(group.roots, key=lambda node: node.key), by_time)
    if not top.facts.reports_failures:
        return _outcome_of_silent_top(group, top, by_time)
    return _outcome_of_node(top, [top])


def _outcome_of_node(node: SpanNode, ended: Sequence[SpanNode]) -> TurnOutcome:
    error = failure_of(node.span, node.facts)
    if node.span.end_ns == 0:
        return TurnOutcome("failed" if error is not None else "in_progress", error)
    ended_us = microseconds(max(other.span.end_ns for other in ended))
    if error is None and node.facts.interrupted:
        return TurnOutcome("interrupted", ended_us=ended_us)
    return TurnOutcome("completed" if error is None else "failed", error, ended_us)


def _outcome_of_silent_top(group: TurnGroup, top: SpanNode, by_time: Sequence[SpanNode]) -> TurnOutcome:
    """Find a failure below a top that never reports it. The Agents SDK reports failures of its runs only on agents:
    that of the last one is the turn's. Its traces have no end: they are over when all spans right below them are."""
    error = failure_of(top.span, top.facts)
    last: SpanNode | None = top
    while error is None and last is not None and last.kind in (*kinds.FRAMES, kinds.AGENT):
        error = failure_of(last.span, last.facts)
        if last.kind == kinds.AGENT and last.facts.name:
            error = error or _failure_of_round(last)
            break
        last = last.children[-1] if last.children else None
    children = top.children
    is_over = bool(top.span.end_ns) or (
        bool(children) and not group.orphan_count and all(node.span.end_ns for node in children)
    )
    if not is_over:
        return TurnOutcome("in_progress")
    ended_us = microseconds(top.span.end_ns or max(node.span.end_ns for node in by_time))
    return TurnOutcome("completed" if error is None else "failed", error, ended_us)


def _failure_of_round(agent: SpanNode) -> ErrorInfo | None:
    """Return the failure of an agent's last round: there the Agents SDK reports that a guardrail stopped the run before
    the model answered."""
    last = agent.children[-1] if agent.children else None
    return failure_of(last.span, last.facts) if last is not None and last.kind in kinds.FRAMES else None
