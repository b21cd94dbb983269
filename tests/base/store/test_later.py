"""Statements whose outcome nobody looks at: they are run in their order and with their transaction, whenever they are
sent."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import pytest
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext

from agents.base.models.terms import Term, TermKind
from agents.base.store.sql import Insert, Select, execute, execute_later, execute_many

pytestmark = pytest.mark.django_db

ADD = Insert(Term, "id kind value folded")
READ = Select(Term, "value", "id = %s")
WRITE = "UPDATE agents_term SET value = %s WHERE id = %s"
READERS: dict[str, Callable[[int], str]] = {
    "a prepared statement": lambda key: READ.all(key)[0][0],
    "the first row": lambda key: str((READ.first(key) or [""])[0]),
    "Django": lambda key: Term.objects.get(pk=key).value,
    "Django, in portions": lambda key: next(Term.objects.filter(pk=key).iterator()).value,
    "a cursor": lambda key: _by_cursor(key),
}


def _by_cursor(key: int) -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT value FROM agents_term WHERE id = %s", [key])
        return str(cursor.fetchone()[0])


def add(key: int, value: str = "") -> None:
    ADD.later(key, TermKind.TOOL, value or f"word {key}", "")


def add_together(*keys: int, then: Callable[[], object] = lambda: None) -> None:
    with transaction.atomic():
        for key in keys:
            add(key)
        then()


@pytest.mark.parametrize("reader", READERS)
def test_whoever_reads_next_finds_what_they_wrote(reader: str) -> None:
    add(1)
    execute_later(WRITE, "second", 1)
    execute_many(WRITE, [("third", 1), ("fourth", 1)])
    assert READERS[reader](1) == "fourth"


def test_the_next_one_counts_only_its_own_rows() -> None:
    add(1)
    add(2)
    assert execute(WRITE, "second", 1) == 1
    assert execute(WRITE, "second", 3) == 0


@pytest.mark.parametrize("value", ["it's; DROP TABLE agents_term; --", "100 %s %(name)s %%", "\\' \\x00", "$1 日本 🙂"])
def test_text_stays_text(value: str) -> None:
    add(1, value)
    execute_later(WRITE, value + value, 1)
    assert READ.all(1) == [(value + value,)]


def test_what_fails_takes_its_savepoint_with_it_and_nothing_else() -> None:
    add(1)
    with pytest.raises(IntegrityError):
        add_together(2, 1)
    add(3)
    assert sorted(Term.objects.values_list("pk", flat=True)) == [1, 3]


def test_what_fails_is_told_to_whoever_reads_next() -> None:
    add(1)
    with pytest.raises(IntegrityError):
        add_together(1, then=lambda: READ.all(1))
    assert READ.all(1) == [("word 1",)]


def test_nothing_is_left_of_a_savepoint_that_is_given_up() -> None:
    add(1)
    with suppress(ZeroDivisionError), transaction.atomic():
        add(2)
        _ = 1 / 0
    assert list(Term.objects.values_list("pk", flat=True)) == [1]


@pytest.mark.django_db(transaction=True)
def test_the_commit_comes_after_them() -> None:
    add_together(1)
    with pytest.raises(IntegrityError):
        add_together(2, 1)
    with suppress(ZeroDivisionError), transaction.atomic():
        add(3)
        _ = 1 / 0
    add(4)
    assert sorted(Term.objects.values_list("pk", flat=True)) == [1, 4]


def test_many_of_them() -> None:
    words = [f"{key} {'x' * 200}" for key in range(1, 2_001)]
    for key, word in enumerate(words, 1):
        add(key, word)
    assert list(Term.objects.order_by("pk").values_list("value", flat=True)) == words


def test_who_watches_statements_sees_them() -> None:
    with CaptureQueriesContext(connection) as seen:
        add(1)
        execute_later(WRITE, "second", 1)
        READ.all(1)
    assert [query["sql"].split()[0] for query in seen] == ["INSERT", "UPDATE", "SELECT"]
