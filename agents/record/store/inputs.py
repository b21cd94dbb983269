"""Stores what clients send for a turn that has begun: messages that its run takes before the next inference, and
answers to some of the calls that it waits for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import Conflict
from agents.base.models.changes import ChangeKind
from agents.base.store import changes, scopes
from agents.base.store.sql import Among, Compiled, Insert, Select, execute, execute_later
from agents.base.store.writer import writer
from agents.record.models.choices import LIVE, OF_RESPONSES, TurnStatus
from agents.record.models.inputs import InputKind, TurnInput
from agents.record.models.turns import Turn
from agents.record.schemas.content import TurnMessage
from agents.record.schemas.turns import MESSAGES
from agents.record.store import retries
from agents.record.store.retries import Retry

MAX_WAITING = 1_000
"""Most messages and answers that wait for one turn."""

_ADD = Insert(
    TurnInput,
    "id turn_id kind step body taken created_at fingerprint body_hash actor_user actor_key actor_scope",
)
_API = Select(Turn, "api", "id = %s")
_STATE = Select(Turn, "status", "id = %s", locks=True)
_COUNT = Select(TurnInput, "id", "turn_id = %s AND NOT taken")
_REPEATED = Select(TurnInput, "body_hash", "fingerprint = %s ORDER BY id DESC LIMIT 1")
_WAITING = Select(
    TurnInput, "id body actor_user actor_key actor_scope", "turn_id = %s AND kind = %s AND NOT taken ORDER BY id"
)
_ANSWERS = Select(TurnInput, "step body", "turn_id = %s AND kind = %s AND NOT taken ORDER BY id")


@dataclass(frozen=True, slots=True)
class NewInput:
    """A message, or with a ``step`` the answer to its call; ``body`` is JSON."""

    body: str
    step: int | None = None


@dataclass(frozen=True, slots=True)
class WaitingMessage:
    """A message that waits for its turn, and its key. ``sender`` are the user, the API key and the scope of who sent
    it, as a response has them."""

    key: int
    message: TurnMessage
    sender: tuple[int | None, int | None, int | None]

    @property
    def public_id(self) -> str:
        return _public_id(self.key)


class TurnOver(Conflict):
    """The turn takes nothing any more: it has ended meanwhile."""


class Repeated(Conflict):
    """This request has been stored already."""


def message_json(message: TurnMessage) -> str:
    return MESSAGES.dump_json([message], exclude_none=True).decode()


def add(actor: Actor, turn: int, new: Sequence[NewInput], retry: Retry | None) -> list[str]:
    """Store input for a turn that runs or waits; returns its ids. Raises TurnOver where it does not, Repeated for a
    request that is stored already; Conflict where too much waits."""
    return writer.write(lambda: _add(actor, turn, new, retry))


def _add(actor: Actor, turn: int, new: Sequence[NewInput], retry: Retry | None) -> list[str]:
    if retry is not None:
        retries.hold(retry)
        if was_stored(retry):
            raise Repeated("This request was received already.", code="already_received")
    state = _STATE.first(turn)
    if state is None or state[0] not in (*LIVE, TurnStatus.AWAITING_INPUT):
        raise TurnOver("The turn has ended.", code="turn_over")
    if len(_COUNT.all(turn)) + len(new) > MAX_WAITING:
        raise Conflict(f"More than {MAX_WAITING} inputs wait for this turn.", code="too_many_inputs")
    sender, names = sender_columns(actor), []
    for position, item in enumerate(new):
        kind = InputKind.MESSAGE if item.step is None else InputKind.ANSWER
        marks = (retry.fingerprint, retry.body_hash) if retry is not None and not position else ("", "")
        key = ids.new_key()
        _ADD.execute(key, turn, kind.value, item.step, item.body, False, ids.now_us(), *marks, *sender)
        names.append(_public_id(key))
    changes.note(ChangeKind.INPUT, turn)
    return names


def _public_id(key: int) -> str:
    return ids.part("msg", ids.Kind.ITEM, key)


def withdraw(public_ids: Sequence[str]) -> None:
    """Drop messages that their turn is not to take any more."""
    writer.write(lambda: take(public_ids))


def sender_columns(actor: Actor) -> tuple[int | None, int | None, int | None]:
    """Return the user, API key and scope that an actor is stored as."""
    if actor.user_id is None:
        return None, None, None
    return actor.user_id, actor.key_id, scopes.scope_of(actor.attributes) if actor.key_id is None else None


def was_stored(retry: Retry) -> bool:
    """Tell whether a request was stored already. Raises InvalidRequest where its key was used for another body."""
    if not retry.named and retry.count == 0:
        return False
    row = _REPEATED.first(retry.fingerprint)
    if row is None:
        return False
    retries.check_same(retry, row[0])
    return True


def messages_of(turn: int) -> list[WaitingMessage]:
    """Return the messages that wait for a turn, in the order they came."""
    return [
        WaitingMessage(key, MESSAGES.validate_json(body)[0], (user, api_key, scope))
        for key, body, user, api_key, scope in _WAITING.all(turn, InputKind.MESSAGE.value)
    ]


def answers_of(turn: int) -> dict[int, str]:
    """Return the answers that a waiting turn has got so far, as JSON by the step of their call."""
    return {step: body for step, body in _ANSWERS.all(turn, InputKind.ANSWER.value)}


# ------------------------------------------------------------------------- within the recorder's transaction

_TAKE = Among("UPDATE agents_turninput SET taken = TRUE, body = '' WHERE id IN ({values})")
_TAKE_ONE = "UPDATE agents_turninput SET taken = TRUE, body = '' WHERE id = %s AND NOT taken"
_TAKE_ANSWERS = "UPDATE agents_turninput SET taken = TRUE, body = '' WHERE turn_id = %s AND kind = %s"
_DROP = "UPDATE agents_turninput SET taken = TRUE, body = '' WHERE turn_id = %s AND NOT taken"
_LEFT = Select(TurnInput, "id", "turn_id = %s AND kind = %s AND NOT taken LIMIT 1")


def take(public_ids: Sequence[str]) -> None:
    """Mark messages as taken by their turn, whose log has them now."""
    _TAKE.execute([key for name in public_ids if (key := ids.parse_part(ids.Kind.ITEM, name)) is not None])


def take_keys(keys: Sequence[int]) -> None:
    """Mark messages as taken by another turn, which begins with them. Raises Conflict where one is taken already."""
    for key in keys:
        if not execute(_TAKE_ONE, key):
            raise Conflict("Another process has begun a turn with this input.", code="input_taken")


def take_answers(turn: int) -> None:
    """Mark the answers to a turn's calls as taken: it goes on with them."""
    execute_later(_TAKE_ANSWERS, turn, InputKind.ANSWER.value)


def end(turn: int, *, cancelled: bool) -> None:
    """Note the end of a turn: what was to join one that is cancelled is dropped, and what was to steer a response of
    OpenAI's API, whose client is told so; other messages become a turn of their own, which begins when those who wait
    for changes hear of it."""
    if _COUNT.first(turn) is None:
        return
    if cancelled or _API.first(turn) in [(api.value,) for api in OF_RESPONSES]:
        execute_later(_DROP, turn)
        return
    take_answers(turn)
    if _LEFT.first(turn, InputKind.MESSAGE.value) is not None:
        changes.note(ChangeKind.INPUT, turn)


# ------------------------------------------------------------------------------------- left behind

_ENDED = (TurnStatus.COMPLETED, TurnStatus.FAILED, TurnStatus.INTERRUPTED)
_LEFT_BEHIND = Compiled(
    lambda: (
        TurnInput.objects.filter(taken=False, kind=InputKind.MESSAGE, turn__status__in=_ENDED)
        .order_by("id")
        .values_list("turn_id")[:100]
    )
)


def left_behind() -> list[int]:
    """Return the turns that ended while messages waited for them, the oldest first: those become turns of their own."""
    return list(dict.fromkeys(turn for (turn,) in _LEFT_BEHIND.all()))


def session_of(turn: int) -> int | None:
    """Return the session of a turn that has ended; None for any other."""
    rows = Turn.objects.unscoped("its input was let in").filter(pk=turn, status__in=_ENDED)
    session: int | None = rows.values_list("session_id", flat=True).first()
    return session
