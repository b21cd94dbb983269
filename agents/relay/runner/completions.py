"""Relays a chat completion from its endpoint to the caller.

It lives as long as its request: if the caller disconnects, it ends, and the part received so far is
logged as cancelled.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass

import msgspec

from agents.base.errors import ProviderError
from agents.base.schemas.wire import JSON
from agents.loop.inference.base import Finish, InferenceEndpoint, InferenceRequest, RelayEndpoint
from agents.relay.runner.call_log import CallLog
from agents.relay.wire.chat_completions import CompletionAssembly, chunk_choices, first_choices, usage_json

CHAT_PATH = "/chat/completions"
_LOG_FIELDS = ("store", "metadata")
"""Fields of a request for this server's log, which are not relayed."""


@dataclass(slots=True)
class ChatCall:
    """One request, and where it is logged. ``own_request`` is what is asked where nothing can be relayed: the endpoint
    takes no requests of others, or the request came in the words of another API."""

    log: CallLog
    inference: InferenceEndpoint
    own_request: InferenceRequest | None = None

    async def full_completion(self) -> bytes:
        """Return the completion as JSON. Raises AgentsError; the call is logged in any case."""
        await self.log.check_budgets()
        completion: dict[str, JSON] = {"choices": [], "usage": None}
        async with self.log.written(self.inference.name, lambda: completion):
            completion = await self._complete()
        return msgspec.json.encode(self.log.with_names(completion, "chat.completion"))

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """Yield the events as JSON as they arrive. Raises AgentsError; the call is logged in any case."""
        shows_usage = bool((self.log.body.get("stream_options") or {}).get("include_usage"))
        async with aclosing(self.events()) as events:
            async for chunk in events:
                visible = (
                    self.log.with_names(chunk, "chat.completion.chunk") if shows_usage else self._without_usage(chunk)
                )
                if visible:
                    yield msgspec.json.encode(visible)

    async def events(self) -> AsyncGenerator[dict[str, JSON], None]:
        """Yield the events as the endpoint gives them, with the usage. Raises AgentsError; the call is logged in any
        case."""
        await self.log.check_budgets()
        assembly = CompletionAssembly()
        async with (
            self.log.written(self.inference.name, assembly.completion) as measured,
            aclosing(self._events()) as events,
        ):
            async for chunk in events:
                measured.first_token()
                assembly.add(chunk)
                yield chunk
            if not assembly.is_finished:
                raise cut_error(self.inference.name)

    # ------------------------------------------------------------------------------------- answers

    async def _complete(self) -> dict[str, JSON]:
        if self.own_request is not None or not isinstance(self.inference, RelayEndpoint):
            assembly = CompletionAssembly()
            async for chunk in self._events():
                assembly.add(chunk)
            return assembly.completion()
        sent = {name: value for name, value in self._relayed_body().items() if name not in ("stream", "stream_options")}
        body = await self.inference.document(CHAT_PATH, msgspec.json.encode(sent), model=self.log.model)
        return read_completion(body, self.inference.name)

    async def _events(self) -> AsyncGenerator[dict[str, JSON], None]:
        if self.own_request is not None or not isinstance(self.inference, RelayEndpoint):
            async for event in self._own_events():
                yield event
            return
        # usage is always requested: the log needs it
        options = {**(self.log.body.get("stream_options") or {}), "include_usage": True}
        body = msgspec.json.encode({**self._relayed_body(), "stream": True, "stream_options": options})
        async with aclosing(self.inference.payloads(CHAT_PATH, body, model=self.log.model)) as payloads:
            async for payload in payloads:
                yield read_completion(payload, self.inference.name)

    async def _own_events(self) -> AsyncIterator[dict[str, JSON]]:
        assert self.own_request is not None  # made where the endpoint is no relay
        yield {"choices": first_choices()}
        async for chunk in self.inference.stream(self.own_request):
            yield {"choices": chunk_choices(chunk)}
            if isinstance(chunk, Finish):
                if chunk.usage:
                    yield {"choices": [], "usage": usage_json(chunk.usage)}
                return

    def _relayed_body(self) -> dict[str, JSON]:
        """Return the request as it is sent to the endpoint."""
        relayed_fields = {name: value for name, value in self.log.body.items() if name not in _LOG_FIELDS}
        return {**relayed_fields, "model": self.log.model}

    def _without_usage(self, chunk: Mapping[str, JSON]) -> dict[str, JSON] | None:
        """Remove the usage from an event, for a caller that did not request it; None if nothing remains."""
        if chunk.get("usage") and not chunk["choices"]:
            return None
        fields = {name: value for name, value in chunk.items() if name != "usage"}
        return self.log.with_names(fields, "chat.completion.chunk")


def read_completion(body: bytes, endpoint: str) -> dict[str, JSON]:
    """Decode a completion, or an event of one, as its endpoint sent it. Raises ProviderError."""
    try:
        value = msgspec.json.decode(body)
    except (ValueError, RecursionError) as error:
        raise ProviderError(f"{endpoint} sent what cannot be read: {error}", provider=endpoint) from None
    if not isinstance(value, dict) or not isinstance(value.get("choices"), list):
        raise ProviderError(f"{endpoint} answered without a completion", provider=endpoint)
    return value


def cut_error(endpoint: str) -> ProviderError:
    """Return the error of a stream that ended before its answer."""
    message = f"{endpoint} cut its answer: it gave no finish reason"
    return ProviderError(message, provider=endpoint, code="cut")
