"""Prices as a list that can be imported, in dollars per million tokens."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, StringConstraints, TypeAdapter, model_validator

Dollars = Annotated[Decimal, Field(ge=0, le=1_000_000, decimal_places=3, allow_inf_nan=False)]
Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=300, pattern=r"^[^\x00]*$")]


class PriceGiven(BaseModel):
    """``from`` is now where it is left out. One that ``closes`` has no amounts: from then on nobody knows
    the price."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    model: Name
    since: AwareDatetime | None = Field(default=None, alias="from")
    input: Dollars | None = None
    output: Dollars | None = None
    cached: Dollars | None = None
    reasoning: Dollars | None = None
    closes: bool = False

    @model_validator(mode="after")
    def _is_one_or_the_other(self) -> PriceGiven:
        amounts = (self.input, self.output, self.cached, self.reasoning)
        if self.closes and any(amount is not None for amount in amounts):
            raise ValueError("a price that closes has no amounts")
        if not self.closes and (self.input is None or self.output is None):
            raise ValueError("input and output are needed, in dollars per million tokens")
        return self


PRICES: TypeAdapter[list[PriceGiven]] = TypeAdapter(list[PriceGiven])
