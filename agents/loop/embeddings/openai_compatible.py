"""Embeddings of any endpoint that speaks OpenAI's ``/v1/embeddings``.

Texts are sent in batches, a few at a time. The answer is not trusted: it must have as many vectors as there
were texts, all finite and of one dimension.
"""

from __future__ import annotations

import asyncio
import itertools
import math
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from agents.base.errors import ProviderError
from agents.loop.inference.chat.endpoint_errors import EndpointErrors
from agents.loop.inference.chat.timeouts import Deadlines, EndpointLimits, RetryPolicy
from agents.loop.inference.chat.transport import Transport, now

BATCH = 64
BATCH_CHARS = 200_000
AT_ONCE = 4
LIMITS = EndpointLimits(connect_s=5.0, first_token_s=60.0, idle_s=30.0, total_s=120.0)


class _Vector(msgspec.Struct):
    index: int
    embedding: list[float]


class _Answer(msgspec.Struct):
    data: list[_Vector]


class EmbeddingEndpoint:
    """The client of one endpoint, shared by its models. Raises ValueError for a URL or key that could never
    work."""

    def __init__(
        self, name: str, base_url: str, api_key: str | None = None, *, limits: EndpointLimits = LIMITS
    ) -> None:
        key = (api_key or "").strip()
        self.name, self.limits = name, limits
        self.faults = EndpointErrors(name, key)
        self.transport = Transport(base_url, key, faults=self.faults, connect_s=limits.connect_s)

    async def close(self) -> None:
        """Close the connections of the running loop."""
        await self.transport.close()


class OpenAIEmbeddings:
    """The model ``model`` of an endpoint. ``sleep`` waits between tries, in seconds."""

    def __init__(
        self,
        endpoint: EmbeddingEndpoint,
        model: str,
        *,
        retries: RetryPolicy | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self.name = f"{endpoint.name}/{model}"
        self.dimension = 0
        self._endpoint, self._model, self._sleep = endpoint, model, sleep
        self._retries = retries or RetryPolicy()
        self._faults = endpoint.faults

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return one vector per text. Raises ProviderError."""
        gate = asyncio.Semaphore(AT_ONCE)

        async def embed_batch(batch: list[str]) -> list[list[float]]:
            async with gate:
                return await self._batch(batch)

        answers = await asyncio.gather(*map(embed_batch, _batches(texts)))
        vectors = list(itertools.chain.from_iterable(answers))
        if vectors:
            self._check(vectors)
            self.dimension = len(vectors[0])
        return vectors

    async def _batch(self, texts: list[str]) -> list[list[float]]:
        body = msgspec.json.encode({"model": self._model, "input": texts, "encoding_format": "float"})
        deadlines = Deadlines(self._endpoint.limits, now())
        failed = 0
        while True:
            try:
                return self._vectors(await self._post(body, deadlines), len(texts))
            except ProviderError as error:
                failed += 1
                pause_s = self._retries.pause_s(error, failed=failed)
                if pause_s is None or not deadlines.allow(pause_s, now()):
                    raise
            await self._sleep(pause_s)

    async def _post(self, body: bytes, deadlines: Deadlines) -> bytes:
        incoming = await self._endpoint.transport.post("/embeddings", body, deadlines, model=self._model)
        try:
            return await incoming.read_all()
        finally:
            incoming.close()

    def _vectors(self, body: bytes, count: int) -> list[list[float]]:
        try:
            vectors = sorted(msgspec.json.decode(body, type=_Answer).data, key=lambda one: one.index)
        except (ValueError, RecursionError) as error:
            raise self._faults.error(f"sent embeddings that cannot be read: {error}") from None
        if [vector.index for vector in vectors] != list(range(count)):
            raise self._faults.error(f"sent {len(vectors)} embeddings for {count} texts")
        return [vector.embedding for vector in vectors]

    def _check(self, vectors: Sequence[Sequence[float]]) -> None:
        dimension = len(vectors[0])
        if not dimension or any(len(vector) != dimension for vector in vectors):
            raise self._faults.error("sent embeddings of different dimensions")
        if not all(map(math.isfinite, itertools.chain.from_iterable(vectors))):
            raise self._faults.error("sent embeddings that are no numbers")


def _batches(texts: Sequence[str]) -> list[list[str]]:
    """Split texts into batches of at most `BATCH` texts and about `BATCH_CHARS` characters. An empty text, which
    an endpoint would refuse, becomes a blank."""
    out: list[list[str]] = []
    chars = 0
    for text in texts:
        if not out or len(out[-1]) == BATCH or chars + len(text) > BATCH_CHARS:
            out.append([])
            chars = 0
        out[-1].append(text or " ")
        chars += len(text)
    return out
