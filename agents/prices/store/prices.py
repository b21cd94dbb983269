"""Adds prices, and prices the steps that ended before their model had a price.

A price is never changed and a cost, once set, stays: a new price holds from a given time on, and only steps of unknown
cost are priced later. The sums of their turns and sessions are updated in the same transaction.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
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
from agents.prices.schemas import NewPrice
from agents.query.parser import parse
from agents.record.models.prices import Price
from agents.record.models.turns import Step, StepDetail, Turn
from agents.record.schemas.content import Usage
from agents.record.store import costs, large_values, totals
from agents.record.store.totals import SessionTotals, TurnTotals

UNPRICED = "type:inference tokens:>0 -has:cost"
"""Steps with tokens and an unknown cost."""
BATCH_SIZE = 500
"""Steps priced in one transaction."""
_NANO = Decimal(1000)
"""Dollars per million tokens × this = billionths of a dollar per token."""


@dataclass(frozen=True, slots=True)
class PriceImportResult:
    added: int
    known: int


def add(prices: Sequence[NewPrice]) -> PriceImportResult:
    """Store these prices; those that are known already are skipped. Raises InvalidRequest, and then stores none, where
    a model has another price from the same time on."""
    now = to_datetime(ids.now_us())

    def job() -> PriceImportResult:
        added = sum(_add(price, now) for price in prices)
        return PriceImportResult(added, len(prices) - added)

    result = writer.write(job)
    costs.forget()
    return result


def _add(price: NewPrice, now: datetime) -> bool:
    columns = {
        "input_nano": _nano(price.input) or 0,
        "output_nano": _nano(price.output) or 0,
        "cached_nano": _nano(price.cached),
        "reasoning_nano": _nano(price.reasoning),
        "closes": price.closes,
    }
    rows = Price.objects.filter(model=price.model)
    previous = rows.filter(starts_at__lte=price.since or now).order_by("-starts_at").first()
    if previous is not None and all(getattr(previous, name) == value for name, value in columns.items()):
        return False
    if previous is not None and previous.starts_at == price.since:
        raise InvalidRequest(
            f"{price.model}: there is another price from {price.since:%Y-%m-%d %H:%M:%S} on; prices never change, so "
            "take a later moment.",
            param="from",
        )
    Price.objects.create(model=price.model, starts_at=price.since or now, **columns)
    return True


def _nano(dollars: Decimal | None) -> int | None:
    return None if dollars is None else int(dollars * _NANO)


# -------------------------------------------------------------------------------------- pricing later


@dataclass(frozen=True, slots=True)
class PricingResult:
    """The result of pricing steps. ``left`` counts those that still have no price."""

    priced: int
    left: int


def price_unpriced(actor: Actor) -> PricingResult:
    """Price the ended steps of unknown cost that an actor may see, where their model has a price now. Raises
    Unavailable when finding them takes too long."""
    keys = numbers.row_keys(actor, parse(UNPRICED, now_us=ids.now_us(), level="step"))
    priced = 0
    for start in range(0, len(keys), BATCH_SIZE):
        batch = keys[start : start + BATCH_SIZE]
        priced += writer.write(partial(_price_batch, batch))
    return PricingResult(priced, len(keys) - priced)


@dataclass(frozen=True, slots=True)
class _UnpricedStep:
    step: int
    turn: int
    session: int
    name: str
    at_us: int
    usage: Usage


def _price_batch(keys: Sequence[int]) -> int:
    """Price these steps; returns how many have a cost now."""
    models = _reported_models(keys)
    turns: defaultdict[int, TurnTotals] = defaultdict(TurnTotals)
    sessions: defaultdict[int, SessionTotals] = defaultdict(SessionTotals)
    priced = 0
    for unpriced in _unpriced_steps(keys):
        cost, price = costs.late_cost(
            models.get(unpriced.step) or unpriced.name, unpriced.usage, unpriced.at_us, alias=unpriced.name
        )
        if cost is not None and _set_cost(unpriced.step, cost, price):
            turns[unpriced.turn].add(TurnTotals(cost_nano=cost))
            sessions[unpriced.session].add(SessionTotals(cost_nano=cost))
            priced += 1
    _add_to_totals(turns, sessions)
    return priced


def _unpriced_steps(keys: Sequence[int]) -> Iterator[_UnpricedStep]:
    rows = Step.objects.unscoped("found as the actor sees them").filter(pk__in=keys, cost_nano=None)
    tokens = ("input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens")
    for row in rows.exclude(completed_at=None).select_related("turn"):
        usage = Usage(**{name: getattr(row, name) for name in tokens})
        yield _UnpricedStep(row.pk, row.turn_id, row.turn.session_id, row.name, to_us(row.completed_at), usage)


class _ModelName(msgspec.Struct):
    model: str = ""


def _reported_models(keys: Sequence[int]) -> dict[int, str]:
    """The names that the models reported for themselves, by step."""
    models = {}
    for step, kind, body in StepDetail.objects.filter(step_id__in=keys).values_list("step_id", "encoding", "body"):
        try:
            models[step] = msgspec.json.decode(large_values.outline(kind, body).body, type=_ModelName).model
        except msgspec.DecodeError:
            continue
    return models


def _set_cost(step: int, cost: int, price: int | None) -> bool:
    change = Update(Step)
    change.set(cost_nano=cost, price_id=price)
    changed = change.write("id", step, "AND cost_nano IS NULL") > 0
    if changed:
        changes.note(ChangeKind.STEP, step)
    return changed


def _add_to_totals(turns: Mapping[int, TurnTotals], sessions: Mapping[int, SessionTotals]) -> None:
    for turn, difference in turns.items():
        change = Update(Turn)
        difference.add_to(change)
        change.write("id", turn)
        changes.note(ChangeKind.TURN, turn)
    totals.add(sessions)
    for session in sessions:
        changes.note(ChangeKind.SESSION, session)
