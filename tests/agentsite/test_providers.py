"""The providers of the settings: what could not work stops it, and says which setting it is."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from agents.identity import background as identity
from agents.loop.protocols.shields import ShieldSpec
from agents.safety.configured_providers import shields
from agentsite import providers

WORDS = {"provider": "rules", "rules": [{"keywords": ["damn"]}]}


def test_shields_are_made_of_the_settings(settings: Any) -> None:
    settings.SHIELDS = {"words": WORDS, "guard": {"provider": "llama-guard", "model": "scripted/fast"}}
    made = shields(providers.configured_endpoints(), 0.0)
    assert list(made.fixed) == ["words", "guard", "demo_guard"]
    assert made.fixed["words"] == ShieldSpec("words", "rules", "", {"rules": WORDS["rules"]})
    assert made.fixed["guard"].resource == "scripted/fast"
    assert made.make(made.fixed["words"]) is made.instances["words"]


def test_the_demos_name_can_be_taken(settings: Any) -> None:
    settings.SHIELDS = {"demo_guard": WORDS}
    assert shields(providers.configured_endpoints(), 0.0).fixed["demo_guard"].provider == "rules"


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ("rules", "an object with a provider"),
        ({}, "one of llama-guard, rules"),
        ({"provider": "prompt-reader"}, "one of llama-guard, rules"),
        ({"provider": "rules"}, "params.rules"),
        ({"provider": "rules", "rules": [{"pattern": "("}]}, "params.rules.0.pattern: not a pattern"),
        ({"provider": "moderation", "model": "scripted/fast"}, "has no /moderations"),
    ],
)
def test_a_shield_that_could_not_check_stops_the_server(settings: Any, raw: Any, words: str) -> None:
    settings.SHIELDS = {"mine": raw}
    with pytest.raises(ImproperlyConfigured, match="SHIELDS: mine: ") as caught:
        shields(providers.configured_endpoints(), 0.0)
    assert words in str(caught.value)


def test_the_limit_of_tokens_has_one_of_two_names(settings: Any) -> None:
    settings.MODEL_ENDPOINTS = {"lab": {"base_url": "http://127.0.0.1:1/v1", "max_tokens_field": "tokens"}}
    with pytest.raises(ImproperlyConfigured, match="lab: max_tokens_field is max_tokens or max_completion_tokens"):
        providers.configured_endpoints()


def test_a_name_that_would_pass_for_a_group_stops_the_server(settings: Any) -> None:
    claims = {"sub": "roles", "realm.roles": "roles"}
    settings.AUTH_PROVIDER = {"type": "jwks", "uri": "https://issuer.example/keys", "claims": claims}
    with pytest.raises(ImproperlyConfigured, match=r"AUTH_PROVIDER: claims: sub and realm\.roles all become roles"):
        identity.identify()
