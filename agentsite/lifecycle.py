"""Starts and stops the parts of a serving process (writer, hub, runner), and runs its periodic tasks (leases,
recovery, retention, …)."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence

from django.conf import settings

from agents.base import ids, rights
from agents.base.reading import read
from agents.base.store import changes, failures
from agents.base.store.statistics import PlannerStatistics
from agents.base.store.writer import writer
from agents.logs.store import segments
from agents.loop import current_service
from agents.loop.background import BackgroundWork, backgrounds
from agents.loop.service import Service
from agents.loop.slots import Slots
from agents.loop.tasks import Runner
from agents.record.bus import hub
from agents.record.store import closing, deletion, removal, sessions, turns
from agents.server.socket import LiveConsumer
from agentsite import providers
from agentsite.memory import ProcessMemory
from agentsite.request_threads import thread_pool

log = logging.getLogger(__name__)

LEASES_S, RECOVERY_S, RETENTION_S, FEED_S = 10.0, 5.0, 60.0, 0.5
CALM_S = 2 * LEASES_S
"""No recovery for this long after a failure of the store: living processes need the time to renew their leases."""
SETTLE_S = 1.0
SEALING_S = 10.0
MEMORY_S = 10.0
STATISTICS_S = 60.0
"""Interval of checking whether the query planner's statistics are out of date."""


class Lifecycle:
    """One serving process, from start to stop."""

    def __init__(self) -> None:
        self._rounds: list[asyncio.Task[None]] = []
        self._backgrounds: list[BackgroundWork] = []
        self._last_change = 0
        self._unsubscribe: Callable[[], None] = lambda: None
        self._memory = ProcessMemory()
        self._statistics = PlannerStatistics()

    async def start(self) -> None:
        hub.start()
        writer.start()
        self._last_change = await read(changes.latest)
        self._unsubscribe = changes.listen(self._on_change)
        self.runner = Runner(closing.process_name(), Slots(settings.MAX_RUNNING, settings.MAX_QUEUED))
        self.endpoints = providers.configured_endpoints()
        service = Service(self.runner, providers.configured_providers(self.endpoints))
        current_service.use(service)
        await read(closing.recover, ids.now_us())
        self._backgrounds = [make(service) for make in backgrounds.values()]
        for background in self._backgrounds:
            await background.start()
        for seconds, work in (
            (LEASES_S, self._renew),
            (RECOVERY_S, self._recover),
            (RETENTION_S, self._expire),
            (FEED_S, self._read_feed),
            (SEALING_S, self._seal),
            (MEMORY_S, self._release_memory),
            (STATISTICS_S, self._renew_statistics),
            (rights.CHECK_S, rights.check),
            (rights.CHECK_S, rights.check_tokens),
        ):
            self._rounds.append(asyncio.create_task(_every(seconds, work)))

    async def drain(self) -> None:
        """Wait until the runs have ended and the sockets have sent it."""
        await self.runner.drain(settings.DRAIN_SECONDS)
        await LiveConsumer.settle(SETTLE_S)

    async def stop(self) -> None:
        """Stop the parts that runs and readers needed, once these have ended."""
        for task in self._rounds:
            task.cancel()
        for background in self._backgrounds:
            await background.stop()
        hub.stop()
        await self.endpoints.close()
        await current_service.service().providers.embeddings.close()
        self._unsubscribe()
        await asyncio.get_running_loop().run_in_executor(None, writer.stop)
        current_service.use(None)
        thread_pool.close()

    # --------------------------------------------------------------------------------------- rounds

    def _on_change(self, changed: changes.ChangeBatch) -> None:
        self._last_change = max(self._last_change, changed.seq)
        hub.notify(changed.seq, changed.records)

    async def _read_feed(self) -> None:
        """Read the changes of other processes."""
        changed = await read(changes.after, self._last_change)
        if changed is not None and changed.seq > self._last_change:
            self._on_change(changed)

    async def _renew(self) -> None:
        running: Sequence[int] = tuple(self.runner.running)
        if running:
            await read(turns.renew_leases, running, self.runner.owner, ids.now_us())
        for background in self._backgrounds:
            await background.renew()

    async def _recover(self) -> None:
        if failures.failure_log.recent(CALM_S):
            return
        await read(closing.recover, ids.now_us(), self.runner.running)
        for background in self._backgrounds:
            await background.recover()

    async def _expire(self) -> None:
        await read(closing.expire_waiting, ids.now_us())
        await read(writer.write, changes.prune)
        deleted = await read(sessions.expire, ids.now_us())
        for background in self._backgrounds:
            deleted += await background.expire()
        deleted += await read(removal.continue_removals)
        if deleted:
            await read(deletion.reclaim)

    async def _release_memory(self) -> None:
        await asyncio.get_running_loop().run_in_executor(None, self._memory.release)

    async def _renew_statistics(self) -> None:
        if not failures.failure_log.recent(CALM_S):
            await read(self._statistics.renew)

    async def _seal(self) -> None:
        """Seal old turns into column segments, for at most half of the time, so that other work gets the processor."""
        began = time.monotonic()
        while await read(segments.maintain):
            await asyncio.sleep(time.monotonic() - began)
            began = time.monotonic()


async def _every(seconds: float, work: Callable[[], Awaitable[None]]) -> None:
    await asyncio.sleep(seconds)
    while True:
        try:
            await work()
        except Exception:
            # a task that fails is tried again at its next interval; the server goes on
            log.exception("a round of the server failed")
        await asyncio.sleep(seconds)
