"""Reading files into vector stores, behind the backs of those who put them there.

A file is read, cut, embedded and stored in a task that outlives the request; who asks for its status learns how far
it is. What goes wrong ends up in that status, too: nothing here raises.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any, Protocol

from agents.base import ids
from agents.base.errors import AgentsError, InvalidRequest, ProviderError
from agents.base.reading import read
from agents.knowledge.providers.memory import chunking, kinds, texts
from agents.knowledge.providers.memory.texts import Raw
from agents.knowledge.runner.knowledge_base import MAX_CHUNKS, Library
from agents.knowledge.store import files, indexing
from agents.knowledge.store.indexing import IndexingInput, Work
from agents.knowledge.store.vector_dbs import NewChunk
from agents.loop.provider_set import Providers
from agents.loop.roles import ProcessRole

log = logging.getLogger(__name__)

MAX_CONCURRENT_FILES = 2
"""Files that are read at the same time: each is in memory meanwhile."""


class TaskRunner(Protocol):
    """Who runs it: ``owner`` is the process's name, and its role says whether it reads files."""

    owner: str

    @property
    def role(self) -> ProcessRole: ...

    def run_in_background(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Do something in a task of its own. From any thread; returns at once."""
        ...


class Indexer:
    """The files that this process reads, or is about to."""

    def __init__(self, runner: TaskRunner, library: Library) -> None:
        self._runner, self._library = runner, library
        self._slots = asyncio.Semaphore(MAX_CONCURRENT_FILES)
        self._waiting: dict[int, int] = {}

    @property
    def owner(self) -> str:
        return self._runner.owner

    @property
    def running(self) -> frozenset[int]:
        """The documents at which this process is, or which wait for it."""
        return frozenset(self._waiting.copy())

    def start(self, work: Sequence[Work]) -> None:
        """Read files, in order, or leave that to a process that does. From any thread; returns at once."""
        if work and not self._runner.role.ingests:
            indexing.release([attempt.document for attempt in work], self.owner)
        elif work:
            self._waiting.update({attempt.document: attempt.number for attempt in work})
            self._runner.run_in_background(partial(self._all, work))

    async def take_over(self) -> None:
        """Go on with what other processes have left."""
        if not self._runner.role.ingests:
            return
        self.start(await read(indexing.take_over, self.owner, ids.now_us(), self.running))

    async def stop(self) -> None:
        """Leave what is not done to other processes."""
        if self._waiting:
            await read(indexing.release, list(self.running), self.owner)

    async def renew(self) -> None:
        """Tell others that the work goes on."""
        if self._waiting:
            await read(indexing.renew, list(self.running), self.owner, ids.now_us())

    async def _all(self, work: Sequence[Work]) -> None:
        try:
            for attempt in work:
                async with self._slots:
                    await self._index(attempt)
                self._waiting.pop(attempt.document, None)
        finally:
            for attempt in work:
                self._waiting.pop(attempt.document, None)

    async def _index(self, work: Work) -> None:
        try:
            indexing_input = await read(indexing.begin, work)
            if indexing_input is not None:
                await self._fill(work, indexing_input)
        except ProviderError as error:
            await read(indexing.fail, work, "server_error", error.message)
        except InvalidRequest as error:
            await read(indexing.fail, work, _code(error), error.message)
        except Exception as error:
            # the indexer's edge: a mistake of ours fails this file, not the server
            log.exception("document=%s: a file could not be read", work.document)
            message = error.message if isinstance(error, AgentsError) else "The server made a mistake; see its log."
            await read(indexing.fail, work, "server_error", message)

    async def _fill(self, work: Work, indexing_input: IndexingInput) -> None:
        text = await self._text(indexing_input)
        sizes = indexing_input.chunk_tokens, indexing_input.chunk_overlap
        text_chunks = await read(partial(chunking.chunks, text, *sizes, limit=MAX_CHUNKS + 1))
        if len(text_chunks) > MAX_CHUNKS:
            raise InvalidRequest(
                f"{indexing_input.filename}: it makes more than {MAX_CHUNKS:,} chunks; use larger ones."
            )
        packed = await self._library.embedded(indexing_input.db, [chunk.text for chunk in text_chunks])
        chunks = [
            NewChunk(chunk.text, chunk.tokens, {}, embedding)
            for chunk, embedding in zip(text_chunks, packed, strict=True)
        ]
        await read(indexing.fill, work, indexing_input.db.key, chunks, len(text.encode()))

    async def _text(self, indexing_input: IndexingInput) -> str:
        data = await read(lambda: b"".join(files.blocks(indexing_input.file)))
        main, charset = texts.kind(
            kinds.of_file(indexing_input.filename, indexing_input.mime_type, data[: kinds.HEAD_BYTES])
        )
        return await texts.text_of(Raw(data, main, charset), indexing_input.filename)


def _code(error: InvalidRequest) -> str:
    """What OpenAI calls what is wrong with a file; a model of the wrong dimension is not the file's fault."""
    if error.code == "embedding_dimension":
        return "server_error"
    return "unsupported_file" if error.code == "document_type" else "invalid_file"


def indexer(runner: TaskRunner, providers: Providers) -> Indexer:
    """The indexer of a process, with its library."""
    return Indexer(runner, providers.part(Library))
