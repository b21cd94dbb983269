"""The page of prices: the models that were used without one, the prices of models over time, and public list prices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import Unavailable
from agents.logs.schemas.numbers import Stats
from agents.logs.store import numbers
from agents.pages.periods import MetricsQuery
from agents.prices.store import prices as pricing
from agents.record.store import costs, list_prices
from agents.record.store.costs import PriceEntry
from agents.record.store.list_prices import ListPrice
from agents.uikit import format
from agents.uikit.access import PageRequest, page

UNPRICED = MetricsQuery(pricing.UNPRICED, "step")
INFERENCES = MetricsQuery("type:inference", "step")
MAX_MODELS = 100
"""Models without a price that the page lists."""

MAX_FIND = 200
"""Letters of a search in the list prices."""


@dataclass(frozen=True, slots=True)
class UnpricedModel:
    """A model without a price, with its steps of unknown cost."""

    model: str
    stats: Stats
    url: str


@page("read")
def price_page(request: PageRequest) -> HttpResponse:
    find = request.GET.get("find", "").strip()[:MAX_FIND]
    try:
        groups = numbers.groups(request.actor, UNPRICED.query, ["model"], MAX_MODELS)
        missing = [
            UnpricedModel(group.labels[0], group.stats, UNPRICED.where("model", group.values[0]).url)
            for group in groups.groups
        ]
        used, slow = _used(request.actor), ""
    except Unavailable as error:
        missing, used, slow = [], {}, error.message
    context = {
        "models": [_price_rows(rows) for rows in costs.history(ids.now_us()).values()],
        "missing": missing,
        "missing_total": sum(model.stats.count for model in missing),
        "missing_url": UNPRICED.url,
        "slow": slow,
        "lists": _list_tables(find, used),
        "has_lists": bool(list_prices.lists()),
        "find": find,
        "may_price": "manage" in request.actor.actions,
        "may_edit": request.user.is_authenticated and request.user.has_perm("agents.add_price"),
    }
    return render(request, "prices/prices.html", context)


@page("manage")
@require_POST
def price_unpriced(request: PageRequest) -> HttpResponse:
    """Price the steps that the reader may see and whose model has a price now."""
    result = pricing.price_unpriced(request.actor)
    message = _("%(priced)s steps priced; %(left)s have no price.")
    counts = {"priced": format.count(result.priced), "left": format.count(result.left)}
    messages.success(request, message % counts)
    return redirect("prices")


@dataclass(frozen=True, slots=True)
class PriceRow:
    """A row of the table of prices, in dollars per million tokens as text; a dash where there is no own price."""

    model: str
    at_us: int
    input: str
    cached: str
    output: str
    reasoning: str
    closes: bool
    current: bool


def _price_rows(rows: list[PriceEntry]) -> list[PriceRow]:
    return [
        PriceRow(
            row.model,
            row.starts_at,
            _dollars(None if row.closes else row.input_nano),
            _dollars(row.cached_nano),
            _dollars(None if row.closes else row.output_nano),
            _dollars(row.reasoning_nano),
            row.closes,
            row.current,
        )
        for row in rows
    ]


@dataclass(frozen=True, slots=True)
class ListPriceRow:
    """A list price, in dollars per million tokens as text; ``aliases`` are its model's other names."""

    model: str
    aliases: str
    input: str
    cached: str
    cache_write: str
    output: str
    used_url: str
    """The steps of the log that have this model; empty for none."""


@dataclass(frozen=True, slots=True)
class ListTable:
    """The list prices of a provider that a search matches, with the page they are from."""

    provider: str
    url: str
    read: date
    via: str
    rows: list[ListPriceRow]


def _used(actor: Actor) -> dict[ListPrice, str]:
    """Return the URL of the steps of each listed model that the log has."""
    names: dict[ListPrice, list[str]] = {}
    for group in numbers.groups(actor, INFERENCES.query, ["model"], MAX_MODELS).groups:
        name = group.values[0]
        price = list_prices.find([name]) if name else None
        if name and price:
            names.setdefault(price, []).append(name)
    return {price: INFERENCES.where_any("model", models).url for price, models in names.items()}


def _list_tables(find: str, used: Mapping[ListPrice, str]) -> list[ListTable]:
    """Return the list prices by provider: all, or those whose provider or names have these letters."""
    letters, tables = find.lower(), []
    for prices in list_prices.lists():
        rows = [
            ListPriceRow(
                row.model,
                ", ".join(row.aliases),
                _dollars(row.input_nano),
                _dollars(row.cached_nano),
                _dollars(row.cache_write_nano),
                _dollars(row.output_nano),
                used.get(row, ""),
            )
            for row in prices.prices
            if any(letters in name for name in (prices.provider.lower(), row.model, *row.aliases))
        ]
        if rows:
            tables.append(ListTable(prices.provider, prices.url, prices.read, prices.via, rows))
    return tables


def _dollars(nano: int | None) -> str:
    return format.NOTHING if nano is None else format.dollars(nano / 1000, 3)
