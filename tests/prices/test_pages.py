"""The page of prices: what a model costs, since when, and what was used without a price."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from agents.base.access import Actor
from agents.base.store import keys
from agents.prices.schemas import PRICES
from agents.prices.store import prices
from agents.record.models.turns import Step
from tests.support.builders import make_turn
from tests.support.pages.api_numbers import get, links, part, said, stats
from tests.support.pages.markup import elements, words

pytestmark = pytest.mark.django_db


@pytest.fixture
def me(db: None) -> Actor:
    return keys.local()


def tell(*rows: dict[str, Any]) -> None:
    prices.add(PRICES.validate_python(list(rows)))


def test_without_prices_it_says_what_that_means(client: Client, me: Actor) -> None:
    read = words(get(client, "/prices/"))
    assert "the cost of a turn is unknown, which is not the same as nothing" in read
    assert "the cost of every step that used tokens is known" in read


def test_it_shows_the_history_of_a_model_with_the_current_price_marked(client: Client, me: Actor) -> None:
    tell(
        {"model": "m", "from": "2026-01-01T00:00:00Z", "input": "1.5", "output": 6, "cached": "0.25"},
        {"model": "m", "from": "2026-02-01T00:00:00Z", "input": 2, "output": 8, "reasoning": 4},
        {"model": "old", "from": "2026-02-01T00:00:00Z", "closes": True},
        {"model": "soon", "from": "2198-01-01T00:00:00Z", "input": 1, "output": 1},
    )
    bodies = part(get(client, "/prices/"), 'id="known-head"', "</table>").split("<tbody>")[1:]
    first, second, third = (said(body) for body in bodies)
    assert first.split("m 1 Jan")[0].endswith("current $2.000 – $8.000 $4.000 ")
    assert "$1.500 $0.250 $6.000 –" in first
    assert first.count("current") == 1
    assert ("ended" in second, "current" in third) == (True, False)


def test_what_has_no_price_leads_to_its_steps_and_can_be_priced(client: Client, me: Actor) -> None:
    make_turn(me)
    page = get(client, "/prices/")
    missing = links(part(page, 'id="missing-head"', "</section>"))
    assert [text for _, text in missing][:3] == ["1 step", "scripted/fast", "1"]
    for url, _ in missing:
        assert stats(client, url)["count"] == 1
    tell({"model": "scripted/*", "input": 1, "output": 2})
    [form] = [each["action"] for each in elements(page, "form") if each.get("action", "").startswith("/prices/")]
    answer = client.post(form, follow=True)
    assert "1 steps priced; 0 have no price." in words(answer.content.decode())
    assert Step.objects.unscoped("test").get().cost_nano is not None


def test_the_dash_of_a_row_leads_to_the_prices(client: Client, me: Actor) -> None:
    make_turn(me)
    for path in ("/logs/", "/steps/", "/sessions/"):
        dashes = [link for link in elements(get(client, path), "a") if link.get("class") == "no-price"]
        assert [link["href"] for link in dashes] == ["/prices/"], path


def test_only_who_may_manage_prices_them(client: Client, me: Actor, make_user: Callable[..., Actor]) -> None:
    make_user("ana", teams=["red"])
    client.login(username="ana", password="correct horse battery")
    make_turn(me)
    assert "Nothing: the cost of every step" in words(get(client, "/prices/"))
    assert client.get("/prices/apply/").status_code == 405


def test_listed_models_that_the_log_has_lead_to_their_steps(client: Client, me: Actor) -> None:
    for model in ("openai/gpt-4o", "gpt-4o-2024-08-06", "scripted/fast"):
        make_turn(me, model=model)
    used = [link["href"] for link in elements(get(client, "/prices/?find=gpt-4o"), "a") if link.get("class") == "used"]
    assert len(used) == 1
    assert stats(client, used[0])["count"] == 2
    assert "in the log" not in words(get(client, "/prices/?find=sonnet"))


def test_it_shows_public_list_prices_with_their_source_and_finds_a_model(client: Client, me: Actor) -> None:
    shown = part(get(client, "/prices/?find=sonnet-4-5"), 'id="lists-head"', "</section>")
    assert [url for url, _ in links(shown)] == ["https://platform.claude.com/docs/en/about-claude/pricing"]
    assert "claude-sonnet-4-5 $3.000 $0.300 $3.750 $15.000" in said(shown)
    assert "read on 2026-11-28" in said(shown)
    assert "No list has a model of that name." in words(get(client, "/prices/?find=%3Cb%3E" + "x" * 9999))


def test_list_prices_that_are_off_say_so(client: Client, me: Actor, settings: Any) -> None:
    settings.LIST_PRICES = False
    assert "They are turned off by the setting LIST_PRICES." in words(get(client, "/prices/"))
