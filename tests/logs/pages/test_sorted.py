"""Lists sorted by a click on the head of a column."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client

from agents.base.access import Actor
from agents.base.store import keys
from agents.record.models.turns import Turn
from tests.support.builders import make_turn

pytestmark = pytest.mark.django_db

COSTS = (5, None, 9)


@pytest.fixture
def made(db: None) -> list[str]:
    """The ids of three turns, the dearest first."""
    me: Actor = keys.local()
    turns = [make_turn(me) for _ in COSTS]
    for turn, cost in zip(turns, COSTS, strict=True):
        Turn.all_objects.filter(pk=turn.turn).update(cost_nano=cost)
    return [turns[at].public_id for at in (2, 0, 1)]


def page(client: Client, url: str) -> str:
    answer = client.get(url)
    assert answer.status_code == 200, answer.content
    return answer.content.decode()


def ids_of(html: str) -> list[str]:
    return re.findall(r'<tr[^>]* data-id="([^"]+)"', html)


def head(html: str, title: str) -> tuple[str, str]:
    """The order of a column, and where its head leads."""
    found = re.search(rf'<th([^>]*)>\s*<a class="sort" href="([^"]+)">{title}<', html)
    assert found, title
    sort = re.search(r'aria-sort="(\w+)"', found[1])
    return sort[1] if sort else "", found[2].replace("&amp;", "&")


def test_a_head_sorts_and_turns_the_order(client: Client, made: list[str]) -> None:
    usual = page(client, "/logs/?q=-has:error")
    assert head(usual, "Started")[0] == "descending"
    order, url = head(usual, "Cost")
    assert order == ""
    dearest = page(client, url)
    assert ids_of(dearest) == made
    order, url = head(dearest, "Cost")
    assert order == "descending"
    cheapest = page(client, url)
    assert ids_of(cheapest) == [made[1], made[0], made[2]]
    assert head(cheapest, "Cost")[0] == "ascending"
    assert parse_qs(urlsplit(head(cheapest, "Started")[1]).query) == {"q": ["-has:error"]}
    oldest = page(client, head(usual, "Started")[1])
    assert ids_of(oldest) == ids_of(usual)[::-1]


def test_links_keep_the_order(client: Client, made: list[str]) -> None:
    html = page(client, "/logs/?q=-has:error&sort=-cost&numbers=1")
    chips = re.findall(r'href="(/logs/\?[^"]*)"', html)
    narrowed = [url for url in chips if "status%3A" in url and "has%3Aerror" in url]
    assert narrowed
    assert [url for url in narrowed if "sort=-cost" not in url] == []
    assert 'name="sort" value="-cost"' in html
    exports = re.findall(r'href="(/logs/export/[^"]+)"', html)
    assert exports
    assert all("sort=-cost" in url for url in exports)
    of_steps = re.findall(r'href="(/steps/\?[^"]*)"', html)
    assert of_steps
    assert not any("sort" in url for url in of_steps)


def test_pages_go_on_in_the_order(client: Client, made: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agents.logs.pages.logs.PAGE", 2)
    first = page(client, "/logs/?sort=-cost")
    assert ids_of(first) == made[:2]
    assert "data-at-top" not in first
    following = re.search(r'href="([^"]+)" rel="next"', first)
    assert following
    last = page(client, following[1].replace("&amp;", "&"))
    assert ids_of(last) == made[2:]
    previous = re.search(r'href="([^"]+)" rel="prev"', last)
    assert previous
    assert client.get(previous[1].replace("&amp;", "&")).headers["Location"] == "/logs/?sort=-cost"


@pytest.mark.parametrize("url", ["/logs/?sort=colour", "/sessions/?sort=ttft", "/responses/?sort=cost"])
def test_what_is_no_order_is_said(client: Client, db: None, url: str) -> None:
    answer = client.get(url)
    assert answer.status_code == 400
    assert "sort" in answer.content.decode()


def test_a_cursor_of_another_order_leads_nowhere(client: Client, made: list[str]) -> None:
    assert client.get(f"/logs/?sort=-cost&after={made[0]}").status_code == 404
    assert client.get(f"/logs/?after=5:{made[0]}").status_code == 404
