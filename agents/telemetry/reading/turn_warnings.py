"""Warnings for the reader of a turn about gaps and guesses in its report."""

from __future__ import annotations

from collections.abc import Sequence

from agents.record.schemas.origins import INFERRED_PREFIX
from agents.telemetry.reading.clocks import is_outside
from agents.telemetry.reading.groups import TurnGroup
from agents.telemetry.reading.outcome import TurnOutcome
from agents.telemetry.reading.records import ExternalStep
from agents.telemetry.reading.tree import SpanNode

ROOT_MISSING = "The root span of this turn has not arrived."
TOKENS_SUMMED = "No model call was reported: the tokens are the total of the turn's own span."
SESSION_INFERRED = "The sender named no session: the calls were put together by what their messages repeat."
CLOCKS_DIFFER = "Clocks differ: a step is more than a second outside its parent."
CLOCKS_CORRECTED = "Clocks differ: the times of another service were moved to those of its caller."
SENTENCES = (ROOT_MISSING, TOKENS_SUMMED, SESSION_INFERRED, CLOCKS_DIFFER, CLOCKS_CORRECTED)
"""All fixed warnings, beside `parents_missing`, `trace_truncated`, `attributes_cut` and the dialects' advice."""


def warnings_of(
    group: TurnGroup,
    by_time: Sequence[SpanNode],
    steps: Sequence[ExternalStep],
    outcome: TurnOutcome,
    *,
    has_session: bool,
) -> tuple[str, ...]:
    """Return the warnings of a turn, the most important first."""
    warnings = [_missing_parent_warning(group, outcome), attributes_cut(sum(node.span.dropped for node in by_time))]
    hidden = {step.id for step in steps if step.hidden}
    warnings += dict.fromkeys(node.facts.advice for node in by_time if node.span.id in hidden)
    if any(step.id.startswith(INFERRED_PREFIX) and step.usage for step in steps):
        warnings.append(TOKENS_SUMMED)
    if not has_session and len({node.span.trace for node in group.roots}) > 1:
        warnings.append(SESSION_INFERRED)
    if any(node.is_moved for node in by_time):
        warnings.append(CLOCKS_CORRECTED)
    if any(node.parent is not None and is_outside(node.span, node.parent.span) for node in by_time):
        warnings.append(CLOCKS_DIFFER)
    return tuple(filter(None, warnings))


def _missing_parent_warning(group: TurnGroup, outcome: TurnOutcome) -> str:
    if not group.orphan_count:
        return ""
    if group.top is None or group.top.missing_parent:
        return ROOT_MISSING
    if outcome.status == "in_progress":
        return ""
    return parents_missing(group.orphan_count)


def parents_missing(steps: int) -> str:
    """Warn that these many steps have lost their parents."""
    if steps == 1:
        return "The parent span of a step never arrived."
    return f"The parent spans of {steps} steps never arrived."


def trace_truncated(spans: int) -> str:
    """Warn that a trace is longer than the part that was read."""
    return f"The trace is longer: only its first {spans} spans became steps."


def attributes_cut(attributes: int) -> str:
    """Warn that these many attributes are missing, '' of none."""
    if not attributes:
        return ""
    return (
        f"The sender cut {attributes} attribute{'s' if attributes > 1 else ''}, so that words may be missing. "
        "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT=10000 where the agent runs keeps them."
    )
