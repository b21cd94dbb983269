"""Files of prices: our own list, and LiteLLM's list of the models of all providers
(``model_prices_and_context_window.json``).

LiteLLM's is one object: by the name of a model, dollars per token as ``input_cost_per_token``,
``output_cost_per_token``, ``cache_read_input_token_cost`` and ``output_cost_per_reasoning_token``. Models that are paid
by the image, the second or the page have no price here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from pydantic import ValidationError

from agents.base.errors import InvalidRequest
from agents.prices.schemas import PRICES, NewPrice

_EXAMPLE = "sample_spec"
"""An entry that explains the others."""
_PER_TOKEN = {
    "input": "input_cost_per_token",
    "output": "output_cost_per_token",
    "cached": "cache_read_input_token_cost",
    "reasoning": "output_cost_per_reasoning_token",
}
_MILLION, _SMALLEST = Decimal(1_000_000), Decimal("0.001")


@dataclass(frozen=True, slots=True)
class PriceFile:
    """The prices of a file; ``skipped`` counts the models that have none by token."""

    prices: list[NewPrice]
    skipped: int = 0


def read(content: bytes) -> PriceFile:
    """Read a file. Raises InvalidRequest, ValidationError."""
    try:
        document = json.loads(content, parse_float=Decimal)
    except (ValueError, RecursionError) as error:
        raise InvalidRequest(f"this is no JSON: {error}"[:200]) from error
    if not isinstance(document, dict):
        return PriceFile(PRICES.validate_json(content))
    found = {name: entry for name, entry in document.items() if isinstance(entry, dict) and name != _EXAMPLE}
    prices = [price for name, entry in found.items() if (price := _price(name, entry)) is not None]
    if not prices:
        message = "a list of prices is needed, or LiteLLM's object of models, with input_cost_per_token of each."
        raise InvalidRequest(message)
    return PriceFile(prices, len(found) - len(prices))


def _price(name: str, entry: Mapping[str, Any]) -> NewPrice | None:
    """Return the price of a model of LiteLLM's list; None where it has none that can be read."""
    amounts = {target: _dollars(entry.get(source)) for target, source in _PER_TOKEN.items()}
    try:
        return NewPrice(model=name, **amounts)
    except ValidationError:
        return None


def _dollars(per_token: Any) -> Decimal | None:
    """Return dollars per million tokens, to a thousandth."""
    if isinstance(per_token, bool) or not isinstance(per_token, (int, Decimal)):
        return None
    try:
        return (Decimal(per_token) * _MILLION).quantize(_SMALLEST, ROUND_HALF_UP)
    except ArithmeticError:
        return None
