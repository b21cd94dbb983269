"""Which URLs may be asked, and that a connection goes to what was looked at."""

from __future__ import annotations

import asyncio
import random
import socket
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from agents.base.addresses import PinnedResolver, ResolvedUrl, check_syntax, is_allowed, resolve
from agents.base.errors import InvalidRequest
from tests.base.address_spellings import FORBIDDEN
from tests.support.depth import deep

REFUSED = [
    "ftp://example.org/",
    "file:///etc/passwd",
    "gopher://127.0.0.1/",
    "http:///nowhere",
    "http://user:secret@127.0.0.1/",
    "http://user@127.0.0.1/",
    "http://127.0.0.1\\@example.org/",
    "http://127.0.0.1:0/",
    "http://127.0.0.1:99999/",
    "http://[::1",
    "http://exa mple.org/",
    "http://example.org/\r\nHost: other",
    "http://[fe80::1%25eth0]/",
    "javascript:alert(1)",
    "//127.0.0.1/",
    "http://" + "a" * 3000,
]
PRIVATE = [
    "http://127.0.0.1/",
    "http://127.1/",
    "http://2130706433/",
    "http://0x7f000001/",
    "http://0177.0.0.1/",
    "http://localhost/",
    "http://10.0.0.1/",
    "http://172.16.3.4/",
    "http://192.168.1.1/",
    "http://100.64.0.1/",
    "http://[::1]/",
    "http://[fd00::1]/",
]
NEVER = [
    "http://169.254.169.254/latest/meta-data/",
    "http://0.0.0.0/",
    "http://[::]/",
    "http://[fe80::1]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:8.8.8.8]/",
    "http://[64:ff9b::7f00:1]/",
    "http://[2002:7f00:1::]/",
    "http://[::127.0.0.1]/",
    "http://[::a9fe:a9fe]/",
    "http://[::ffff:0:127.0.0.1]/",
    "http://[fec0::1]/",
    "http://[4000::1]/",
    "http://192.0.0.192/opc/v1/instance/",
    "http://192.88.99.1/",
    "http://168.63.129.16/",
    "http://224.0.0.1/",
    "http://255.255.255.255/",
]


def found(url: str, *, allow_private: bool = False) -> ResolvedUrl:
    return asyncio.run(resolve(url, allow_private=allow_private))


@pytest.mark.parametrize("url", REFUSED)
def test_what_is_no_url_for_us_is_refused(url: str) -> None:
    with pytest.raises(InvalidRequest, match="This URL is refused") as caught:
        found(url, allow_private=True)
    assert caught.value.code == "url_refused"
    assert "secret" not in caught.value.message


@pytest.mark.parametrize("url", PRIVATE)
def test_private_networks_are_for_those_who_may(url: str) -> None:
    with pytest.raises(InvalidRequest, match="may not be asked"):
        found(url)
    assert found(url, allow_private=True).addresses


@pytest.mark.parametrize("url", NEVER)
def test_some_addresses_are_for_nobody(url: str) -> None:
    with pytest.raises(InvalidRequest, match=r"may not be asked|cannot be found"):
        found(url, allow_private=True)


def test_a_public_address_passes() -> None:
    target = found("https://8.8.8.8/x?y=1")
    assert (target.scheme, target.host, target.port, target.addresses) == ("https", "8.8.8.8", 443, ("8.8.8.8",))
    check_syntax("https://example.org:8443/path")


def test_one_bad_answer_of_several_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name server may give a public and a private address."""

    async def answers(self: Any, host: str, port: int, **_: Any) -> Any:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (ip, port)) for ip in ("8.8.8.8", "127.0.0.1")]

    monkeypatch.setattr(asyncio.BaseEventLoop, "getaddrinfo", answers)
    with pytest.raises(InvalidRequest, match="may not be asked"):
        found("http://rebinding.example/")


@pytest.mark.parametrize("address", ["8.8.8.8", "192.0.1.1", "2606:4700::1111", "2a00:1450::1", "2003::1"])
def test_the_world_may_be_asked(address: str) -> None:
    assert is_allowed(address, allow_private=False)


def test_no_address_is_everybodys_that_the_registries_keep_for_something_else() -> None:
    """At the edges of each special network, and at addresses inside by chance."""
    chance = random.Random(0)
    for network in FORBIDDEN:
        first, last = int(network.network_address), int(network.broadcast_address)
        for number in (first, last, *(chance.randint(first, last) for _ in range(deep(50, 5_000)))):
            address = type(network.network_address)(number)
            assert not is_allowed(str(address), allow_private=False), address


def test_the_connection_goes_to_what_was_looked_at() -> None:
    """The name resolves to nothing; only the pinned address answers."""

    async def ask() -> tuple[str, str]:
        app = web.Application()

        async def host(request: web.Request) -> web.Response:
            return web.Response(text=request.host)

        app.router.add_get("/", host)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        target = ResolvedUrl(f"http://pinned.invalid:{port}/", "http", "pinned.invalid", port, ("127.0.0.1",))
        connector = aiohttp.TCPConnector(resolver=PinnedResolver(target))
        async with aiohttp.ClientSession(connector=connector) as session:
            async with session.get(target.url) as response:
                told = await response.text()
            try:
                await session.get(f"http://other.invalid:{port}/")
            except aiohttp.ClientConnectorError as error:
                refused = str(error)
        await runner.cleanup()
        return told, refused

    told, refused = asyncio.run(ask())
    assert told.startswith("pinned.invalid")
    assert "Cannot connect to host other.invalid" in refused
