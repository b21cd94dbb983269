"""The search index: one document per turn's messages and one per step, in the transaction that
writes them. Words are made by the one Python tokeniser on both databases, so the database only
splits at blanks.

On SQLite two FTS5 tables, on PostgreSQL two tables with a stored ``tsvector``; both are made by
migration 0002.
"""

from __future__ import annotations

from typing import Literal

from django.db import connection
from django.db.models.expressions import RawSQL

from agents.query.tokens import index_text
from agents.store.sql import execute

LIMIT = 200_000
"""Characters of a document that are indexed."""


def index_turn(turn: int, asked: str) -> None:
    """Index what was asked in a new turn."""
    words = index_text(asked[:LIMIT])
    if connection.vendor == "sqlite":
        execute("INSERT INTO agents_turn_search(rowid, input, output) VALUES (%s, %s, '')", turn, words)
        return
    sql = "INSERT INTO agents_turn_search(id, input, output, words) VALUES (%s, %s, '', %s::tsvector)"
    execute(sql, turn, words, _vector(words, "A"))


def index_answer(turn: int, answered: str) -> None:
    """Index (again) what a turn answered."""
    words = index_text(answered[:LIMIT])
    if connection.vendor == "sqlite":
        execute("UPDATE agents_turn_search SET output = %s WHERE rowid = %s", words, turn)
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT input FROM agents_turn_search WHERE id = %s", [turn])
        asked = (cursor.fetchone() or ("",))[0]
    vector = f"{_vector(asked, 'A')} {_vector(words, 'B')}"
    execute("UPDATE agents_turn_search SET output = %s, words = %s::tsvector WHERE id = %s", words, vector, turn)


def index_step(step: int, turn: int, text: str) -> None:
    """Index (again) what a step called, got or thought."""
    words = index_text(text[:LIMIT])
    if connection.vendor == "sqlite":
        sql = "INSERT OR REPLACE INTO agents_step_search(rowid, words, turn_id) VALUES (%s, %s, %s)"
        execute(sql, step, words, turn)
        return
    execute(
        "INSERT INTO agents_step_search(id, turn_id, words) VALUES (%s, %s, %s::tsvector) "
        "ON CONFLICT (id) DO UPDATE SET words = excluded.words",
        step,
        turn,
        _vector(words, "A"),
    )


_HALF = 8_191
"""Positions end at 16,383 in PostgreSQL; what was asked has the first half, the answer the second:
a word at one position twice would keep only one of its weights."""


def _vector(words: str, weight: Literal["A", "B"]) -> str:
    """Words with their positions as PostgreSQL reads a tsvector: its own parser would split them
    again. A lexeme ends at 2 KB there; the weight tells asked (A) from answered (B)."""
    first = 1 if weight == "A" else _HALF + 1
    places = enumerate(words.split(), first)
    return " ".join(f"'{word[:500]}':{min(place, first + _HALF - 1)}{weight}" for place, word in places)


def remove(turns: list[int], steps: list[int]) -> None:
    """Take documents out of the index."""
    column = "rowid" if connection.vendor == "sqlite" else "id"
    with connection.cursor() as cursor:
        for table, keys in (("agents_turn_search", turns), ("agents_step_search", steps)):
            cursor.executemany(f"DELETE FROM {table} WHERE {column} = %s", [[key] for key in keys])  # noqa: S608 - constants


# ----------------------------------------------------------------------------------------- searching


def turn_condition(text: str, *, prefix: bool, side: Literal["input", "output"] | None = None) -> RawSQL:
    """A subquery of the turns whose messages contain these words next to each other, the last one
    only begun with where ``prefix``; ``side`` looks at one side of the conversation."""
    words = index_text(text)
    if connection.vendor == "sqlite":
        match = _fts(words, prefix)
        match = f"{side} : {match}" if side else match
        return RawSQL("SELECT rowid FROM agents_turn_search WHERE agents_turn_search MATCH %s", [match])
    weight = {"input": "A", "output": "B", None: ""}[side]
    sql = "SELECT id FROM agents_turn_search WHERE words @@ %s::tsquery"
    return RawSQL(sql, [_tsquery(words, prefix, weight)])  # noqa: S611 - bound


def turn_equality(text: str, side: Literal["input", "output"]) -> RawSQL:
    """A subquery of the turns one side of which is exactly these words."""
    words = index_text(text)
    column = "rowid" if connection.vendor == "sqlite" else "id"
    return RawSQL(f"SELECT {column} FROM agents_turn_search WHERE {side} = %s", [words])  # noqa: S608, S611 - constants, bound


def step_condition(text: str, *, prefix: bool) -> RawSQL:
    """The same for steps."""
    words = index_text(text)
    if connection.vendor == "sqlite":
        sql = "SELECT rowid FROM agents_step_search WHERE agents_step_search MATCH %s"
        return RawSQL(sql, [_fts(words, prefix)])  # noqa: S611 - bound
    return RawSQL("SELECT id FROM agents_step_search WHERE words @@ %s::tsquery", [_tsquery(words, prefix, "")])


def _fts(words: str, prefix: bool) -> str:
    """A phrase as FTS5 reads it: words hold no quotes."""
    return f'"{words}"{" *" if prefix else ""}'


def _tsquery(words: str, prefix: bool, weight: str) -> str:
    parts = [f"'{word[:500]}'" for word in words.split()]
    tail = ("*" if prefix else "") + weight
    last = len(parts) - 1
    marks = [f"{part}:{tail if place == last else weight}".rstrip(":") for place, part in enumerate(parts)]
    return " <-> ".join(marks)
