"""Relays a chat completion from its endpoint to the caller and writes it to the log.

It lives as long as its request: if the caller disconnects, it ends, and the part received so far is
logged as cancelled.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field

import msgspec

from agents.base import ids, metrics
from agents.base.access import Actor
from agents.base.errors import AgentsError, ProviderError
from agents.base.reading import read
from agents.base.schemas.wire import JSON
from agents.loop import spending
from agents.loop.inference.base import Finish, InferenceEndpoint, InferenceRequest, RelayEndpoint
from agents.loop.spending import ModelNames
from agents.relay import store as completions
from agents.relay.models import CompletionStatus
from agents.relay.store import CompletionRecord
from agents.relay.wire.chat_completions import CompletionAssembly, chunk_choices, first_choices, usage_json, usage_of

log = logging.getLogger(__name__)

CHAT_PATH = "/chat/completions"
_LOG_FIELDS = ("store", "metadata")
"""Fields of a request for this server's log, which are not relayed."""


@dataclass(slots=True)
class ChatCall:
    """One request. ``body`` is as received, ``model`` is the endpoint's name of the model; ``own_request`` is what is
    asked where nothing can be relayed: the endpoint takes no requests of others, or the request came in the words of
    another API. ``log_fields`` are in the log beside the completion."""

    actor: Actor
    body: Mapping[str, JSON]
    inference: InferenceEndpoint
    model: str
    own_request: InferenceRequest | None = None
    log_fields: Mapping[str, JSON] = field(default_factory=dict)
    key: int = field(default_factory=ids.new_key)
    created: int = field(default_factory=lambda: ids.now_us() // 1_000_000)

    async def full_completion(self) -> bytes:
        """Return the completion as JSON. Raises AgentsError; the call is logged in any case."""
        await self._check_budgets()
        completion: dict[str, JSON] = {"choices": [], "usage": None}
        status, error = CompletionStatus.CANCELLED, None
        measured = metrics.Inference(self.inference.name)
        try:
            completion = await self._complete()
            status = CompletionStatus.COMPLETED
        except AgentsError as failure:
            status, error = CompletionStatus.FAILED, failure
            raise
        finally:
            measured.end(status.label)
            completion = self._with_names(completion, "chat.completion")
            await self._log(completion, status, error)
        return msgspec.json.encode(completion)

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """Yield the events as JSON as they arrive. Raises AgentsError; the call is logged in any case."""
        shows_usage = bool((self.body.get("stream_options") or {}).get("include_usage"))
        async with aclosing(self.events()) as events:
            async for chunk in events:
                visible = (
                    self._with_names(chunk, "chat.completion.chunk") if shows_usage else self._without_usage(chunk)
                )
                if visible:
                    yield msgspec.json.encode(visible)

    async def events(self) -> AsyncGenerator[dict[str, JSON], None]:
        """Yield the events as the endpoint gives them, with the usage. Raises AgentsError; the call is logged in any
        case."""
        await self._check_budgets()
        assembly = CompletionAssembly()
        status, error = CompletionStatus.CANCELLED, None
        measured = metrics.Inference(self.inference.name)
        try:
            async with aclosing(self._events()) as events:
                async for chunk in events:
                    measured.first_token()
                    assembly.add(chunk)
                    yield chunk
            self._check_finished(assembly)
            status = CompletionStatus.COMPLETED
        except AgentsError as failure:
            status, error = CompletionStatus.FAILED, failure
            raise
        finally:
            measured.end(status.label)
            await self._log(self._with_names(assembly.completion(), "chat.completion"), status, error)

    @property
    def _model_names(self) -> ModelNames:
        return ModelNames(self.model, str(self.body["model"]))

    async def _check_budgets(self) -> None:
        """Raise BudgetReached, before anything is asked or logged."""
        await spending.check_later(spending.spender_of(self.actor), self._model_names)

    # ------------------------------------------------------------------------------------- answers

    async def _complete(self) -> dict[str, JSON]:
        if self.own_request is not None or not isinstance(self.inference, RelayEndpoint):
            assembly = CompletionAssembly()
            async for chunk in self._events():
                assembly.add(chunk)
            return assembly.completion()
        sent = {name: value for name, value in self._relayed_body().items() if name not in ("stream", "stream_options")}
        body = await self.inference.document(CHAT_PATH, msgspec.json.encode(sent), model=self.model)
        return read_completion(body, self.inference.name)

    async def _events(self) -> AsyncGenerator[dict[str, JSON], None]:
        if self.own_request is not None or not isinstance(self.inference, RelayEndpoint):
            async for event in self._own_events():
                yield event
            return
        # usage is always requested: the log needs it
        options = {**(self.body.get("stream_options") or {}), "include_usage": True}
        body = msgspec.json.encode({**self._relayed_body(), "stream": True, "stream_options": options})
        async with aclosing(self.inference.payloads(CHAT_PATH, body, model=self.model)) as payloads:
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

    def _check_finished(self, assembly: CompletionAssembly) -> None:
        if not assembly.is_finished:
            raise cut_error(self.inference.name)

    def _relayed_body(self) -> dict[str, JSON]:
        """Return the request as it is sent to the endpoint."""
        relayed_fields = {name: value for name, value in self.body.items() if name not in _LOG_FIELDS}
        return {**relayed_fields, "model": self.model}

    # --------------------------------------------------------------------------------------- names

    def _with_names(self, completion: Mapping[str, JSON], kind: str) -> dict[str, JSON]:
        """Add the id it is logged under, and the model's name as the caller gave it."""
        head = {"id": ids.openai(ids.Kind.COMPLETION, self.key), "object": kind, "created": self.created}
        return {**head, **completion, **head, "model": self.body["model"]}

    def _without_usage(self, chunk: Mapping[str, JSON]) -> dict[str, JSON] | None:
        """Remove the usage from an event, for a caller that did not request it; None if nothing remains."""
        if chunk.get("usage") and not chunk["choices"]:
            return None
        fields = {name: value for name, value in chunk.items() if name != "usage"}
        return self._with_names(fields, "chat.completion.chunk")

    # ----------------------------------------------------------------------------------------- log

    async def _log(self, completion: Mapping[str, JSON], status: CompletionStatus, error: AgentsError | None) -> None:
        """Count what was spent, and store the completion unless its request has ``store: false``, also when the caller
        has disconnected."""
        usage = usage_of(completion)
        counted = spending.add(spending.spender_of(self.actor), self._model_names, usage, ids.now_us())
        await asyncio.shield(asyncio.ensure_future(counted))
        if self.body.get("store") is False:
            return
        error_json = {"message": error.message, "code": error.code, "type": error.type} if error else None
        body = {
            **completion,
            "input_messages": self.body["messages"],
            "metadata": self.body.get("metadata"),
            "status": status.label,
            "error": error_json,
            **self.log_fields,
        }
        record = CompletionRecord(
            key=self.key,
            model=str(self.body["model"]),
            status=status,
            usage=usage,
            body=msgspec.json.encode(body),
        )
        await asyncio.shield(asyncio.ensure_future(read(completions.add, self.actor, record)))


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
