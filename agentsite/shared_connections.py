"""The connections to PostgreSQL that all requests of a process share: a pool of psycopg's, through Django's option.

Request threads take a connection with their first query and give it back when they are done (`share`).
Every other thread keeps one of its own, as does who holds a lock on one: a sign of life, the writer and those who read
for streams never wait behind pages.

A connection is looked at when it is taken, so a restart of the server costs no request but those under way then. Where
none can be opened the pool would let everybody wait until their time is over, and log each try: here one request tries
for itself, and it and all others are told at once what the server said.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Any

import psycopg
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connections
from psycopg_pool import ConnectionPool, PoolTimeout

from agents.base.store.postgresql.base import DatabaseWrapper, is_quiet

WAIT_S = 5.0
"""How long a request waits for a connection: longer than pages may count (`agents.logs.store.numbers`)."""
SHARED_TRY_S = 0.5
"""How long one waits for another to find out whether the server is back."""
IDLE_S = 60.0
"""How long a connection that nobody takes is kept."""


class _Outage:
    """Whether connections can be opened, as far as the last one who tried knows. Thread-safe."""

    def __init__(self) -> None:
        self.lasts = False
        self._error = psycopg.OperationalError("no connection can be opened")
        self._tries = 0
        self._trying = threading.Lock()

    def begin(self, _: Any = None) -> None:
        self.lasts = True

    def try_again(self, parameters: Mapping[str, Any]) -> None:
        """Open a connection, and end the outage where that works. One thread does at a time; those that come meanwhile
        share what it finds, or are told what the last one was if it takes long. Raises psycopg.OperationalError."""
        tries = self._tries
        if not self._trying.acquire(timeout=SHARED_TRY_S):
            raise self._again()
        try:
            if self._tries == tries:
                self._try(parameters)
            elif self.lasts:
                raise self._again()
        finally:
            self._trying.release()

    def _try(self, parameters: Mapping[str, Any]) -> None:
        try:
            psycopg.connect(**parameters).close()
            self.lasts = False
        except psycopg.OperationalError as error:
            self._error = error
            raise
        finally:
            self._tries += 1

    def _again(self) -> psycopg.Error:
        """Return the last error once more: one that several threads raise would collect the tracebacks of all."""
        return type(self._error)(*self._error.args)


_outage = _Outage()


class SharedConnection(DatabaseWrapper):
    """Django's connection of one thread, which it has from the pool while it needs it."""

    def get_new_connection(self, conn_params: Any) -> Any:
        """Take one that works. Raises psycopg.OperationalError; PoolTimeout where all were in use for too long."""
        until = time.monotonic() + WAIT_S
        while True:
            if _outage.lasts and not self.pool.get_stats()["pool_available"]:
                _outage.try_again(conn_params)
            try:
                raw = super().get_new_connection(conn_params)
            except PoolTimeout:
                if _outage.lasts:
                    _outage.try_again(conn_params)
                raise
            try:
                if not is_quiet(raw):
                    ConnectionPool.check_connection(raw)
                return raw
            except psycopg.Error:  # it has died meanwhile: the next one may be alive
                raw.close()
                self.pool.putconn(raw)
                if time.monotonic() > until:
                    raise

    def copy(self, alias: str | None = None) -> Any:
        """Return Django's plain one, which opens a connection of its own, for who keeps it."""
        own = {**self.settings_dict, "OPTIONS": {**self.settings_dict["OPTIONS"]}}
        del own["OPTIONS"]["pool"]
        return DatabaseWrapper(own, alias or self.alias)


def share() -> None:
    """Let this thread have its connections from the pool, and give them back with `close_old_connections`."""
    connections[DEFAULT_DB_ALIAS] = _shared_connection()


def close() -> None:
    """Close the connections that nobody uses, and each other one as soon as it is given back."""
    _shared_connection().close_pool()


def usage() -> dict[str, float]:
    """Return the numbers of connections (``open``, ``in_use``, ``most``) and of requests ``waiting`` for one."""
    stats = _shared_connection().pool.get_stats()
    return {
        "open": stats["pool_size"],
        "in_use": stats["pool_size"] - stats["pool_available"],
        "most": stats["pool_max"],
        "waiting": stats["requests_waiting"],
    }


def _shared_connection() -> SharedConnection:
    given = connections[DEFAULT_DB_ALIAS].settings_dict
    pool = {
        "name": "requests",
        "min_size": 0,
        "max_size": settings.MAX_CONNECTIONS,
        "timeout": WAIT_S,
        "max_idle": IDLE_S,
        "reconnect_timeout": 0,
        "reconnect_failed": _outage.begin,
    }
    options = {**given["OPTIONS"], "pool": pool}
    shared = {**given, "CONN_MAX_AGE": 0, "CONN_HEALTH_CHECKS": False, "OPTIONS": options}
    return SharedConnection(shared, DEFAULT_DB_ALIAS)
