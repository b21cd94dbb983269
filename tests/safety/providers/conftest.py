"""What the tests of shields lean on: an endpoint that judges, and a shield made as settings make it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from agents.loop import check_shields
from agents.loop.inference.openai_compatible import EndpointConfig
from agents.loop.inference.registry import Endpoints
from agents.loop.protocols.shields import ShieldInput, ShieldSpec, Touchpoint
from agents.record.schemas.content import SafetyViolation
from agents.safety.providers.registry import ShieldRegistry
from tests.support.model_lab import ModelLab

Judge = Callable[..., SafetyViolation | None]


@pytest.fixture
def judge(lab: ModelLab) -> Judge:
    """What a shield finds in a talk: the user's and the model's messages in turn. The side that spoke
    last is looked at."""

    def judge(provider: str, *talk: str, resource: str = "", **params: Any) -> SafetyViolation | None:
        said = [ShieldInput("assistant" if number % 2 else "user", text) for number, text in enumerate(talk)]

        async def main() -> SafetyViolation | None:
            endpoints = Endpoints.from_config({"lab": EndpointConfig(lab.url)})
            try:
                shield = ShieldRegistry(endpoints, pace=0).make(ShieldSpec("s", provider, resource, params))
                touchpoint: Touchpoint = "user-input" if len(talk) % 2 else "assistant-output"
                return await check_shields.check([shield], said, touchpoint)
            finally:
                await endpoints.close()

        return asyncio.run(main())

    return judge
