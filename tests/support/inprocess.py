"""The product inside the test's own process: a service for the edges to ask, without a server.

With it requests of `django.test.Client` take the same road as in a server, from the first middleware
to the store. `idle_service` runs no turn; `inline_service` plays each to its end before it answers.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import sqlite3
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import cache, partial
from pathlib import Path
from threading import Barrier
from typing import Any

from asgiref.sync import async_to_sync
from django.conf import settings
from django.core.management import call_command
from django.db import connection, connections, transaction

from agents.base import reading
from agents.base.access import Actor
from agents.base.store.writer import writer
from agents.loop import current_service
from agents.loop.loop import Loop
from agents.loop.service import Service
from agents.loop.slots import Slot, Slots
from agents.loop.tasks import Runner
from agents.record.schemas.events import Delta, Entry, Event
from agents.record.store import recorder
from agents.record.store.recorder import TurnRef
from agentsite import providers
from tests.kept import kept


@cache
def collect_static() -> None:
    """Pages name static files by their content: as before the server starts, they are collected, or copied from
    where they were collected before."""
    root = Path(settings.STATIC_ROOT)
    shutil.copytree(kept("static", partial(_collect_static, root)), root, dirs_exist_ok=True)


def _collect_static(root: Path, path: Path) -> None:
    call_command("collectstatic", interactive=False, verbosity=0)
    shutil.copytree(root, path)


class IdleRunner(Runner):
    """Runs no turn; what belongs to none it does in the thread that starts it."""

    def run_in_background(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        asyncio.run(work())


class InlineRunner(IdleRunner):
    """Plays a run to its end in the thread that starts it, and records it at once."""

    def start(
        self,
        loop: Loop,
        leg: TurnRef,
        opening: Sequence[Event],
        actor: Actor,
        slot: Slot,
        *,
        queued: bool | None = None,
    ) -> None:
        async def play() -> list[Entry]:
            return [entry async for entry in loop.events()]

        entries = asyncio.run(play())
        events = [entry for entry in entries if not isinstance(entry, Delta)]
        deltas = [entry for entry in entries if isinstance(entry, Delta)]
        writer.write(lambda: recorder.record(leg, events, deltas))
        self.slots.leave(slot)


@contextmanager
def idle_service() -> Iterator[Service]:
    """A service whose runner's loop is over: what would run a turn fails, everything else works."""
    with _service(IdleRunner) as made:
        yield made


@contextmanager
def inline_service() -> Iterator[Service]:
    """A service that runs turns, each while its request waits."""
    with _service(InlineRunner) as made:
        yield made


@contextmanager
def _service(runner: type[Runner]) -> Iterator[Service]:
    async def make() -> Runner:
        return runner("tests", Slots(4, 4))

    collect_static()
    made = Service(asyncio.run(make()), providers.configured_providers(providers.configured_endpoints(), pace=0.0))
    current_service.use(made)
    try:
        yield made
    finally:
        current_service.use(None)


KEPT_TABLES = {"django_migrations", "django_content_type", "auth_permission"}
"""Filled by the migrations."""


@contextmanager
def open_database(blocker: Any) -> Iterator[None]:
    """The database of the tests, open to all threads, and empty again at the end.

    A test in a transaction cannot be seen from the threads that read for the loop; Django's own way
    out fills the tables of permissions anew after each test, which takes longer than most tests."""
    with blocker.unblock():
        try:
            yield
        finally:
            empty_database()
            close_readers()


def empty_database() -> None:
    """Delete all rows, in one transaction, of the tables that have some: few tests write to more than a few of
    them. Ids go on counting."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(_EMPTY_ON_POSTGRESQL)
        return
    with connection.constraint_checks_disabled(), transaction.atomic(), connection.cursor() as cursor:
        for table in _tables():
            cursor.execute(f"DELETE FROM {table}")


_EMPTY_ON_POSTGRESQL = f"""
DO $$
DECLARE
    name text;
    has_rows boolean;
BEGIN
    SET CONSTRAINTS ALL DEFERRED;
    IF current_setting('is_superuser') = 'on' THEN
        SET LOCAL session_replication_role = replica; -- no row need be checked: all of them go
    END IF;
    FOR name IN
        SELECT quote_ident(tablename) FROM pg_tables
        WHERE schemaname = current_schema() AND tablename NOT IN ({", ".join(f"'{name}'" for name in KEPT_TABLES)})
    LOOP
        EXECUTE 'SELECT EXISTS (SELECT FROM ' || name || ')' INTO has_rows;
        IF has_rows THEN
            EXECUTE 'DELETE FROM ' || name;
        END IF;
    END LOOP;
END $$
"""


@cache
def _tables() -> list[str]:
    # not the insides of a full-text index
    return [
        name for name in connection.introspection.table_names() if name not in KEPT_TABLES and "_search_" not in name
    ]


@contextmanager
def copy_of_rows() -> Iterator[tuple[Callable[[], None], Callable[[], None]]]:
    """Keeps all that is in the database, and puts it back into the empty one: much faster than making it again."""
    with closing(sqlite3.connect(":memory:")) as copy:
        if connection.vendor == "sqlite":
            yield partial(_back_up, copy), partial(_restore, copy)
        else:
            rows: dict[str, bytes] = {}
            yield partial(_copy_out, rows), partial(_copy_in, rows)


def _back_up(copy: sqlite3.Connection) -> None:
    connection.ensure_connection()
    connection.connection.backup(copy)


def _restore(copy: sqlite3.Connection) -> None:
    connection.ensure_connection()
    copy.backup(connection.connection)


def _copy_out(rows: dict[str, bytes]) -> None:
    connection.ensure_connection()
    with connection.connection.cursor() as cursor:
        for table in set(connection.introspection.table_names()) - KEPT_TABLES:
            with cursor.copy(f"COPY {table} TO STDOUT") as copied:
                rows[table] = b"".join(map(bytes, copied))


def _copy_in(rows: dict[str, bytes]) -> None:
    with transaction.atomic(), connection.connection.cursor() as cursor:  # at whose end references are looked at
        for table, lines in rows.items():
            if lines:
                with cursor.copy(f"COPY {table} FROM STDIN") as copied:
                    copied.write(lines)


def body_of(response: Any) -> bytes:
    """The whole body of an answer, of a stream too."""
    if not getattr(response, "streaming", False):
        return bytes(response.content)

    async def collect() -> bytes:
        return b"".join([part async for part in response])

    return async_to_sync(collect)()


def json_of(response: Any) -> Any:
    """The JSON of an answer, of one that is large and comes in pieces too."""
    return json.loads(body_of(response))


def told(response: Any) -> bytes:
    """Everything a caller is told: headers, cookies, body."""
    head = "".join(f"{name}: {value}\n" for name, value in response.headers.items())
    return f"{head}{response.cookies.output()}".encode() + body_of(response)


def close_readers() -> None:
    """Close the connections of the threads that read for the loop: they outlive a test."""
    everyone = Barrier(reading._readers._max_workers)

    def close() -> None:
        everyone.wait(10)  # or the first of them would do it again for another
        connections.close_all()

    waits = [reading._readers.submit(close) for _ in range(reading._readers._max_workers)]
    for wait in waits:
        wait.result()
