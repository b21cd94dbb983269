"""URLs that callers name: whatever they are written like, wherever they are named, and wherever they lead to
in the end, the server connects to no address that is not everybody's; and takes along nothing of its own.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import pytest

from agents.loop import current_service
from tests.base.address_spellings import Names, is_forbidden, urls
from tests.server.api.test_bad_input import Road
from tests.support.depth import deep
from tests.support.http_endpoint import Reply, Request, answering
from tests.support.inprocess import body_of

pytestmark = pytest.mark.usefixtures("_quiet")

GOOD = "93.184.216.34"
"""Behind it is a page that leads on to wherever its query says."""
TRIED = deep(30, 800)
"""URLs by each door."""


@dataclass
class World:
    """``asked`` are the addresses that were connected to, ``heard`` the headers that the page was sent."""

    names: Names
    asked: list[str] = field(default_factory=list)
    heard: list[dict[str, str]] = field(default_factory=list)


@pytest.fixture
def outside(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """The world around the server: nothing answers but one page."""
    world = World(Names())

    def lead_on(request: Request) -> Reply:
        world.heard.append({name.lower(): value for name, value in request.headers.items()})
        [to] = parse_qs(urlsplit(request.path).query).get("to", [""])
        location = to.encode("ascii", "ignore").decode().replace("\n", "").replace("\r", "")
        return Reply(status=302, headers={"Location": location})

    with answering(lead_on) as page:
        connect, port = socket.socket.connect, urlsplit(page).port

        def recorded(self: socket.socket, address: Any) -> Any:
            if self.family == socket.AF_UNIX:
                return connect(self, address)
            world.asked.append(address[0])
            if address[:2] == (GOOD, 80):
                return connect(self, ("127.0.0.1", port))
            raise ConnectionRefusedError

        monkeypatch.setattr(socket.socket, "connect", recorded)
        monkeypatch.setattr(
            asyncio.BaseEventLoop, "getaddrinfo", lambda *given, **more: world.names.getaddrinfo(*given, **more)
        )
        yield world


@pytest.fixture
def road(settings: Any, outside: World, request: pytest.FixtureRequest) -> Road:
    settings.FETCH_ALLOW_PRIVATE = settings.MCP_ALLOW_PRIVATE = False  # as where others come in
    request.getfixturevalue("_served")
    assert current_service.service() is not None
    return Road()


NUMBERS = itertools.count()
DOORS: dict[str, Callable[[Road, str], Any]] = {
    "a tool group": lambda road, url: road.post(
        "/v1/toolgroups",
        {"toolgroup_id": f"g{next(NUMBERS)}", "provider_id": "model-context-protocol", "mcp_endpoint": {"uri": url}},
    ),
    "a listing of tools": lambda road, url: road.client.get(
        "/v1/tool-runtime/list-tools", {"mcp_endpoint": json.dumps({"uri": url})}
    ),
    "a server of a response": lambda road, url: response(
        road, "hi", tools=[{"type": "mcp", "server_label": "x", "server_url": url, "authorization": "secret"}]
    ),
    "a file of a response": lambda road, url: response(road, asked({"type": "input_file", "file_url": url})),
    "an image of a response": lambda road, url: response(road, asked({"type": "input_image", "image_url": url})),
    "a file of a conversation": lambda road, url: road.post(
        "/v1/conversations", {"items": asked({"type": "input_file", "file_url": url})}
    ),
    "a document of a turn": lambda road, url: turn(road, documents=[{"content": {"uri": url}}]),
    "an image among documents": lambda road, url: turn(
        road, documents=[{"content": {"uri": url}, "mime_type": "image/png"}]
    ),
    "a document that is nothing but an address": lambda road, url: turn(road, documents=[{"content": url}]),
    "an image of a turn": lambda road, url: turn(
        road, messages=[{"role": "user", "content": {"type": "image", "image": {"url": {"uri": url}}}}]
    ),
    "a document to search": lambda road, url: road.post(
        "/v1/tool-runtime/rag-tool/insert",
        {"vector_db_id": "db", "documents": [{"document_id": "d", "content": url}], "chunk_size_in_tokens": 50},
    ),
    "a document by reference": lambda road, url: road.post(
        "/v1/tool-runtime/rag-tool/insert",
        {"vector_db_id": "db", "documents": [{"document_id": "d", "content": {"uri": url}}]},
    ),
    "an image of a completion": lambda road, url: road.post(
        "/v1/chat/completions",
        {
            "model": "scripted/fast",
            "messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}],
        },
    ),
}
FETCHED = {
    *("a document that is nothing but an address", "a document to search", "a file of a conversation"),
    *("a tool group", "a listing of tools", "a server of a response", "a file of a response"),
    *("a document of a turn", "an image among documents", "a document by reference"),
}
"""What is behind these is had by the server itself."""


def response(road: Road, said: Any, **more: Any) -> Any:
    return road.post("/v1/responses", {"model": "scripted/fast", "input": said, **more})


def asked(part: dict[str, str]) -> list[dict[str, Any]]:
    return [{"role": "user", "content": [{"type": "input_text", "text": "hi"}, part]}]


def turn(road: Road, **more: Any) -> Any:
    return road.post(road.fresh_turn_path(), {"messages": [{"role": "user", "content": "hi"}], **more})


def wrong(road: Road, outside: World, door: str, url: str) -> str | None:
    """What was wrong about naming a URL at a door, if anything."""
    outside.asked.clear()
    answer = DOORS[door](road, url)
    body = body_of(answer)
    forbidden = [address for address in outside.asked if is_forbidden(address)]
    if forbidden:
        return f"it asked {forbidden}"
    if answer.status_code >= 500 and answer.status_code != 502:
        return f"{answer.status_code} {body[:300]!r}"
    return None


@pytest.fixture
def database(road: Road) -> None:
    body = {"vector_db_id": "db", "embedding_model": "keyword"}
    assert road.post("/v1/vector-dbs", body).status_code == 200


@pytest.mark.corpus
@pytest.mark.timeout(1200)
@pytest.mark.usefixtures("database")
@pytest.mark.parametrize("door", DOORS)
def test_no_spelling_leads_to_an_address_that_is_not_everybodys(door: str, road: Road, outside: World) -> None:
    chance, bad, reached = random.Random(door), {}, 0
    for url in (f"http://{GOOD}/", *itertools.islice(urls(chance, outside.names), TRIED)):
        bad[url] = wrong(road, outside, door, url)
        reached += bool(outside.asked)
    assert {url: words for url, words in bad.items() if words} == {}
    assert (reached > 0) == (door in FETCHED)


@pytest.mark.usefixtures("database")
@pytest.mark.parametrize("door", sorted(FETCHED))
def test_no_redirect_leads_there_either(door: str, road: Road, outside: World) -> None:
    first, chance, bad = outside.names.name([GOOD]), random.Random(door), {}
    for url in itertools.islice(urls(chance, outside.names), deep(5, 300)):
        way = f"http://{first}/?to={quote(url)}"[:1900]
        bad[url] = wrong(road, outside, door, way)
        assert GOOD in outside.asked, way
    assert {url: words for url, words in bad.items() if words} == {}
    for headers in outside.heard:
        assert not {"cookie", "proxy-authorization", "x-llamastack-provider-data"} & headers.keys()
        assert "authorization" not in headers or headers["authorization"] == "Bearer secret"
