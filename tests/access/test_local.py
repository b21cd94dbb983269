"""A server on loopback: who sends no key is the local user, a wrong key is never taken for none."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from channels.testing import WebsocketCommunicator
from django.test import Client

from agents.base.models.people import User
from agents.base.store import keys
from agents.record.models.agents import Agent
from agents.server.routing import websocket
from tests.access.matrix import make_key, make_user
from tests.support.inprocess import idle_service

CLIENT = Client()
"""Made once: a client loads the middleware at its first request."""
CONFIG = {"agent_config": {"model": "scripted/fast", "instructions": "x"}}


@pytest.fixture(autouse=True)
def _served(_database: None) -> Iterator[None]:
    with idle_service():
        yield


def create(client: Client, **headers: str) -> Any:
    return client.post("/v1/agents", json.dumps(CONFIG), "application/json", headers=headers)


NO_KEYS = [
    "",
    "Bearer",
    "Bearer ",
    "Bearer none",
    "Bearer fake",
    "Bearer sk-123",
    "Bearer ASK_x",
    "Basic YTpi",
    "ask_x",
]


@pytest.mark.parametrize("header", NO_KEYS)
def test_without_a_key_of_ours_one_is_the_local_user(header: str) -> None:
    response = create(CLIENT, **({"Authorization": header} if header else {}))
    assert response.status_code == 200
    assert Agent.objects.unscoped("test").get().owner == User.objects.get(username="local")


@pytest.mark.parametrize("header", NO_KEYS)
def test_elsewhere_it_is_nobody(header: str, settings: Any) -> None:
    settings.REQUIRE_LOGIN = True
    response = create(CLIENT, **({"Authorization": header} if header else {}))
    assert (response.status_code, response.headers["WWW-Authenticate"]) == (401, "Bearer")
    assert response.json()["error"]["code"] == "missing_api_key"


@pytest.mark.parametrize("secret", ["ask_", "ask_x", "ask_" + "0" * 49, "ask_" + "é" * 49, "ask_\t" + "9" * 48, "new"])
@pytest.mark.parametrize("asks", [False, True])
@pytest.mark.parametrize("path", ["/v1/agents", "/v1/health", "/v1/models/x", "/v1alpha/agents/x"])
def test_a_wrong_key_of_ours_is_refused_everywhere(secret: str, asks: bool, path: str, settings: Any) -> None:
    settings.REQUIRE_LOGIN = asks
    secret = keys.new_secret() if secret == "new" else secret
    for header in (f"Bearer {secret}", f"bearer  {secret} ", f"BEARER {secret}"):
        response = CLIENT.get(path, headers={"Authorization": header})
        assert (response.status_code, response.json()["error"]["code"]) == (401, "invalid_api_key")
        assert secret[4:] == "" or secret not in response.content.decode()


def test_two_keys_at_once_are_none(settings: Any) -> None:
    one, other = (make_key(make_user(name), "k")[1] for name in ("one", "other"))
    response = CLIENT.get("/v1/agents", headers={"Authorization": f"Bearer {one},Bearer {other}"})
    assert response.status_code == 401


def test_the_local_user_is_admin_here_and_nowhere_else() -> None:
    actor, user = keys.local(), User.objects.get(username="local")
    assert actor.is_admin
    assert [user.is_staff, user.is_superuser, user.has_usable_password()] == [False] * 3
    client = Client()
    assert not client.login(username="local", password="")
    assert client.get("/admin/").status_code == 302


# -------------------------------------------------------------------------------------------- cookies


@pytest.mark.parametrize("asks", [False, True])
def test_the_api_reads_no_cookies(asks: bool, settings: Any) -> None:
    settings.REQUIRE_LOGIN = asks
    make_user("someone")
    client = Client()
    client.force_login(User.objects.get(username="someone"))
    response = create(client)
    assert response.status_code == (401 if asks else 200)
    assert [agent.owner.username for agent in Agent.objects.unscoped("test").all()] == ([] if asks else ["local"])
    assert client.get("/logs/").status_code == 200  # the login is good


def test_the_api_sets_no_cookies_and_depends_on_none() -> None:
    make_user("someone")
    client = Client()
    client.force_login(User.objects.get(username="someone"))
    for path in ("/v1/agents", "/v1/health", "/v1/nothing", "/v1/logs/turns", "/v1"):
        response = client.get(path)
        assert not response.cookies
        assert "Cookie" not in response.headers.get("Vary", "")


@pytest.mark.parametrize("place", ["query", "x-api-key", "cookie"])
def test_a_key_counts_in_one_header_only(place: str, settings: Any) -> None:
    """Tokens in URLs end in logs; a second door would be forgotten one day."""
    settings.REQUIRE_LOGIN = True
    _, secret = make_key(make_user("someone"), "k")
    client = Client()
    if place == "cookie":
        client.cookies["Authorization"] = f"Bearer {secret}"
    query = f"?api_key={secret}&access_token={secret}&key={secret}" if place == "query" else ""
    headers = {"X-Api-Key": secret, "X-Authorization": f"Bearer {secret}"} if place == "x-api-key" else {}
    response = client.get(f"/v1/agents{query}", headers=headers)
    assert response.status_code == 401
    assert client.get("/v1/agents", headers={"Authorization": f"Bearer {secret}"}).status_code == 200


# -------------------------------------------------------------------------------------------- sockets


def opened(*headers: tuple[bytes, bytes]) -> bool:
    async def flow() -> bool:
        ws = WebsocketCommunicator(websocket, "/ws/live", headers=[(b"host", b"testserver"), *headers])
        accepted, _ = await ws.connect()
        if not accepted:
            return False
        await ws.send_json_to({"op": "subscribe", "id": 1, "topic": "turn:x"})
        answer = await ws.receive_output(timeout=5)
        await ws.disconnect()
        return bool(answer["type"] == "websocket.send")

    return bool(async_to_sync(flow)())


@pytest.mark.parametrize("asks", [False, True])
def test_a_socket_takes_the_same_keys(asks: bool, settings: Any) -> None:
    settings.REQUIRE_LOGIN = asks
    _, secret = make_key(make_user("someone"), "k")
    assert opened((b"authorization", f"Bearer {secret}".encode()))
    assert opened() is not asks
    assert opened((b"authorization", b"Bearer none")) is not asks
    assert not opened((b"authorization", b"Bearer ask_x"))
    assert not opened((b"authorization", f"Bearer {keys.new_secret()}".encode()))
