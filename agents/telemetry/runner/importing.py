"""Imports on their way: one at a time behind the requests that brought them, and again after a restart."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from django.db import connections

from agents.base import ids
from agents.base.access import Actor
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
    stopped = threading.Event()
    try:
        await asyncio.get_running_loop().run_in_executor(_one_at_a_time, _run, actor, record, kept, stopped)
    finally:
        stopped.set()


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
