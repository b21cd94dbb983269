"""Computes the cost of tokens by the price of a model at a time: one that was set here, else its public list price.
Prices are cached, and applied once, when a step ends."""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import chain

from agents.base.timestamps import to_us
from agents.record.models.prices import Price
from agents.record.schemas.content import Usage
from agents.record.store import list_prices
from agents.record.store.list_prices import ListPrice

CACHE_TTL_S = 5.0
_COLUMNS = (
    "pk",
    "model",
    "starts_at",
    "input_nano",
    "output_nano",
    "cached_nano",
    "reasoning_nano",
    "closes",
)
_cache: tuple[float, list[_Row]] = (0.0, [])


@dataclass(frozen=True, slots=True)
class _Row:
    key: int
    model: str
    starts_at: int
    input_nano: int
    output_nano: int
    cached_nano: int | None
    reasoning_nano: int | None
    closes: bool

    def names(self, model: str) -> bool:
        return model.startswith(self.model[:-1]) if self.model.endswith("*") else model == self.model

    def cost(self, usage: Usage) -> int:
        reasoning_nano = self.output_nano if self.reasoning_nano is None else self.reasoning_nano
        return _cost(self, usage, reasoning_nano)


def _cost(price: _Row | ListPrice, usage: Usage, reasoning_nano: int) -> int:
    cached_nano = price.input_nano if price.cached_nano is None else price.cached_nano
    input_cost = (usage.input_tokens - usage.cached_tokens) * price.input_nano + usage.cached_tokens * cached_nano
    answer_tokens = usage.output_tokens - usage.reasoning_tokens
    return input_cost + answer_tokens * price.output_nano + usage.reasoning_tokens * reasoning_nano


def _rows() -> list[_Row]:
    global _cache
    loaded_at, rows = _cache
    if time.monotonic() - loaded_at > CACHE_TTL_S:
        rows = [_Row(row[0], row[1], to_us(row[2]), *row[3:]) for row in Price.objects.values_list(*_COLUMNS)]
        # an exact name before a pattern, a longer pattern before a shorter, the newest of each
        rows.sort(key=lambda row: (not row.model.endswith("*"), len(row.model), row.starts_at), reverse=True)
        _cache = (time.monotonic(), rows)
    return rows


def forget() -> None:
    """Empty the cache."""
    global _cache
    _cache = (0.0, [])


def cost(model: str, usage: Usage, at_us: int, alias: str = "") -> tuple[int | None, int | None]:
    """Return (billionths of a dollar, price id) for a model that is also called ``alias``, with its endpoint or
    without it; (None, None) while it has no price. A public list price has no id."""
    names = _names(model, alias)
    row = next(filter(None, (_row(name, at_us) for name in names)), None)
    return (row.cost(usage), row.key) if row else _list_cost(names, usage, at_us)


def late_cost(model: str, usage: Usage, at_us: int, alias: str = "") -> tuple[int | None, int | None]:
    """Return the cost of tokens that were used before their model had a price, by its first price since then."""
    names = _names(model, alias)
    rows = chain((_row(name, at_us) for name in names), (_first(name, at_us) for name in names))
    row = next(filter(None, rows), None)
    return (row.cost(usage), row.key) if row else _list_cost(names, usage, at_us)


def _list_cost(names: tuple[str, ...], usage: Usage, at_us: int) -> tuple[int | None, None]:
    """Return the cost by a public list; none where a price has ended here, on purpose."""
    ended = any(row.starts_at <= at_us and row.names(name) for name in names for row in _rows())
    price = None if ended else list_prices.find(names)
    return (None if price is None else _cost(price, usage, price.output_nano), None)


def _names(model: str, alias: str) -> tuple[str, ...]:
    """Return the names that a price may have: as the endpoint says it, as it was asked for, and that without the name
    of the endpoint."""
    return tuple(filter(None, (model, alias, alias.partition("/")[2])))


def _row(model: str, at_us: int) -> _Row | None:
    """Return the price of a model at a time; None where there is none, or it has ended."""
    price = next((row for row in _rows() if row.starts_at <= at_us and row.names(model)), None)
    return None if price is None or price.closes else price


def _first(model: str, at_us: int) -> _Row | None:
    """Return the first price of a model after a time; None where an earlier one was closed before it, on purpose."""
    rows = [row for row in _rows() if row.names(model)]
    if any(row.starts_at <= at_us for row in rows):
        return None
    return next(iter(sorted((row for row in rows if not row.closes), key=lambda row: row.starts_at)), None)


@dataclass(frozen=True, slots=True)
class PriceEntry:
    """A price from ``starts_at`` on (microseconds), in billionths of a dollar per token. ``current``: it is in
    force."""

    model: str
    starts_at: int
    input_nano: int
    output_nano: int
    cached_nano: int | None
    reasoning_nano: int | None
    closes: bool
    current: bool


def history(at_us: int) -> dict[str, list[PriceEntry]]:
    """Return all prices by the name of the model, the newest of each first; ``current`` is as of ``at_us``."""
    forget()
    now, out = current(at_us), dict[str, list[PriceEntry]]()
    for row in sorted(_rows(), key=lambda row: (row.model, -row.starts_at)):
        values = (row.input_nano, row.output_nano, row.cached_nano, row.reasoning_nano, row.closes, row.key in now)
        out.setdefault(row.model, []).append(PriceEntry(row.model, row.starts_at, *values))
    return out


def current(at_us: int) -> set[int]:
    """Return the ids of the prices in force at a time: the newest of each model's name."""
    newest: dict[str, _Row] = {}
    for row in sorted(_rows(), key=lambda row: row.starts_at):
        if row.starts_at <= at_us:
            newest[row.model] = row
    return {row.key for row in newest.values()}
