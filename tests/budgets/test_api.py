"""``/v1/budgets``: what is refused, who may make, see and change which, and what a window forgets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import Client

from agents.base import ids
from agents.base.access import Actor
from agents.record.schemas.agents import AgentConfig
from agents.record.store import agents, budgets, spending
from agents.record.store.spending import Spender, Spending
from tests.conftest import Clock
from tests.support.inprocess import idle_service

Ask = Callable[..., Any]
PATH = "/v1/budgets"


@pytest.fixture(autouse=True)
def _serving() -> Iterator[None]:
    with idle_service():
        yield


@pytest.fixture
def ask_as(client_of: Callable[[Actor], Client]) -> Callable[[Actor], Ask]:
    """Someone who asks with a key of theirs."""

    def with_key(actor: Actor) -> Ask:
        client = client_of(actor)

        def ask(method: str, path: str = "", body: Any = None) -> Any:
            return getattr(client, method)(PATH + path, body, content_type="application/json")

        return ask

    return with_key


@pytest.fixture
def owner(transactional_db: None, make_user: Callable[..., Actor]) -> Actor:
    return make_user("anna")


@pytest.fixture
def stranger(make_user: Callable[..., Actor]) -> Actor:
    return make_user("ben")


@pytest.fixture
def agent(owner: Actor) -> str:
    """An agent of the owner's."""
    return ids.public(ids.Kind.AGENT, agents.create(owner, AgentConfig(model="scripted/fast", instructions="")))


@pytest.mark.parametrize(
    ("wrong", "param"),
    [
        ({}, "body"),
        ({"usd": None, "tokens": None}, "body"),
        ({"tokens": 0}, "tokens"),
        ({"tokens": -5}, "tokens"),
        ({"tokens": 1.5}, "tokens"),
        ({"usd": 0}, "usd"),
        ({"usd": -0.01}, "usd"),
        ({"usd": "1e400"}, "usd"),
        ({"usd": 1e300}, "usd"),
        ({"usd": "NaN"}, "usd"),
        ({"usd": "Infinity"}, "usd"),
        ({"usd": "0.0000000001"}, "usd"),
        ({"tokens": 5, "period": "month"}, "period"),
        ({"tokens": 5, "period": "window"}, "body"),
        ({"tokens": 5, "window_seconds": 3600}, "body"),
        ({"tokens": 5, "period": "window", "window_seconds": 1}, "window_seconds"),
        ({"tokens": 5, "period": "window", "window_seconds": 10**12}, "window_seconds"),
        ({"tokens": 5, "name": "x" * 201}, "name"),
        ({"tokens": 5, "user": "owner", "session_id": "s"}, "body"),
    ],
)
def test_what_is_no_budget_is_refused(ask_as: Any, owner: Actor, wrong: Any, param: str | None) -> None:
    answer = ask_as(owner)("post", "", wrong)
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, param)


def test_1e400_is_refused(ask_as: Any, owner: Actor) -> None:
    assert ask_as(owner)("post", "", b'{"usd": 1e400}').status_code == 400


@pytest.mark.parametrize("field", ["user", "api_key_id", "agent_id", "session_id"])
def test_a_budget_of_nobody_is_not_found(ask_as: Any, admin: Actor, field: str) -> None:
    assert ask_as(admin)("post", "", {"tokens": 5, field: "nobody"}).status_code == 404


def test_a_budget_is_made_changed_and_deleted(ask_as: Any, owner: Actor, agent: str) -> None:
    ask = ask_as(owner)
    made = ask("post", "", {"agent_id": agent, "usd": 0.25, "tokens": 1000, "name": " mine "}).json()
    assert (made["object"], made["name"], made["agent_id"], made["owner"]) == ("budget", "mine", agent, owner.name)
    assert (made["usd"], made["tokens"], made["spent_usd"], made["is_reached"]) == (0.25, 1000, 0.0, False)
    one = f"/{made['id']}"
    assert ask("get", one).json() == made
    assert [found["id"] for found in ask("get").json()["data"]] == [made["id"]]
    changed = ask("post", one, {"usd": None, "name": "yours"}).json()
    assert (changed["usd"], changed["tokens"], changed["name"]) == (None, 1000, "yours")
    refused = ask("post", one, {"tokens": None})
    assert (refused.status_code, refused.json()["error"]["param"]) == (400, "tokens")
    assert ask("delete", one).json() == {"id": made["id"], "object": "budget.deleted", "deleted": True}
    assert ask("get", one).status_code == 404
    assert ask("post", one, {"tokens": 5}).status_code == 404


def test_who_may_make_which(ask_as: Any, owner: Actor, stranger: Actor, admin: Actor, agent: str) -> None:
    mine, other, chief = ask_as(owner), ask_as(stranger), ask_as(admin)
    assert other("post", "", {"tokens": 5, "agent_id": agent}).status_code == 404
    for target in ({}, {"user": admin.name}):
        assert mine("post", "", {"tokens": 5, **target}).status_code == 403
        assert chief("post", "", {"tokens": 5, **target}).status_code == 200
    assert mine("post", "", {"tokens": 5, "user": owner.name}).status_code == 200


def test_what_an_admin_sets_is_seen_and_not_changed(ask_as: Any, owner: Actor, stranger: Actor, admin: Actor) -> None:
    made = ask_as(admin)("post", "", {"tokens": 5, "user": owner.name}).json()
    whole = ask_as(admin)("post", "", {"tokens": 5}).json()
    mine, one = ask_as(owner), f"/{made['id']}"
    assert [found["id"] for found in mine("get").json()["data"]] == [made["id"]]
    assert mine("get", one).status_code == 200
    assert mine("post", one, {"tokens": 5000}).status_code == 404
    assert mine("delete", one).status_code == 404
    assert mine("get", f"/{whole['id']}").status_code == 404
    assert ask_as(stranger)("get", one).status_code == 404
    assert not ask_as(stranger)("get").json()["data"]


def test_pages(ask_as: Any, owner: Actor) -> None:
    ask = ask_as(owner)
    made = [ask("post", "", {"tokens": count + 1, "user": owner.name}).json()["id"] for count in range(3)]
    first = ask("get", "?limit=2").json()
    assert ([one["id"] for one in first["data"]], first["has_more"]) == ([made[2], made[1]], True)
    rest = ask("get", f"?after={first['last_id']}").json()
    assert ([one["id"] for one in rest["data"]], rest["has_more"]) == ([made[0]], False)
    assert ask("get", "?after=nothing").json()["error"]["param"] == "after"


def test_a_window_forgets_what_is_out_of_it(ask_as: Any, owner: Actor, clock: Clock) -> None:
    ask = ask_as(owner)
    hour = {"period": "window", "window_seconds": 3600, "tokens": 100, "user": owner.name}
    one = f"/{ask('post', '', hour).json()['id']}"
    spender = Spender(user=owner.user_id)

    def spent() -> int:
        return int(ask("get", one).json()["spent_tokens"])

    spending.add(spender, Spending(tokens=60))
    clock.pass_s(1800)
    spending.add(spender, Spending(tokens=50))
    assert (spent(), ask("get", one).json()["is_reached"]) == (110, True)
    clock.pass_s(1800 + 61)  # a sixtieth later than an hour at most
    assert (spent(), ask("get", one).json()["is_reached"]) == (50, False)
    clock.pass_s(3600)
    spending.add(spender, Spending(tokens=1))
    assert spent() == 1
    budget = budgets.get(owner, one[1:]).state.key
    assert spending.states_of([budget])[budget].spent == Spending(tokens=1)


def test_too_many(ask_as: Any, owner: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budgets, "MAX_BUDGETS", 2)
    ask = ask_as(owner)
    made = [ask("post", "", {"tokens": 5, "user": owner.name}).status_code for _ in range(3)]
    assert made == [200, 200, 400]
