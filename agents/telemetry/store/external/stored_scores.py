"""Scores of turns of this server, which become feedback at once, and all scores of LangSmith by their ids: its client
changes them later, and then names nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import msgspec

from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import NotFound
from agents.base.schemas.wire import iso
from agents.base.store.sql import Insert
from agents.base.store.writer import writer
from agents.base.tracing import span_id
from agents.record.models.turns import Step
from agents.record.store import targets
from agents.record.store.feedback_hooks import JudgedTurn, hooks
from agents.record.store.targets import RecordTarget, TargetKind
from agents.telemetry.models.traces import SharedMark, Trace
from agents.telemetry.reading import evaluations, scores
from agents.telemetry.reading.scores import LANGSMITH_BODY, SentScore
from agents.telemetry.reading.spans import Span
from agents.telemetry.store.external.due_traces import bodies_of
from agents.telemetry.store.external.owners import Owner, external_id, link_mark, owner_of

SPAN_DIGITS = 16
_ADD = Insert(SharedMark, "mark trace_id", once=True)
_KINDS: tuple[tuple[TargetKind, ids.Kind], ...] = (("turn", ids.Kind.TURN), ("step", ids.Kind.STEP))
_spans = msgspec.json.Decoder(list[Span]).decode


def put_on_own_turn(actor: Actor, score: SentScore) -> bool:
    """Store a score that names a turn of this server, or a step of one, by its id, or by that of its trace or span in
    OpenTelemetry. Returns whether it does."""
    target = _find(actor, score.trace)
    if target is None or target.turn is None:
        return False
    step = target.step or _step_of(target.turn, score.observation)
    entry = evaluations.bounded(score.entry, score.observation)
    turn, steps = target.turn, {entry.step: step} if step else {}

    def job() -> None:
        targets.lock(target)
        owner = owner_of(actor)
        hooks.put(JudgedTurn(turn, target.session, owner.user, [entry], steps))
        targets.note_change(target)
        if score.body:
            _ADD.execute(_mark(owner, entry.id), turn)

    writer.write(job)
    return True


def _find(actor: Actor, text: str) -> RecordTarget | None:
    public_id = _as_uuid(text)
    for kind, id_kind in _KINDS:
        if ids.parse(id_kind, public_id) is not None:
            try:
                return targets.find(actor, kind, public_id, "ingest")
            except NotFound:
                return None
    return None


def _as_uuid(text: str) -> str:
    try:
        return str(UUID(text))
    except ValueError:
        return ""


def _step_of(turn: int, observation: str) -> int | None:
    steps = Step.objects.unscoped("turn checked").filter(turn_id=turn)
    key = ids.parse(ids.Kind.STEP, _as_uuid(observation))
    if key is not None:
        return key if steps.filter(pk=key).exists() else None
    if len(observation) != SPAN_DIGITS:
        return None
    keys = steps.values_list("pk", flat=True)
    return next((key for key in keys if span_id(ids.public(ids.Kind.STEP, key)) == observation.lower()), None)


def remember(actor: Actor, sent: Sequence[SentScore]) -> None:
    """Let scores of traces be found by their ids, where these may be changed."""
    traces = {score.entry.id: external_id(score.trace) for score in sent if score.body}
    if not traces:
        return

    def job() -> None:
        owner = owner_of(actor)
        rows = Trace.objects.unscoped("its owner's").filter(**owner.where(), foreign_id__in=set(traces.values()))
        keys = dict(rows.values_list("foreign_id", "pk"))
        _ADD.execute_many((_mark(owner, entry_id), keys[trace]) for entry_id, trace in traces.items() if trace in keys)

    writer.write(job)


def _mark(owner: Owner, entry_id: str) -> int:
    return link_mark(owner, "a score", entry_id)


def find(actor: Actor, entry_id: str) -> Mapping[str, Any]:
    """Return what LangSmith's client sent with this id, in the end. Raises NotFound."""
    mark = _mark(writer.write(lambda: owner_of(actor)), entry_id)
    for key in SharedMark.objects.filter(mark=mark).order_by("-trace_id").values_list("trace_id", flat=True):
        body = _on_own_turn(key, entry_id) or _in_trace(key, entry_id)
        if body is not None:
            return body
    raise NotFound(f"Feedback '{entry_id[:80]}' not found.")


def _on_own_turn(turn: int, entry_id: str) -> Mapping[str, Any] | None:
    entry = hooks.reported(turn, entry_id)
    return None if entry is None else scores.body_of(entry, entry.step or ids.public(ids.Kind.TURN, turn))


def _in_trace(trace: int, entry_id: str) -> Mapping[str, Any] | None:
    """The last of the log records of a score, with the time of the first where the client told none."""
    encoded_id, last, created_us = msgspec.json.encode(entry_id)[1:-1], None, 0
    for reports in bodies_of(trace):
        for span in _spans(reports) if encoded_id in reports else ():
            for event in span.events:
                body = msgspec.json.decode(str(event.attributes.get(LANGSMITH_BODY) or "{}"))
                if body.get("id") == entry_id:
                    created_us = created_us or event.at_ns // 1000
                    last = {"created_at": iso(created_us), **body}
    return last
