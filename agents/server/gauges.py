"""The figures of the server that are read when somebody asks for them; removable subjects register their own."""

from __future__ import annotations

from agents.base import ids, open_streams
from agents.base.errors import Unavailable
from agents.base.metrics import measure
from agents.base.store import readiness, vitals
from agents.base.store.writer import writer
from agents.loop.current_service import service
from agents.record.mirrors import mirrors
from agents.record.store import turns


def register() -> None:
    """Register the gauges. Called once, when all models are loaded."""
    measure("turns_running", "Turns that this process runs.", _running)
    measure("turns_queued", "Turns that wait for a slot, over all processes of the database.", lambda: _queue()[0])
    measure("turns_queued_oldest_seconds", "For how long the first of the queued turns waits.", lambda: _queue()[1])
    measure("streams_open", "Responses and sockets that are open.", lambda: open_streams.streams.held)
    measure("writer_queue", "Jobs that wait for the writer.", lambda: writer.waiting)
    measure("ready", "1 where this process can take turns and write, else 0.", lambda: not readiness.problem())
    measure(
        "messages_lost",
        "1 where messages of other processes do not get through, so that the database is polled, else 0.",
        lambda: mirrors.channel.has_failed,
    )
    measure("database_bytes", "Size of the database.", vitals.database_bytes)
    measure("database_wal_bytes", "Size of SQLite's write-ahead log; 0 on PostgreSQL.", vitals.wal_bytes)
    measure("disk_free_bytes", "Bytes that are free on the fullest disk that is written to.", vitals.free_bytes)


def _running() -> int:
    try:
        return len(service().runner.running)
    except Unavailable:
        return 0


def _queue() -> tuple[int, float]:
    """Return the number of queued turns, and for how many seconds the first of them waits."""
    count, first_us = turns.queue()
    return count, 0.0 if first_us is None else max(ids.now_us() - first_us, 0) / 1e6
