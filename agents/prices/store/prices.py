"""Telling prices, and pricing what was used before they were told.

A price is never changed and a cost, once set, stays: a new price holds from a moment on, and only
steps whose cost is unknown are priced later. The sums of their turns and sessions follow in the
same transaction.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import partial

import msgspec

from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import InvalidRequest
from agents.base.models.changes import ChangeKind
from agents.base.store import changes
from agents.base.store.sql import Update
from agents.base.store.writer import writer
from agents.base.timestamps import to_datetime, to_us
from agents.logs.store import numbers
from agents.prices.schemas import PriceGiven
from agents.query.parser import parse
from agents.record.models.agents import Session
from agents.record.models.prices import Price
from agents.record.models.turns import Step, StepDetail, Turn
from agents.record.schemas.content import Usage
from agents.record.store import costs, large_values

UNPRICED = "type:inference tokens:>0 -has:cost"
"""Steps that cost something nobody knows."""
BATCH = 500
"""Steps priced in one transaction."""
_NANO = Decimal(1000)
"""Dollars per million tokens × this = billionths of a dollar per token."""


@dataclass(frozen=True, slots=True)
class Told:
    added: int
    known: int


def add(given: Sequence[PriceGiven]) -> Told:
    """Store these prices; those that are known already are left alone. Raises InvalidRequest, and then stores
    none, where a model has another price from the very same moment on."""
    now = to_datetime(ids.now_us())

    def job() -> Told:
        added = sum(_add(one, now) for one in given)
        return Told(added, len(given) - added)

    told = writer.write(job)
    costs.forget()
    return told


def _add(given: PriceGiven, now: datetime) -> bool:
    columns = {
        "input_nano": _nano(given.input) or 0,
        "output_nano": _nano(given.output) or 0,
        "cached_nano": _nano(given.cached),
        "reasoning_nano": _nano(given.reasoning),
        "closes": given.closes,
    }
    rows = Price.objects.filter(model=given.model)
    before = rows.filter(starts_at__lte=given.since or now).order_by("-starts_at").first()
    if before is not None and all(getattr(before, name) == value for name, value in columns.items()):
        return False
    if before is not None and before.starts_at == given.since:
        raise InvalidRequest(
            f"{given.model}: there is another price from {given.since:%Y-%m-%d %H:%M:%S} on; prices never change, so "
            "take a later moment.",
            param="from",
        )
    Price.objects.create(model=given.model, starts_at=given.since or now, **columns)
    return True


def _nano(dollars: Decimal | None) -> int | None:
    return None if dollars is None else int(dollars * _NANO)


# -------------------------------------------------------------------------------------- pricing later


@dataclass(frozen=True, slots=True)
class Priced:
    """``left`` are steps that still have no price."""

    priced: int
    left: int


def price_unpriced(actor: Actor) -> Priced:
    """Price the ended steps an actor may see whose cost is unknown, where their model has a price by now.
    Raises Unavailable when finding them takes too long."""
    keys = numbers.row_keys(actor, parse(UNPRICED, now_us=ids.now_us(), level="step"))
    done = 0
    for start in range(0, len(keys), BATCH):
        batch = keys[start : start + BATCH]
        done += writer.write(partial(_price, batch))
    return Priced(done, len(keys) - done)


@dataclass(frozen=True, slots=True)
class _Used:
    step: int
    turn: int
    session: int
    name: str
    at_us: int
    usage: Usage


def _price(keys: Sequence[int]) -> int:
    """How many of these steps have a cost now."""
    models = _models(keys)
    turns: Counter[int] = Counter()
    sessions: Counter[int] = Counter()
    done = 0
    for used in _used(keys):
        cost, price = costs.late_cost(models.get(used.step) or used.name, used.usage, used.at_us, alias=used.name)
        if cost is not None and _set(used.step, cost, price):
            turns[used.turn] += cost
            sessions[used.session] += cost
            done += 1
    _add_up(turns, sessions)
    return done


def _used(keys: Sequence[int]) -> Iterator[_Used]:
    rows = Step.objects.unscoped("found as the actor sees them").filter(pk__in=keys, cost_nano=None)
    tokens = ("input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens")
    for row in rows.exclude(completed_at=None).select_related("turn"):
        usage = Usage(**{name: getattr(row, name) for name in tokens})
        yield _Used(row.pk, row.turn_id, row.turn.session_id, row.name, to_us(row.completed_at), usage)


class _Model(msgspec.Struct):
    model: str = ""


def _models(keys: Sequence[int]) -> dict[int, str]:
    """What the models called themselves, by step."""
    found = {}
    for step, kind, body in StepDetail.objects.filter(step_id__in=keys).values_list("step_id", "encoding", "body"):
        try:
            found[step] = msgspec.json.decode(large_values.outline(kind, body).body, type=_Model).model
        except msgspec.DecodeError:
            continue
    return found


def _set(step: int, cost: int, price: int | None) -> bool:
    change = Update(Step)
    change.set(cost_nano=cost, price_id=price)
    changed = change.write("id", step, "AND cost_nano IS NULL") > 0
    if changed:
        changes.note(ChangeKind.STEP, step)
    return changed


def _add_up(turns: Counter[int], sessions: Counter[int]) -> None:
    for model, kind, amounts in ((Turn, ChangeKind.TURN, turns), (Session, ChangeKind.SESSION, sessions)):
        for key, amount in amounts.items():
            change = Update(model)
            change.add_to_unknown("cost_nano", amount)
            change.write("id", key)
            changes.note(kind, key)
