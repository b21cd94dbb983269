"""Bounds of durations, tokens and costs beside a list: they replace conditions of their field in the query."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client

from agents.base.access import Actor
from agents.base.store import keys
from tests.support.pages.api_numbers import get
from tests.support.pages.markup import elements

pytestmark = pytest.mark.django_db


@pytest.fixture
def me(db: None) -> Actor:
    return keys.local()


@pytest.mark.parametrize(
    ("sent", "query"),
    [
        ("q=status:failed&duration-from=1s&duration-to=5s", "status:failed duration:>=1s duration:<5s"),
        ("q=duration:>3s+tokens:>5&duration-from=&duration-to=5s", "tokens:>5 duration:<5s"),
        ("q=cost:>=$1+agent:a&cost-from=&cost-to=", "agent:a"),
        ("q=agent:a&cost-from=$0.01&cost-to=", "agent:a cost:>=$0.01"),
        ("q=agent:a&tokens-from=many&tokens-to=", "agent:a tokens:>=many"),
    ],
)
def test_bounds_become_conditions(client: Client, me: Actor, sent: str, query: str) -> None:
    answer = client.get(f"/logs/?{sent.replace('>', '%3E')}")
    assert parse_qs(urlsplit(answer.headers["Location"]).query)["q"] == [query]


def test_the_form_shows_the_bounds_of_the_query_and_a_wrong_one_is_marked(client: Client, me: Actor) -> None:
    inputs = {one.get("name"): one.get("value") for one in elements(get(client, "/logs/?q=duration:>=1s"), "input")}
    assert (inputs["duration-from"], inputs["duration-to"], inputs["cost-from"]) == ("1s", "", "")
    assert client.get("/logs/?q=tokens:>=many").status_code == 400
