"""Queues imports: they run one at a time in the background, and callers take turns. Whichever process comes to one
first does it; what a process left when it ended, any other takes up."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from django.conf import settings
from django.db import connections

from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import RateLimited
from agents.base.shares import Shares
from agents.base.store.claims import ClaimKind, Claims
from agents.loop.tasks import Runner
from agents.telemetry.store import import_files, import_jobs
from agents.telemetry.store.import_jobs import ImportRecord

_executor = ThreadPoolExecutor(1, "imports")
"""One thread: imports compete with turns for the processor, so that they wait for each other."""
_pending: set[int] = set()
"""The keys of the imports that this process has queued."""


class ImportShares(Shares):
    """Decides which import is next."""

    def refusal(self, held: int, waiting: int) -> RateLimited:
        message = f"You have {waiting} imports waiting: no more now."
        return RateLimited(message, code="too_many_imports", headers={"Retry-After": str(RETRY_AFTER_S)})


RETRY_AFTER_S = 30
imports = ImportShares(1, settings.MAX_IMPORTS_WAITING)
"""The queue of this process."""


def check_room(actor: Actor) -> None:
    """Check the actor's share of the queue. Raises RateLimited where too many of its imports wait already."""
    imports.leave(imports.enter(actor.caller))


def start(runner: Runner, actor: Actor, record: ImportRecord) -> None:
    """Start an import in the background, where this process does any; returns at once. Safe to call from any
    thread."""
    if not runner.role.ingests:
        return
    _pending.add(record.key)
    runner.run_in_background(partial(_run_when_granted, actor, record))


def resume(runner: Runner) -> int:
    """Queue the imports that no process seems to be at, and this one has not queued; returns how many. Reads tables."""
    queued = [(actor, record) for actor, record in import_jobs.unfinished(ids.now_us()) if record.key not in _pending]
    for actor, record in queued:
        start(runner, actor, record)
    return len(queued)


async def _run_when_granted(actor: Actor, record: ImportRecord) -> None:
    loop, stopped, granted = asyncio.get_running_loop(), threading.Event(), asyncio.Event()
    ticket = imports.enter(actor.caller, admitted=True)
    try:
        if not imports.when_granted(ticket, partial(loop.call_soon_threadsafe, granted.set)):
            await granted.wait()
        await loop.run_in_executor(_executor, _run_in_thread, actor, record.key, stopped)
    finally:
        stopped.set()
        imports.leave(ticket)


def _run_in_thread(actor: Actor, key: int, stopped: threading.Event) -> None:
    claims = Claims(ClaimKind.IMPORT)
    try:
        if not stopped.is_set() and claims.take([key]):
            _run_claimed(actor, key, stopped)
    finally:
        _pending.discard(key)
        claims.close()
        connections.close_all()


def _run_claimed(actor: Actor, key: int, stopped: threading.Event) -> None:
    record = import_jobs.begin(key)
    if record is not None:
        with import_files.opened(key, record.file_names) as files:
            if not import_jobs.run(actor, record, files, stopped.is_set):
                return
    import_files.delete(key)
