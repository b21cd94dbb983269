"""Work of a serving process: files that are read into vector stores."""

from __future__ import annotations

from agents.base import ids
from agents.base.reading import read
from agents.knowledge.runner.indexing import Indexer
from agents.knowledge.store import files, indexing
from agents.loop import background


class KnowledgeBackground(background.BackgroundWork):
    async def start(self) -> None:
        await read(indexing.fail_lost, ids.now_us())

    async def renew(self) -> None:
        await self.service.part(Indexer).renew()

    async def recover(self) -> None:
        await read(indexing.fail_lost, ids.now_us(), self.service.part(Indexer).running)

    async def expire(self) -> int:
        return await read(files.expire, ids.now_us())
