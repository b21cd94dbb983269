"""Any endpoint that speaks OpenAI's chat completions: OpenAI, vLLM, Ollama, llama.cpp and others.

Each inference is one POST, answered by a stream of events. This module sends the request, retries it
where that may help, and yields the chunks; the package `chat` has the parts. It knows nothing of turns,
agents or prices.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

import msgspec

from agents.base.errors import ProviderError
from agents.loop.inference.base import Chunk, InferenceRequest, Model
from agents.loop.inference.chat import request as chat_request
from agents.loop.inference.chat.call_parts import random_call_id
from agents.loop.inference.chat.endpoint_errors import EndpointErrors
from agents.loop.inference.chat.guided_call import GuidedCallStream
from agents.loop.inference.chat.payload_stream import PayloadStream
from agents.loop.inference.chat.response_body import ResponseBody
from agents.loop.inference.chat.stream import ChatStream
from agents.loop.inference.chat.timeouts import Deadlines, EndpointLimits, RetryPolicy, Tries
from agents.loop.inference.chat.token_count import TokenRoute
from agents.loop.inference.chat.transport import NO_HEADERS, Transport, now

_log = logging.getLogger(__name__)

MODELS_MAX_AGE_S = 10.0
_MODELS_LIMITS = EndpointLimits(first_token_s=10.0, idle_s=10.0, total_s=10.0)


class _ListedModel(msgspec.Struct):
    id: str
    created: int | float | None = None
    owned_by: str | None = None


class _ModelList(msgspec.Struct):
    data: list[_ListedModel]


@dataclass(frozen=True, slots=True)
class EndpointConfig:
    """An OpenAI-compatible endpoint. ``base_url`` is as its documentation gives it, mostly with ``/v1``.
    ``max_tokens_field`` is ``max_completion_tokens`` where models refuse ``max_tokens``; ``grammars`` is the field by
    which it holds a model to a grammar (`agents.loop.inference.chat.request.GRAMMAR_FIELDS`), if it can. ``messages``
    is set where it also speaks Anthropic's Messages API below ``base_url``, to how it takes the key there: ``bearer``
    or ``x-api-key``."""

    base_url: str
    api_key: str | None = field(default=None, repr=False)
    limits: EndpointLimits = field(default_factory=EndpointLimits)
    retries: RetryPolicy = field(default_factory=RetryPolicy)
    max_tokens_field: str = "max_tokens"
    grammars: str = ""
    messages: str = ""


def _together(chunks: Iterator[Chunk]) -> Iterator[Sequence[Chunk]]:
    """Yield chunks as one batch, if there are any; of those that end with an error the ones before it first."""
    received: list[Chunk] = []
    try:
        for chunk in chunks:
            received.append(chunk)
    except ProviderError:
        if received:
            yield received
        raise
    if received:
        yield received


class OpenAICompatible:
    """A configured endpoint under its ``name``. Raises ValueError for a URL or key that could never work. ``sleep``
    waits between tries, in seconds."""

    def __init__(
        self,
        name: str,
        config: EndpointConfig,
        *,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        new_call_id: Callable[[], str] = random_call_id,
    ) -> None:
        key = (config.api_key or "").strip()
        self.name = name
        self._limits, self._retries = config.limits, config.retries
        self._max_tokens_field, self._grammar_field = config.max_tokens_field, config.grammars
        self.messages_headers: Mapping[str, str] | None = None
        if config.messages:
            self.messages_headers = {"x-api-key": key, "Authorization": ""} if config.messages == "x-api-key" else {}
        self._sleep = sleep
        self._new_call_id = new_call_id
        self._faults = EndpointErrors(name, key)
        self._transport = Transport(config.base_url, key, faults=self._faults, connect_s=self._limits.connect_s)
        self._tokens = TokenRoute(config.base_url, key, faults=self._faults, connect_s=self._limits.connect_s)
        self._models: list[Model] = []
        self._models_until = -math.inf

    def __repr__(self) -> str:
        return f"OpenAICompatible({self.name!r}, {self._transport.base_url!r})"

    async def stream(self, request: InferenceRequest) -> AsyncIterator[Chunk]:
        """Run one inference, as `batches` does."""
        async with aclosing(self.batches(request)) as batches:
            async for chunks in batches:
                for chunk in chunks:
                    yield chunk

    async def batches(self, request: InferenceRequest) -> AsyncGenerator[Sequence[Chunk], None]:
        """Run one inference, and yield the chunks of each read of the socket. Raises ProviderError, and InvalidRequest
        before anything is sent for a request that chat completions cannot express. Closing the iterator early closes
        the connection, which stops the endpoint."""
        body = chat_request.encode(request, self._max_tokens_field, self._grammar_field)
        tries = self._tries()
        # this retry loop is repeated in the methods below: a shared generator would cost time per token
        while True:
            answer = self._new_stream(request)
            incoming = await self._open("/chat/completions", body, request.model, tries)
            try:
                if incoming.content_type == "application/json":
                    for chunks in _together(answer.document(await self._read_document(incoming))):
                        yield chunks
                    return
                while data := await incoming.read(started=answer.started, finished=answer.finished):
                    for chunks in _together(answer.feed(data)):
                        yield chunks
                    if answer.done:
                        break
                for chunks in _together(answer.end()):
                    yield chunks
                await incoming.settle()
                return
            except ProviderError as error:
                if answer.began or incoming.began or not await self._wait_to_retry(error, tries):
                    raise
            finally:
                incoming.close()

    async def document(self, path: str, body: bytes, *, model: str, headers: Mapping[str, str] = NO_HEADERS) -> bytes:
        """Send a request and return the body of its answer unchanged. Raises ProviderError."""
        tries = self._tries()
        while True:
            incoming = await self._open(path, body, model, tries, headers)
            try:
                return await self._read_document(incoming)
            except ProviderError as error:
                if incoming.began or not await self._wait_to_retry(error, tries):
                    raise
            finally:
                incoming.close()

    async def payloads(
        self, path: str, body: bytes, *, model: str, headers: Mapping[str, str] = NO_HEADERS
    ) -> AsyncGenerator[bytes, None]:
        """Send a request and yield the events of its answer as they arrive. Raises ProviderError. Closing the
        iterator early closes the connection."""
        tries = self._tries()
        while True:
            events = PayloadStream(self._faults, self._limits.output_chars)
            incoming = await self._open(path, body, model, tries, headers)
            try:
                if incoming.content_type == "application/json":
                    yield await self._read_document(incoming)
                    return
                while not events.done and (data := await incoming.read(started=events.started)):
                    for payload in events.feed(data):
                        yield payload
                for payload in events.end():
                    yield payload
                await incoming.settle()
                return
            except ProviderError as error:
                if events.started or incoming.began or not await self._wait_to_retry(error, tries):
                    raise
            finally:
                incoming.close()

    async def models(self) -> list[Model]:
        """Return the endpoint's list of models, at most `MODELS_MAX_AGE_S` old. Raises ProviderError."""
        if now() >= self._models_until:
            self._models = [self._model(listed) for listed in await self._list_models()]
            self._models_until = now() + MODELS_MAX_AGE_S
        return list(self._models)

    async def count_tokens(self, request: InferenceRequest) -> int | None:
        """Return the tokens of a request's messages and tools; None where the endpoint does not tell."""
        return await self._tokens.count(request)

    async def close(self) -> None:
        """Close the connections of the running loop."""
        await self._transport.close()
        await self._tokens.close()

    def _new_stream(self, request: InferenceRequest) -> ChatStream:
        faults, new_call_id, chars = self._faults, self._new_call_id, self._limits.output_chars
        if not self._grammar_field or request.grammar is None:
            return ChatStream(faults, model=request.model, output_chars=chars, new_call_id=new_call_id)
        called = request.tool_choice
        return GuidedCallStream(faults, model=request.model, output_chars=chars, new_call_id=new_call_id, called=called)

    def _tries(self) -> Tries:
        return Tries(self._retries, self._limits, now())

    async def _open(
        self, path: str, body: bytes, model: str, tries: Tries, headers: Mapping[str, str] = NO_HEADERS
    ) -> ResponseBody:
        """Return the first answer with status 200. Callers retry no answer that has begun: its text was sent."""
        while True:
            try:
                return await self._transport.post(path, body, tries.deadlines, model=model, headers=headers)
            except ProviderError as error:
                if not await self._wait_to_retry(error, tries):
                    raise

    async def _read_document(self, incoming: ResponseBody) -> bytes:
        body = await incoming.read_all()
        if not body:
            raise self._faults.cut("the document is empty")
        return body

    async def _wait_to_retry(self, error: ProviderError, tries: Tries) -> bool:
        """Sleep before the next try; returns False if there is none."""
        pause_s = tries.pause_s(error, now())
        if pause_s is None:
            return False
        status = error.upstream_status
        _log.warning("endpoint=%s try=%s status=%s: again in %.1f s", self.name, tries.failed, status, pause_s)
        await self._sleep(pause_s)
        return True

    async def _list_models(self) -> list[_ListedModel]:
        incoming = await self._transport.get("/models", Deadlines(_MODELS_LIMITS, now()))
        try:
            return msgspec.json.decode(await incoming.read_all(), type=_ModelList).data
        except (ValueError, RecursionError) as error:
            raise self._faults.error(f"sent a list of models that cannot be read: {error}") from None
        finally:
            incoming.close()

    def _model(self, listed: _ListedModel) -> Model:
        return Model(
            id=f"{self.name}/{listed.id}",
            provider=self.name,
            resource_id=listed.id,
            # The list has no kind of model; the name mostly tells.
            kind="embedding" if "embed" in listed.id.lower() else "llm",
            created=int(listed.created or 0),
            metadata={"owned_by": listed.owned_by} if listed.owned_by else {},
        )
