"""A chat completion on its way: from its endpoint to its caller, and into the log.

It lives with its request: a caller who leaves ends it, and what had come by then is logged as
cancelled.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field

import msgspec

from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import AgentsError, ProviderError
from agents.base.reading import read
from agents.base.schemas.wire import JSON
from agents.loop.inference.base import Finish, InferenceEndpoint, InferenceRequest, RelayEndpoint
from agents.relay import store as completions
from agents.relay.models import CompletionStatus
from agents.relay.store import Record
from agents.relay.wire.chat_completions import Assembly, chunk_choices, first_choices, usage_json, usage_of

log = logging.getLogger(__name__)

PATH = "/chat/completions"
_OURS = ("store", "metadata")
"""Fields that are meant for this server's log."""


@dataclass(slots=True)
class Call:
    """One request: ``body`` as it came, ``model`` as the endpoint knows it, ``plain`` for an endpoint
    that takes no requests as they are."""

    actor: Actor
    body: Mapping[str, JSON]
    inference: InferenceEndpoint
    model: str
    plain: InferenceRequest | None = None
    key: int = field(default_factory=ids.new_key)
    created: int = field(default_factory=lambda: ids.now_us() // 1_000_000)

    async def whole(self) -> bytes:
        """The completion as JSON. Raises AgentsError; the call is logged all the same."""
        completion: dict[str, JSON] = {"choices": [], "usage": None}
        status, error = CompletionStatus.CANCELLED, None
        try:
            completion = await self._answer()
            status = CompletionStatus.COMPLETED
        except AgentsError as failure:
            status, error = CompletionStatus.FAILED, failure
            raise
        finally:
            completion = self._named(completion, "chat.completion")
            await self._log(completion, status, error)
        return msgspec.json.encode(completion)

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """Its events as JSON, as they come. Raises AgentsError; the call is logged all the same."""
        assembly = Assembly()
        status, error = CompletionStatus.CANCELLED, None
        shows_usage = bool((self.body.get("stream_options") or {}).get("include_usage"))
        try:
            async with aclosing(self._events()) as events:
                async for chunk in events:
                    assembly.add(chunk)
                    shown = self._named(chunk, "chat.completion.chunk") if shows_usage else self._without_usage(chunk)
                    if shown:
                        yield msgspec.json.encode(shown)
            self._check_finished(assembly)
            status = CompletionStatus.COMPLETED
        except AgentsError as failure:
            status, error = CompletionStatus.FAILED, failure
            raise
        finally:
            await self._log(self._named(assembly.completion(), "chat.completion"), status, error)

    # ------------------------------------------------------------------------------------- answers

    async def _answer(self) -> dict[str, JSON]:
        if not isinstance(self.inference, RelayEndpoint):
            assembly = Assembly()
            async for chunk in self._events():
                assembly.add(chunk)
            return assembly.completion()
        sent = {name: value for name, value in self._sent().items() if name not in ("stream", "stream_options")}
        body = await self.inference.document(PATH, msgspec.json.encode(sent), model=self.model)
        return read_completion(body, self.inference.name)

    async def _events(self) -> AsyncGenerator[dict[str, JSON], None]:
        if not isinstance(self.inference, RelayEndpoint):
            async for made in self._own_events():
                yield made
            return
        # usage is asked for in any case: the log wants it
        options = {**(self.body.get("stream_options") or {}), "include_usage": True}
        body = msgspec.json.encode({**self._sent(), "stream": True, "stream_options": options})
        async with aclosing(self.inference.payloads(PATH, body, model=self.model)) as payloads:
            async for payload in payloads:
                yield read_completion(payload, self.inference.name)

    async def _own_events(self) -> AsyncIterator[dict[str, JSON]]:
        assert self.plain is not None  # made where the endpoint is no relay
        yield {"choices": first_choices()}
        async for chunk in self.inference.stream(self.plain):
            yield {"choices": chunk_choices(chunk)}
            if isinstance(chunk, Finish):
                if chunk.usage:
                    yield {"choices": [], "usage": usage_json(chunk.usage)}
                return

    def _check_finished(self, assembly: Assembly) -> None:
        if not assembly.is_finished:
            raise cut(self.inference.name)

    def _sent(self) -> dict[str, JSON]:
        """The request as its endpoint gets it."""
        kept = {name: value for name, value in self.body.items() if name not in _OURS}
        return {**kept, "model": self.model}

    # --------------------------------------------------------------------------------------- names

    def _named(self, completion: Mapping[str, JSON], kind: str) -> dict[str, JSON]:
        """Under the id it can be found by, and the model's name as the caller said it."""
        head = {"id": ids.openai(ids.Kind.COMPLETION, self.key), "object": kind, "created": self.created}
        return {**head, **completion, **head, "model": self.body["model"]}

    def _without_usage(self, chunk: Mapping[str, JSON]) -> dict[str, JSON] | None:
        """None for an event that tells nothing but usage, which was not asked for."""
        if chunk.get("usage") and not chunk["choices"]:
            return None
        rest = {name: value for name, value in chunk.items() if name != "usage"}
        return self._named(rest, "chat.completion.chunk")

    # ----------------------------------------------------------------------------------------- log

    async def _log(self, completion: Mapping[str, JSON], status: CompletionStatus, error: AgentsError | None) -> None:
        """Store it unless it says ``store: false``. The caller's leaving must not stop that."""
        if self.body.get("store") is False:
            return
        told = {"message": error.message, "code": error.code, "type": error.type} if error else None
        body = {
            **completion,
            "input_messages": self.body["messages"],
            "metadata": self.body.get("metadata"),
            "status": status.label,
            "error": told,
        }
        record = Record(
            key=self.key,
            model=str(self.body["model"]),
            status=status,
            usage=usage_of(completion),
            body=msgspec.json.encode(body),
        )
        await asyncio.shield(asyncio.ensure_future(read(completions.record, self.actor, record)))


def read_completion(body: bytes, endpoint: str) -> dict[str, JSON]:
    """A completion, or an event of one, as its endpoint sent it. Raises ProviderError."""
    try:
        value = msgspec.json.decode(body)
    except (ValueError, RecursionError) as error:
        raise ProviderError(f"{endpoint} sent what cannot be read: {error}", provider=endpoint) from None
    if not isinstance(value, dict) or not isinstance(value.get("choices"), list):
        raise ProviderError(f"{endpoint} answered without a completion", provider=endpoint)
    return value


def cut(endpoint: str) -> ProviderError:
    """The stream ended before the answer did."""
    words = f"{endpoint} cut its answer: it gave no finish reason"
    return ProviderError(words, provider=endpoint, code="cut")
