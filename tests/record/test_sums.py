"""Costs and tokens add up: steps, turns, responses, sessions, agents and all; in the store, in what is
counted, over the API and on pages."""

from __future__ import annotations

import random
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client

from agents.base import ids
from agents.base.access import Actor
from agents.base.store import keys
from agents.logs.store import numbers, segments
from agents.prices.schemas import PRICES
from agents.prices.store import prices
from agents.query.parser import parse
from agents.record.models.agents import Session
from agents.record.models.turns import Response, Step, Turn
from tests.conftest import Clock
from tests.loop.test_loop import tool
from tests.support.builders import make_agent, make_response, make_session, make_turn
from tests.support.pages.api_numbers import check_figures, get

pytestmark = pytest.mark.django_db


@pytest.fixture
def me(db: None) -> Actor:
    return keys.local()


def tell(row: dict[str, Any]) -> None:
    prices.add(PRICES.validate_python([row]))


PLANS: list[dict[str, Any]] = [
    {"script": "say Hello there."},
    {"script": "call web_search {}\ncall web_search {}\nthen\nsay Twice.", "server_tools": tool("web_search")},
    {"script": "fail 504 upstream timed out"},
    {"script": "say Half an answer\ncut"},
    {"script": "call web_search {}\nthen\nsay Sorry.", "server_tools": tool("web_search", error="gone")},
    {"script": "say still typing", "upto": 3},
]


def random_store(me: Actor, chance: random.Random, clock: Clock) -> None:
    """Turns of several agents and models in sessions of one or more, prices that come, change and end."""
    made = [
        make_agent(me, name=f"agent {number}", model=f"scripted/{name}") for number, name in enumerate(("fast", "demo"))
    ]
    own = {agent.key: [make_session(me, agent) for _ in range(2)] for agent in made}
    for _ in range(14):
        agent, plan = chance.choice(made), chance.choice(PLANS)
        session = None if "upto" in plan else chance.choice(own[agent.key])
        make_turn(me, agent=agent, session=session, clock=clock, **plan)
        if chance.random() < 0.3:
            make_response(me, "say Gladly.", said=chance.choice(("gold", "plain")), clock=clock)
        clock.pass_s(chance.randrange(4000))
        if chance.random() < 0.4:
            random_price(chance)
        if chance.random() < 0.2:
            prices.price_unpriced(me)
        if chance.random() < 0.2:
            segments.maintain()


def random_price(chance: random.Random) -> None:
    model = chance.choice(("scripted/fast", "fast", "demo", "scripted/*", "gold"))
    if chance.random() < 0.2:
        tell({"model": model, "closes": True})
        return
    amounts = {name: Decimal(chance.randrange(1, 9000)) / 1000 for name in ("input", "output", "cached", "reasoning")}
    tell({"model": model, **amounts})


def total(rows: Any, name: str) -> int:
    return sum(value for value in rows.values_list(name, flat=True) if value is not None)


@pytest.mark.parametrize("seed", range(6))
def test_sums_agree_at_every_level(client: Client, me: Actor, clock: Clock, seed: int) -> None:
    random_store(me, random.Random(seed), clock)
    steps, turns, sessions = (model.objects.unscoped("test") for model in (Step, Turn, Session))
    for name in ("cost_nano", "input_tokens", "output_tokens"):
        assert total(steps, name) == total(turns, name) == total(sessions, name), name
        for turn in turns:
            assert total(steps.filter(turn=turn), name) == (getattr(turn, name) or 0), name
        for session in sessions:
            assert total(turns.filter(session=session), name) == (getattr(session, name) or 0), name
    for name in ("input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens"):
        assert total(steps, name) == total(turns, name) == total(Response.objects.unscoped("test"), name), name
    for one in (*steps, *turns):
        assert (one.cost_nano is None) or one.cost_nano > 0
    _agree_in_numbers(me)
    _agree_in_the_api(client)
    _agree_on_pages(client)


def _agree_in_numbers(me: Actor) -> None:
    levels = [numbers.stats(me, parse("", now_us=ids.now_us(), level=level)) for level in ("step", "turn", "session")]
    for amount in ("cost_nano", "tokens.input_tokens", "tokens.output_tokens"):
        assert len({_amount(each, amount) for each in levels}) == 1, amount
    whole = levels[1]
    for by in ("agent", "model", "status", "session", "hour"):
        groups = numbers.groups(me, parse("", now_us=ids.now_us()), [by]).groups
        assert sum(group.stats.cost_nano for group in groups) == whole.cost_nano, by
        assert sum(group.stats.tokens.total_tokens for group in groups) == whole.tokens.total_tokens, by
        assert sum(group.stats.cost_unknown for group in groups) == whole.cost_unknown, by


def _amount(stats: Any, name: str) -> int:
    for part_ in name.split("."):
        stats = getattr(stats, part_)
    return int(stats)


def _agree_in_the_api(client: Client) -> None:
    def rows(level: str) -> list[dict[str, Any]]:
        data: list[dict[str, Any]] = client.get(f"/v1/logs/{level}?limit=1000").json()["data"]
        return data

    whole = client.get("/v1/logs/turns/stats").json()["data"]
    for level in ("steps", "turns", "sessions"):
        costs = [row["cost_usd"] for row in rows(level) if row["cost_usd"] is not None]
        assert sum(costs) == pytest.approx(whole["cost_nano"] / 1e9, abs=1e-12), level
    assert sum(row["usage"]["total_tokens"] or 0 for row in rows("turns")) == whole["tokens"]["total_tokens"]


def _agree_on_pages(client: Client) -> None:
    assert check_figures(client, get(client, "/?period=30d")) == 8
    for agent in {row["agent_id"] for row in client.get("/v1/logs/turns?limit=1000").json()["data"]} - {None}:
        assert check_figures(client, get(client, f"/agents/{agent}/?period=30d")) == 8
