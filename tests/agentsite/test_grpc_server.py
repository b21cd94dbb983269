"""Calls of gRPC whose message does not come: they end, and hold nothing afterwards."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import grpc.aio
import pytest

from agents.base.store import keys
from agentsite import grpc_server
from agentsite.grpc_server import GrpcServer
from agentsite.request_threads import requests, thread_pool
from tests.support.live.grpc_sender import TRACES
from tests.support.postgresql import free_port


def test_a_message_that_does_not_come_ends_its_call(
    run_async: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grpc_server, "MESSAGE_TIMEOUT_S", 0.05)
    keys.local()

    async def play() -> Any:
        port = free_port()
        server = GrpcServer("127.0.0.1", port)
        server.bind()
        await server.start()
        never = asyncio.Event()

        async def messages() -> AsyncIterator[bytes]:
            await never.wait()
            yield b""

        options = [("grpc.enable_http_proxy", 0)]
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}", options) as channel:
            call = channel.stream_unary(TRACES)(messages())
            with pytest.raises(grpc.aio.AioRpcError) as failed:
                await call
        await server.stop(1)
        thread_pool.close()
        return failed.value

    error = run_async(play())
    assert error.code() == grpc.StatusCode.UNAVAILABLE
    assert "did not arrive within 0.05 s" in error.details()
    assert "grpc-status-details-bin" in dict(error.trailing_metadata())
    assert (grpc_server.messages.held, requests.held) == (0, 0)


@pytest.mark.parametrize(
    ("peer", "address"),
    [("ipv4:192.0.2.7:40000", "192.0.2.7"), ("ipv6:%5B2001:db8::1%5D:40000", "2001:db8::1"), ("unknown", "")],
)
def test_the_address_of_a_client_is_its_host(peer: str, address: str) -> None:
    assert grpc_server._address(peer) == address
