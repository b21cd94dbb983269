"""What a reader of a turn should know about how it was told."""

from __future__ import annotations

from collections.abc import Sequence

from agents.telemetry.reading.groups import TurnGroup
from agents.telemetry.reading.outcome import TurnOutcome
from agents.telemetry.reading.records import ExternalStep
from agents.telemetry.reading.steps import INFERRED_PREFIX
from agents.telemetry.reading.tree import SpanNode

ROOT_MISSING = "The span that began this turn has not come."
TOKENS_SUMMED = "No model's call was told: the tokens are the sum that the turn's own span says."
SESSION_INFERRED = "The sender named no session: the calls were put together by what their messages repeat."
CLOCKS_DIFFER = "Clocks differ: a step lies more than a second outside the one that it is part of."
SENTENCES = (ROOT_MISSING, TOKENS_SUMMED, SESSION_INFERRED, CLOCKS_DIFFER)
"""All that is remarked, beside `above_missing`, `only_first`, `cut` and what dialects advise."""

_SLACK_NS = 1_000_000_000
"""How far a span may lie outside the one above before clocks are said to differ."""


def warnings_of(
    group: TurnGroup, by_time: Sequence[SpanNode], steps: Sequence[ExternalStep], outcome: TurnOutcome, *, named: bool
) -> tuple[str, ...]:
    """Sentences, the most important first."""
    found = [_parents(group, outcome), attributes_cut(sum(node.span.dropped for node in by_time))]
    hidden = {step.id for step in steps if step.hidden}
    found += dict.fromkeys(node.facts.advice for node in by_time if node.span.id in hidden)
    if any(step.id.startswith(INFERRED_PREFIX) and step.usage for step in steps):
        found.append(TOKENS_SUMMED)
    if not named and len({node.span.trace for node in group.roots}) > 1:
        found.append(SESSION_INFERRED)
    if any(map(_is_off, by_time)):
        found.append(CLOCKS_DIFFER)
    return tuple(filter(None, found))


def _parents(group: TurnGroup, outcome: TurnOutcome) -> str:
    if not group.orphan_count:
        return ""
    if group.top is None or group.top.missing_parent:
        return ROOT_MISSING
    if outcome.status == "in_progress":
        return ""
    return parents_missing(group.orphan_count)


def parents_missing(steps: int) -> str:
    """That these many steps have lost what they were done in."""
    if steps == 1:
        return "The span above one of the steps never came."
    return f"The spans above {steps} of the steps never came."


def trace_truncated(spans: int) -> str:
    """That a trace is longer than what is read of it."""
    return f"The trace is longer: only its first {spans} spans became steps."


def attributes_cut(attributes: int) -> str:
    """That these many attributes are missing, '' of none."""
    if not attributes:
        return ""
    return (
        f"The sender cut {attributes} attribute{'s' if attributes > 1 else ''}, so that words may be missing. "
        "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT=10000 where the agent runs keeps them."
    )


def _is_off(node: SpanNode) -> bool:
    above = node.parent.span if node.parent is not None else None
    if above is None or not (above.start_ns and node.span.start_ns):
        return False
    if node.span.start_ns < above.start_ns - _SLACK_NS:
        return True
    return bool(above.end_ns) and node.span.start_ns > above.end_ns + _SLACK_NS
