"""Relays a text completion from its endpoint to the caller. It is not logged: the log of chat completions
holds messages, which its clients expect."""

from __future__ import annotations

import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

import msgspec

from agents.base import ids
from agents.base.access import Actor
from agents.base.schemas.wire import JSON
from agents.loop import spending
from agents.loop.inference.base import Finish, InferenceEndpoint, InferenceRequest, RelayEndpoint
from agents.loop.spending import ModelNames
from agents.record.schemas.content import Usage
from agents.record.store.spending import Spender
from agents.relay.runner.completions import cut_error, read_completion
from agents.relay.wire.chat_completions import usage_of
from agents.relay.wire.text_completions import TextAssembly, text_choice, total_usage_json

TEXT_PATH = "/completions"


@dataclass(slots=True)
class TextCall:
    """One request. ``body`` is as received, ``model`` is the endpoint's name of the model; ``own_requests``
    are for an endpoint that does not relay requests, one inference for each completion."""

    actor: Actor
    body: Mapping[str, JSON]
    inference: InferenceEndpoint
    model: str
    own_requests: Sequence[InferenceRequest] = ()
    head: Mapping[str, JSON] = field(default_factory=lambda: _head())

    async def full_completion(self) -> bytes:
        """Return the completion as JSON. Raises AgentsError."""
        await spending.check_later(*self._spender)
        if isinstance(self.inference, RelayEndpoint):
            sent = {name: value for name, value in self.body.items() if name not in ("stream", "stream_options")}
            body = msgspec.json.encode({**sent, "model": self.model})
            answer = await self.inference.document(TEXT_PATH, body, model=self.model)
            completion = read_completion(answer, self.inference.name)
            await self._count(completion)
            return self._encode(completion)
        assembly = TextAssembly()
        async for event in self._own_events():
            assembly.add(event)
            await self._count(event)
        return self._encode({**self.head, **assembly.completion()})

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """Yield the events as JSON as they arrive. Raises AgentsError."""
        await spending.check_later(*self._spender)
        assembly = TextAssembly()
        includes_usage = bool((self.body.get("stream_options") or {}).get("include_usage"))
        async with aclosing(self._events()) as events:
            async for event in events:
                assembly.add(event)
                await self._count(event)
                if event["choices"] or includes_usage:
                    yield self._encode(event)
        if not assembly.is_finished:
            raise cut_error(self.inference.name)

    async def _events(self) -> AsyncGenerator[dict[str, JSON], None]:
        if not isinstance(self.inference, RelayEndpoint):
            async for event in self._own_events():
                yield {**self.head, **event}
            return
        # usage is always requested: budgets need it
        options = {**(self.body.get("stream_options") or {}), "include_usage": True}
        body = msgspec.json.encode({**self.body, "stream": True, "stream_options": options, "model": self.model})
        async with aclosing(self.inference.payloads(TEXT_PATH, body, model=self.model)) as payloads:
            async for payload in payloads:
                yield read_completion(payload, self.inference.name)

    async def _own_events(self) -> AsyncIterator[dict[str, JSON]]:
        """Yield one text after the other, and the usage of all of them at the end."""
        usages: list[Usage] = []
        for index, request in enumerate(self.own_requests):
            async for chunk in self.inference.stream(request):
                if choice := text_choice(index, chunk):
                    yield {"choices": [choice]}
                if isinstance(chunk, Finish) and chunk.usage:
                    usages.append(chunk.usage)
        yield {"choices": [], "usage": total_usage_json(usages)}

    @property
    def _spender(self) -> tuple[Spender, ModelNames]:
        return spending.spender_of(self.actor), ModelNames(self.model, str(self.body["model"]))

    async def _count(self, event: Mapping[str, JSON]) -> None:
        """Count what was spent, where an event or completion says that."""
        if event.get("usage"):
            await spending.add(*self._spender, usage_of(event), ids.now_us())

    def _encode(self, completion: Mapping[str, JSON]) -> bytes:
        """Encode a completion or event with the model's name as the caller gave it."""
        return msgspec.json.encode({**completion, "model": self.body["model"]})


def _head() -> dict[str, JSON]:
    created = ids.now_us() // 1_000_000
    return {"id": f"cmpl-{secrets.token_hex(12)}", "object": "text_completion", "created": created}
