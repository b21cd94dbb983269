"""Prices over time, and costs that add up at every level."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.management import CommandError, call_command

from agents.base.access import Actor
from agents.base.errors import InvalidRequest
from agents.base.store import keys
from agents.base.timestamps import to_datetime
from agents.prices.schemas import PRICES
from agents.prices.store import prices as pricing
from agents.record.models.agents import Session
from agents.record.models.prices import Price
from agents.record.models.turns import Step, Turn
from agents.record.schemas.content import Usage
from agents.record.store import costs
from tests.loop.test_loop import tool
from tests.support.builders import make_turn

pytestmark = pytest.mark.django_db

USAGE = Usage(input_tokens=1_000, output_tokens=100, cached_tokens=400, reasoning_tokens=60)
DAY_US = 86_400_000_000


@pytest.fixture
def me(db: None) -> Actor:
    return keys.local()


def told(*rows: dict[str, Any]) -> pricing.PriceImportResult:
    return pricing.add(PRICES.validate_python(list(rows)))


def at(days: int) -> str:
    return to_datetime(DAY_US * days).isoformat()


# ------------------------------------------------------------------------------------------- prices


def test_each_kind_of_token_has_its_price() -> None:
    told({"model": "m", "from": at(0), "input": "2", "cached": "0.5", "output": "8", "reasoning": "4"})
    assert costs.cost("m", USAGE, 1)[0] == 600 * 2000 + 400 * 500 + 40 * 8000 + 60 * 4000


def test_cached_and_reasoning_cost_as_the_others_without_a_price_of_their_own() -> None:
    told({"model": "m", "from": at(0), "input": "2", "output": "8"})
    assert costs.cost("m", USAGE, 1)[0] == 1000 * 2000 + 100 * 8000


def test_a_price_holds_from_its_moment_until_the_next_or_its_end() -> None:
    told(
        {"model": "m", "from": at(10), "input": 1, "output": 1},
        {"model": "m", "from": at(20), "input": 2, "output": 2},
        {"model": "m", "from": at(30), "closes": True},
        {"model": "m*", "from": at(0), "input": 9, "output": 9},
    )
    found = [costs.cost("m", USAGE, DAY_US * days)[0] for days in (5, 10, 15, 20, 25, 30, 35)]
    each = 1_100_000
    assert found == [9 * each, each, each, 2 * each, 2 * each, None, None]
    assert costs.cost("more", USAGE, DAY_US * 35)[0] == 9 * each


def test_a_model_is_also_known_by_the_name_it_was_asked_by() -> None:
    told({"model": "scripted/fast", "from": at(0), "input": 1, "output": 1})
    assert costs.cost("fast", USAGE, 1, alias="scripted/fast")[0] == 1_100_000
    told({"model": "fast", "from": at(0), "input": 2, "output": 2})
    assert costs.cost("fast", USAGE, 1, alias="scripted/fast")[0] == 2_200_000
    assert costs.cost("fast-2026-01-01", USAGE, 1, alias="scripted/fast")[0] == 1_100_000


def test_a_price_holds_whether_or_not_its_model_is_asked_for_with_its_endpoint(db: None) -> None:
    Price.objects.create(model="small", starts_at=to_datetime(0), input_nano=1_000, output_nano=1_000)
    costs.forget()
    dated = costs.cost("small-2026-01-01", USAGE, 1, alias="scripted/small")
    assert dated == costs.cost("small", USAGE, 1)
    assert dated[0] is not None
    assert costs.late_cost("small-2026-01-01", USAGE, 1, alias="scripted/small") == dated
    assert costs.cost("small-2026-01-01", USAGE, 1, alias="smaller/")[0] is None


def test_what_is_known_is_left_alone() -> None:
    row = {"model": "m", "from": at(1), "input": 1, "output": 2, "cached": "0.5"}
    assert (told(row, row), told(row)) == (pricing.PriceImportResult(1, 1), pricing.PriceImportResult(0, 1))
    assert told({**row, "from": None}) == pricing.PriceImportResult(0, 1)
    assert told({**row, "from": None, "output": 3}) == pricing.PriceImportResult(1, 0)


def test_another_price_from_the_same_moment_is_refused_with_all_beside_it() -> None:
    told({"model": "m", "from": at(1), "input": 1, "output": 2})
    with pytest.raises(InvalidRequest, match="prices never change"):
        told({"model": "n", "input": 1, "output": 1}, {"model": "m", "from": at(1), "input": 3, "output": 2})
    assert Price.objects.count() == 1


WRONG: list[Any] = [
    {},
    [{"model": "m"}],
    [{"model": "", "input": 1, "output": 1}],
    [{"model": "m", "input": -1, "output": 1}],
    [{"model": "m", "input": "NaN", "output": 1}],
    [{"model": "m", "input": "0.0001", "output": 1}],
    [{"model": "m", "input": 1}],
    [{"model": "m", "closes": True, "input": 1}],
    [{"model": "m", "input": 1, "output": 1, "from": "2026-01-01"}],
    [{"model": "m", "input": 1, "output": 1, "other": 1}],
]


@pytest.mark.parametrize("given", WRONG)
def test_what_is_no_price_is_refused(given: Any) -> None:
    with pytest.raises(ValueError, match="validation error"):
        PRICES.validate_python(given)


# ------------------------------------------------------------------------------------- pricing later


def cost_of(session: int) -> tuple[int | None, ...]:
    """As the session, its turns and its steps say it."""
    turns = Turn.objects.unscoped("test").filter(session_id=session).values_list("cost_nano", flat=True)
    steps = Step.objects.unscoped("test").filter(turn__session_id=session).values_list("cost_nano", flat=True)
    own = Session.objects.unscoped("test").get(pk=session).cost_nano
    return own, *(sum(filter(None, some)) if any(one is not None for one in some) else None for some in (turns, steps))


def test_what_had_no_price_gets_it_and_the_sums_follow(me: Actor) -> None:
    made = make_turn(me, 'call web_search {"q": 1}\nthen\nsay Done.', server_tools=tool("web_search"))
    assert cost_of(made.session) == (None, None, None)
    told({"model": "scripted/fast", "input": 1, "output": 1})
    assert pricing.price_unpriced(me) == pricing.PricingResult(2, 0)
    own, turns, steps = cost_of(made.session)
    tokens = sum(Step.objects.unscoped("test").filter(turn_id=made.turn).values_list("input_tokens", flat=True))
    assert own == turns == steps
    assert own is not None
    assert own > tokens * 1000
    assert pricing.price_unpriced(me) == pricing.PricingResult(0, 0)


def test_a_cost_once_set_stays(me: Actor) -> None:
    told({"model": "scripted/fast", "from": at(0), "input": 1, "output": 1})
    made = make_turn(me)
    before = cost_of(made.session)
    told({"model": "scripted/fast", "input": 100, "output": 100})
    assert pricing.price_unpriced(me) == pricing.PricingResult(0, 0)
    assert cost_of(made.session) == before


def test_what_was_used_while_no_price_was_meant_to_be_known_stays_unknown(me: Actor) -> None:
    told(
        {"model": "scripted/fast", "from": at(0), "input": 1, "output": 1},
        {"model": "scripted/fast", "from": at(1), "closes": True},
    )
    make_turn(me)
    told({"model": "scripted/fast", "input": 5, "output": 5})
    assert pricing.price_unpriced(me) == pricing.PricingResult(0, 1)


def test_the_command_imports_and_prices(me: Actor, tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    make_turn(me)
    file = tmp_path / "prices.json"
    file.write_text('[{"model": "scripted/*", "input": 1, "output": 2}]')
    call_command("prices", str(file), "--apply")
    assert capsys.readouterr().out == "1 prices added, 0 were known.\n1 steps priced; 0 have no price.\n"
    file.write_text("[{}]")
    for wrong in ([str(file)], [str(tmp_path / "none")], []):
        with pytest.raises(CommandError):
            call_command("prices", *wrong)


def test_a_price_that_comes_within_a_batch_reaches_the_sums_as_it_reaches_the_step(
    me: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = iter([1_000, 2_000, 3_000])
    monkeypatch.setattr(costs, "cost", lambda *args, **more: (next(asked), None))
    made = make_turn(me)
    assert cost_of(made.session) == (1_000, 1_000, 1_000)
