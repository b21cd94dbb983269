"""A PostgreSQL server for the tests: the one named, the one on this machine, or one of our own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psycopg

from bench.postgresql import free_port, started

__all__ = ["free_port", "server"]

LOCAL = "postgres://postgres@127.0.0.1:5432/postgres"


@contextmanager
def server() -> Iterator[str | None]:
    """The URL of a server in which databases can be made; None where there is none."""
    named = os.environ.get("TEST_DATABASE_URL")
    if named:
        yield named
        return
    with started("fsync=off") as own:
        yield own or (LOCAL if _answers(LOCAL) else None)


def _answers(url: str) -> bool:
    with suppress(psycopg.OperationalError), psycopg.connect(url, connect_timeout=3):
        return True
    return False
