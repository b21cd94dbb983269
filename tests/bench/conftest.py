"""The model endpoint of the load client on a real socket, and a client for it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from bench.client import Api

Use = Callable[[Api], Awaitable[Any]]


@pytest.fixture
def against() -> Callable[[web.Application, Use], Any]:
    """Serve an application, and let a client use it."""

    def run(app: web.Application, use: Use) -> Any:
        async def main() -> Any:
            async with TestServer(app) as server, aiohttp.ClientSession() as http:
                return await use(Api(http, str(server.make_url("/"))))

        return asyncio.run(main())

    return run
