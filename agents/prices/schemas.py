"""The JSON of a list of prices to import, in dollars per million tokens."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, StringConstraints, TypeAdapter, model_validator

Dollars = Annotated[Decimal, Field(ge=0, le=1_000_000, decimal_places=3, allow_inf_nan=False)]
ModelName = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=300, pattern=r"^[^\x00]*$")
]


class NewPrice(BaseModel):
    """A price to add. ``from`` is now where it is left out. One that ``closes`` has no amounts: from then on the price
    is unknown."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    model: ModelName
    since: AwareDatetime | None = Field(default=None, alias="from")
    input: Dollars | None = None
    output: Dollars | None = None
    cached: Dollars | None = None
    reasoning: Dollars | None = None
    closes: bool = False

    @model_validator(mode="after")
    def _check_amounts(self) -> NewPrice:
        amounts = (self.input, self.output, self.cached, self.reasoning)
        if self.closes and any(amount is not None for amount in amounts):
            raise ValueError("a price that closes has no amounts")
        if not self.closes and (self.input is None or self.output is None):
            raise ValueError("input and output are needed, in dollars per million tokens")
        return self


PRICES: TypeAdapter[list[NewPrice]] = TypeAdapter(list[NewPrice])
