"""Reads snapshots of turns from rows: the same values that folding their events gives.

The details of steps may be large. `turn` reads all of a turn at once; `partial_turn` reads the steps
without their large details, which are then loaded step by step (`StepDetails`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from agents.base import ids
from agents.base.access import Action, Actor
from agents.base.errors import NotFound
from agents.base.models.scoped import visible_where
from agents.base.store import encoding, portions, terms
from agents.base.store.cursors import direct_cursor
from agents.base.store.portions import Sized, bytes_of
from agents.base.store.sql import Select, columns
from agents.record.models.choices import StepStatus, StepType, TurnStatus
from agents.record.models.turns import Step, StepDetail, Turn, TurnBody
from agents.record.schemas.content import Usage
from agents.record.schemas.events import ErrorInfo
from agents.record.schemas.turns import StepSnapshot, TurnSnapshot
from agents.record.store import large_values
from agents.record.store.history import OFF_PATH

_TURN = ", ".join(
    f"t.{name}"
    for name in columns(
        Turn,
        "id session_id status model_id started_at completed_at next_seq input_tokens output_tokens cached_tokens "
        "reasoning_tokens",
    )
)
_BODY = ", ".join(f"b.{name}" for name in columns(TurnBody, "input_messages output_message error traceparent"))
STEP = ", ".join(
    f"s.{name}"
    for name in columns(
        Step,
        "turn_id id number round type name status server_side started_at completed_at ttft_us input_tokens "
        "output_tokens cached_tokens reasoning_tokens",
    )
)
MAX_INLINE = 32 * 1024
"""Stored bytes of a detail that is read with its step."""
MAX_EAGER = 64 * 1024
"""Largest detail, in bytes, that is unpacked at once rather than on demand."""
_DETAIL = (
    f"d.encoding, LENGTH(d.body), CASE WHEN LENGTH(d.body) <= {MAX_INLINE} THEN d.body "
    f"ELSE SUBSTR(d.body, 1, {encoding.HEADER}) END, d.error"
)
_STATUS = {choice.value: choice.label for choice in (*TurnStatus, *StepStatus)}
_TYPE = {choice.value: choice.label for choice in StepType}


class StepDetails:
    """The large details of steps, loaded on demand; ``weight`` is about their size in bytes."""

    def __init__(self) -> None:
        self._deferred: dict[int, tuple[int, bytes | None]] = {}
        self.weight = 0

    def defer(self, step: int, kind: int, stored: bytes | None, weight: int) -> None:
        """Register a detail for loading on demand; ``stored`` are its bytes if they were read already."""
        self._deferred[step] = kind, stored
        self.weight += weight

    def load(self, step: StepSnapshot) -> StepSnapshot:
        """Return a step with all of its detail; without it, where it was deleted meanwhile."""
        if step.key not in self._deferred:
            return step
        kind, stored = self._deferred[step.key]
        if stored is None:
            row = _STORED.first(step.key)
            if row is None:
                return step
            kind, stored = row
        return replace(step, detail=large_values.unpack(step.key, kind, stored))


_STORED = Select(StepDetail, "encoding body", "step_id = %s")


@dataclass(frozen=True, slots=True)
class PartialTurn:
    """A turn whose steps lack their large details."""

    turn: TurnSnapshot
    details: StepDetails

    @property
    def weight(self) -> int:
        """Estimate its size in bytes."""
        return self.details.weight + len(self.turn.input_messages)

    def complete(self) -> TurnSnapshot:
        return replace(self.turn, steps=tuple(map(self.details.load, self.turn.steps)))


def turn(actor: Actor, key: int, action: Action = "read") -> TurnSnapshot:
    """Read a turn. Raises NotFound, also for one the actor may not see."""
    return partial_turn(actor, key, action).complete()


def partial_turn(actor: Actor, key: int, action: Action = "read") -> PartialTurn:
    """Read a turn without its large details. Raises NotFound, also for one the actor may not see."""
    turns, details = _turns(actor, "t.id = %s", [key], action)
    if not turns:
        raise NotFound(f"Turn '{ids.public(ids.Kind.TURN, key)}' not found.")
    return PartialTurn(turns[0], details)


def head(actor: Actor, key: int, action: Action = "read") -> TurnSnapshot:
    """Read a turn without its steps. Raises NotFound, also for one the actor may not see."""
    turns, _ = _turns(actor, "t.id = %s", [key], action, steps=False)
    if not turns:
        raise NotFound(f"Turn '{ids.public(ids.Kind.TURN, key)}' not found.")
    return turns[0]


def sizes_of_session(actor: Actor, session: int, only: Sequence[int] | None = None) -> list[Sized[int]]:
    """Return (key, approximate size in bytes) of a session's turns in order, without forks, or of those in ``only``."""
    condition, values = _of_session(session, only)
    visible, scope_params = visible_where(actor, "read")
    parts = bytes_of("b.input_messages"), bytes_of("b.output_message"), large_values.STORED.format("t.id")
    length = " + ".join(parts)
    with direct_cursor() as cursor:
        cursor.execute(
            f"SELECT t.id, {length} "  # noqa: S608 - made of constants only
            f"FROM agents_turn t JOIN agents_turnbody b ON b.turn_id = t.id WHERE {condition} AND {visible} "
            "ORDER BY t.number",
            [*values, *scope_params],
        )
        return list(cursor.fetchall())


def partial_turns(actor: Actor, session: int, sized: Iterable[Sized[int]]) -> Iterator[PartialTurn]:
    """Yield these turns of a session in order, read in groups."""
    for keys in portions.groups(sized):
        turns, details = _turns(actor, *_of_session(session, keys))
        yield from (PartialTurn(turn, details) for turn in turns)


def _of_session(session: int, only: Sequence[int] | None) -> tuple[str, list[int]]:
    if only is None:
        return f"t.session_id = %s AND t.id NOT IN ({OFF_PATH})", [session, session]
    return f"t.session_id = %s AND t.id IN ({_marks(only)})", [session, *only]


def _turns(
    actor: Actor, condition: str, values: list[int], action: Action = "read", *, steps: bool = True
) -> tuple[list[TurnSnapshot], StepDetails]:
    details = StepDetails()
    visible, scope_params = visible_where(actor, action)
    where, params = f"{condition} AND {visible}", [*values, *scope_params]
    with direct_cursor() as cursor:
        cursor.execute(
            f"SELECT {_TURN}, {_BODY} FROM agents_turn t "  # noqa: S608 - made of constants only
            f"JOIN agents_turnbody b ON b.turn_id = t.id WHERE {where} ORDER BY t.number",
            params,
        )
        rows = cursor.fetchall()
        steps_by_turn = _steps(cursor, where, params, details) if rows and steps else {}
    names = terms.texts({row[3] for row in rows})
    return [_turn(row, names, tuple(steps_by_turn.get(row[0], ()))) for row in rows], details


def _turn(row: tuple[Any, ...], names: dict[int | None, str], steps: tuple[StepSnapshot, ...]) -> TurnSnapshot:
    key, session, status, model, started, completed, next_seq, *tokens, input_messages, answer, error, traceparent = row
    return TurnSnapshot(
        key=key,
        session=session,
        status=_STATUS[status],
        model=names[model],
        started_at=started,
        completed_at=completed,
        input_messages=input_messages.encode(),
        steps=steps,
        output_message=answer.encode() if answer else None,
        error=ErrorInfo.model_validate_json(error) if error else None,
        usage=_usage(*tokens),
        next_seq=next_seq,
        traceparent=traceparent,
    )


_NO_USAGE = Usage()


def _usage(input_tokens: int, output_tokens: int, cached_tokens: int, reasoning_tokens: int) -> Usage:
    if not (input_tokens or output_tokens):
        return _NO_USAGE
    return Usage(  # checked in half the time that it takes to construct it unchecked
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        cached_tokens=cached_tokens,
        reasoning_tokens=reasoning_tokens,
    )


def _steps(cursor: Any, where: str, params: list[int], details: StepDetails) -> dict[int, list[StepSnapshot]]:
    cursor.execute(
        f"SELECT {STEP}, {_DETAIL} FROM agents_turn t "  # noqa: S608 - made of constants only
        "JOIN agents_step s ON s.turn_id = t.id LEFT JOIN agents_stepdetail d ON d.step_id = s.id "
        f"WHERE {where} ORDER BY s.turn_id, s.number",
        params,
    )
    out: dict[int, list[StepSnapshot]] = {}
    for row in cursor.fetchall():
        out.setdefault(row[0], []).append(_step(row, details))
    return out


def steps_of(turns: Collection[int]) -> dict[int, list[StepSnapshot]]:
    """Read the steps of turns, in order. The caller has checked that the turns are visible."""
    partial, details = partial_steps(turns)
    return {turn: [details.load(step) for step in steps] for turn, steps in partial.items()}


def partial_steps(
    turns: Collection[int], *, client_calls_and: Sequence[int] | None = None
) -> tuple[dict[int, list[StepSnapshot]], StepDetails]:
    """Read the steps of turns without their large details, and these for loading; with ``client_calls_and`` only the
    calls of clients, and the steps of these keys."""
    details = StepDetails()
    if not turns:
        return {}, details
    where, params = f"t.id IN ({_marks(turns)})", list(turns)
    if client_calls_and is not None:
        where += f" AND (NOT s.server_side OR s.id IN ({_marks(client_calls_and)}))"
        params += client_calls_and
    with direct_cursor() as cursor:
        return _steps(cursor, where, params, details), details


def _marks(values: Collection[int]) -> str:
    return ", ".join(["%s"] * len(values)) or "NULL"


def _step(row: tuple[Any, ...], details: StepDetails) -> StepSnapshot:
    key, kind, length, body, error = row[1], *row[15:]
    detail = None
    if kind is not None:
        weight = large_values.approximate_size(kind, length, body)
        if length <= MAX_INLINE and weight <= MAX_EAGER:
            detail = encoding.unpack(kind, body)
        else:
            details.defer(key, kind, bytes(body) if length <= MAX_INLINE else None, weight)
    return step_snapshot(row[:15], detail, error)


def step_snapshot(row: Sequence[Any], detail: bytes | None, error: str | None, **extra: Any) -> StepSnapshot:
    """Build a step from the columns `STEP` of its row, and its detail."""
    _, key, number, round_, type_, name, status, server_side, started, completed, ttft_us, *tokens = row
    return StepSnapshot(
        key=key,
        number=number,
        round=round_,
        type=_TYPE[type_],  # type: ignore[arg-type]  # labels are the wire's words
        name=name,
        status=_STATUS[status],
        server_side=bool(server_side),
        started_at=started,
        completed_at=completed,
        detail=detail,
        error=ErrorInfo.model_validate_json(error) if error else None,
        usage=_usage(*tokens),
        ttft_us=ttft_us,
        **extra,
    )
