"""Nearest vectors: each database's embeddings as one matrix in memory, multiplied by the question's.

Exact, and fast enough without an index: 100,000 vectors of 384 numbers are one pass over 150 MB. What
is in memory is checked against the rows at each search, so that other processes may write too; only
what is new is read. numpy is imported when it is first needed.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.db import connection

from agents.knowledge.store.filter_sql import Selection
from agents.knowledge.store.passages import Hit

if TYPE_CHECKING:
    import numpy as np

    Floats = np.ndarray[Any, np.dtype[np.float32]]
    Keys = np.ndarray[Any, np.dtype[np.int64]]

READ_BATCH = 5_000
MAX_CACHE_BYTES = 512 * 1024 * 1024
"""Of all matrices together; the one used longest ago goes first."""


@dataclass(frozen=True, slots=True)
class Matrix:
    """Unit vectors as rows, by ascending key; ``version`` of the database they were read at."""

    version: int
    keys: Keys
    rows: Floats


_cache: OrderedDict[tuple[int, int], Matrix] = OrderedDict()
_lock = threading.Lock()


def forget() -> None:
    """Empty the cache."""
    with _lock:
        _cache.clear()


def pack(vector: Sequence[float]) -> bytes | None:
    """A vector of length one as stored; None for one that has no direction."""
    import numpy as np

    row = np.asarray(vector, dtype="<f8")
    length = float(np.linalg.norm(row))
    return (row / length).astype("<f4").tobytes() if length > 0 else None


def search(db: int, version: int, question: Sequence[float], limit: int, within: Selection | None = None) -> list[Hit]:
    """The chunks of a database whose vectors lie closest to the question's, best first, by cosine; only those
    ``within`` a selection, if there is one. Vectors of another dimension (another model's) are not
    looked at."""
    import numpy as np

    packed = pack(question)
    if packed is None:
        return []
    matrix = _matrix(db, version, len(packed) // 4)
    scores, keys = matrix.rows @ np.frombuffer(packed, dtype="<f4"), matrix.keys
    if within is not None:
        is_within = np.isin(keys, np.array(_keys_of(within), dtype=np.int64))
        scores, keys = scores[is_within], keys[is_within]
    if not len(keys):
        return []
    order = np.argpartition(-scores, min(limit, len(scores)) - 1)[:limit]
    order = order[np.lexsort((keys[order], -scores[order]))]
    return [(int(keys[index]), float(scores[index])) for index in order]


def _keys_of(selection: Selection) -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute(selection.sql, selection.values)
        return [row[0] for row in cursor.fetchall()]


def _matrix(db: int, version: int, dimension: int) -> Matrix:
    name = (db, dimension)
    with _lock:
        cached = _cache.get(name)
        if cached is not None:
            _cache.move_to_end(name)
            if cached.version == version:
                return cached
    loaded = _read(db, version, dimension, cached)
    with _lock:
        _cache[name] = loaded
        _cache.move_to_end(name)
        while len(_cache) > 1 and sum(matrix.rows.nbytes for matrix in _cache.values()) > MAX_CACHE_BYTES:
            _cache.popitem(last=False)
    return loaded


def _read(db: int, version: int, dimension: int, cached: Matrix | None) -> Matrix:
    """The matrix as it is now: what is known of it, without what has gone, and what is new."""
    import numpy as np

    keys = np.array(_keys(db, dimension * 4), dtype=np.int64)
    rows = np.zeros((len(keys), dimension), dtype=np.float32)
    is_missing = np.ones(len(keys), dtype=bool)
    if cached is not None and len(cached.keys) and len(keys):
        positions = np.searchsorted(cached.keys, keys)
        positions[positions == len(cached.keys)] = 0
        is_missing = cached.keys[positions] != keys
        rows[~is_missing] = cached.rows[positions[~is_missing]]
    _fill(rows, keys, np.flatnonzero(is_missing))
    return Matrix(version, keys, rows)


def _keys(db: int, size: int) -> list[int]:
    sql = "SELECT id FROM agents_chunk WHERE vector_db_id = %s AND LENGTH(embedding) = %s ORDER BY id"
    with connection.cursor() as cursor:
        cursor.execute(sql, [db, size])
        return [row[0] for row in cursor.fetchall()]


def _fill(rows: Floats, keys: Keys, positions: Any) -> None:
    """Read these rows' vectors."""
    import numpy as np

    for start in range(0, len(positions), READ_BATCH):
        batch = positions[start : start + READ_BATCH]
        row_by_key = dict(zip(keys[batch].tolist(), batch.tolist(), strict=True))
        for key, packed in _embeddings(list(row_by_key)):
            rows[row_by_key[key]] = np.frombuffer(packed, dtype="<f4")


def _embeddings(keys: list[int]) -> list[tuple[int, bytes]]:
    """(key, packed vector) of these chunks, which are in ascending order."""
    marks = ", ".join(["%s"] * len(keys))
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT id, embedding FROM agents_chunk WHERE id IN ({marks})", keys)  # noqa: S608 - marks only
        return [(row[0], bytes(row[1])) for row in cursor.fetchall()]
