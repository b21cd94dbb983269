"""Sends HTTP requests to one endpoint and returns answers with status 200; all else is a ProviderError.

This module knows neither the content of requests and answers nor retries.
"""

from __future__ import annotations

import asyncio
import io
from collections.abc import Mapping
from contextlib import suppress
from urllib.parse import urlsplit

import aiohttp

from agents.base import tracing
from agents.base.errors import ProviderError
from agents.loop.inference.chat.connections import Connections
from agents.loop.inference.chat.endpoint_errors import EndpointErrors
from agents.loop.inference.chat.response_body import ResponseBody
from agents.loop.inference.chat.timeouts import Deadlines

_ERROR_BODY_BYTES = 64 * 2**10
_ERROR_BODY_S = 10.0
NO_HEADERS: Mapping[str, str] = {}


def now() -> float:
    """The time of the running loop, in seconds."""
    return asyncio.get_running_loop().time()


class Transport:
    """The HTTP client for ``base_url``. Raises ValueError for a URL or key that could never work."""

    def __init__(self, base_url: str, api_key: str, *, faults: EndpointErrors, connect_s: float) -> None:
        self.base_url = _checked_url(base_url)
        self._faults = faults
        self._connections = Connections(connect_s)
        self._headers = {"Accept": "text/event-stream, application/json"}
        if api_key:
            self._headers["Authorization"] = f"Bearer {_checked_key(api_key)}"

    async def get(self, path: str, deadlines: Deadlines) -> ResponseBody:
        """Send a GET and return its answer, which has status 200. Raises ProviderError."""
        return await self._ask("GET", path, b"", deadlines)

    async def post(
        self, path: str, body: bytes, deadlines: Deadlines, *, model: str, headers: Mapping[str, str] = NO_HEADERS
    ) -> ResponseBody:
        """Send a POST with a JSON body that concerns ``model``; otherwise like `get`. Of ``headers`` an empty one takes
        the usual one of its name away."""
        return await self._ask("POST", path, body, deadlines, model=model, headers=headers)

    async def close(self) -> None:
        await self._connections.close()

    async def _ask(
        self,
        method: str,
        path: str,
        body: bytes,
        deadlines: Deadlines,
        *,
        model: str = "",
        headers: Mapping[str, str] = NO_HEADERS,
    ) -> ResponseBody:
        response = await self._respond(method, path, body, deadlines, headers)
        if response.status != 200:
            raise await self._refusal(response, model)
        if response.content_type == "text/html":
            response.close()
            raise self._faults.error("answered with a web page; check its base URL", status=200)
        return ResponseBody(response, deadlines, self._faults)

    async def _respond(
        self, method: str, path: str, body: bytes, deadlines: Deadlines, more: Mapping[str, str]
    ) -> aiohttp.ClientResponse:
        session = self._connections.session()
        # A BytesIO, because aiohttp warns about large plain bytes.
        data = io.BytesIO(body) if body else None
        headers = self._headers | tracing.headers()
        if more:
            headers = {name: value for name, value in {**headers, **more}.items() if value}
        if body:
            headers["Content-Type"] = "application/json"
        url = f"{self.base_url}{path}"
        # Never ``from error``: aiohttp's errors carry the request's headers, and the key in them.
        try:
            async with asyncio.timeout_at(deadlines.begin_try(now())) as waiting:
                return await session.request(method, url, data=data, headers=headers, allow_redirects=False)
        except (aiohttp.ClientError, OSError) as error:
            if waiting.expired():
                raise self._faults.timeout(deadlines.reason(now(), started=False)) from None
            raise self._faults.unreachable(error) from None

    async def _refusal(self, response: aiohttp.ClientResponse, model: str) -> ProviderError:
        """Return the error for an answer with another status, from as much of its body as arrives."""
        body = bytearray()
        try:
            with suppress(aiohttp.ClientError, OSError):
                async with asyncio.timeout(_ERROR_BODY_S):
                    while len(body) < _ERROR_BODY_BYTES and (data := await response.content.readany()):
                        body += data
        finally:
            response.close()
        return self._faults.refused(response.status, response.headers, bytes(body[:_ERROR_BODY_BYTES]), model=model)


def _checked_url(base_url: str) -> str:
    parts = urlsplit(base_url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0:
        raise ValueError("the base URL of an endpoint must begin with http:// or https:// and name a host")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ValueError("the base URL of an endpoint must not carry credentials, a query or a fragment")
    return base_url.rstrip("/")


def _checked_key(api_key: str) -> str:
    if not (api_key.isascii() and api_key.isprintable()):
        raise ValueError("the API key of an endpoint must be printable ASCII")
    return api_key
