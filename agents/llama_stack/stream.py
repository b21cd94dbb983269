"""Encodes a turn's events as the frames of an Agents API stream (v0.2.12).

There is one object per stream. It gets every entry of the turn from number 0, since the last frame has the
full turn, and returns only frames after its cursor.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from agents.base import ids
from agents.base.ids import Kind
from agents.base.sse import frame
from agents.llama_stack.schemas import STEP_TYPES
from agents.llama_stack.wire import step_json, turn_json
from agents.record.schemas.events import (
    Delta,
    Entry,
    ErrorInfo,
    Event,
    InferenceDetail,
    StepEnded,
    StepStarted,
    TurnAwaiting,
    TurnEnded,
    TurnStarted,
    cursor_of,
)
from agents.record.schemas.turns import StepSnapshot, TurnSnapshot, apply, fold

_encode = msgspec.json.encode

_DOCUMENT_ERRORS = (
    "document_unavailable",
    "document_type",
    "document_unreadable",
    "document_too_large",
    "embedding_dimension",
)
_STATUS = {
    **{"timeout": 504, "provider_error": 502, "model_not_found": 404, "vector_db_not_found": 404},
    **dict.fromkeys((*_DOCUMENT_ERRORS, "invalid_request_error", "context_length_exceeded"), 400),
    "storage_error": 503,
    "budget_reached": 429,
    "model_not_budgetable": 400,
}


def error_status(error: ErrorInfo | None) -> int:
    """Return the HTTP status of a failed turn for a request without streaming. An error type without a status
    of its own is 502 if it names a provider, else 500."""
    if error is None:
        return 500
    return _STATUS.get(error.type, 502 if error.provider else 500)


class TurnStream:
    """The frames of one turn after the cursor ``after``."""

    def __init__(self, turn: int, session: int, *, after: tuple[int, int] = (-1, 0), with_ids: bool = False) -> None:
        self._key, self._session = turn, session
        self._turn: TurnSnapshot | None = None
        self._after = after
        self._with_ids = with_ids
        self._heads: dict[int, bytes] = {}
        self._ordinal = 0
        self.is_over = False

    def feed(self, entries: Iterable[Entry]) -> bytes:
        """Return the frames of these entries, joined; empty when none of them has a frame."""
        out: list[bytes] = []
        after = self._after
        for entry in entries:
            if isinstance(entry, Delta):
                self._ordinal = entry.ordinal
                if entry.after > after[0] or (entry.after, entry.ordinal) > after:
                    self._add_delta(out, entry)
                continue
            self._turn = apply(self._turn, entry) if self._turn else fold(self._key, self._session, [entry])
            if entry.seq > self._after[0]:
                self._add_event(out, entry)
            self._ordinal = 0
        return b"".join(out)

    def _add_delta(self, out: list[bytes], delta: Delta) -> None:
        if delta.channel == "reasoning":
            return  # the API has no frame for it
        head = self._heads.get(delta.step) or self._head(delta.step)
        if delta.channel == "text":
            if not self._with_ids:  # what `sse.frame` makes, in one go: there is one for each token
                out.append(b'data: %b"type":"text","text":%b}}}}\n\n' % (head, _encode(delta.text)))
                return
            body = b'%b"type":"text","text":%b}}}}' % (head, _encode(delta.text))
        else:
            body = b'%b"type":"tool_call","tool_call":%b,"parse_status":"in_progress"}}}}' % (head, _encode(delta.text))
        out.append(frame(body, cursor_of(delta) if self._with_ids else ""))

    def _head(self, step: int) -> bytes:
        """Return the beginning of a step's delta frames, encoded once: there is a frame for every token."""
        fields = _step_fields("inference", step)
        head = b'{"event":{"payload":{"event_type":"step_progress",%b,"delta":{' % fields
        self._heads[step] = head
        return head

    def _add_event(self, out: list[bytes], event: Event) -> None:
        """Append the frames of an event. Where it has several, each has a cursor of its own, so that a reader
        that is cut off between them misses none: all but the last count as deltas before the event."""
        *earlier, last = self._payloads(event) or [b""]
        for ordinal, payload in enumerate(earlier, start=self._ordinal + 1):
            if (event.seq - 1, ordinal) > self._after:
                out.append(frame(payload, f"{event.seq - 1}.{ordinal}" if self._with_ids else ""))
        if last:
            out.append(frame(last, cursor_of(event) if self._with_ids else ""))

    def _payloads(self, event: Event) -> list[bytes]:
        match event:
            case TurnStarted():
                return [
                    _payload(b'"event_type":"turn_start","turn_id":"%b"' % ids.public(Kind.TURN, self._key).encode())
                ]
            case StepStarted(status="in_progress") if event.step_type in STEP_TYPES:
                return self._start_payloads(event)
            case StepEnded() if event.step_type in STEP_TYPES:
                return self._end_payloads(event)
            case TurnAwaiting():
                self.is_over = True
                return [_payload(b'"event_type":"turn_awaiting_input","turn":%b' % self._turn_json())]
            case TurnEnded():
                self.is_over = True
                return [self._end_payload(event)]
            case _:
                return []

    def _start_payloads(self, event: StepStarted) -> list[bytes]:
        step = _step_fields(event.step_type, event.step)
        metadata = {"touchpoint": event.name} if event.step_type == "shield_call" else {}
        out = [_payload(b'"event_type":"step_start",%b,"metadata":%b' % (step, _encode(metadata)))]
        for call in event.detail.tool_calls if event.detail else ():
            out.append(_call_progress(step, call.model_dump_json(exclude_none=True).encode(), b"in_progress"))
        return out

    def _end_payloads(self, event: StepEnded) -> list[bytes]:
        group = self._group(event.step)
        if not group:
            return []
        step = _step_fields(event.step_type, group[0].key)
        out = []
        if isinstance(event.detail, InferenceDetail):
            for call in event.detail.model_response.tool_calls:
                out.append(_call_progress(step, call.model_dump_json(exclude_none=True).encode(), b"succeeded"))
        details = step_json(self._key, group)
        return [*out, _payload(b'"event_type":"step_complete",%b,"step_details":%b' % (step, details))]

    def _group(self, key: int) -> Sequence[StepSnapshot]:
        """Return the steps that the API shows as one step, complete with this one: the client calls of a
        round, once the last of them has ended."""
        assert self._turn is not None  # a step ends after its turn began
        step = next(step for step in self._turn.steps if step.key == key)
        if step.server_side:
            return [step]
        group = [other for other in self._turn.steps if not other.server_side and other.round == step.round]
        return group if all(other.completed_at is not None for other in group) else []

    def _turn_json(self) -> bytes:
        assert self._turn is not None
        return turn_json(self._turn)

    def _end_payload(self, event: TurnEnded) -> bytes:
        if event.status == "completed":
            return _payload(b'"event_type":"turn_complete","turn":%b' % self._turn_json())
        return error_json(event)


def error_json(event: TurnEnded) -> bytes:
    """Encode the last frame of a turn that did not complete."""
    status = error_status(event.error) if event.status == "failed" else 409
    message = (
        event.error.message if event.error else f"The turn was {event.status}: {event.reason or 'no reason given'}"
    )
    return b'{"error":%b}' % _encode({"message": f"{status}: {message}", "type": event.status, "code": status})


def _payload(fields: bytes) -> bytes:
    return b'{"event":{"payload":{%b}}}' % fields


def _step_fields(step_type: str, step: int) -> bytes:
    return b'"step_type":"%b","step_id":"%b"' % (step_type.encode(), ids.public(Kind.STEP, step).encode())


def _call_progress(step: bytes, call: bytes, status: bytes) -> bytes:
    delta = b'{"type":"tool_call","tool_call":%b,"parse_status":"%b"}' % (call, status)
    return _payload(b'"event_type":"step_progress",%b,"delta":%b' % (step, delta))
