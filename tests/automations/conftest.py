"""Automations in a frozen time, and a scheduler that looks when it is told to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import Client

from agents.automations.models import Automation, AutomationRun
from agents.automations.runner.scheduler import Scheduler
from agents.base.access import Actor
from agents.loop.service import Service
from tests.conftest import Clock
from tests.support.inprocess import inline_service

Ask = Callable[..., Any]
RunDue = Callable[..., None]
PATH = "/v1/agents/automations"


def target(text: str = "!script\nsay Good morning.", **more: Any) -> dict[str, Any]:
    """A session each time, in which this is said to an agent of its own."""
    said = {"role": "user", "content": [{"type": "input_text", "text": text}]}
    agent = {} if "agent_id" in more else {"agent": {"model": "scripted/fast", "instructions": "Be brief."}}
    return {"type": "new_session", "environment": {"type": "none"}, "input": [said], **agent, **more}


def periodic(expression: str = "*/15 * * * *", **more: Any) -> dict[str, Any]:
    schedule = {"type": "periodic", "expression": expression, "timezone": "UTC"}
    return {"name": "Report", "target": target(), **schedule, **more}


@pytest.fixture
def serving(transactional_db: None, clock: Clock) -> Iterator[Service]:
    with inline_service() as service:
        yield service


@pytest.fixture
def owner(transactional_db: None, make_user: Callable[..., Actor]) -> Actor:
    return make_user("olga", teams=["red"])


@pytest.fixture
def ask_as(client_of: Callable[[Actor], Client]) -> Callable[[Actor], Ask]:
    """Someone who asks with a key of theirs."""

    def with_key(actor: Actor) -> Ask:
        client = client_of(actor)

        def ask(method: str, path: str = "", body: Any = None) -> Any:
            return getattr(client, method)(PATH + path, body, content_type="application/json")

        return ask

    return with_key


@pytest.fixture
def ask(ask_as: Callable[[Actor], Ask], owner: Actor) -> Ask:
    return ask_as(owner)


@pytest.fixture
def run_due(run_async: Callable[[Any], Any], serving: Service) -> RunDue:
    """Run what is due now, as a process of this name, and wait for it."""

    async def go(process: str) -> None:
        scheduler = Scheduler(lambda: process)
        await scheduler.run_due()
        await scheduler.settle()
        await asyncio.sleep(0)

    def run_now(process: str = "a process") -> None:
        run_async(go(process))

    return run_now


def runs_of(public_id: str, ask: Ask) -> list[dict[str, Any]]:
    """What became of an automation's times, the oldest first."""
    found: list[dict[str, Any]] = ask("get", f"/{public_id}/invocations?order=asc&limit=100").json()["data"]
    return found


def stored() -> tuple[Any, Any]:
    """All automations, and all runs."""
    return Automation.objects.unscoped("test"), AutomationRun.objects.all()
