"""Disabling, enabling and deleting an agent: asked first, and only of those who may."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from agents.base.access import Actor
from agents.base.errors import NotFound
from agents.base.models.people import User
from agents.base.store import keys
from agents.record.store import agents
from tests.support.builders import make_agent, make_session
from tests.support.pages.markup import unsafe, words

pytestmark = pytest.mark.django_db


@pytest.fixture
def me(db: None) -> Actor:
    return keys.local()


@pytest.mark.parametrize(
    ("act", "said"), [("delete", "Sessions: 1."), ("disable", "takes no new turns"), ("enable", "new turns again")]
)
def test_it_asks_first_and_says_what_becomes_of_the_log(client: Client, me: Actor, act: str, said: str) -> None:
    record = make_agent(me, name="</h1><script>" * 20)
    make_session(me, record)
    answer = client.get(f"/agents/{record.public_id}/state/?act={act}")
    text = answer.content.decode()
    assert (answer.status_code, unsafe(text), said in words(text)) == (200, [], True)
    assert not agents.get(me, record.key).disabled


def test_it_disables_enables_and_deletes(client: Client, me: Actor) -> None:
    record = make_agent(me)
    address = f"/agents/{record.public_id}/state/"
    for act, disabled in (("disable", True), ("enable", False)):
        assert client.post(address, {"act": act})["Location"] == f"/agents/{record.public_id}/"
        assert agents.get(me, record.key).disabled is disabled
    assert client.post(address, {"act": "delete"})["Location"] == "/agents/"
    with pytest.raises(NotFound):
        agents.get(me, record.key)
    assert client.get(f"{address}?act=delete").status_code == 404


def test_another_word_or_another_person_does_nothing(client: Client, make_user: Any, me: Actor) -> None:
    mine, foreign, stranger = make_agent(me), make_agent(make_user("owner")), make_user("stranger")
    assert client.post(f"/agents/{mine.public_id}/state/", {"act": "burn"}).status_code == 400
    client.force_login(User.objects.get(pk=stranger.user_id or 0))
    assert client.post(f"/agents/{foreign.public_id}/state/", {"act": "delete"}).status_code == 404
