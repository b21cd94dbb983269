"""The inference protocol: one request in, a stream of chunks out.

An endpoint yields chunks in the order they were produced and ends after a `Finish`. Every failure is
raised as `agents.base.errors.ProviderError`, also after chunks were yielded: the caller keeps the chunks
it has received. An endpoint retries only before its first chunk.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

import msgspec

from agents.loop.protocols.tools import Grammar
from agents.record.schemas.content import ResponseFormat, SamplingParams, ToolDef, Usage


@dataclass(frozen=True, slots=True)
class InferenceRequest:
    """One inference. ``messages`` are encoded chat-completions messages (`agents.record.schemas.items`), sent as they
    are. ``tool_choice`` is ``auto``, ``required``, ``none`` or a tool's name. ``model`` is the
    name as the endpoint knows it. ``options`` are further fields of chat completions, sent as they
    are and in place of ours of the same name. ``grammar`` is that of the only argument, ``input``, of the tool that
    ``tool_choice`` names: an endpoint that can hold a model to it may."""

    model: str
    messages: Sequence[bytes]
    tools: Sequence[ToolDef] = ()
    tool_choice: str = "auto"
    sampling: SamplingParams = field(default_factory=SamplingParams)
    response_format: ResponseFormat | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    grammar: Grammar | None = None


class Text(msgspec.Struct, frozen=True, gc=False):
    """Words of the model. ``logprobs`` are the probabilities of their tokens, as OpenAI's Responses API has them: each
    has ``token``, ``logprob``, ``bytes`` and ``top_logprobs``, the most likely tokens in its place."""

    text: str
    logprobs: Sequence[dict[str, Any]] = ()


class Reasoning(msgspec.Struct, frozen=True, gc=False):
    text: str


@dataclass(frozen=True, slots=True)
class CallPart:
    """A fragment of a tool call. The first fragment of an ``index`` carries ``call_id`` and
    ``name``; the others only more of ``arguments`` (raw JSON text)."""

    index: int
    arguments: str
    call_id: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class Finish:
    """The end of an answer. ``reason`` is the endpoint's (``stop``, ``length``, ``tool_calls``,
    ``content_filter``); None when it closed the stream properly without a reason. ``stop`` is the stop sequence that
    ended it, which some endpoints tell."""

    reason: str | None
    usage: Usage | None = None
    stop: str | None = None


Chunk = Text | Reasoning | CallPart | Finish


@dataclass(frozen=True, slots=True)
class Model:
    """A model an endpoint offers. ``id`` is how callers name it here."""

    id: str
    provider: str
    resource_id: str
    kind: Literal["llm", "embedding"] = "llm"
    created: int = 0
    metadata: dict[str, Any] = field(default_factory=dict)


class InferenceEndpoint(Protocol):
    """A model endpoint under the name it was configured with."""

    name: str

    def stream(self, request: InferenceRequest) -> AsyncIterator[Chunk]:
        """Run one inference. Raises ProviderError."""
        ...

    async def models(self) -> list[Model]:
        """List the models of this endpoint. Raises ProviderError."""
        ...

    async def close(self) -> None: ...


@runtime_checkable
class BatchedEndpoint(Protocol):
    """An endpoint that also tells which chunks came together, at one read of its socket."""

    def batches(self, request: InferenceRequest) -> AsyncGenerator[Sequence[Chunk], None]:
        """Run one inference as `InferenceEndpoint.stream` does, and yield chunks as they come, never none."""
        ...


async def batches(endpoint: InferenceEndpoint, request: InferenceRequest) -> AsyncGenerator[Sequence[Chunk], None]:
    """Run one inference at any endpoint, and yield those chunks together that came together. Raises ProviderError."""
    if isinstance(endpoint, BatchedEndpoint):
        async with aclosing(endpoint.batches(request)) as batched:
            async for chunks in batched:
                yield chunks
        return
    async for chunk in endpoint.stream(request):
        yield (chunk,)


@runtime_checkable
class TokenCounter(Protocol):
    """An endpoint that may be able to count."""

    async def count_tokens(self, request: InferenceRequest) -> int | None:
        """Return the tokens of a request's messages and tools; None where the endpoint does not tell."""
        ...


@runtime_checkable
class RelayEndpoint(Protocol):
    """An endpoint that also passes requests through unchanged: JSON in, JSON out, neither is parsed.
    ``path`` is the route at the endpoint (``/moderations``), ``model`` is named in errors. Both methods
    raise ProviderError."""

    name: str

    async def document(self, path: str, body: bytes, *, model: str, headers: Mapping[str, str] = ...) -> bytes:
        """Send a request and return the JSON document of its answer."""
        ...

    def payloads(
        self, path: str, body: bytes, *, model: str, headers: Mapping[str, str] = ...
    ) -> AsyncGenerator[bytes, None]:
        """Yield the data of each event of a streamed answer as it arrives, without ``[DONE]``; or the
        document of an answer that was not streamed."""
        ...


@runtime_checkable
class MessagesEndpoint(RelayEndpoint, Protocol):
    """An endpoint that may speak Anthropic's Messages API, too. ``messages_headers`` are those that its requests need
    there; None where it does not."""

    messages_headers: Mapping[str, str] | None
