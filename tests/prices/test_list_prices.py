"""The public list prices that ship: found under each usual name of a model, behind the prices that were set here."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from agents.base.timestamps import to_datetime
from agents.prices.schemas import PRICES
from agents.prices.store import prices as pricing
from agents.record.schemas.content import Usage
from agents.record.store import costs, list_prices, spending

pytestmark = pytest.mark.django_db

USAGE = Usage(input_tokens=1_000_000, output_tokens=100_000, cached_tokens=400_000, reasoning_tokens=60_000)
DAY_US = 86_400_000_000


def dollars(model: str, alias: str = "", days: int = 1) -> float | None:
    nano = costs.cost(model, USAGE, days * DAY_US, alias)[0]
    return None if nano is None else nano / 1_000_000_000


@pytest.mark.parametrize(
    ("model", "cost"),
    [
        ("gpt-4o", 3.0),
        ("gpt-4o-2024-08-06", 3.0),
        ("gpt-4o-2024-05-13", 6.5),
        ("openai/gpt-4o", 3.0),
        ("azure/gpt-4o", 3.0),
        ("claude-sonnet-4-20250514", 3.42),
        ("anthropic/claude-sonnet-4-5", 3.42),
        ("us.anthropic.claude-sonnet-4-20250514-v1:0", 3.42),
        ("bedrock/anthropic.claude-3-5-sonnet-20241022-v2:0", 3.42),
        ("claude-sonnet-4@20250514", 3.42),
        ("models/gemini-2.5-pro", 1.8),
        ("mistral-large-latest", 2.6),
        ("groq/llama-3.3-70b-versatile", 0.669),
    ],
)
def test_a_model_costs_its_list_price_under_each_usual_name(model: str, cost: float) -> None:
    assert dollars(model) == pytest.approx(cost)


@pytest.mark.parametrize(
    "model", ["gpt-4o-audio", "gpt-4omega", "llama-3.3-70b-versatile", "my-gpt-4o", "", "x" * 9999]
)
def test_what_no_list_names_stays_unknown(model: str) -> None:
    assert costs.cost(model, USAGE, DAY_US) == (None, None)


def test_scripted_models_have_no_list_price() -> None:
    assert dollars("gpt-4o", "scripted/gpt-4o") is None
    assert dollars("gpt-4o-2024-08-06", "openai/gpt-4o") == pytest.approx(3.0)


def tell(**row: Any) -> None:
    pricing.add(PRICES.validate_python([row]))


def test_a_price_set_here_goes_first_and_its_end_says_that_none_is_known() -> None:
    tell(model="gpt-4o", **{"from": to_datetime(10 * DAY_US).isoformat()}, input=1, output=1)
    tell(model="gpt-4o", **{"from": to_datetime(20 * DAY_US).isoformat()}, closes=True)
    assert [dollars("gpt-4o", days=days) for days in (5, 15, 25)] == [pytest.approx(3.0), pytest.approx(1.1), None]


def test_list_prices_can_be_off(settings: Any) -> None:
    settings.LIST_PRICES = False
    assert (dollars("gpt-4o"), list_prices.lists(), spending.has_price("gpt-4o")) == (None, (), False)


def test_a_list_price_is_enough_for_a_budget_in_dollars() -> None:
    assert (spending.has_price("openai/gpt-4o"), spending.has_price("gpt-4omega")) == (True, False)


def test_each_name_is_listed_once_and_each_list_says_where_it_comes_from() -> None:
    rows = [row for each in list_prices.lists() for row in each.prices]
    assert [name for name, n in Counter(n for row in rows for n in (row.model, *row.aliases)).items() if n > 1] == []
    assert all(each.url.startswith("https://") and each.via and each.read for each in list_prices.lists())
    assert all(row.output_nano >= row.input_nano > (row.cached_nano or 0) for row in rows)
