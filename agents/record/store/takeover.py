"""Turns whose process is gone: finds them, gives each to one process, and reads what a run needs to go on.

A process claims such a turn by taking its lease under a new epoch: whoever ran it before can write no more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import connection
from django.db.models import Exists, OuterRef, QuerySet, Subquery, Window
from django.db.models.functions import RowNumber

from agents.base import ids
from agents.base.models.changes import ChangeKind
from agents.base.models.processes import Process
from agents.base.store import changes
from agents.base.store.sql import Compiled
from agents.base.store.writer import writer
from agents.base.timestamps import to_datetime, to_us
from agents.record.models.agent_calls import AgentCall
from agents.record.models.choices import EXTERNAL, LIVE, Api, StepStatus, StepType, TurnStatus
from agents.record.models.forks import Fork
from agents.record.models.turns import Response, Step, Turn, TurnBody
from agents.record.schemas.content import Usage
from agents.record.schemas.events import (
    Delta,
    Event,
    StepEnded,
    StepStarted,
    TurnAwaiting,
    TurnEnded,
    TurnResumed,
    TurnStarted,
    TurnTakenOver,
)
from agents.record.store import ending_hooks, recorder, replay
from agents.record.store.recorder import Superseded, TurnRef

MAX_LOST = 3
"""How often a turn may lose its process without finishing a step meanwhile; then nobody takes it over any more."""
SUSPECT_S = 60.0
"""After this long at its last attempt a turn is not suspected of ending its process any more."""


@dataclass(frozen=True, slots=True)
class OrphanedTurn:
    """A live turn that no process runs: its process is gone or, where it ``is_left``, it was stored for any of them.
    ``user``, ``api_key`` and ``scope`` say who sent the request that it is at: a user, the API key if there was one,
    and the scope of the attributes that an identity provider had stated. Another turn waits for one that ``is_called``.
    """

    key: int
    session: int
    epoch: int
    queued: bool
    is_left: bool
    agent: int | None
    user: int | None
    api_key: int | None
    scope: int | None
    is_called: bool = False


def orphans(limit: int) -> list[OrphanedTurn]:
    """Return live turns that no process runs: of each caller the oldest first, and the callers in turn. Where there
    are none, as at nearly all times, that takes a tenth of what the list does."""
    if not _FIRST_ORPHAN.all():
        return []
    last = Response.objects.unscoped("takeover").filter(turn_id=OuterRef("pk"), number=OuterRef("leg_count"))
    actor = {name: Subquery(last.values(name)) for name in ("actor_user", "actor_key", "actor_scope")}
    place = Window(RowNumber(), partition_by=["owner_id", "actor_key"], order_by="pk")
    rows = _orphaned().annotate(place=place, **{f"of_{name}": value for name, value in actor.items()})
    rows = rows.annotate(is_called=Exists(AgentCall.objects.unscoped("takeover").filter(pk=OuterRef("pk"))))
    columns = ("is_called", "pk", "session_id", "lease_epoch", "status", "lease_owner", "agent_id", "owner_id")
    senders = ("of_actor_user", "of_actor_key", "of_actor_scope")
    return [
        # the sender of an older turn is not stored: it acts for its owner
        OrphanedTurn(
            key, session, epoch, status == TurnStatus.QUEUED, not process, agent, user or owner, api_key, scope, called
        )
        for called, key, session, epoch, status, process, agent, owner, user, api_key, scope in rows.order_by(
            "place", "pk"
        ).values_list(*columns, *senders)[:limit]
    ]


def without_process(before_us: int) -> int:
    """Return the number of turns whose process ended before this time, and that none has taken over."""
    just_ended = Process.objects.filter(pk=OuterRef("lease_owner"), ended_at__gte=to_datetime(before_us))
    return _orphaned().filter(~Exists(just_ended)).count()


def in_doubt() -> int:
    """Return the number of turns that wait for somebody's decision."""
    return Turn.objects.unscoped("counted for all").filter(doubt_at__isnull=False).count()


def _orphaned() -> QuerySet[Turn]:
    living = Process.objects.filter(pk=OuterRef("lease_owner"), ended_at=None)
    live = Turn.objects.unscoped("takeover").filter(status__in=LIVE, doubt_at=None).exclude(source__in=EXTERNAL)
    rows: QuerySet[Turn] = live.filter(~Exists(living))
    return rows


_FIRST_ORPHAN = Compiled(lambda: _orphaned().order_by().values_list("pk")[:1])


@dataclass(frozen=True, slots=True)
class Claim:
    """A turn that this process has claimed. ``taken_over`` is the event that says so; None for a turn that was still
    queued, and has done nothing."""

    ref: TurnRef
    taken_over: TurnTakenOver | None

    @property
    def is_suspect(self) -> bool:
        """Whether it has lost so many processes that it may be what ends them."""
        return self.taken_over is not None and self.taken_over.attempt >= MAX_LOST


class TooOftenLost(Exception):
    """A turn has lost its process again and again: it may be what ends them."""


def claim(turn: OrphanedTurn, owner: str, by: str, *, takes_suspects: bool) -> Claim | None:
    """Claim a turn for the process ``owner``, which people know as ``by``; None where another one was faster, and for
    a suspect unless ``takes_suspects``. Raises TooOftenLost."""
    return writer.write(lambda: _claim(turn, owner, by, takes_suspects))


def _claim(orphan: OrphanedTurn, owner: str, by: str, takes_suspects: bool) -> Claim | None:
    locked = _orphaned().filter(pk=orphan.key, lease_epoch=orphan.epoch)
    turn = locked.select_for_update(skip_locked=connection.vendor == "postgresql", of=("self",)).first()
    if turn is None:
        return None
    ref = TurnRef(turn.pk, turn.session_id, epoch=turn.lease_epoch + 1)
    event = None if turn.status == TurnStatus.QUEUED else _takeover_event(turn, by)
    if event is not None and event.attempt > MAX_LOST:
        raise TooOftenLost
    claimed = Claim(ref, event)
    if claimed.is_suspect and not takes_suspects:
        return None
    Turn.objects.unscoped("takeover").filter(pk=turn.pk).update(lease_owner=owner, lease_epoch=ref.epoch)
    if event is not None:
        recorder.record(ref, [event])
    changes.note(ChangeKind.TURN, turn.pk)
    return claimed


def owned(owner: str) -> frozenset[tuple[int, int]]:
    """Return the live turns that are stored as run by a process, by their keys and epochs."""
    rows = Turn.objects.unscoped("its process looks after them").filter(lease_owner=owner, status__in=LIVE)
    return frozenset(rows.values_list("pk", "lease_epoch"))


def leave(turn: int, epoch: int, owner: str) -> bool:
    """Leave a turn that its process ``owner`` does not run to whoever has room; False where it has changed since."""

    def job() -> bool:
        rows = Turn.objects.unscoped("its process leaves it").filter(
            pk=turn, lease_owner=owner, lease_epoch=epoch, status__in=LIVE
        )
        return bool(rows.update(lease_owner=""))

    return writer.write(job)


def is_suspect(turn: int, owner: str) -> bool:
    """Tell whether a turn that the process ``owner`` runs is at its last attempt, and has finished no step in it."""
    if not Turn.objects.unscoped("takeover").filter(pk=turn, lease_owner=owner, status__in=LIVE).exists():
        return False
    last = next((event for event in reversed(_events(turn)) if _ends_attempt(event)), None)
    if not isinstance(last, TurnTakenOver):
        return False
    return last.attempt >= MAX_LOST and ids.now_us() - last.at < SUSPECT_S * 1e6


def _takeover_event(turn: Turn, by: str) -> TurnTakenOver | None:
    now = ids.now_us()
    last_at, attempt, events = to_us(turn.started_at), 1, _events(turn.pk)
    if not turn.lease_owner and not _has_begun(events):
        return None
    for event in events:
        last_at = max(last_at, event.at)
        if _ends_attempt(event):
            attempt = event.attempt + 1 if isinstance(event, TurnTakenOver) else 1
    previous = Process.objects.filter(pk=turn.lease_owner).first()
    handed_over = previous is not None and previous.stopped
    if not turn.lease_owner:
        handed_over = True  # it waited for a decision
    return TurnTakenOver(
        seq=turn.next_seq,
        at=max(now, last_at + 1),
        by=by,
        cause="handed_over" if handed_over else "lost",
        idle_us=max(now - last_at, 0),
        attempt=0 if handed_over else attempt,
    )


def _ends_attempt(event: Event) -> bool:
    return isinstance(event, TurnTakenOver) or (
        isinstance(event, StepEnded) and event.status in ("completed", "failed")
    )


def _has_begun(events: Sequence[Event]) -> bool:
    """Tell whether a step was begun since the last request."""
    last = next(
        (event for event in reversed(events) if isinstance(event, StepStarted | TurnStarted | TurnResumed)), None
    )
    return isinstance(last, StepStarted)


def _events(turn: int) -> list[Event]:
    return [entry for entry in replay.load(turn) if not isinstance(entry, Delta)]


def doubt(ref: TurnRef) -> None:
    """Let a turn wait for somebody's decision about its cut calls, as long as it may; nobody runs it until then.
    Raises Superseded."""

    def job() -> None:
        rows = Turn.objects.unscoped("takeover").filter(pk=ref.turn, lease_epoch=ref.epoch, status__in=LIVE)
        now_us = ids.now_us()
        now, expires_at = to_datetime(now_us), to_datetime(recorder.waits_until(now_us))
        if not rows.update(doubt_at=now, waiting_at=now, expires_at=expires_at, lease_owner=""):
            raise Superseded(ref.turn)
        changes.note(ChangeKind.TURN, ref.turn)
        ending_hooks.call_of_doubt(ref.turn, now_us)

    writer.write(job)


# ----------------------------------------------------------------------------------------- going on


@dataclass(frozen=True, slots=True)
class StoredResponse:
    """What is stored of the response that a claimed turn was at: its number, its API, its ``events`` from its opening
    on, its first step and item. ``iterations`` and ``usage`` are those of the turn before it, ``round`` the round it
    begins with. ``typed`` is the text of the open inference by (step, channel), which came in ``typed_parts``.
    ``traceparent`` is the position in a trace of the request that began the turn."""

    number: int
    api: Api
    events: Sequence[Event]
    first_step: int
    first_item: int
    iterations: int
    usage: Usage
    round: int
    typed: dict[tuple[int, str], str]
    typed_parts: int
    is_fork: bool
    needs_caller: bool
    is_called: bool
    traceparent: str


def stored_response(turn: int) -> StoredResponse:
    """Read the last response of a turn, for a run that goes on with it."""
    rows = Response.objects.unscoped("its turn was claimed").filter(turn_id=turn).order_by("-number")
    number, api, first_seq, first_step, first_item, needs_caller = rows.values_list(
        "number", "api", "first_seq", "first_step", "first_item", "needs_caller"
    )[:1].get()
    entries = replay.load(turn)
    events = [entry for entry in entries if not isinstance(entry, Delta)]
    earlier = [event for event in events if event.seq < first_seq]
    ends = [event for event in earlier if isinstance(event, TurnAwaiting | TurnEnded)]
    usages = [event.usage for event in earlier if isinstance(event, StepEnded) and event.usage]
    steps = Step.objects.unscoped("its turn was claimed").filter(turn_id=turn, number__lt=first_step)
    last_round = steps.order_by("-number").values_list("round", flat=True).first()
    typed, parts = _typed(turn, entries)
    return StoredResponse(
        number=number,
        api=Api(api),
        events=[event for event in events if event.seq >= first_seq],
        first_step=first_step,
        first_item=first_item,
        iterations=ends[-1].iterations if ends else 0,
        usage=sum(usages, Usage()),
        round=0 if last_round is None else last_round + 1,
        typed=typed,
        typed_parts=parts,
        is_fork=Fork.objects.unscoped("its turn was claimed").filter(pk=turn).exists(),
        needs_caller=needs_caller,
        is_called=AgentCall.objects.unscoped("its turn was claimed").filter(pk=turn).exists(),
        traceparent=TurnBody.objects.unscoped("its turn was claimed")
        .values_list("traceparent", flat=True)
        .get(pk=turn),
    )


def _typed(turn: int, entries: Sequence[Event | Delta]) -> tuple[dict[tuple[int, str], str], int]:
    """Return what the open inference had typed, and in how many parts."""
    open_steps = Step.objects.unscoped("its turn was claimed").filter(
        turn_id=turn, type=StepType.INFERENCE, status=StepStatus.IN_PROGRESS
    )
    steps = set(open_steps.values_list("pk", flat=True))
    texts: dict[tuple[int, str], list[str]] = {}
    parts = 0
    for entry in entries:
        if isinstance(entry, Delta) and entry.step in steps:
            parts += 1
            if entry.channel != "call":
                texts.setdefault((entry.step, entry.channel), []).append(entry.text)
    return {name: "".join(pieces) for name, pieces in texts.items()}, parts
