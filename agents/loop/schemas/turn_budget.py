"""Limits of what may be spent, and what a request allows its turn. Dollars are decimal numbers."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Self

from pydantic import Field, WithJsonSchema, model_validator

from agents.base.schemas.wire import Wire

NANO = 1_000_000_000

Dollars = Annotated[
    Decimal,
    Field(ge=Decimal(1) / NANO, le=1_000_000_000, allow_inf_nan=False),
    WithJsonSchema({"type": "number", "minimum": 1 / NANO, "maximum": 1_000_000_000}),
]
"""Counted in billionths: what is less than one is left out."""
Tokens = Annotated[int, Field(ge=1, le=2**53 - 1)]


def nano(usd: Decimal | None) -> int | None:
    """Return billionths of a dollar."""
    return None if usd is None else int(usd * NANO)


class SpendingLimits(Wire):
    """A limit of dollars (``usd``), of ``tokens``, or of both."""

    usd: Dollars | None = None
    tokens: Tokens | None = None

    @model_validator(mode="after")
    def _check_limits(self) -> Self:
        if self.usd is None and self.tokens is None:
            raise ValueError("a budget has a limit: usd, tokens, or both")
        return self


class TurnBudget(SpendingLimits):
    """The limits of a turn together with the turns of its sub-agents."""
