"""What the server tells of itself is told to administrators: it sums over what everybody does."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from agents.base.models.people import User
from tests.access.matrix import EVERYONE, World

TOKEN = "a token for the one who scrapes"
ADMINS_ONLY = ("/metrics", "/v1/health/details")


def expected(name: str, world: World) -> int:
    who = world.who[name]
    if not who.valid or "read" not in who.actions:
        return 403 if who.valid and who.actions else 401
    return 200 if name == "admin" else 403


@pytest.mark.parametrize("path", ADMINS_ONLY)
@pytest.mark.parametrize("name", EVERYONE)
def test_only_administrators_read_it(name: str, path: str, world: World) -> None:
    response = Client().get(path, headers=world.who[name].headers)
    assert response.status_code == expected(name, world)


@pytest.mark.parametrize("path", ADMINS_ONLY)
def test_a_login_of_the_pages_does_not_open_it(path: str, world: World) -> None:
    client, login = Client(), world.who["admin"].login
    assert login is not None
    client.force_login(User.objects.get(pk=login))
    assert client.get(path).status_code == 401


def test_the_token_opens_the_metrics_and_nothing_else(world: World, settings: Any) -> None:
    settings.METRICS_TOKEN = TOKEN
    sent = {"Authorization": f"Bearer {TOKEN}"}
    assert Client().get("/metrics", headers=sent).status_code == 200
    assert Client().get("/v1/agents", headers=sent).status_code == 401
    for wrong in ("", "x", f"{TOKEN}x", TOKEN[:-1], "ünïcode"):
        assert Client().get("/metrics", headers={"Authorization": f"Bearer {wrong}"}).status_code == 401


def test_without_a_token_in_the_settings_an_empty_one_opens_nothing(world: World, settings: Any) -> None:
    settings.METRICS_TOKEN = ""
    for sent in ("Bearer ", "Bearer", "", "bearer  "):
        assert Client().get("/metrics", headers={"Authorization": sent}).status_code == 401


def test_it_is_read_and_not_written(world: World) -> None:
    headers = world.who["admin"].headers
    assert [getattr(Client(), method)("/metrics", headers=headers).status_code for method in ("post", "put")] == [
        405,
        405,
    ]
