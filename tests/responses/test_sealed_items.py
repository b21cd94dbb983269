"""Whose sealed reasoning is understood."""

from __future__ import annotations

from typing import Any

import pytest

from agents.base.access import ANONYMOUS, Actor
from agents.responses.runner import sealed_items
from agents.responses.schemas.input_items import OtherItem

ANA, BEN = Actor("ana", user_id=1), Actor("ben", user_id=2)


def sealed(actor: Actor) -> Any:
    seal = sealed_items.seal_for(actor, [sealed_items.INCLUDED])
    assert seal is not None
    return OtherItem.model_validate({"type": "reasoning", "encrypted_content": seal("the blue one")})


def text_of(actor: Actor, item: Any) -> str | None:
    [opened] = sealed_items.opened(actor, [item])
    content = opened.model_dump().get("content")
    return content[0]["text"] if content else None


def test_it_is_understood_for_its_user_alone() -> None:
    assert text_of(ANA, sealed(ANA)) == "the blue one"
    assert text_of(Actor("ana's key", user_id=1, key_id=7), sealed(ANA)) == "the blue one"
    for other in (BEN, ANONYMOUS):
        assert text_of(other, sealed(ANA)) is None
        assert text_of(ANA, sealed(other)) is None


@pytest.mark.parametrize("content", [7, None, [], "x", "A" * 100_000, "\ud83d", "\x00", "===="])
def test_what_is_no_seal_says_nothing(content: Any) -> None:
    item = OtherItem.model_validate({"type": "reasoning", "encrypted_content": content})
    assert sealed_items.opened(ANA, [item]) == [item]


def test_a_text_that_was_sent_wins() -> None:
    item = OtherItem.model_validate(
        {**sealed(ANA).model_dump(), "content": [{"type": "reasoning_text", "text": "mine"}]}
    )
    assert text_of(ANA, item) == "mine"


def test_a_former_secret_still_opens_it(settings: Any) -> None:
    item, former = sealed(ANA), settings.SECRET_KEY
    settings.SECRET_KEY = "another secret of fifty characters, for this one test"
    assert text_of(ANA, item) is None
    settings.SECRET_KEY_FALLBACKS = [former]
    assert text_of(ANA, item) == "the blue one"
