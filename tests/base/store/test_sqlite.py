"""Our engine for SQLite: its own statements ask of a connection what Django's cursor asks."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from threading import Thread

import pytest
from django.db import DatabaseError, IntegrityError, OperationalError, connection, transaction
from django.db.transaction import TransactionManagementError

from agents.base.errors import QuerySyntax
from agents.base.models.terms import Term, TermKind
from agents.base.store import cursors
from agents.base.store.sql import Insert, Select, execute, execute_later, execute_many

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(bool(os.environ.get("TEST_DATABASE_URL")), reason="about SQLite's engine"),
]

ADD = Insert(Term, "id kind value folded")
READ = Select(Term, "value", "id = %s")
WRITE = "UPDATE agents_term SET value = %s WHERE id = %s"
STATEMENTS: dict[str, Callable[[], object]] = {
    "a written row": lambda: ADD.execute(1, TermKind.TOOL, "word", ""),
    "one that nobody asks about": lambda: ADD.later(1, TermKind.TOOL, "word", ""),
    "rows": lambda: ADD.execute_many([(1, TermKind.TOOL, "word", "")]),
    "changes": lambda: execute_many(WRITE, [("word", 1)]),
    "a read row": lambda: READ.first(1),
}


@pytest.mark.parametrize("run", STATEMENTS.values(), ids=STATEMENTS)
def test_a_broken_transaction_takes_no_statement(run: Callable[[], object]) -> None:
    with transaction.atomic():
        transaction.set_rollback(True)
        with pytest.raises(TransactionManagementError):
            run()


@pytest.mark.parametrize("run", STATEMENTS.values(), ids=STATEMENTS)
def test_nor_does_another_thread_s_connection(run: Callable[[], object]) -> None:
    raised: list[Exception] = []
    ours = cursors.database()

    def elsewhere() -> None:
        cursors._held.database = ours
        try:
            run()
        except DatabaseError as error:
            raised.append(error)

    thread = Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert "created in a thread" in str(raised[0])


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("run", STATEMENTS.values(), ids=STATEMENTS)
def test_a_closed_connection_is_opened_again(run: Callable[[], object]) -> None:
    connection.close()
    run()
    assert connection.connection is not None
    assert not connection.connection.in_transaction


@pytest.mark.django_db(transaction=True)
def test_a_transaction_that_lost_its_connection_is_not_continued_on_another() -> None:
    with pytest.raises(TransactionManagementError):
        _write_around(connection.close)


@transaction.atomic
def _write_around(between: Callable[[], object]) -> None:
    execute_later(WRITE, "word", 1)
    between()
    execute_later(WRITE, "word", 1)


@pytest.mark.django_db(transaction=True)
def test_a_transaction_begins_with_the_lock_and_ends_with_its_rows_or_without() -> None:
    with transaction.atomic():
        assert connection.connection.in_transaction
        ADD.later(1, TermKind.TOOL, "word", "")
    with suppress(ZeroDivisionError), transaction.atomic():
        ADD.later(2, TermKind.TOOL, "other", "")
        _ = 1 / 0
    assert not connection.connection.in_transaction
    assert [READ.first(key) for key in (1, 2)] == [("word",), None]


def test_errors_are_django_s_with_sqlite_s_as_their_cause() -> None:
    ADD.later(1, TermKind.TOOL, "word", "")
    for again in (ADD.later, ADD.execute, lambda *row: ADD.execute_many([row])):
        with pytest.raises(IntegrityError) as raised, transaction.atomic():
            again(1, TermKind.TOOL, "word", "")
        assert getattr(raised.value.__cause__, "sqlite_errorname", "") == "SQLITE_CONSTRAINT_PRIMARYKEY"
    with pytest.raises(OperationalError), transaction.atomic():
        execute("UPDATE nothing SET value = 1")


def test_marks_and_percent_signs_are_told_apart() -> None:
    with cursors.direct_cursor() as cursor:
        assert cursor.execute("SELECT '100 %%', %s, '%%s', '%%%%s'", ["100 %%"]).fetchone() == (
            "100 %",
            "100 %%",
            "%s",
            "%%s",
        )
        assert cursor.execute("SELECT '100 %'").fetchone() == ("100 %",)


@pytest.mark.parametrize("direct", [True, False])
def test_what_is_nested_too_deeply_is_refused_as_a_query(direct: bool) -> None:
    text = f"SELECT {'(' * 200}1{')' * 200}"
    with pytest.raises(QuerySyntax), cursors.direct_cursor() if direct else connection.cursor() as cursor:
        cursor.execute(text)
