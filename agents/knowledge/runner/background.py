"""Work of a serving process: files that are read into vector stores."""

from __future__ import annotations

from agents.base import ids
from agents.base.reading import read
from agents.knowledge.runner.indexing import Indexer
from agents.knowledge.store import files, uploads
from agents.loop import background


class KnowledgeBackground(background.BackgroundWork):
    async def start(self) -> None:
        await self._indexer.take_over()

    async def renew(self) -> None:
        await self._indexer.renew()

    async def recover(self) -> None:
        if not self.service.runner.draining:
            await self._indexer.take_over()

    async def expire(self) -> int:
        now = ids.now_us()
        return await read(files.expire, now) + await read(uploads.expire, now)

    async def stop(self) -> None:
        await self._indexer.stop()

    @property
    def _indexer(self) -> Indexer:
        return self.service.part(Indexer)
