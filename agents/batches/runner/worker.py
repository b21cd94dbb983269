"""Runs batches: a task of each process that runs turns. It looks every second for batches that no living process runs.

Of each batch a few requests run at a time; more only wait for the model, or for turns of others.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from typing import Protocol

from agents.base import ids, rounds
from agents.base.reading import read
from agents.base.store import failures
from agents.batches.runner import lines, output
from agents.batches.runner.validation import validate
from agents.batches.store import work
from agents.batches.store.work import BatchClaim, WaitingLine
from agents.loop.senders import present_actor

log = logging.getLogger(__name__)

LOOK_S = 1.0
"""How often a process looks for batches, and whether one that it runs was cancelled."""
MAX_BATCHES, MAX_AT_ONCE = 4, 8
"""Batches that a process runs at a time, and requests of each."""
AGAIN_S = 2.0
"""After which pause a request is made again for which there was no room."""
LAST_REQUESTS_S = 600.0
"""How long the requests of a cancelled batch may run on."""
NO_RIGHTS = '[{"code":"access_revoked","message":"Its owner may not run anything any more.","line":null,"param":null}]'


class TurnRunner(Protocol):
    """Who runs turns: ``owner`` is the process's name, which may change."""

    owner: str
    draining: bool


class BatchWorker:
    """The worker of a process. `start` it on the loop of the server."""

    def __init__(self, runner: TurnRunner) -> None:
        self._runner = runner
        self._running: dict[asyncio.Task[None], BatchClaim] = {}

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._look())

    async def stop(self) -> None:
        """Leave what runs to others, or to the next start."""
        tasks = [self._task, *self._running]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await read(work.release, self._runner.owner)

    async def _look(self) -> None:
        while True:
            try:
                await self._claim()
            except Exception as error:  # logged, and on the page of health: the next look tries again
                if failures.unavailable(error, "batches") is None:
                    log.exception("batches could not be looked for")
                    rounds.failed("batches", error)
            await asyncio.sleep(LOOK_S)

    async def _claim(self) -> None:
        free = MAX_BATCHES - len(self._running)
        if free <= 0 or self._runner.draining:
            return
        for claim in await read(work.claim, self._runner.owner, free):
            task = asyncio.create_task(self._run(claim))
            self._running[task] = claim
            task.add_done_callback(self._running.pop)

    async def _run(self, claim: BatchClaim) -> None:
        try:
            await BatchRun(claim, lambda: self._runner.draining).run()
        except Exception as error:  # logged, whatever it is: the batch is claimed again, here or elsewhere
            if failures.unavailable(error, f"batch={claim.public_id}") is None:
                log.exception("batch=%s could not be run", claim.public_id)
            await asyncio.sleep(AGAIN_S)
        # has it not ended, it is claimed again
        await read(work.give_back, claim)


class BatchRun:
    """The run of a batch by this process, from where it is to its end; it ends early when ``is_draining``, or when
    another process has claimed the batch."""

    def __init__(self, claim: BatchClaim, is_draining: Callable[[], bool]) -> None:
        self._claim, self._is_draining = claim, is_draining
        self._requests: set[asyncio.Task[None]] = set()
        self._lines: deque[WaitingLine] = deque()
        self._after = 0

    async def run(self) -> None:
        claim = self._claim
        actor = await read(present_actor, claim.owner, claim.api_key, claim.scope)
        if actor is None:
            await self._fail()
            return
        if await self._status() == "validating":
            await read(validate, claim, actor)
        if await self._status() == "in_progress" and not self._is_over:
            try:
                await self._run_lines()
            finally:
                for request in self._requests:
                    request.cancel()
        ending = await self._ending()
        if ending:
            await read(output.finish, claim, actor, ending)

    @property
    def _is_over(self) -> bool:
        return self._claim.expires_at <= ids.now_us()

    async def _status(self) -> str:
        return await read(work.status, self._claim)

    async def _fail(self) -> None:
        active = ("validating", "in_progress", "finalizing", "cancelling")
        if await read(work.set_status, self._claim, "failed", of=active, errors=NO_RIGHTS):
            await read(work.clear_lines, self._claim)

    async def _ending(self) -> str:
        """How a batch ends whose requests do not run any more; empty where it goes on elsewhere."""
        status = await self._status()
        if status == "cancelling":
            return "cancelled"
        if status in ("validating", "in_progress") and self._is_over:
            return "expired"
        if status == "in_progress" and not self._is_draining() and not await read(work.waiting, self._claim, 0):
            await read(work.set_status, self._claim, "finalizing", of=("in_progress",))
            return "cancelled" if await self._status() == "cancelling" else "completed"
        return "completed" if status == "finalizing" else ""

    async def _run_lines(self) -> None:
        """Run the requests that have no answer; ends when all have one, or no more are to begin."""
        while await self._status() == "in_progress" and not self._is_over and not self._is_draining():
            await self._begin_some()
            if not self._requests:
                return
            await asyncio.wait(self._requests, timeout=LOOK_S, return_when=asyncio.FIRST_COMPLETED)
        if self._requests and (self._is_draining() or await self._status() == "cancelling"):
            await asyncio.wait(self._requests, timeout=LAST_REQUESTS_S)

    async def _begin_some(self) -> None:
        while len(self._requests) < MAX_AT_ONCE:
            if not self._lines:
                self._lines.extend(await read(work.waiting, self._claim, self._after))
            if not self._lines:
                return
            line = self._lines.popleft()
            self._after = line.number
            task = asyncio.create_task(self._request(line))
            self._requests.add(task)
            task.add_done_callback(self._requests.discard)

    async def _request(self, line: WaitingLine) -> None:
        claim = self._claim
        key = f"{claim.public_id}-{line.number}"
        try:
            while (actor := await read(present_actor, claim.owner, claim.api_key, claim.scope)) is not None:
                answer = await lines.ask(actor, claim.endpoint, line.body, key)
                if answer is not None:
                    await read(work.answer, claim, line.key, answer)
                    return
                await asyncio.sleep(AGAIN_S)
        except Exception as error:  # logged, whatever it is: the line has no answer, and is asked again with its batch
            if failures.unavailable(error, f"batch={claim.public_id}") is None:
                log.exception("batch=%s line=%s could not be asked", claim.public_id, line.number)
