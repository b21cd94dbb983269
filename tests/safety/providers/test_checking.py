"""Several shields at once."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from agents.base.errors import InvalidRequest, ProviderError
from agents.loop import check_shields
from agents.loop.inference.registry import Endpoints
from agents.loop.protocols.shields import ShieldInput, ShieldProtocol, ShieldSpec, Touchpoint
from agents.record.schemas.content import SafetyViolation
from agents.safety.providers.registry import ShieldRegistry
from agents.safety.providers.rules import RuleParams, RuleShield

SAID = [ShieldInput("user", "one two three")]


def words(name: str, word: str, level: str = "error") -> ShieldProtocol:
    rules = [{"name": word, "keywords": [word], "level": level}]
    return RuleShield(name, RuleParams.model_validate({"rules": rules}))


@dataclass
class Waiting:
    """Judges once it is let go."""

    go: asyncio.Event
    name: str = "waiting"

    async def check(self, said: Sequence[ShieldInput], touchpoint: Touchpoint) -> SafetyViolation | None:
        await self.go.wait()
        return None


@dataclass
class Broken:
    """Lets the one that waits go, and cannot judge."""

    go: asyncio.Event
    name: str = "broken"

    async def check(self, said: Sequence[ShieldInput], touchpoint: Touchpoint) -> SafetyViolation | None:
        self.go.set()
        raise ProviderError("broken", provider="lab")


def check(*shields: ShieldProtocol, within_s: float = 10.0) -> SafetyViolation | None:
    return asyncio.run(check_shields.check(shields, SAID, "user-input", within_s=within_s))


def test_the_gravest_of_all_counts_with_its_shield() -> None:
    found = check(words("a", "one", "info"), words("b", "four"), words("c", "three", "warn"))
    assert found is not None
    assert (found.violation_level, found.metadata["shield_id"]) == ("warn", "c")


def test_they_look_at_the_same_time() -> None:
    go = asyncio.Event()
    with pytest.raises(ProviderError, match="broken"):
        check(Waiting(go), Broken(go))


def test_a_refusal_outweighs_a_failure() -> None:
    found = check(Broken(asyncio.Event()), words("b", "two"))
    assert found is not None
    assert found.metadata["shield_id"] == "b"


def test_a_warning_does_not_outweigh_a_failure() -> None:
    with pytest.raises(ProviderError):
        check(Broken(asyncio.Event()), words("b", "two", "warn"))


def test_a_shield_that_never_judges_has_failed() -> None:
    with pytest.raises(ProviderError, match=r"did not judge within 0\.05 s") as caught:
        check(Waiting(asyncio.Event()), within_s=0.05)
    assert caught.value.code == "timeout"


@pytest.mark.parametrize(
    ("spec", "param"),
    [
        (ShieldSpec("s", "prompt-reader"), "provider_id"),
        (ShieldSpec("s", "rules", "", {}), "params.rules"),
        (ShieldSpec("s", "scripted", "", {"phrases": []}), "params.phrases"),
        (ShieldSpec("s", "llama-guard", "m", {"excluded_categories": "S1"}), "params.excluded_categories"),
    ],
)
def test_what_could_not_check_is_not_made(spec: ShieldSpec, param: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        ShieldRegistry(Endpoints.from_config({})).make(spec)
    assert caught.value.param == param
