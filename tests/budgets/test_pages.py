"""The page of budgets, and the meters on the pages of sessions and agents."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import Client

from agents.base import ids
from agents.base.access import Actor
from agents.base.models.people import User
from agents.base.store.keyset import Cursor
from agents.record.models.choices import BudgetPeriod, BudgetTarget
from agents.record.schemas.agents import AgentConfig
from agents.record.store import agents, budgets, spending
from agents.record.store.budgets import Limits, NewBudget
from agents.record.store.spending import Spender, Spending
from tests.support.inprocess import idle_service

FORM = {"name": "mine", "target": "me", "target_id": "", "period": "24", "usd": "", "tokens": "1000"}


@pytest.fixture(autouse=True)
def _serving() -> Iterator[None]:
    with idle_service():
        yield


@pytest.fixture
def owner(transactional_db: None, make_user: Callable[..., Actor]) -> Actor:
    return make_user("anna")


def browser(actor: Actor) -> Client:
    client = Client()
    client.force_login(User.objects.get(username=actor.name))
    return client


def stored(actor: Actor) -> list[budgets.BudgetRecord]:
    return budgets.page(actor, Cursor())[0]


def test_a_budget_is_made_on_the_page(owner: Actor) -> None:
    client = browser(owner)
    assert "None yet." in client.get("/budgets/").content.decode()
    assert client.post("/budgets/", FORM).status_code == 302
    [made] = stored(owner)
    state = made.state
    assert (state.name, state.target, state.limit_tokens) == ("mine", BudgetTarget.USER, 1000)
    assert (state.period, state.window_us) == (BudgetPeriod.WINDOW, 86_400_000_000)
    spending.add(Spender(user=owner.user_id), Spending(tokens=900))
    text = client.get("/budgets/").content.decode()
    assert "the last 24 hours" in text
    assert 'data-level="near"' in text
    spending.add(Spender(user=owner.user_id), Spending(tokens=100))
    assert 'data-level="reached"' in client.get("/budgets/").content.decode()


@pytest.mark.parametrize(
    "wrong",
    [
        {"tokens": ""},
        {"tokens": "0"},
        {"tokens": "many"},
        {"usd": "-1"},
        {"usd": "1e400"},
        {"target": "agent_id", "target_id": ""},
        {"target": "agent_id", "target_id": "<script>"},
        {"target": "server"},
        {"name": "x" * 201},
    ],
)
def test_what_is_no_budget_is_said_in_the_form(owner: Actor, wrong: Any) -> None:
    answer = browser(owner).post("/budgets/", {**FORM, **wrong})
    assert answer.status_code in (400, 403, 404)
    text = answer.content.decode()
    assert 'role="alert"' in text
    assert "<script>alert" not in text
    assert not stored(owner)


def test_limits_are_changed_and_a_budget_deleted(owner: Actor) -> None:
    client = browser(owner)
    client.post("/budgets/", FORM)
    [made] = stored(owner)
    client.post(f"/budgets/{made.public_id}/change/", {"usd": "2.5", "tokens": ""})
    [changed] = stored(owner)
    assert (changed.state.limit_nano, changed.state.limit_tokens) == (2_500_000_000, None)
    client.post(f"/budgets/{made.public_id}/change/", {"usd": "", "tokens": ""})
    assert stored(owner)[0].state == changed.state
    client.post(f"/budgets/{made.public_id}/delete/")
    assert not stored(owner)


def test_an_agent_shows_its_budgets(owner: Actor) -> None:
    key = agents.create(owner, AgentConfig(model="scripted/fast", instructions=""))
    client, url = browser(owner), f"/agents/{ids.public(ids.Kind.AGENT, key)}/"
    assert "budget-meter" not in client.get(url).content.decode()
    limits = Limits(tokens=50)
    budgets.create(owner, NewBudget(BudgetTarget.AGENT, key, BudgetPeriod.TURN, limits, name="<b>tight</b>"))
    text = client.get(url).content.decode()
    assert "&lt;b&gt;tight&lt;/b&gt;" in text
    assert "50 tokens" in text
