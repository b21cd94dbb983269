"""A receiver, and a sender that sends when it is told to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from openai import OpenAI

from agents.base.access import Actor
from agents.webhooks.runner.sender import Sender
from agents.webhooks.schemas.event_types import BY_NAME
from agents.webhooks.store import endpoints
from agents.webhooks.store.endpoints import EndpointRecord
from tests.webhooks.receiver import Receiver, receiving

Send = Callable[[], None]
Registered = Callable[..., tuple[EndpointRecord, str]]


@pytest.fixture(autouse=True)
def _private_addresses(settings: Any) -> None:
    settings.FETCH_ALLOW_PRIVATE = True


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as found:
        yield found


@pytest.fixture
def send(run_async: Callable[[Any], Any]) -> Send:
    """Send what is due now, all of it, and wait for the answers."""

    async def go() -> None:
        sender = Sender(lambda: "a process")
        taken = -1
        while taken != 0:
            await sender.send_due()
            taken = len(sender._sending)
            await sender.settle()
        await asyncio.sleep(0)

    def send_now() -> None:
        run_async(go())

    return send_now


@pytest.fixture
def registered(receiver: Receiver) -> Registered:
    """An endpoint of somebody's at the receiver, with its secret; without types it hears of turns and responses."""
    every = [name for name in BY_NAME if not name.startswith("agent.")]

    def register(actor: Actor, *types: str, name: str = "mine") -> tuple[EndpointRecord, str]:
        return endpoints.create(actor, name=name, url=receiver.url, event_types=types or every)

    return register


@pytest.fixture
def unwrap() -> Iterator[Callable[..., Any]]:
    """What OpenAI's client reads in a request, once it has checked the signature."""
    with OpenAI(api_key="none") as client:
        yield lambda request, secret: client.webhooks.unwrap(request.body, dict(request.headers), secret=secret)


@pytest.fixture
def owner(make_user: Callable[..., Actor]) -> Actor:
    return make_user("olga", teams=["red"])


@pytest.fixture
def member(make_user: Callable[..., Actor], owner: Actor) -> Actor:
    """Someone who sees what the owner makes."""
    from django.contrib.auth.models import Group

    from agents.base.models.people import User
    from agents.base.store import keys

    user = User.objects.create_user("mia")
    user.groups.add(Group.objects.get(name="group of olga"))
    return keys.of_user(user)
