"""The index of the chunks' words, and ranking by them (BM25 on SQLite, weighted ts_rank on PostgreSQL).

Every word carries the key of its database in front (``a1b2_refund``): words of one database are then
found without looking at those of others, and counted without telling anything about them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from django.db import connection, transaction

from agents.base.store.sql import execute
from agents.base.tokenizer import tokens
from agents.knowledge.models.vector_dbs import Chunk
from agents.knowledge.store.filter_sql import Selection

MAX_WORD_CHARS = 200
"""Characters of a word that count here."""
MAX_RANKED_HITS = 4_000
"""Hits that are ranked for one question: its rarest words first, as many as fit. Ranking costs about
2.5 µs a hit, and a word that stands in every other chunk tells nothing."""
LARGE_DATABASE_CHUNKS = 100_000
"""Chunks of a large database; only how words compare depends on it."""
MAX_QUESTION_WORDS = 64
"""Different words of a question that are looked at."""
INDEXED_TOGETHER = 500
"""Chunks of one transaction when all are indexed."""

Hit = tuple[int, float]
"""A chunk's key and its score, more is better."""


def _prefix(db: int) -> str:
    return f"{db:x}_"


def _prefixed_words(db: int, text: str) -> list[str]:
    prefix = _prefix(db)
    return [prefix + word[:MAX_WORD_CHARS] for word in tokens(text)]


def index_text(db: int, text: str) -> str:
    """A chunk's text as its database's index takes it: made before the writer is kept busy."""
    words = _prefixed_words(db, text)
    return " ".join(words) if connection.vendor == "sqlite" else _vector(words)


def index(rows: Iterable[tuple[int, str]]) -> None:
    """Index chunks: (key, text as `shaped`)."""
    sql = "INSERT INTO agents_chunk_search(id, words) VALUES (%s, %s::tsvector)"
    if connection.vendor == "sqlite":
        sql = "INSERT INTO agents_chunk_search(rowid, words) VALUES (%s, %s)"
    with connection.cursor() as cursor:
        cursor.executemany(sql, list(rows))


def index_all() -> None:
    """Index all chunks of a database whose index is empty, in short transactions."""
    after = 0
    while chunks := list(_chunks_after(after)):
        with transaction.atomic():
            index((key, index_text(db, text)) for key, db, text in chunks)
        after = chunks[-1][0]


def _chunks_after(key: int) -> Any:
    rows = Chunk.objects.filter(pk__gt=key).order_by("pk")
    return rows.values_list("pk", "vector_db_id", "text")[:INDEXED_TOGETHER]


def _vector(words: Sequence[str]) -> str:
    """Words with positions, as PostgreSQL reads a tsvector; ts_rank counts positions, up to 255 of a word."""
    return " ".join(f"'{word}':{min(position, 16_383)}" for position, word in enumerate(words, 1))


def remove(where: str, *values: object) -> None:
    """Take the chunks out of the index that this condition (SQL over agents_chunk) means."""
    column = "rowid" if connection.vendor == "sqlite" else "id"
    execute(f"DELETE FROM agents_chunk_search WHERE {column} IN (SELECT id FROM agents_chunk WHERE {where})", *values)  # noqa: S608 - constants


def search(db: int, question: str, limit: int, within: Selection | None = None) -> list[Hit]:
    """The chunks of a database that share words with a question, best first; only those ``within``
    a selection, if there is one. Where all its words are in very many chunks, only some of these are
    ranked (the newest, on SQLite)."""
    counts = _word_counts(list(dict.fromkeys(_prefixed_words(db, question)))[:MAX_QUESTION_WORDS])
    chosen = _rarest(counts)
    if not chosen:
        return []
    if connection.vendor == "sqlite":
        return _bm25(list(chosen), limit, within)
    return _ts_rank(
        {word: math.log(1 + LARGE_DATABASE_CHUNKS / count) for word, count in chosen.items()}, limit, within
    )


def _word_counts(words: Sequence[str]) -> dict[str, int]:
    """How many chunks have each of these words, counted up to the limit; words that none has are left out."""
    counts = {}
    with connection.cursor() as cursor:
        for word in words:
            if connection.vendor == "sqlite":
                match, condition = f'"{word}"', "agents_chunk_search MATCH %s"
            else:
                match, condition = f"'{word}'", "words @@ %s::tsquery"
            sql = f"SELECT COUNT(*) FROM (SELECT 1 FROM agents_chunk_search WHERE {condition} LIMIT %s) AS hits"  # noqa: S608 - constants
            cursor.execute(sql, [match, MAX_RANKED_HITS])
            counts[word] = int(cursor.fetchone()[0])
    return {word: count for word, count in counts.items() if count}


def _rarest(counts: dict[str, int]) -> dict[str, int]:
    """The words to rank by: the rarest, as long as their hits together stay within the limit."""
    chosen: dict[str, int] = {}
    total = 0
    for word, count in sorted(counts.items(), key=lambda pair: pair[1]):
        total += count
        if chosen and total > MAX_RANKED_HITS:
            break
        chosen[word] = count
    return chosen


def _bm25(chosen: Sequence[str], limit: int, within: Selection | None) -> list[Hit]:
    expression = " OR ".join(f'"{word}"' for word in chosen)
    selected, values, condition = "", [], ""
    if within is not None:
        selected, values = f"WITH selected(id) AS MATERIALIZED ({within.sql}) ", [*within.values]
        condition = "AND rowid IN (SELECT id FROM selected)"
    sql = (
        f"{selected}SELECT rowid, -rank FROM agents_chunk_search "  # noqa: S608 - marks only
        f"WHERE agents_chunk_search MATCH %s {condition} AND rowid >= "
        "(SELECT MIN(rowid) FROM (SELECT rowid FROM agents_chunk_search WHERE agents_chunk_search MATCH %s "
        f"{condition} ORDER BY rowid DESC LIMIT %s)) ORDER BY rank LIMIT %s"
    )
    with connection.cursor() as cursor:
        cursor.execute(sql, [*values, expression, expression, MAX_RANKED_HITS, limit])
        return [(int(key), float(score)) for key, score in cursor.fetchall()]


def _ts_rank(weights: dict[str, float], limit: int, within: Selection | None) -> list[Hit]:
    """Each word's rank (normalised by the chunk's length) by how rare it is."""
    scores = " + ".join(["%s * ts_rank(words, %s::tsquery, 1)"] * len(weights))
    values = [value for word, weight in weights.items() for value in (weight, f"'{word}'")]
    expression = " | ".join(f"'{word}'" for word in weights)
    condition, selected = (f"AND id IN ({within.sql})", within.values) if within else ("", ())
    candidates = f"SELECT id, words FROM agents_chunk_search WHERE words @@ %s::tsquery {condition} LIMIT %s"  # noqa: S608 - marks only
    sql = f"SELECT id, {scores} AS score FROM ({candidates}) AS hits ORDER BY score DESC, id LIMIT %s"  # noqa: S608 - marks only
    with connection.cursor() as cursor:
        cursor.execute(sql, [*values, expression, *selected, MAX_RANKED_HITS, limit])
        return [(int(key), float(score)) for key, score in cursor.fetchall()]
