"""Starts and stops the parts of a serving process (writer, hub, runner, messages), and runs its periodic tasks
(leases, recovery, retention, …)."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from django.conf import settings

from agents.base import ids, rights, rounds
from agents.base.errors import Unavailable
from agents.base.feed_reader import FeedReader
from agents.base.messaging.of_database import channel_of_database
from agents.base.reading import read
from agents.base.store import changes, failures
from agents.base.store.leader import RENEW_S, leader
from agents.base.store.processes import ServingProcess
from agents.base.store.statistics import PlannerStatistics
from agents.base.store.writer import writer
from agents.logs.store import segments
from agents.loop import current_service, takeover
from agents.loop.background import BackgroundWork, backgrounds
from agents.loop.remote_stops import RemoteStops
from agents.loop.roles import EVERYTHING, ProcessRole
from agents.loop.service import Service
from agents.loop.slots import Slots
from agents.loop.tasks import Runner
from agents.record.bus import hub
from agents.record.mirrors import mirrors
from agents.record.sharing import LogSharing
from agents.record.store import closing, deletion, partitions, removal, sessions
from agents.server.socket import LiveConsumer, ResponsesConsumer
from agentsite import providers
from agentsite.memory import ProcessMemory
from agentsite.request_threads import close_connections, thread_pool

if TYPE_CHECKING:
    from agentsite.grpc_server import GrpcServer  # grpcio may not be installed

log = logging.getLogger(__name__)

LEASES_S, RECOVERY_S, RETENTION_S = 10.0, 5.0, 60.0
TAKEOVER_S, PULSE_S = 0.5, 1.0
OWN_TURNS_S = 5.0
"""Longer than a run takes to start once it is stored."""
TURNS_TOPIC = "turns"
"""Messages that turns wait for a process that runs them."""
CALM_S = 2 * LEASES_S
"""No recovery for this long after a failure of the store: living processes need the time to renew their leases."""
SETTLE_S = 1.0
SEALING_S = 10.0
MEMORY_S = 10.0
STATISTICS_S = 60.0
"""Interval of checking whether the query planner's statistics are out of date."""

PARTITIONS_S = 3600.0


class Lifecycle:
    """One serving process, from start to stop."""

    def __init__(self, role: ProcessRole = EVERYTHING, grpc_server: GrpcServer | None = None) -> None:
        self._role, self._grpc_server = role, grpc_server
        self._turns_wait = asyncio.Event()
        self._rounds: list[asyncio.Task[None]] = []
        self._backgrounds: list[BackgroundWork] = []
        self._own_turns = takeover.OwnTurns()
        self._memory = ProcessMemory()
        self._statistics = PlannerStatistics()

    async def start(self) -> None:
        """Start all parts. Raises OSError where the port of gRPC is taken."""
        if self._grpc_server is not None:
            self._grpc_server.bind()
        self._loop = asyncio.get_running_loop()
        hub.start()
        writer.start()
        self._process = ServingProcess(
            self._on_lost,
            self._on_gone,
            settings.LEASE_SECONDS,
            address=f"{settings.HOST}:{settings.PORT}",
            version=str(settings.SPECTACULAR_SETTINGS["VERSION"]),
        )
        await read(self._process.start)
        slots = Slots(settings.MAX_RUNNING, settings.MAX_QUEUED)
        self.runner = Runner(self._process.id, slots, self._role)
        self.runner.is_confirmed = lambda: self._process.is_confirmed
        self.channel = channel_of_database(self.runner.owner)
        await self.channel.start()
        self.feed = FeedReader(self.channel, hub.notify)
        await self.feed.start()
        self.sharing = LogSharing(self.channel, hub)
        self.sharing.start()
        mirrors.start(self.channel)
        self.endpoints = providers.configured_endpoints()
        remote_stops = RemoteStops(self.channel, self.runner.cancel)
        service = Service(self.runner, providers.configured_providers(self.endpoints), remote_stops)
        service.on_left = self._announce_turns
        self.channel.on(TURNS_TOPIC, lambda *_: self._turns_wait.set())
        current_service.use(service)
        await self._lead()
        self._backgrounds = [make(service) for make in backgrounds.values()]
        for background in self._backgrounds:
            await background.start()
        await self._take_over()
        for seconds, work in (
            (LEASES_S, self._renew),
            (PULSE_S, self._pulse),
            (RECOVERY_S, self._recover),
            (OWN_TURNS_S, self._compare_own_turns),
            (RENEW_S, self._lead),
            (RETENTION_S, self._expire),
            (SEALING_S, self._seal),
            (MEMORY_S, self._release_memory),
            (STATISTICS_S, self._renew_statistics),
            (PARTITIONS_S, self._maintain_partitions),
            (rights.CHECK_S, rights.check),
            (rights.CHECK_S, rights.check_tokens),
        ):
            self._rounds.append(asyncio.create_task(_every(seconds, work)))
        self._rounds.append(asyncio.create_task(_every(TAKEOVER_S, self._take_over, self._turns_wait)))
        if self._grpc_server is not None:
            await self._grpc_server.start()

    async def announce(self) -> None:
        """Tell proxies by ``/readyz`` that this process stops, and give them the time to notice."""
        self.runner.stopping = True
        await asyncio.sleep(settings.STOP_DELAY_SECONDS)

    async def drain(self) -> None:
        """Wait until what runs has ended: calls of gRPC, of which no new ones are taken, and turns."""
        calls = [self._grpc_server.stop(settings.DRAIN_SECONDS)] if self._grpc_server is not None else []
        await asyncio.gather(self._drain_turns(), *calls)

    async def _drain_turns(self) -> None:
        """Wait until the runs have ended and the sockets have sent it; those that take too long, other processes go
        on with, or the next start of this one."""
        await self.runner.drain(settings.DRAIN_SECONDS, hands_over=settings.RESUME_RUNS)
        message = "The server stops; what runs goes on elsewhere, or at the next start. Ask again, from the last event."
        rights.end_connections(Unavailable(message, code="server_stopping", retry_after_s=1))
        await LiveConsumer.settle(SETTLE_S)
        await ResponsesConsumer.settle(SETTLE_S)

    async def stop(self) -> None:
        """Stop the parts that runs and readers needed, once these have ended."""
        for task in self._rounds:
            task.cancel()
        await read(self._process.stop)
        self._announce_turns()
        for background in self._backgrounds:
            await background.stop()
        await asyncio.get_running_loop().run_in_executor(None, leader.resign)
        hub.stop()
        mirrors.stop()
        self.sharing.stop()
        await self.feed.stop()
        await self.channel.stop()
        await self.endpoints.close()
        await current_service.service().providers.embeddings.close()
        await asyncio.get_running_loop().run_in_executor(None, writer.stop)
        current_service.use(None)
        thread_pool.close()
        await asyncio.get_running_loop().run_in_executor(None, close_connections)

    # --------------------------------------------------------------------------------------- rounds

    def _on_lost(self, process: str) -> None:
        """Let go of what this process ran: the others have taken it for gone."""
        self.runner.owner = self._process.id
        self.runner.let_go()
        self._loop.call_soon_threadsafe(self.channel.rename, self._process.id)

    def _on_gone(self) -> None:
        """Look at once for turns that nobody runs now."""
        self._announce_turns()
        self._loop.call_soon_threadsafe(self._turns_wait.set)

    async def _pulse(self) -> None:
        self._process.pulse()

    def _announce_turns(self) -> None:
        """Tell the processes that run turns that some wait."""
        self.channel.send(TURNS_TOPIC, "")

    async def _take_over(self) -> None:
        await read(takeover.take_over, current_service.service(), resumes=settings.RESUME_RUNS)

    async def _compare_own_turns(self) -> None:
        await read(self._own_turns.compare, current_service.service())

    async def _renew(self) -> None:
        for background in self._backgrounds:
            await background.renew()

    async def _recover(self) -> None:
        if failures.failure_log.recent(CALM_S):
            return
        for background in self._backgrounds:
            await background.recover()

    async def _lead(self) -> None:
        if self._role.ingests:
            await read(leader.renew)

    async def _expire(self) -> None:
        if not leader.leads:
            return
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
        if leader.leads and not failures.failure_log.recent(CALM_S):
            await read(self._statistics.renew)

    async def _maintain_partitions(self) -> None:
        if leader.leads and not failures.failure_log.recent(CALM_S):
            await read(partitions.maintain, ids.now_us())

    async def _seal(self) -> None:
        """Seal old turns into column segments, for at most half of the time, so that other work gets the processor."""
        began = time.monotonic()
        while leader.leads and await read(segments.maintain):
            await asyncio.sleep(time.monotonic() - began)
            began = time.monotonic()


async def _every(seconds: float, work: Callable[[], Awaitable[None]], wakeup: asyncio.Event | None = None) -> None:
    """Do some work again and again, and between two times when ``wakeup`` is set."""
    wakeup = wakeup or asyncio.Event()
    while True:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await wakeup.wait()
        wakeup.clear()
        try:
            await work()
        except Exception as error:  # logged, and on the page of health: the next interval tries again
            log.exception("a round of the server failed")
            rounds.failed(work.__name__.strip("_"), error)
