"""What tokens cost: the price of a model at a moment, cached; applied once, when a step ends."""

from __future__ import annotations

import time
from dataclasses import dataclass

from agents.models import Price
from agents.models.fields import to_us
from agents.schemas.content import Usage

FRESH_S = 5.0
_cache: tuple[float, list[_Row]] = (0.0, [])


@dataclass(frozen=True, slots=True)
class _Row:
    key: int
    model: str
    starts_at: int
    input_nano: int
    output_nano: int
    cached_nano: int | None

    def covers(self, model: str, at_us: int) -> bool:
        if at_us < self.starts_at:
            return False
        return model.startswith(self.model[:-1]) if self.model.endswith("*") else model == self.model

    def cost(self, usage: Usage) -> int:
        cached_nano = self.input_nano if self.cached_nano is None else self.cached_nano
        fresh = usage.input_tokens - usage.cached_tokens
        return fresh * self.input_nano + usage.cached_tokens * cached_nano + usage.output_tokens * self.output_nano


def _rows() -> list[_Row]:
    global _cache
    loaded_at, rows = _cache
    if time.monotonic() - loaded_at > FRESH_S:
        found = Price.objects.values_list("pk", "model", "starts_at", "input_nano", "output_nano", "cached_nano")
        rows = [_Row(row[0], row[1], to_us(row[2]), *row[3:]) for row in found]
        # an exact name before a pattern, a longer pattern before a shorter, the newest of each
        rows.sort(key=lambda row: (not row.model.endswith("*"), len(row.model), row.starts_at), reverse=True)
        _cache = (time.monotonic(), rows)
    return rows


def forget() -> None:
    """Empty the cache."""
    global _cache
    _cache = (0.0, [])


def cost(model: str, usage: Usage, at_us: int) -> tuple[int | None, int | None]:
    """(billionths of a dollar, price id), or (None, None) while the model has no price."""
    for row in _rows():
        if row.covers(model, at_us):
            return row.cost(usage), row.key
    return None, None
