"""Reads the state of a turn and its pending calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from agents.base import ids
from agents.base.access import Action, Actor
from agents.base.errors import Conflict, InvalidRequest, NotFound
from agents.base.models.changes import ChangeKind
from agents.base.store import changes
from agents.base.store.cursors import direct_cursor
from agents.base.store.sql import Select, VisibleRow
from agents.base.store.writer import writer
from agents.record.models.choices import EXTERNAL, LIVE, Source, StepStatus, TurnStatus
from agents.record.models.turns import Response, Step, Turn, TurnBody
from agents.record.schemas.content import ToolResponse, TurnMessage
from agents.record.schemas.turns import MESSAGES, StepSnapshot
from agents.record.store import large_values
from agents.record.store.recorder import Superseded, TurnRef


def key_of(public_id: str) -> int:
    """Return the key of a turn's public id. Raises NotFound."""
    key = ids.parse_spelled(ids.Kind.TURN, public_id)
    if key is None:
        raise NotFound(f"Turn '{public_id[:80]}' not found.")
    return key


def not_found(key: int) -> NotFound:
    return NotFound(f"Turn '{ids.public(ids.Kind.TURN, key)}' not found.")


def check_answers(pending: Sequence[str], responses: Sequence[ToolResponse]) -> None:
    """Raise InvalidRequest, naming the calls, unless the answers are exactly those waited for."""
    answers = Counter(response.call_id for response in responses)
    for call_id, times in answers.items():
        if times > 1:
            raise InvalidRequest(f"tool_responses: call_id '{call_id}' is answered twice.", param="tool_responses")
    unknown = [call_id for call_id in answers if call_id not in pending]
    if unknown:
        message = f"tool_responses: no call '{unknown[0]}' is pending; pending: {', '.join(pending)}."
        raise InvalidRequest(message, param="tool_responses", code="unknown_call_id")
    missing = [call_id for call_id in pending if call_id not in answers]
    if missing:
        message = f"tool_responses: no answer for {', '.join(missing)}."
        raise InvalidRequest(message, param="tool_responses", code="missing_call_id")


def check_unanswered(steps: Sequence[StepSnapshot], responses: Sequence[ToolResponse]) -> None:
    """Raise Conflict when one of a turn's steps already has an answer to the same call."""
    details = [msgspec.json.decode(step.detail, type=_Answers) for step in steps if step.detail]
    answered = {answer.call_id for detail in details for answer in detail.tool_responses}
    for response in responses:
        if response.call_id in answered:
            raise Conflict(f"Call '{response.call_id}' has been answered.", code="already_answered")


class _Answer(msgspec.Struct):
    call_id: str


class _Calls(msgspec.Struct):
    tool_calls: list[msgspec.Raw]


class _Answers(msgspec.Struct):
    """The answers in a step's detail."""

    tool_responses: list[_Answer] = []


# ------------------------------------------------------------------------------------------ running


def mark_running(ref: TurnRef) -> None:
    """Mark a queued turn as running; one that was taken over runs already. Raises Superseded when its writer has lost
    it."""

    def job() -> None:
        queued, running = TurnStatus.QUEUED, TurnStatus.IN_PROGRESS
        rows = Turn.objects.unscoped("runner").filter(pk=ref.turn, status__in=LIVE, lease_epoch=ref.epoch)
        if not rows.update(status=running):
            raise Superseded(ref.turn)
        Response.objects.unscoped("runner").filter(turn_id=ref.turn, status=queued).update(status=running)
        changes.note(ChangeKind.TURN, ref.turn)

    writer.write(job)


# ------------------------------------------------------------------------------------------- looking


@dataclass(frozen=True, slots=True)
class TurnTarget:
    """A turn with the state that is needed to act on it, without its contents. Between two reads with the same
    ``epoch`` its lease had one owner."""

    key: int
    session: int
    agent: int | None
    status: TurnStatus
    started_at: int
    epoch: int
    next_seq: int
    response_count: int
    iterations: int
    revision: int | None
    request: str
    lease_owner: str
    source: Source = Source.NATIVE

    @property
    def is_live(self) -> bool:
        """Tell whether it runs, or is about to."""
        return self.status in LIVE

    @property
    def is_over(self) -> bool:
        """Tell whether it has ended; a completed turn may still be resumed."""
        return not self.is_live and self.status != TurnStatus.AWAITING_INPUT

    def check_here(self) -> None:
        """Raise InvalidRequest for a turn that ran elsewhere: it cannot be acted on here."""
        if self.source in EXTERNAL:
            message = "This turn ran elsewhere, and was reported here: it cannot be resumed, forked or cancelled."
            raise InvalidRequest(message, code="foreign")


def agent_of(key: int, session: int) -> int | None:
    """Return the agent of a turn of this session, for callers that check the rights themselves."""
    row = _AGENT.first(key, session)
    return row[0] if row else None


_AGENT = Select(Turn, "agent_id", "id = %s AND session_id = %s")
_TARGET = VisibleRow(
    Turn,
    "session_id agent_id status started_at lease_epoch next_seq leg_count iterations revision_id lease_owner source",
    also=["(SELECT b.request FROM agents_turnbody b WHERE b.turn_id = agents_turn.id)"],
)


def target(actor: Actor, key: int, *, session: int | None = None, action: Action = "read") -> TurnTarget:
    """Read a turn to act on it. Raises NotFound, also for one of another session or one the actor may not see."""
    row = _TARGET.get(actor, key, action)
    if row is None or row[-1] is None or session not in (None, row[0]):
        raise not_found(key)
    of, agent, status, started_at, epoch, next_seq, responses, iterations, revision, lease_owner, source, request = row
    return TurnTarget(
        key=key,
        session=of,
        agent=agent,
        status=TurnStatus(status),
        started_at=started_at,
        epoch=epoch,
        next_seq=next_seq,
        response_count=responses,
        iterations=iterations,
        revision=revision,
        request=request,
        lease_owner=lease_owner,
        source=Source(source),
    )


@dataclass(frozen=True, slots=True)
class AwaitedCall:
    """A client's call a turn waits for, or a call of ours it is to approve. ``call`` is its ToolCall as
    JSON, ``detail`` all its step holds."""

    step: int
    started_at: int
    call: bytes
    detail: bytes

    @property
    def needs_approval(self) -> bool:
        """Tell whether the call waits for the client's approval."""
        return b'"approval":"requested"' in self.detail


def pending_calls(key: int) -> list[AwaitedCall]:
    """List the calls that a turn waits for, in order."""
    with direct_cursor() as cursor:
        cursor.execute(_AWAITED, [key, StepStatus.AWAITING_INPUT.value])
        rows = cursor.fetchall()
    out = []
    for step, started_at, kind, body in rows:
        detail_json = large_values.unpack(step, kind, body)
        detail = msgspec.json.decode(detail_json, type=_Calls)
        out.append(AwaitedCall(step, started_at, bytes(detail.tool_calls[0]), detail_json))
    return out


_AWAITED = (
    "SELECT s.id, s.started_at, d.encoding, d.body FROM agents_step s JOIN agents_stepdetail d ON d.step_id = s.id "
    "WHERE s.turn_id = %s AND s.status = %s ORDER BY s.number"
)
_LAST_STEP = Select(Step, "number round", "turn_id = %s ORDER BY number DESC LIMIT 1")


def next_numbers(key: int) -> tuple[int, int]:
    """Return (number of the next step, of the next round) of a turn."""
    last = _LAST_STEP.first(key)
    return (last[0] + 1, last[1] + 1) if last else (0, 0)


def input_messages(key: int) -> list[TurnMessage]:
    """Return the messages that a turn was started with. The caller has checked that it is visible."""
    rows = TurnBody.objects.unscoped("its turn is visible").filter(pk=key)
    return MESSAGES.validate_json(rows.values_list("input_messages", flat=True).get())


_STATE = Select(Turn, "status next_seq", "id = %s")


def state(key: int) -> tuple[TurnStatus, int] | None:
    """Return (status, number of the next event) of a turn; None when it was deleted. The caller has checked that the
    turn is visible."""
    row = _STATE.first(key)
    return (TurnStatus(row[0]), row[1]) if row else None


_QUEUE = Select(Turn, "id started_at", "status = %s ORDER BY id LIMIT 1")


def queue() -> tuple[int, int | None]:
    """Return the number of turns that wait for a slot, over all processes, and when the first of them came."""
    first = _QUEUE.first(TurnStatus.QUEUED.value)
    if first is None:
        return 0, None
    return Turn.objects.unscoped("counted for all").filter(status=TurnStatus.QUEUED).count(), first[1]


def response_start(turn: int, number: int) -> int:
    """Return the number of the first event of a response. Raises NotFound where the turn was deleted."""
    rows = Response.objects.unscoped("its turn is visible").filter(turn_id=turn, number=number)
    first: int | None = rows.values_list("first_seq", flat=True).first()
    if first is None:
        raise not_found(turn)
    return first
