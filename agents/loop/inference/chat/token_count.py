"""Counts tokens by ``/tokenize``, the route of vLLM and of servers like it, which stands beside their ``/v1``."""

from __future__ import annotations

import msgspec

from agents.base.errors import ProviderError
from agents.loop.inference.base import InferenceRequest
from agents.loop.inference.chat.endpoint_errors import EndpointErrors
from agents.loop.inference.chat.timeouts import Deadlines, EndpointLimits
from agents.loop.inference.chat.transport import Transport, now
from agents.record.schemas.items import tool_definition

_LIMITS = EndpointLimits(first_token_s=5.0, idle_s=5.0, total_s=5.0)


class _Count(msgspec.Struct):
    count: int


class TokenRoute:
    """The route of one endpoint. Whether it is there shows the first request, and is remembered."""

    def __init__(self, base_url: str, api_key: str, *, faults: EndpointErrors, connect_s: float) -> None:
        root = base_url.rstrip("/").removesuffix("/v1")
        self._transport = Transport(root, api_key, faults=faults, connect_s=connect_s)
        self._is_absent = False

    async def count(self, request: InferenceRequest) -> int | None:
        """Return the tokens of a request; None where the endpoint does not tell."""
        if self._is_absent:
            return None
        try:
            incoming = await self._transport.post("/tokenize", _body(request), Deadlines(_LIMITS, now()), model="")
            try:
                return msgspec.json.decode(await incoming.read_all(), type=_Count).count
            finally:
                incoming.close()
        except ProviderError as error:
            self._is_absent = error.upstream_status is not None and not error.retryable
            return None
        except (ValueError, RecursionError):
            self._is_absent = True
            return None

    async def close(self) -> None:
        await self._transport.close()


def _body(request: InferenceRequest) -> bytes:
    fields = {"model": request.model, "messages": list(map(msgspec.Raw, request.messages))}
    tools = {"tools": [tool_definition(tool) for tool in request.tools]} if request.tools else {}
    return msgspec.json.encode({**fields, **tools})
