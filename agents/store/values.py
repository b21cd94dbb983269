"""Turns as values, read from rows: the same values that folding their events gives."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from django.db import connection

from agents.base import ids
from agents.base.access import Action, Actor
from agents.base.errors import NotFound
from agents.base.models.scoped import visible_where
from agents.base.store import terms
from agents.base.store.sql import columns
from agents.record.models.choices import StepStatus, StepType, TurnStatus
from agents.record.models.turns import Step, StepDetail, Turn, TurnBody
from agents.record.schemas.content import Usage
from agents.record.schemas.events import ErrorInfo
from agents.record.schemas.turns import StepValue, TurnValue
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
_BODY = ", ".join(f"b.{name}" for name in columns(TurnBody, "input_messages output_message error"))
STEP = ", ".join(
    f"s.{name}"
    for name in columns(
        Step,
        "turn_id id number round type name status server_side started_at completed_at ttft_us input_tokens "
        "output_tokens cached_tokens reasoning_tokens",
    )
)
_DETAIL = ", ".join(f"d.{name}" for name in columns(StepDetail, "encoding body error"))
_STATUS = {choice.value: choice.label for choice in (*TurnStatus, *StepStatus)}
_TYPE = {choice.value: choice.label for choice in StepType}


def turn(actor: Actor, key: int, action: Action = "read") -> TurnValue:
    """One turn. Raises NotFound, also for one the actor may not see."""
    found = _turns(actor, "t.id = %s", [key], action)
    if not found:
        raise NotFound(f"Turn '{ids.public(ids.Kind.TURN, key)}' not found.")
    return found[0]


def head(actor: Actor, key: int, action: Action = "read") -> TurnValue:
    """A turn without its steps. Raises NotFound, also for one the actor may not see."""
    found = _turns(actor, "t.id = %s", [key], action, whole=False)
    if not found:
        raise NotFound(f"Turn '{ids.public(ids.Kind.TURN, key)}' not found.")
    return found[0]


def turns_of_session(actor: Actor, session: int, only: Sequence[int] | None = None) -> list[TurnValue]:
    """A session's turns in order, without those that were forked beside it; or those named in ``only``."""
    if only is None:
        return _turns(actor, f"t.session_id = %s AND t.id NOT IN ({OFF_PATH})", [session, session])
    if not only:
        return []
    marks = ", ".join(["%s"] * len(only))
    return _turns(actor, f"t.session_id = %s AND t.id IN ({marks})", [session, *only])


def _turns(
    actor: Actor, which: str, values: list[int], action: Action = "read", *, whole: bool = True
) -> list[TurnValue]:
    visible, more = visible_where(actor, action)
    where, params = f"{which} AND {visible}", [*values, *more]
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {_TURN}, {_BODY} FROM agents_turn t JOIN agents_turnbody b ON b.turn_id = t.id "  # noqa: S608 - ours
            f"WHERE {where} ORDER BY t.number",
            params,
        )
        found = cursor.fetchall()
        steps = _steps(cursor, where, params) if found and whole else {}
    names = terms.texts({row[3] for row in found})
    return [_turn(row, names, tuple(steps.get(row[0], ()))) for row in found]


def _turn(row: tuple[Any, ...], names: dict[int | None, str], steps: tuple[StepValue, ...]) -> TurnValue:
    key, session, status, model, started, completed, next_seq, *tokens, asked, answer, error = row
    return TurnValue(
        key=key,
        session=session,
        status=_STATUS[status],
        model=names[model],
        started_at=started,
        completed_at=completed,
        input_messages=asked.encode(),
        steps=steps,
        output_message=answer.encode() if answer else None,
        error=ErrorInfo.model_validate_json(error) if error else None,
        usage=_usage(*tokens),
        next_seq=next_seq,
    )


_NO_USAGE = Usage()


def _usage(input_tokens: int, output_tokens: int, cached_tokens: int, reasoning_tokens: int) -> Usage:
    if not (input_tokens or output_tokens):
        return _NO_USAGE
    # numbers of our own columns need no check
    return Usage.model_construct(
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        cached_tokens=cached_tokens,
        reasoning_tokens=reasoning_tokens,
    )


def _steps(cursor: Any, where: str, params: list[int]) -> dict[int, list[StepValue]]:
    cursor.execute(
        f"SELECT {STEP}, {_DETAIL} FROM agents_turn t JOIN agents_step s ON s.turn_id = t.id "  # noqa: S608 - ours
        f"LEFT JOIN agents_stepdetail d ON d.step_id = s.id WHERE {where} ORDER BY s.turn_id, s.number",
        params,
    )
    out: dict[int, list[StepValue]] = {}
    for row in cursor.fetchall():
        out.setdefault(row[0], []).append(_step(row))
    return out


def steps_of(turns: Collection[int]) -> dict[int, list[StepValue]]:
    """The steps of turns whose reader was let in, in order."""
    if not turns:
        return {}
    with connection.cursor() as cursor:
        return _steps(cursor, f"t.id IN ({', '.join(['%s'] * len(turns))})", list(turns))


def _step(row: tuple[Any, ...]) -> StepValue:
    key, kind, body, error = row[1], *row[15:]
    return step_value(row[:15], None if kind is None else large_values.unpack(key, kind, body), error)


def step_value(row: Sequence[Any], detail: bytes | None, error: str | None, **more: Any) -> StepValue:
    """A step from the columns `STEP` of its row, and what it holds."""
    _, key, number, round_, type_, name, status, server_side, started, completed, ttft_us, *tokens = row
    return StepValue(
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
        **more,
    )
