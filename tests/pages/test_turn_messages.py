"""A turn that was started with very many messages shows a page of them."""

from __future__ import annotations

import pytest
from django.test import Client

from agents.base.access import Actor
from agents.base.store import keys
from agents.pages.turn_messages import NO_MESSAGES, message_page
from agents.record.schemas.content import UserMessage
from tests.support.builders import Recorded, make_turn
from tests.support.pages.markup import elements, unsafe, words
from tests.support.pages.turn_page import get

pytestmark = pytest.mark.django_db


@pytest.fixture
def me(db: None) -> Actor:
    return keys.local()


def turn_of(me: Actor, messages: int) -> Recorded:
    return make_turn(me, input_messages=[UserMessage(content=f"message {n}.") for n in range(messages)])


def asked(page: str) -> int:
    return len([card for card in elements(page, "article") if card.get("data-role") == "user"])


def test_the_last_ones_are_shown_and_the_others_a_link_away(client: Client, me: Actor) -> None:
    made = turn_of(me, 230)
    page = get(client, made)
    assert asked(page) == 100
    assert "Messages 131 to 230 of 230 · earlier messages" in words(page)
    assert unsafe(page) == []
    earlier = next(link["href"] for link in elements(page, "a") if link.get("href", "").startswith("?messages="))
    page = get(client, made, earlier)
    assert "Messages 31 to 130 of 230 · earlier messages · later messages" in words(page)
    assert "message 30." in words(page)


def test_a_whole_text_is_that_of_its_message(client: Client, me: Actor) -> None:
    messages = [UserMessage(content="short") for _ in range(120)] + [UserMessage(content="why? " * 10_000)]
    page = get(client, make_turn(me, input_messages=messages))
    link = next(link["href"] for link in elements(page, "a") if "value/?part=" in link.get("href", ""))
    assert link.endswith("part=input-120")
    assert client.get(link).content.decode() == "why? " * 10_000


def test_a_hundred_are_shown_at_once(client: Client, me: Actor) -> None:
    page = get(client, turn_of(me, 100), "?messages=50")
    assert asked(page) == 100
    assert "earlier messages" not in words(page)


def test_what_no_message_has_is_the_nearest_page() -> None:
    body = b'[{"role":"user","content":"a"},{"role":"user","content":"b"}]'
    assert [message.content for message in message_page(body, 99, 1).messages] == ["b"]
    assert message_page(b"nonsense") == NO_MESSAGES


def test_its_first_inference_names_how_many_came_before(client: Client, me: Actor) -> None:
    read = words(get(client, turn_of(me, 230), "?view=timeline&step=0"))
    assert "message 229." in read
    assert "and 227 messages before" in read
