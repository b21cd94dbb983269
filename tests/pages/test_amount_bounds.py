"""Bounds of durations, tokens and costs beside a list: they replace conditions of their field in the query."""

from __future__ import annotations

import re
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
        (
            "q=score.tone:>=1+score.helpful:>=0.1&score.helpful-from=0.5&score.helpful-to=",
            "score.tone:>=1 score.helpful:>=0.5",
        ),
        ("q=agent:a&score.as said-from=-1&score.as said-to=2", 'agent:a score."as said":>=-1 score."as said":<2'),
    ],
)
def test_bounds_become_conditions(client: Client, me: Actor, sent: str, query: str) -> None:
    answer = client.get(f"/logs/?{sent.replace('>', '%3E')}")
    assert parse_qs(urlsplit(answer.headers["Location"]).query)["q"] == [query]


def test_the_form_shows_the_bounds_of_the_query_and_a_wrong_one_is_marked(client: Client, me: Actor) -> None:
    inputs = {one.get("name"): one.get("value") for one in elements(get(client, "/logs/?q=duration:>=1s"), "input")}
    assert (inputs["duration-from"], inputs["duration-to"], inputs["cost-from"]) == ("1s", "", "")
    assert client.get("/logs/?q=tokens:>=many").status_code == 400


def test_what_may_be_typed_is_checked_at_its_field(client: Client, me: Actor) -> None:
    """By the browser, before the form is sent: with a pattern that takes what queries take."""
    fields = {one.get("name"): one for one in elements(get(client, "/logs/"), "input")}
    taken = {
        "duration": ("250ms", "1.5s", "3 min", "2h", "1d", "10µs", "5MS"),
        "tokens": ("500", "1k", "1.5M", ".5k"),
        "cost": ("$0.05", "1", ".001"),
    }
    refused = {"duration": ("5", "1w", "s"), "tokens": ("many", "-1", "1G"), "cost": ("1€", "$")}
    for field, texts in taken.items():
        for end in ("from", "to"):
            pattern = re.compile(fields[f"{field}-{end}"]["pattern"])
            assert fields[f"{field}-{end}"]["title"]
            assert all(pattern.fullmatch(text) for text in texts), field
            assert not any(pattern.fullmatch(text) for text in refused[field]), field
        for text in texts:
            sent = {"q": "", f"{field}-from": text, f"{field}-to": ""}
            assert client.get(client.get("/logs/", sent).headers["Location"]).status_code == 200, text
