"""Reads what evaluations say of turns: OpenTelemetry's events ``gen_ai.evaluation.result``, on spans or as log records.

Scores of Langfuse and feedback of LangSmith are stored as log records with this event, too (`scores`), so that they
wait with their trace for its spans. The attributes of the conventions (semantic-conventions-genai 1.42) are
``gen_ai.evaluation.name``, ``.score.value``, ``.score.label`` and ``.explanation``; for what they have no word there is
`FEEDBACK`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any

import msgspec
from msgspec.structs import replace

from agents.record.schemas.feedback import ReportedFeedback
from agents.telemetry.reading.coerce import finite_number, text
from agents.telemetry.reading.records import ExternalTurn
from agents.telemetry.reading.spans import Span, SpanEvent

EVENT = "gen_ai.evaluation.result"
NAME, VALUE, LABEL, EXPLANATION = (
    f"gen_ai.evaluation.{name}" for name in ("name", "score.value", "score.label", "explanation")
)
FEEDBACK = "agents.feedback"
"""The attribute with a whole `ReportedFeedback` as JSON; the attributes of the conventions are then not needed."""
MAX_ENTRIES = 1000
"""Entries of one turn that are stored: the first by their ids."""
MAX_NAME, MAX_COMMENT, MAX_ID, MAX_AUTHOR = 100, 8_000, 255, 200

_decode = msgspec.json.Decoder(ReportedFeedback).decode
SpansById = dict[str, Span]


def taken_out(traces: Mapping[str, SpansById]) -> tuple[dict[str, SpansById], dict[str, list[ReportedFeedback]]]:
    """Return the spans without the events of evaluations, and what these say, by trace. A log record that has nothing
    else is left out: it is no part of any turn."""
    left: dict[str, SpansById] = {}
    judgements: dict[str, list[ReportedFeedback]] = {}
    for trace, spans in traces.items():
        judging = [span for span in spans.values() if any(event.name == EVENT for event in span.events)]
        if not judging:
            left[trace] = spans
            continue
        judgements[trace] = [_entry(span, event) for span in judging for event in span.events if event.name == EVENT]
        others = {span.id: _without_evaluations(span) for span in judging}
        remaining = {name: others.get(name, span) for name, span in spans.items()}
        remaining = {name: span for name, span in remaining.items() if name not in others or not _is_empty(span)}
        if remaining:
            left[trace] = remaining
    return left, judgements


def _without_evaluations(span: Span) -> Span:
    return msgspec.structs.replace(span, events=[event for event in span.events if event.name != EVENT])


def _is_empty(span: Span) -> bool:
    return span.is_log and not span.events


def _entry(span: Span, event: SpanEvent) -> ReportedFeedback:
    """Read an event; one of no content has no text and no score."""
    encoded = event.attributes.get(FEEDBACK)
    if isinstance(encoded, str):
        try:
            return bounded(_decode(encoded), span.id)
        except msgspec.MsgspecError:
            pass  # the attributes of the conventions may say something without it
    name, value = text(event.attributes.get(NAME)), finite_number(event.attributes.get(VALUE))
    label, explanation = text(event.attributes.get(LABEL)), text(event.attributes.get(EXPLANATION))
    at_us = event.at_ns // 1000
    entry = ReportedFeedback(
        id=_hash(span.id, name),  # a later result of the same evaluation takes the place of the earlier
        name=name,
        value=value,
        comment=comment_of(name, label, explanation),
        author=text(span.resource.get("service.name")),
        created_us=at_us,
        updated_us=at_us,
    )
    return bounded(entry, span.id)


def comment_of(name: str, label: str, explanation: str) -> str:
    """Return the comment of a result. A label is kept in words: a score is a number."""
    verdict = f"{name}: {label}" if label else ""
    return "\n".join(part for part in (verdict, explanation) if part)


def _hash(*parts: str) -> str:
    return blake2b("\0".join(parts).encode("utf-8", "replace"), digest_size=16).hexdigest()


def bounded(entry: ReportedFeedback, step: str = "") -> ReportedFeedback:
    """Return the entry with texts that can be stored; ``step`` is that of an entry which names none."""
    name = "".join(letter for letter in text(entry.name) if letter.isprintable()).strip()[:MAX_NAME]
    value = finite_number(entry.value)
    return replace(
        entry,
        id=text(entry.id)[:MAX_ID] or _hash(step, name),
        step=entry.step or step,
        name=name if value is not None else "",
        value=value if name else None,
        comment=text(entry.comment).strip()[:MAX_COMMENT],
        author=text(entry.author)[:MAX_AUTHOR],
        created_us=_in_range(entry.created_us),
        updated_us=_in_range(entry.updated_us),
    )


def _in_range(at_us: int) -> int:
    return min(max(at_us, 0), 253_402_300_799_000_000)


def with_feedback(
    turns: Sequence[ExternalTurn], judgements: Mapping[str, Iterable[ReportedFeedback]]
) -> list[ExternalTurn]:
    """Return the turns with what was said of them: each with what names it or a step of it, and the first turn of a
    trace with all that names none."""
    if not judgements:
        return list(turns)
    entries: dict[str, list[ReportedFeedback]] = {turn.id: list(turn.feedback) for turn in turns}
    for trace, of_trace in judgements.items():
        candidates = [turn for turn in turns if trace in turn.traces or turn.id.partition(":")[0] == trace]
        steps = {step.id: turn for turn in candidates for step in turn.steps}
        roots = {turn.id.partition(":")[2]: turn for turn in candidates}
        for entry in of_trace if candidates else ():
            turn = steps.get(entry.step) or roots.get(entry.step) or candidates[0]
            entries[turn.id].append(entry if entry.step in steps else replace(entry, step=""))
    return [replace(turn, feedback=latest(entries[turn.id])) for turn in turns]


def latest(entries: Iterable[ReportedFeedback]) -> tuple[ReportedFeedback, ...]:
    """Return of each id the entry that was updated last, without those that say nothing, in the order of the ids."""
    by_id: dict[str, ReportedFeedback] = {}
    for entry in sorted(entries, key=_order):
        by_id[entry.id] = entry
    ordered = (entry for _, entry in sorted(by_id.items()) if _says_something(entry))
    return tuple(ordered)[:MAX_ENTRIES]


def _order(entry: ReportedFeedback) -> tuple[Any, ...]:
    return entry.updated_us, msgspec.json.encode(entry)


def _says_something(entry: ReportedFeedback) -> bool:
    return bool(entry.rating or entry.comment or entry.name)
