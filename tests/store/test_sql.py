"""Statements of the hot path: many rows in few statements, and the same as one by one."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, transaction

from agents.base.store.sql import TOGETHER, Insert
from agents.models.journal import Term
from agents.record.models.choices import TermKind

pytestmark = pytest.mark.django_db

MANY = 2 * sum(TOGETHER) + 3
"""Rows of every size of statement, and some more."""


def rows(first: int, *, word: str = "word") -> list[tuple[int, int, str, str]]:
    return [(key, TermKind.TOOL, f"{word} {key}", "") for key in range(first, first + MANY)]


def words() -> dict[int, str]:
    return dict(Term.objects.values_list("pk", "value"))


def test_each_row_is_written_once_and_in_its_place() -> None:
    Insert(Term, "id kind value folded").many(iter(rows(1000)))
    assert words() == {key: word for key, _, word, _ in rows(1000)}


def test_rows_that_are_there_are_written_anew(db: None) -> None:
    put = Insert(Term, "id kind value folded", replace="id")
    put.many(rows(1000))
    put.many([*rows(1000, word="other"), (1000, TermKind.TOOL, "twice", "")])
    assert words() == {key: word for key, _, word, _ in rows(1000, word="other")} | {1000: "twice"}


def test_or_left_as_they_are() -> None:
    put = Insert(Term, "id kind value folded", once=True)
    put.many(rows(1000))
    put.many(rows(1001, word="other"))
    assert words()[1001] == "word 1001"
    assert words()[1000 + MANY] == f"other {1000 + MANY}"


def test_characters_that_no_database_takes_are_replaced() -> None:
    Insert(Term, "id kind value folded").many([(1, TermKind.TOOL, "a\0b", "")])
    assert "\0" not in words()[1]


def test_a_row_that_is_refused_leaves_none_of_them() -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        Insert(Term, "id kind value folded").many([*rows(1000), *rows(1000)])
    assert words() == {}


def test_no_rows_are_no_statement() -> None:
    Insert(Term, "id kind value folded").many([])
    assert words() == {}
