"""Writes events as rows: folding a turn's events gives its rows.

`record` is one job of the writer: the events of one turn since the last job, and the deltas
between them. Events already stored are skipped, so a commit whose answer was lost can be
repeated. When the turn ends its log is packed (`agents.record.store.replay`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

from django.conf import settings
from django.db import transaction

from agents.base import ids, metrics
from agents.base.errors import Conflict
from agents.base.models.changes import ChangeKind
from agents.base.store import changes
from agents.base.store.sql import Insert, Select, SelectAmong, Update, UpdateByKey, execute_later
from agents.record.models.agents import Session
from agents.record.models.choices import OF_RESPONSES, TurnStatus
from agents.record.models.turns import Item, Response, Turn, TurnBody
from agents.record.schemas.events import (
    USER_INPUT,
    Delta,
    OtherDetail,
    Steering,
    StepDecided,
    StepEnded,
    StepInDoubt,
    StepRepeated,
    StepStarted,
    TurnAwaiting,
    TurnEnded,
    TurnResumed,
    TurnStarted,
    TurnTakenOver,
)
from agents.record.schemas.events import Event as AnyEvent
from agents.record.schemas.items import input_items, items_of
from agents.record.schemas.turn_body import OUTPUT_COLUMNS, answer_text, calls_text, output_columns, stop_reason
from agents.record.store import ending_hooks, inputs, replay, search, spending, steps
from agents.record.store.new_responses import follow_response
from agents.record.store.spending import Spending
from agents.record.store.totals import SessionTotals, TurnTotals
from agents.record.store.turn_clock import TurnClock
from agents.record.store.turn_rows import STATE_COLUMNS, TurnState, state_columns

DAY_US = 86_400_000_000

_STATE = Select(Turn, "next_seq lease_epoch started_at waited_us waiting_at", "id = %s", locks=True)
_ITEM_COUNT = Select(Session, "item_count", "id = %s")
# A failed response leaves nothing in its conversation: its request will be repeated.
_HIDE = (
    "UPDATE agents_item SET hidden = TRUE WHERE turn_id = %s AND number >= "
    "(SELECT first_item FROM agents_response WHERE turn_id = %s AND last_seq IS NULL AND api IN (%s, %s))"
)
_SET_OUTPUT = UpdateByKey(TurnBody, OUTPUT_COLUMNS, key="turn_id")
_ADD_ITEM = Insert(Item, "id session_id turn_id step_id number hidden body wire")


@dataclass(frozen=True, slots=True)
class TurnRef:
    """The turn that events belong to. ``epoch`` is that of the writer's lease: it differs from the turn's once the
    writer has lost it. ``await_days`` is how long it waits for its client; None: as the setting says."""

    turn: int
    session: int
    await_days: int | None = None
    epoch: int = 0


class Superseded(Conflict):
    """A writer has lost its turn: it was resumed, ended from outside, or deleted. Trying again cannot help."""

    def __init__(self, turn: int) -> None:
        public_id = ids.public(ids.Kind.TURN, turn)
        super().__init__(f"Turn '{public_id}' was ended, resumed or deleted by someone else.", code="superseded")


def record(
    ref: TurnRef,
    events: Sequence[AnyEvent],
    deltas: Sequence[Delta] = (),
    *,
    encoded: Mapping[int, bytes] = replay.NONE_ENCODED,
) -> None:
    """Write events and deltas of one turn, in the caller's transaction; ``encoded`` are events as
    `replay.encode_events` gives them. Raises Superseded when the writer has lost the turn; Conflict when an
    earlier batch is still missing: its write failed, and both will be tried again."""
    state = _STATE.first(ref.turn)
    if state is None or state[1] != ref.epoch:
        raise Superseded(ref.turn)
    next_seq, _, *times = state
    clock = TurnClock(*times)
    new_events = [event for event in events if event.seq >= next_seq]
    if events and not new_events:
        return  # stored already, with the deltas of the same batch
    if new_events and new_events[0].seq > next_seq:
        raise Conflict(f"Event {new_events[0].seq} came before event {next_seq}.", code="out_of_order")
    _write(ref, new_events, deltas, clock, encoded)


def begin(ref: TurnRef, events: Sequence[AnyEvent], clock: TurnClock, encoded: Mapping[int, bytes]) -> None:
    """Write the first events of a response, in the transaction that has begun or resumed its turn, and so holds it;
    ``clock`` is that of the turn now."""
    _write(ref, events, (), clock, encoded)


def _write(
    ref: TurnRef,
    events: Sequence[AnyEvent],
    deltas: Sequence[Delta],
    clock: TurnClock,
    encoded: Mapping[int, bytes],
) -> None:
    for part in _by_response(events):
        _fold(ref, part, clock)
    if events and isinstance(events[-1], TurnEnded):
        replay.pack(ref.turn, events, deltas)
    else:
        replay.store(ref.turn, events, deltas, encoded)


def _by_response(events: Sequence[AnyEvent]) -> Iterator[Sequence[AnyEvent]]:
    """Yield the events of a batch, those of each response by themselves: a run begins another where it is steered."""
    starts = [at for at, event in enumerate(events) if at and isinstance(event, TurnResumed) and event.steering]
    for start, end in pairwise([0, *starts, len(events)] if events else []):
        yield events[start:end]


_EPOCHS = SelectAmong(Turn, "id lease_epoch", "id")


def record_deltas(batches: Sequence[tuple[TurnRef, Sequence[Delta]]]) -> frozenset[int]:
    """Write deltas of several turns, in the caller's transaction. Turns that their writer has lost are skipped;
    returns these."""
    epochs = dict(_EPOCHS.all([ref.turn for ref, _ in batches]))
    replay.store_deltas((ref.turn, deltas) for ref, deltas in batches if epochs.get(ref.turn) == ref.epoch)
    return frozenset(ref.turn for ref, _ in batches if epochs.get(ref.turn) != ref.epoch)


class _Changes:
    """The changes of a batch to a turn, its body, its response and its session: one statement each."""

    def __init__(self, ref: TurnRef, clock: TurnClock) -> None:
        self.ref, self.clock = ref, clock
        self.turn, self.session = Update(Turn), Update(Session)
        self.items: list[tuple[int | None, bytes]] = []
        self.resume_items: list[bytes] = []
        self.response = Update(Response)
        self.output: tuple[str, str, str] | None = None
        self.failed = False
        self.answer: tuple[str, str] | None = None
        self.endings: list[TurnAwaiting | TurnEnded] = []

    def add(self, totals: TurnTotals) -> None:
        """Add what the steps of the batch sum up to."""
        totals.add_to(self.turn)
        totals.add_tokens_to(self.response)
        SessionTotals.of(totals).add_to(self.session)

    def write(self) -> None:
        _add_items(self)
        if self.failed:
            execute_later(_HIDE, self.ref.turn, self.ref.turn, *OF_RESPONSES)
        if self.answer is not None:
            search.index_answer(self.ref.turn, *self.answer)
        self.response.write_later("turn_id", self.ref.turn, "AND last_seq IS NULL")
        self.turn.write_later("id", self.ref.turn)
        if self.output is not None:
            _SET_OUTPUT.execute_many([(*self.output, self.ref.turn)])
        if self.session:
            self.session.write_later("id", self.ref.session)
            changes.note(ChangeKind.SESSION, self.ref.session)
        changes.note(ChangeKind.TURN, self.ref.turn)
        for ending in self.endings:
            ending_hooks.call(self.ref.turn, ending)


def _fold(ref: TurnRef, events: Sequence[AnyEvent], clock: TurnClock) -> None:
    change = _Changes(ref, clock)
    totals = steps.fold(ref.turn, clock.started_us, events)
    change.add(totals)
    spending.add_of_turn(ref.turn, Spending(totals.cost_nano or 0, totals.input_tokens + totals.output_tokens))
    for event in events:
        _fold_event(change, event)
    change.turn.set(next_seq=events[-1].seq + 1)
    change.write()
    transaction.on_commit(partial(_count, events, totals, clock))


def _count(events: Sequence[AnyEvent], totals: TurnTotals, clock: TurnClock) -> None:
    """Count stored events for the metrics."""
    if totals.has_usage:
        metrics.count_usage(totals.tokens, totals.cost_nano)
    for event in events:
        if isinstance(event, TurnEnded):
            metrics.count_turn(event.status, clock.worked_us(event.at) / 1e6)


def _fold_event(change: _Changes, event: AnyEvent) -> None:
    match event:
        case TurnStarted() | StepStarted() | TurnTakenOver() | StepInDoubt() | StepRepeated():
            pass
        case StepDecided():
            _go_on(change, event.at)
        case TurnResumed(steering=Steering() as steering):
            change.turn.set(leg_count=event.leg)
            follow_response(change.ref.turn, change.ref.session, event, steering)
        case TurnResumed():
            _go_on(change, event.at)
            inputs.take_answers(change.ref.turn)
            change.turn.set(status=TurnStatus.IN_PROGRESS.value)
            change.resume_items = input_items(event.input_messages)
        case StepEnded():
            if isinstance(event.detail, OtherDetail) and event.detail.kind == USER_INPUT:
                inputs.take(event.detail.data.get("ids", ()))
            change.items += [(event.step, body) for body in items_of(event)]
        case TurnAwaiting():
            change.endings.append(event)
            _fold_awaiting(change, event)
        case TurnEnded():
            change.endings.append(event)
            change.items += [(None, body) for body in items_of(event)]
            _fold_end(change, event)


def _go_on(change: _Changes, at_us: int) -> None:
    """End the turn's wait, if there is one."""
    change.clock.go_on(at_us)
    change.turn.set(**change.clock.columns())


def _fold_awaiting(change: _Changes, event: TurnAwaiting) -> None:
    change.clock.wait(event.at)
    change.turn.set(
        **change.clock.columns(),
        status=TurnStatus.AWAITING_INPUT.value,
        iterations=event.iterations,
        lease_owner="",
        expires_at=waits_until(event.at, change.ref.await_days),
    )
    message = event.output_message
    change.output = output_columns(message, None, calls_text(message) or answer_text(message))
    change.answer = "", ""  # its last words are a call, which its step tells
    _release(change, event.at)
    _close_response(change, event.seq, event.at, TurnStatus.AWAITING_INPUT)


def waits_until(from_us: int, days: int | None = None) -> int:
    """Return the time at which a turn ends that waits for somebody since then (microseconds since 1970)."""
    return from_us + longest_wait_us(days)


def longest_wait_us(days: int | None = None) -> int:
    """Return for how long a turn waits for somebody, in microseconds; ``days`` are its own."""
    return (days or settings.AWAIT_DAYS) * DAY_US


def _fold_end(change: _Changes, event: TurnEnded) -> None:
    status, message, error = TurnStatus[event.status.upper()], event.output_message, event.error
    reason = event.reason or stop_reason(message, error)
    change.clock.go_on(event.at)
    state = TurnState(status, change.clock.started_us, event.at, reason, error, change.clock.waited_us)
    change.turn.set(**dict(zip(STATE_COLUMNS.split(), state_columns(state), strict=True)))
    change.turn.set(iterations=event.iterations, lease_owner="", expires_at=None, doubt_at=None, waiting_at=None)
    change.failed = event.status == "failed"
    inputs.end(change.ref.turn, cancelled=event.status == "cancelled")
    answer = answer_text(message)
    change.output = output_columns(message, error, answer or calls_text(message) or event.reason or "")
    change.answer = answer, error.message if error else ""
    _release(change, event.at)
    _close_response(change, event.seq, event.at, status)


def _release(change: _Changes, at_us: int) -> None:
    """Release the session's lock, if this turn holds it."""
    expression = "CASE WHEN active_turn = %s THEN NULL ELSE active_turn END"
    change.session.set_expression("active_turn", expression, change.ref.turn)
    change.session.set(updated_at=at_us)


def _close_response(change: _Changes, seq: int, at_us: int, status: TurnStatus) -> None:
    change.response.set(last_seq=seq, status=status.value, completed_at=at_us)
    counted = "(SELECT item_count FROM agents_session WHERE id = %s)"
    change.response.set_expression("end_item", counted, change.ref.session)


def _add_items(change: _Changes) -> None:
    # new messages come after the answers: the events of those are later in the same batch
    change.items += [(None, body) for body in change.resume_items]
    if not change.items:
        return
    ref = change.ref
    row = _ITEM_COUNT.first(ref.session)
    first = row[0] if row else 0
    _ADD_ITEM.execute_many(
        (ids.new_key(), ref.session, ref.turn, step, first + index, False, body, b"")
        for index, (step, body) in enumerate(change.items)
    )
    change.session.set(item_count=first + len(change.items))
    if change.response:
        change.response.set(end_item=first + len(change.items))
