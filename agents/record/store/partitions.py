"""Large tables of PostgreSQL in parts by month: those with the contents of turns and steps, and the words to search.

Their keys begin with the time, so that a month is a range of keys. Deletion leaves the space of rows to later rows of
the same table; a month of which every row is gone is emptied as a whole, and gives its space, that of its indexes too,
back to the disk. What a table holds when it is split stays together as its oldest part, and is not copied.

``manage.py partition`` splits the tables; the process that leads looks after them. Each range has a part: late rows
find the part of their month, and those of a clock that is ahead go to a part for all the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, NamedTuple

from django.db import OperationalError, connection, transaction

from agents.base import ids
from agents.base.lock_waits import is_held_up, waiting_for_locks

MONTHS_AHEAD = 2
"""Months that have a part before they begin: a process that leads again after so long still comes in time."""
AHEAD_US, WITHDRAWN_US = 86_400_000_000, 21_600_000_000
"""How long before a month a table may begin to be split at it: what is written until the end must lie before. And when
one that was not split to the end is left whole."""
LOCK_TIMEOUT_MS = 500
"""How long a table is waited for: who uses it longer goes first, and it is tried again later. Shorter than PostgreSQL
waits before it looks for two that wait for each other, and ends one."""

SMALL_BYTES = 1 << 20
"""A part of this size is not worth the look whether it is empty."""


class PartitionedTable(NamedTuple):
    """A table that can be split, and the column that its ranges are of. ``lookup`` is its primary key, where that is
    another column."""

    name: str
    column: str
    lookup: str = ""


TABLES = (
    PartitionedTable("agents_stepdetail", "step_id"),
    PartitionedTable("agents_valueblock", "step_id", lookup="id"),
    PartitionedTable("agents_eventpack", "turn_id"),
    PartitionedTable("agents_turnbody", "turn_id"),
    PartitionedTable("agents_turn_search", "id"),
    PartitionedTable("agents_step_search", "id"),
)


class Part(NamedTuple):
    """A part of a table: the first key that it does not hold, None for the part of all the rest; and its size."""

    name: str
    end: int | None
    bytes: int


class Upkeep(NamedTuple):
    """What a round has changed: the names of parts."""

    made: list[str]
    emptied: list[str]


def parts(table: PartitionedTable) -> list[Part]:
    """Return the parts of a table, the oldest first and that of all the rest last; none where it is not split."""
    rows = _rows(
        "SELECT c.relname, pg_get_expr(c.relpartbound, c.oid), pg_total_relation_size(c.oid) FROM pg_inherits i "
        "JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = to_regclass(%s)",
        table.name,
    )
    unsorted = [Part(name, _end(bound), size) for name, bound, size in rows]
    return sorted(unsorted, key=lambda part: (part.end is None, part.end or 0))


def _end(bound: str) -> int | None:
    match = re.search(r"TO \('(\d+)'\)", bound)
    return int(match[1]) if match else None


# ------------------------------------------------------------------------------------------------ splitting


def split(table: PartitionedTable, now_us: int) -> int:
    """Make a table that servers read and write one of parts; returns the first key of its first month to come. All
    that is there is read once, beside them; they wait for the short moment in which the parts are put together.
    Raises OperationalError where the table was in use for `LOCK_TIMEOUT_MS`: nothing has changed then, and what was
    read need not be read again."""
    old = f"{table.name}_first"
    if table.lookup:
        _index_lookups(table)
    start = _bound_that_holds(table, f"{old}_range", now_us)
    _execute(f"ALTER TABLE {table.name} VALIDATE CONSTRAINT {old}_range")  # readers and writers go on meanwhile
    with transaction.atomic(), waiting_for_locks(connection, LOCK_TIMEOUT_MS):
        for referred in _referred(table):  # first, as who writes rows of both does
            _execute(f"LOCK TABLE {referred} IN SHARE ROW EXCLUSIVE MODE")
        _execute(f"LOCK TABLE {table.name} IN ACCESS EXCLUSIVE MODE")
        remakes = list(_indexes_and_references(table, old))
        _execute(f"ALTER TABLE {table.name} RENAME TO {old}")
        _execute(
            f"CREATE TABLE {table.name} (LIKE {old} INCLUDING DEFAULTS INCLUDING STORAGE INCLUDING COMPRESSION) "
            f"PARTITION BY RANGE ({table.column})"
        )
        _execute(f"ALTER TABLE {table.name} ATTACH PARTITION {old} FOR VALUES FROM (MINVALUE) TO ({start})")
        _execute(f"ALTER TABLE {old} DROP CONSTRAINT {old}_range")
        _execute(f"CREATE TABLE {table.name}_rest PARTITION OF {table.name} DEFAULT")
        for rename, remake in remakes:
            _execute(rename)
            _execute(remake)
        list(_add_months(table, start, now_us))
    _execute(f"ANALYZE {table.name}")  # the planner's numbers of the whole, which autovacuum leaves to others
    return start


def withdraw(table: PartitionedTable) -> None:
    """Leave a table whole that was not split to the end."""
    with transaction.atomic(), waiting_for_locks(connection, LOCK_TIMEOUT_MS):
        _execute(f"ALTER TABLE {table.name} DROP CONSTRAINT IF EXISTS {table.name}_first_range")


def _bound_that_holds(table: PartitionedTable, constraint: str, now_us: int) -> int:
    """Have the database hold that all keys are below the first month to come, and return that month's first key. So
    a table that was not split to the end goes on where it was."""
    bound = _held_bound(constraint)
    if bound is not None:
        return bound
    [[last]] = _rows(f"SELECT COALESCE(MAX({table.column}), 0) FROM {table.name}")  # noqa: S608 - names of ours
    start = next_month(max(now_us + AHEAD_US, ids.key_time_us(last)))
    with transaction.atomic(), waiting_for_locks(connection, LOCK_TIMEOUT_MS):
        _execute(f"ALTER TABLE {table.name} ADD CONSTRAINT {constraint} CHECK ({table.column} < {start}) NOT VALID")
    return start


def _held_bound(constraint: str) -> int | None:
    held = _rows("SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = %s", constraint)
    return int(re.findall(r"\d+", held[0][0].rpartition("<")[2])[0]) if held else None


def _index_lookups(table: PartitionedTable) -> None:
    """Index the primary key: a table of parts has no key that its ranges are not of."""
    name = f"{table.name}_{table.lookup}"
    if not _rows("SELECT 1 FROM pg_index WHERE indexrelid = to_regclass(%s) AND indisvalid", name):
        concurrently = "" if connection.in_atomic_block else "CONCURRENTLY"
        _execute(f"DROP INDEX {concurrently} IF EXISTS {name}")
        _execute(f"CREATE INDEX {concurrently} {name} ON {table.name} ({table.lookup})")


def _indexes_and_references(table: PartitionedTable, old: str) -> Iterator[tuple[str, str]]:
    """Yield how to rename each index and each reference of a table, and how to make it for the table of parts, where
    PostgreSQL finds the former to be the oldest part's share of it."""
    constraints = _rows(
        "SELECT conname, contype::text, conindid, pg_get_constraintdef(oid) FROM pg_constraint "
        "WHERE conrelid = to_regclass(%s) AND contype IN ('p', 'u', 'f') ORDER BY contype DESC",
        table.name,
    )
    for name, kind, _index, definition in constraints:
        if kind != "p" or not table.lookup:
            yield (
                f'ALTER TABLE {old} RENAME CONSTRAINT "{name}" TO "{_renamed(name)}"',
                f'ALTER TABLE {table.name} ADD CONSTRAINT "{name}" {definition}',
            )
    indexes = _rows(
        "SELECT c.relname, pg_get_indexdef(c.oid) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid "
        "WHERE i.indrelid = to_regclass(%s) AND NOT i.indexrelid = ANY(%s)",
        table.name,
        [index for _, kind, index, _ in constraints if kind != "f"],
    )
    for name, definition in indexes:
        yield f'ALTER INDEX "{name}" RENAME TO "{_renamed(name)}"', definition


def _referred(table: PartitionedTable) -> list[str]:
    """Return the tables that one refers to."""
    references = _rows(
        "SELECT confrelid::regclass::text FROM pg_constraint WHERE conrelid = to_regclass(%s) AND contype = 'f'",
        table.name,
    )
    return [name for (name,) in references]


def _renamed(name: str) -> str:
    return f"{name[:50]}_first"  # PostgreSQL cuts names at 63 bytes


# ------------------------------------------------------------------------------------------------ upkeep


def maintain(now_us: int) -> Upkeep:
    """Make parts for the months to come, and empty those that nothing is left in. Called once an hour, by the process
    that leads. Where no table is split it only withdraws what a command that died has left."""
    done = Upkeep([], [])
    if connection.vendor != "postgresql":
        return done
    for table in TABLES:
        there = parts(table)
        ends = [part.end for part in there if part.end is not None]
        if not ends:
            bound = _held_bound(f"{table.name}_first_range")
            if bound is not None and bound < ids.first_key(now_us + WITHDRAWN_US):
                with _given_up_where_in_use():
                    withdraw(table)  # nobody could write from that month on
            continue
        with _given_up_where_in_use(), transaction.atomic(), waiting_for_locks(connection, LOCK_TIMEOUT_MS):
            done.made.extend(_add_months(table, max(ends), now_us))
        for part in there:
            if part.end is not None and part.end <= ids.first_key(now_us):
                with _given_up_where_in_use():
                    done.emptied.extend(_empty(table, part))
    return done


def _add_months(table: PartitionedTable, start: int, now_us: int) -> Iterator[str]:
    """Make a part for each month from the one that begins with the key ``start`` to `MONTHS_AHEAD` from now."""
    last = now_us
    for _ in range(MONTHS_AHEAD):
        last = ids.key_time_us(next_month(last))
    while ids.key_time_us(start) <= last:
        end = next_month(ids.key_time_us(start))
        name = f"{table.name}_{datetime.fromtimestamp(ids.key_time_us(start) / 1e6, UTC):%Y_%m}"
        within = f"{table.column} >= {start} AND {table.column} < {end}"
        _execute(f"CREATE TABLE {name} (LIKE {table.name} INCLUDING ALL)")
        # rows that came before their month, by a clock that is ahead
        _execute(f"INSERT INTO {name} SELECT * FROM {table.name}_rest WHERE {within}")  # noqa: S608 - names and numbers of ours
        _execute(f"DELETE FROM {table.name}_rest WHERE {within}")  # noqa: S608 - names and numbers of ours
        _execute(f"ALTER TABLE {table.name} ATTACH PARTITION {name} FOR VALUES FROM ({start}) TO ({end})")
        yield name
        start = end


def _empty(table: PartitionedTable, part: Part) -> Iterator[str]:
    """Give the space of a part back, where all its rows are gone."""
    if part.bytes <= SMALL_BYTES or _has_rows(table, part):
        return
    with transaction.atomic(), waiting_for_locks(connection, LOCK_TIMEOUT_MS):
        _execute(f"LOCK TABLE {part.name} IN ACCESS EXCLUSIVE MODE")
        if not _has_rows(table, part):
            _execute(f"TRUNCATE TABLE {part.name}")
            yield part.name


def _has_rows(table: PartitionedTable, part: Part) -> bool:
    # by the index: the first look marks the entries of rows that are gone, so that the second, under the lock, is short
    return bool(_rows(f"SELECT 1 FROM {part.name} ORDER BY {table.column} LIMIT 1"))  # noqa: S608 - names of ours


def next_month(at_us: int) -> int:
    """Return the first key of the month after this time (microseconds since 1970)."""
    at = datetime.fromtimestamp(at_us / 1e6, UTC)
    start = datetime(at.year + at.month // 12, at.month % 12 + 1, 1, tzinfo=UTC)
    return ids.first_key(int(start.timestamp()) * 1_000_000)


@contextmanager
def _given_up_where_in_use() -> Iterator[None]:
    """Leave a part as it is that others use for too long: there is another round."""
    try:
        yield
    except OperationalError as error:
        if not is_held_up(error):
            raise


def _rows(sql: str, *values: Any) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        return list(cursor.fetchall())


def _execute(sql: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql)
