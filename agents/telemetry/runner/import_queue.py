"""Queues imports: they run one at a time in the background, callers take turns, and a restart resumes them."""

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
from agents.loop.tasks import Runner
from agents.telemetry.store import import_files, import_jobs
from agents.telemetry.store.import_files import StoredFiles
from agents.telemetry.store.import_jobs import ImportRecord

MAX_ATTEMPTS = 3
"""An import during which the server died this often is not tried again: it may be the cause."""

_executor = ThreadPoolExecutor(1, "imports")
"""One thread: imports compete with turns for the processor, so that they wait for each other."""
_pending: set[int] = set()
"""The keys of the imports that this process has to run."""


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


def start(runner: Runner, actor: Actor, record: ImportRecord, files: StoredFiles) -> None:
    """Start the import of these files in the background; returns at once. Safe to call from any thread."""
    _pending.add(record.key)
    runner.run_in_background(partial(_run_when_granted, actor, record, files))


def resume(runner: Runner) -> int:
    """Resume the imports that a dead process has left on this disk; returns how many. Reads tables."""
    count = 0
    for files in import_files.abandoned():
        unfinished = import_jobs.unfinished(files.key)
        if unfinished is None or files.manifest.attempts >= MAX_ATTEMPTS:
            if unfinished is not None:
                import_jobs.fail(unfinished[1], f"The server stopped {MAX_ATTEMPTS} times while it was at it.")
            files.delete()
            continue
        start(runner, *unfinished, files)
        count += 1
    return count


def keep_alive() -> None:
    """Note that the imports of this process are alive, those that wait too. Writes."""
    import_jobs.note_waiting(tuple(_pending), ids.now_us())


async def _run_when_granted(actor: Actor, record: ImportRecord, files: StoredFiles) -> None:
    loop, stopped, granted = asyncio.get_running_loop(), threading.Event(), asyncio.Event()
    ticket = imports.enter(actor.caller, admitted=True)
    try:
        if not imports.when_granted(ticket, partial(loop.call_soon_threadsafe, granted.set)):
            await granted.wait()
        await loop.run_in_executor(_executor, _run_in_thread, actor, record, files, stopped)
    finally:
        stopped.set()
        imports.leave(ticket)


def _run_in_thread(actor: Actor, record: ImportRecord, files: StoredFiles, stopped: threading.Event) -> None:
    is_over = False
    try:
        if not stopped.is_set():
            files.count_attempt()
            is_over = import_jobs.run(actor, record, files.open(), stopped.is_set)
    finally:
        _pending.discard(record.key)
        files.delete() if is_over else files.release()
        connections.close_all()
