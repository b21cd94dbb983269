"""What is the store's trouble and what is a mistake, by what the databases say; and how often it is told."""

from __future__ import annotations

import errno
import logging
import resource
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest
from django.db import DatabaseError, connection

from agents.base.errors import Unavailable
from agents.base.models.scopes import Scope
from agents.base.store import failures, readiness
from agents.base.store.writer import Writer
from tests.support.inprocess import open_database

pytestmark = pytest.mark.usefixtures("_database")


@pytest.fixture
def _database(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    with open_database(django_db_blocker):
        yield


def raised(statement: str) -> DatabaseError:
    with pytest.raises(DatabaseError) as caught, connection.cursor() as cursor:
        cursor.execute(statement)
    return caught.value


# ------------------------------------------------------------------------------------------ what it is


@pytest.mark.parametrize(
    "statement", ["SELECT nothing FROM agents_scope", "SELECT * FROM no_such_table", "SELECT 1 FROM"]
)
def test_a_wrong_statement_is_a_mistake_of_ours(statement: str) -> None:
    error = raised(statement)
    assert failures.classify(error) is None
    assert failures.unavailable(error) is None


STATES = {
    "53100": failures.FULL,
    "53300": failures.CROWDED,
    "57014": failures.SLOW,
    "57P01": failures.AWAY,
    "57P03": failures.AWAY,
    "08006": failures.AWAY,
    "55P03": failures.HELD,
    "25006": failures.READ_ONLY,
    "40001": failures.RACED,
    "40P01": failures.RACED,
    "58030": failures.BROKEN,
    "XX001": failures.BROKEN,
    "XX000": None,
    "23505": None,
    "42P01": None,
    "22P02": None,
}


@pytest.mark.parametrize(("state", "expected"), STATES.items())
def test_what_postgresql_says_is_read_by_its_code(state: str, expected: failures.StoreFailure | None) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("asks PostgreSQL to say so")
    error = raised(f"DO $$ BEGIN RAISE EXCEPTION 'said' USING ERRCODE = '{state}'; END $$")
    assert failures.classify(error) == expected


def test_a_connection_that_the_server_ended_is_trouble() -> None:
    if connection.vendor != "postgresql":
        pytest.skip("ends a connection of PostgreSQL")
    assert failures.classify(raised("SELECT pg_terminate_backend(pg_backend_pid())")) == failures.AWAY
    assert failures.classify(raised("SELECT 1")) == failures.AWAY  # still the same connection
    connection.close()


def test_a_disk_without_room_is_trouble_and_a_missing_file_is_none() -> None:
    assert failures.classify(OSError(errno.ENOSPC, "No space left on device")) == failures.FULL
    assert failures.classify(FileNotFoundError(errno.ENOENT, "No such file")) is None


def test_a_caller_is_told_nothing_of_where_the_database_is(caplog: pytest.LogCaptureFixture) -> None:
    told = failures.unavailable(sqlite_error(sqlite3.SQLITE_CANTOPEN, "unable to open /srv/secret"))
    assert isinstance(told, Unavailable)
    assert (told.status, told.message) == (503, "The store cannot be reached; try again later.")
    assert "/srv/secret" in caplog.text


def sqlite_error(code: int, words: str = "said") -> sqlite3.OperationalError:
    error = sqlite3.OperationalError(words)
    error.sqlite_errorcode = code
    return error


# ------------------------------------------------------------------------------------------------ log


def test_it_is_told_at_once_and_then_counted(caplog: pytest.LogCaptureFixture) -> None:
    now = [100.0]
    noted = failures.FailureLog(clock=lambda: now[0])
    for second in (0, 1, 5, 9, 10.5, 30):
        now[0] = 100.0 + second
        noted.record(failures.FULL, OSError("no room"), "a write")
    told = [record.getMessage() for record in caplog.records]
    assert told == [f"the store is full ({often} times; a write): no room" for often in (1, 4, 1)]


def test_what_tells_its_whole_way_here_is_told_in_one_line(caplog: pytest.LogCaptureFixture) -> None:
    once = failures.StoreFailureFilter()

    def passes(error: Exception) -> bool:
        found = (type(error), error, None)
        return bool(once.filter(logging.LogRecord("a.b", logging.ERROR, "", 0, "it broke", (), found)))

    assert [passes(sqlite_error(sqlite3.SQLITE_FULL)) for _ in range(1000)] == [False] * 1000
    assert passes(ValueError("a mistake"))
    assert once.filter(logging.LogRecord("a.b", logging.ERROR, "", 0, "no error", (), None))
    answered = logging.makeLogRecord({"name": "django.request", "msg": "Service Unavailable", "status_code": 503})
    assert not once.filter(answered)
    assert len(caplog.records) == 1


# ----------------------------------------------------------------------------------------------- writer


@contextmanager
def somebody_else_writes() -> Iterator[None]:
    with closing(sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


@pytest.fixture
def impatient() -> Iterator[Writer]:
    """A writer that waits half a second for its place."""
    kept = connection.settings_dict["OPTIONS"]
    connection.settings_dict["OPTIONS"] = {**kept, "timeout": 0.5}
    writer = Writer()
    writer.start()
    yield writer
    writer.stop()
    connection.settings_dict["OPTIONS"] = kept


def test_nobody_waits_longer_for_a_held_store_than_the_first(impatient: Writer) -> None:
    """Each waiting for its own turn to wait would be as many half seconds as there are jobs."""
    if connection.vendor != "sqlite":
        pytest.skip("PostgreSQL has no one place for writing")
    with somebody_else_writes():
        began = time.monotonic()
        jobs = [impatient.submit(lambda: Scope.objects.count()) for _ in range(600)]
        errors = [job.exception(10) for job in jobs]
        took = time.monotonic() - began
    assert {failures.classify(error) for error in errors} == {failures.HELD}
    assert took < 60  # and not 600 times half a second
    assert impatient.write(lambda: 1) == 1


# -------------------------------------------------------------------------------------------- readiness


def test_a_held_store_is_not_ready() -> None:
    if connection.vendor != "sqlite":
        pytest.skip("PostgreSQL has no one place for writing")
    with somebody_else_writes():
        assert readiness.problem() == "the database is held by somebody else"
    readiness.forget()
    failures.forget()
    assert readiness.problem() == ""


def test_a_store_that_may_only_be_read_is_not_ready() -> None:
    lite = connection.vendor == "sqlite"
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA query_only=ON" if lite else "SET default_transaction_read_only = on")
    try:
        assert readiness.problem() == "the database cannot be written"
    finally:
        connection.close()
    readiness.forget()
    failures.forget()
    assert readiness.problem() == ""


def test_a_write_that_found_no_room_is_remembered_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(failures, "failure_log", failures.FailureLog(clock=lambda: now[0]))
    failures.unavailable(sqlite_error(sqlite3.SQLITE_FULL))
    assert readiness.problem() == "the database is full"
    readiness.forget()
    now[0] += readiness.RECENT_S
    assert readiness.problem() == ""


def test_a_disk_that_is_nearly_full_is_not_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readiness, "MIN_FREE_BYTES", 1 << 62)
    assert readiness.problem() == "the database is full"


def test_a_log_that_cannot_be_folded_in_stops_no_writer(impatient: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite's own file may not grow, while there is room in its log."""
    if connection.vendor != "sqlite":
        pytest.skip("PostgreSQL folds its log by itself")
    monkeypatch.setattr("agents.base.store.writer.CHECKPOINT_BYTES", 0)
    kept = resource.getrlimit(resource.RLIMIT_FSIZE)
    for _ in range(2):  # the first folds what there was, and the second waits for that
        impatient.write(lambda: Scope.objects.count())
    resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, kept[1]))
    try:
        impatient.write(lambda: Scope.objects.create(digest="a", attributes={"teams": ["x" * 50_000]}))
        assert impatient.submit(lambda: Scope.objects.count()).result(10) == 1
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, kept)
    assert failures.failure_log.recent(60) is failures.BROKEN
