"""Statements of the hot path: many rows in few statements, and the same as one by one."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, transaction

from agents.base import ids
from agents.base.access import Actor
from agents.base.models.terms import Term, TermKind
from agents.base.store.sql import MIN_COPY_ROWS, Compiled, Insert
from agents.base.store.sqlite.base import BATCH_SIZES
from agents.base.store.writer import writer
from agents.record.models.turns import Item
from agents.record.store import history
from agents.record.store.history import NewItem
from tests.support.builders import make_session

pytestmark = pytest.mark.django_db

MANY = 2 * sum(BATCH_SIZES) + 3
"""Rows of every size of statement, and some more."""


def rows(first: int, *, word: str = "word") -> list[tuple[int, int, str, str]]:
    return [(key, TermKind.TOOL, f"{word} {key}", "") for key in range(first, first + MANY)]


def words() -> dict[int, str]:
    return dict(Term.objects.values_list("pk", "value"))


def test_each_row_is_written_once_and_in_its_place() -> None:
    Insert(Term, "id kind value folded").execute_many(iter(rows(1000)))
    assert words() == {key: word for key, _, word, _ in rows(1000)}


def test_rows_that_are_there_are_written_anew(db: None) -> None:
    put = Insert(Term, "id kind value folded", replace="id")
    put.execute_many(rows(1000))
    put.execute_many([*rows(1000, word="other"), (1000, TermKind.TOOL, "twice", "")])
    assert words() == {key: word for key, _, word, _ in rows(1000, word="other")} | {1000: "twice"}


def test_or_left_as_they_are() -> None:
    put = Insert(Term, "id kind value folded", once=True)
    put.execute_many(rows(1000))
    put.execute_many(rows(1001, word="other"))
    assert words()[1001] == "word 1001"
    assert words()[1000 + MANY] == f"other {1000 + MANY}"


def test_characters_that_no_database_takes_are_replaced() -> None:
    Insert(Term, "id kind value folded").execute_many([(1, TermKind.TOOL, "a\0b", "")])
    assert "\0" not in words()[1]


def test_a_row_that_is_refused_leaves_none_of_them() -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        Insert(Term, "id kind value folded").execute_many([*rows(1000), *rows(1000)])
    assert words() == {}


def test_no_rows_are_no_statement() -> None:
    Insert(Term, "id kind value folded").execute_many([])
    assert words() == {}


def test_very_many_rows_are_as_they_were_given(admin: Actor) -> None:
    session = make_session(admin)
    strange = [b'{"a":"\\n\\t\\\\N"}', b"\t", b"\\N", b"\\.", b"\n", b"\x00\xff", b""]
    bodies = [b"%d %b" % (number, strange[number % len(strange)]) for number in range(MIN_COPY_ROWS + 200)]
    items = [NewItem(ids.new_key(), body, body[::-1]) for body in bodies]
    writer.write(lambda: history.put(session, 0, items))
    rows = Item.objects.unscoped("test").filter(session_id=session).order_by("number")
    found = rows.values_list("pk", "turn_id", "number", "hidden", "body", "wire")
    assert [(*row[:4], bytes(row[4]), bytes(row[5])) for row in found] == [
        (item.key, None, number, False, item.body, item.wire) for number, item in enumerate(items)
    ]


def test_a_compiled_query_finds_what_is_there_each_time() -> None:
    query = Compiled(lambda: Term.objects.filter(kind=TermKind.TOOL, value__startswith="word").values_list("pk")[:2])
    assert query.all() == []
    Insert(Term, "id kind value folded").execute_many(rows(1000)[:1])
    assert query.all() == [(1000,)]
    Insert(Term, "id kind value folded").execute_many(rows(1001))
    assert len(query.all()) == 2
