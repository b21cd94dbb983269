"""Lists in groups on somebody's overview: pinned, counted over its period, and taken off again."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from agents.base.access import Actor
from agents.base.models.people import User
from agents.base.store import keys
from agents.logs.store import pinned_groups
from agents.logs.store.pinned_groups import MAX_PINNED, PinnedList
from tests.conftest import Clock
from tests.support.pages.logged_turns import log_turn, make_session
from tests.support.pages.markup import elements, unsafe, words

pytestmark = pytest.mark.django_db
HOSTILE = "<b>desk</b>\u202e"


@pytest.fixture
def me(db: None) -> Actor:
    return keys.local()


def overview(client: Client, period: str = "24h") -> str:
    answer = client.get("/", {"period": period, "numbers": "now"})
    page = answer.content.decode()
    assert (answer.status_code, unsafe(page)) == (200, [])
    return page


def pinned_part(page: str) -> str:
    start = '<section class="tops" aria-labelledby="pinned-head">'
    return start + page.split(start)[1].split('<section id="tables"')[0] if start in page else ""


def form_of(page: str, ending: str = "") -> str:
    [action] = [
        form["action"]
        for form in elements(page, "form")
        if "/logs/groups/pin/" in form.get("action", "") and form["action"].endswith(ending)
    ]
    return action


def test_it_is_pinned_counted_and_taken_off(client: Client, me: Actor, clock: Clock) -> None:
    session = make_session(me, HOSTILE)
    log_turn(me, session, "Look")
    log_turn(me, session, "Look")
    clock.pass_s(60)
    assert pinned_part(overview(client)) == ""
    groups = client.get("/logs/groups/", {"by": "agent", "show": "count", "q": "status:completed"}).content.decode()
    answer = client.post(form_of(groups), {"act": "pin"}, follow=True)
    assert "Unpin from the overview" in words(answer.content.decode())
    client.post(form_of(groups), {"act": "pin"})  # once more: it is there once

    part = pinned_part(overview(client))
    assert "Agent" in words(part)
    assert f"{HOSTILE} 2" in words(part)
    [row] = [link["href"] for link in elements(part, "a") if "agent" in link["href"] and "tabindex" in link]
    listed = client.get(row).content.decode()
    assert listed.count('<tr class="log-row"') == 2

    answer = client.post(form_of(part, "from=overview"), {"act": "unpin"})
    assert answer["Location"] == "/"
    assert pinned_part(overview(client)) == ""


def test_over_time_it_is_a_chart(client: Client, me: Actor, clock: Clock) -> None:
    log_turn(me, make_session(me, "desk"), "Look")
    clock.pass_s(60)
    pinned_groups.pin(me, PinnedList("turn", "", ("model", "hour"), "tokens"))
    part = pinned_part(overview(client))
    assert 'class="chart"' in part
    assert "Tokens" in words(part)


def test_it_is_counted_in_the_period_of_the_overview(client: Client, me: Actor, clock: Clock) -> None:
    log_turn(me, make_session(me, "desk"), "Look")
    clock.pass_s(60)
    pinned_groups.pin(me, PinnedList("turn", "", ("agent",), "count"))
    clock.pass_s(7200)
    assert "None in this period." in words(pinned_part(overview(client, "1h")))
    assert "None in this period." not in words(pinned_part(overview(client, "24h")))


def test_everybody_has_an_overview_of_their_own(client: Client, me: Actor, make_user: Any) -> None:
    other = make_user("ana")
    pinned_groups.pin(other, PinnedList("turn", "", ("agent",), "count"))
    assert pinned_groups.listing(me) == []
    pinned_groups.unpin(me, pinned_groups.listing(other)[0])
    assert len(pinned_groups.listing(other)) == 1
    User.objects.get(pk=other.user_id or 0).delete()
    assert pinned_groups.listing(other) == []


@pytest.mark.parametrize(
    ("asked", "act", "said"),
    [
        ({"by": "nothing"}, "pin", "by"),
        ({"by": "agent,model,day"}, "pin", "one or two"),
        ({"q": "("}, "pin", ""),
        ({"level": "nothing"}, "pin", "level"),
        ({"show": "nothing"}, "pin", "show"),
        ({}, "", "pin or unpin"),
    ],
)
def test_what_cannot_be_pinned_is_said(client: Client, me: Actor, asked: dict[str, str], act: str, said: str) -> None:
    answer = client.post("/logs/groups/pin/", {"act": act}, query_params=asked)
    assert answer.status_code == 400
    assert said in words(answer.content.decode())
    assert pinned_groups.listing(me) == []


def test_there_is_a_most(client: Client, me: Actor) -> None:
    for number in range(MAX_PINNED):
        pinned_groups.pin(me, PinnedList("turn", f"duration:>{number}s", ("agent",), "count"))
    answer = client.post("/logs/groups/pin/", {"act": "pin"}, query_params={"by": "model"})
    assert (answer.status_code, "unpin one first" in words(answer.content.decode())) == (400, True)
    assert len(pinned_groups.listing(me)) == MAX_PINNED
