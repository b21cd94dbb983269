"""A server below a path of its host, as behind a proxy that leaves the path, and behind one that takes it off."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import pytest
from websockets.sync.client import connect

from tests.support.live.caller import Caller, Talk
from tests.support.live.process import ServerProcess, running

pytestmark = pytest.mark.server

PREFIX = "/turnlog"
PUBLIC = f"http://localhost:4711{PREFIX}"
ADDRESSES = ("href", "src", "action", "formaction", "poster")


@pytest.fixture(scope="module")
def mounted(tmp_path_factory: pytest.TempPathFactory, data: Path) -> Iterator[ServerProcess]:
    """A server with the demo's rows, so that pages have links of all kinds."""
    with running(tmp_path_factory.mktemp("mounted"), {"PUBLIC_URL": PUBLIC}, data=data) as process:
        process.manage("demo")
        yield process


class Attributes(HTMLParser):
    """All attributes of a page whose values are addresses: those of HTML, and data of ours that begin with a slash."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if (
                name != "data-root"
                and value
                and (name in ADDRESSES or (name.startswith("data-") and re.match(r"/[a-z]", value)))
            ):
                self.found.append(value)


def local_addresses(page: str) -> list[str]:
    return [found for found in Attributes(page).found if urlsplit(found).netloc == "" and found.startswith("/")]


def test_every_link_of_every_page_leads_below_the_prefix(mounted: ServerProcess) -> None:
    caller = Caller(mounted.port)
    left, seen, wrong = deque([f"{PREFIX}/"]), {f"{PREFIX}/"}, set[tuple[str, str]]()
    kinds: dict[str, int] = {}
    while left:
        path = left.popleft()
        answer = caller.get(path)
        assert answer.status in (200, 302, 400, 404, 405), (path, answer.status)
        links = [answer.headers["location"]] if "location" in answer.headers else []
        if answer.headers.get("content-type", "").startswith("text/html"):
            links += local_addresses(answer.body.decode())
        for link in links:
            if link.startswith("/") and not link.startswith(f"{PREFIX}/"):
                wrong.add((path, link))
            target = urlsplit(urljoin(path, link))._replace(fragment="").geturl()
            kind = re.sub(r"[0-9a-f]{8}[0-9a-f-]{20,}|\?.*", "_", target)
            if target not in seen and kinds.setdefault(kind, 0) < 2 and "logout" not in target:
                kinds[kind] += 1
                seen.add(target)
                left.append(target)
    assert not wrong, "\n".join(map(str, sorted(wrong)))
    assert len(seen) > 60


@pytest.mark.parametrize("prefix", [PREFIX, ""], ids=["left", "taken off"])
def test_the_api_the_files_and_the_socket_are_there_either_way(prefix: str, mounted: ServerProcess) -> None:
    caller = Caller(mounted.port)
    assert caller.get(f"{prefix}/v1/agents").status == 200
    assert caller.get(f"{prefix}/healthz").json == {"status": "ok"}
    [style] = re.findall(r'href="(/turnlog/static/uikit/base\.[^"]+)"', caller.get(f"{prefix}/logs/").body.decode())
    found = caller.get(style.removeprefix(PREFIX) if not prefix else style)
    assert (found.status, found.headers["content-type"]) == (200, 'text/css; charset="utf-8"')
    assert "immutable" in found.headers["cache-control"]
    with connect(f"ws://127.0.0.1:{mounted.port}{prefix}/ws/live") as socket:
        socket.send(json.dumps({"op": "subscribe", "id": 1, "topic": "logs", "level": "turns", "as": "html"}))
        assert json.loads(socket.recv(10))["op"] in ("replay", "live")


def test_rows_that_a_socket_brings_have_links_below_the_prefix(mounted: ServerProcess) -> None:
    with connect(f"ws://127.0.0.1:{mounted.port}{PREFIX}/ws/live") as socket:
        socket.send(json.dumps({"op": "subscribe", "id": 1, "topic": "logs", "level": "turns", "as": "html"}))
        while json.loads(socket.recv(10))["op"] != "live":
            pass
        turn = Talk(Caller(mounted.port)).say("hello").json["turn_id"]
        text = ""
        while turn not in text:
            text += str(socket.recv(10)).replace('\\"', '"')
    assert f'href="{PREFIX}/turns/{turn}/' in text
    assert not re.search(r'href="/(?!turnlog/)', text)


def test_the_address_for_others_is_the_public_one(mounted: ServerProcess) -> None:
    caller = Caller(mounted.port)
    assert f"{PUBLIC}/welcome/" in mounted.log
    assert f"Logs      {PUBLIC}/logs/" in mounted.log
    connecting = caller.get(f"{PREFIX}/connect/").body.decode()
    assert PUBLIC in connecting
    assert f"127.0.0.1:{mounted.port}" not in connecting
    assert caller.get(f"{PREFIX}/v1/openapi.json").json["servers"] == [{"url": PUBLIC}]
    assert "/v1/agents" in caller.get(f"{PREFIX}/v1/openapi.json").json["paths"]


def test_cookies_are_for_that_path(mounted: ServerProcess) -> None:
    page = Caller(mounted.port).get(f"{PREFIX}/logs/")
    assert "Path=/turnlog/" in page.headers["set-cookie"]


def test_a_large_file_is_taken_below_the_prefix(mounted: ServerProcess) -> None:
    answer = Caller(mounted.port).ask("POST", f"{PREFIX}/v1/files", "x" * (9 * 2**20))
    assert answer.status != 413
