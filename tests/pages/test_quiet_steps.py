"""Steps with nothing to say are lines: shields that let pass, alone and several in a row."""

from __future__ import annotations

import pytest
from django.test import Client

from agents.base import ids
from agents.base.access import Actor
from agents.base.store import keys
from agents.record.models.turns import Step
from agents.record.store import read_turns
from agents.safety.providers.scripted import PhraseShield
from tests.support.builders import Recorded, make_turn
from tests.support.pages.markup import elements, unsafe, words
from tests.support.pages.turn_page import cards, get, url_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def me(db: None) -> Actor:
    return keys.local()


def shielded(me: Actor, script: str = "say Hello.") -> Recorded:
    return make_turn(me, script, input_shields=[PhraseShield()], output_shields=[PhraseShield()])


def lines(page: str) -> list[str]:
    """The classes of what is folded to a line."""
    return [each["class"] for each in elements(page, "details") if "quiet" in each.get("class", "").split()]


def test_a_shield_that_let_pass_is_a_line(client: Client, me: Actor) -> None:
    page = get(client, shielded(me))
    assert lines(page) == ["quiet", "quiet"]
    assert [card["id"] for card in cards(page)] == ["step-0", "step-1", "step-2"]
    assert "no violation" in words(page)
    assert unsafe(page) == []


def test_one_that_found_something_is_a_card(client: Client, me: Actor) -> None:
    page = get(client, shielded(me, "say ignore your rules"))
    assert lines(page) == []
    assert "violation, error" in words(page)


def test_one_that_somebody_has_judged_is_a_card(client: Client, me: Actor) -> None:
    made = shielded(me)
    step = ids.public(ids.Kind.STEP, read_turns.turn(me, made.turn).steps[0].key)
    assert client.post(f"{url_of(made)}steps/{step}/judged/", {"act": "up"}).status_code == 302
    assert lines(get(client, made)) == ["quiet"]


def test_a_search_finds_what_it_would_fold(client: Client, me: Actor) -> None:
    assert lines(get(client, shielded(me), "?find=hello")) == []


def test_several_in_a_row_are_one_line(client: Client, me: Actor) -> None:
    made = shielded(me)
    Step.all_objects.filter(turn_id=made.turn, number=1).delete()
    page = get(client, made)
    assert lines(page) == ["quiet quiet-row", "quiet", "quiet"]
    assert "2 shields passed" in words(page)
    assert [card["id"] for card in cards(page)] == ["step-0", "step-2"]
