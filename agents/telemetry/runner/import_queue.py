"""Imports on their way: one at a time behind the requests that brought them, those of each caller in turn, and again
after a restart."""

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
from agents.telemetry.store.import_files import Kept
from agents.telemetry.store.import_jobs import ImportRecord

TRIES = 3
"""One at which the server died so often is not tried again: it may be what kills it."""

_one_at_a_time = ThreadPoolExecutor(1, "imports")
"""Imports compete with turns for the processor: they wait for each other."""
_here: set[int] = set()
"""Those that this process has to do."""


class Imports(Shares):
    """Which of them is next."""

    def refusal(self, held: int, waiting: int) -> RateLimited:
        words = f"You have {waiting} imports waiting: no more now."
        return RateLimited(words, code="too_many_imports", headers={"Retry-After": str(RETRY_AFTER_S)})


RETRY_AFTER_S = 30
imports = Imports(1, settings.MAX_IMPORTS_WAITING)
"""Those of the process."""


def check_room(actor: Actor) -> None:
    """Raises RateLimited where too many of the actor's wait already."""
    imports.leave(imports.enter(actor.caller))


def start(runner: Runner, actor: Actor, record: ImportRecord, kept: Kept) -> None:
    """Take these files in behind the caller; returns at once. From any thread."""
    _here.add(record.key)
    runner.apart(partial(_apart, actor, record, kept))


def resume(runner: Runner) -> int:
    """Take up what a process that is gone has left on this disk; returns how many. Reads tables."""
    count = 0
    for kept in import_files.left():
        found = import_jobs.unfinished(kept.key)
        if found is None or kept.about.begun >= TRIES:
            if found is not None:
                import_jobs.fail(found[1], f"The server stopped {TRIES} times while it was at it.")
            kept.drop()
            continue
        start(runner, *found, kept)
        count += 1
    return count


def beat() -> None:
    """Say of those that wait here that they are not forgotten. Writes."""
    import_jobs.note_waiting(tuple(_here), ids.now_us())


async def _apart(actor: Actor, record: ImportRecord, kept: Kept) -> None:
    loop, stopped, granted = asyncio.get_running_loop(), threading.Event(), asyncio.Event()
    place = imports.enter(actor.caller, admitted=True)
    try:
        if not imports.when_granted(place, partial(loop.call_soon_threadsafe, granted.set)):
            await granted.wait()
        await loop.run_in_executor(_one_at_a_time, _run, actor, record, kept, stopped)
    finally:
        stopped.set()
        imports.leave(place)


def _run(actor: Actor, record: ImportRecord, kept: Kept, stopped: threading.Event) -> None:
    over = False
    try:
        if not stopped.is_set():
            kept.begin()
            over = import_jobs.run(actor, record, kept.open(), stopped.is_set)
    finally:
        _here.discard(record.key)
        kept.drop() if over else kept.let_go()
        connections.close_all()
