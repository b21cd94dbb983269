"""Tables in parts by month: nothing changes but where rows lie, and what becomes of the space of those that go."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.db import IntegrityError, connection, transaction
from django.test import Client

from agents.base import ids
from agents.base.access import Actor
from agents.base.store import keys
from agents.base.store.writer import writer
from agents.record.store import partitions, replay
from agents.record.store.deletion import delete_turns
from agents.record.store.partitions import TABLES, PartitionedTable
from tests.conftest import Clock
from tests.support.builders import make_turn

pytestmark = pytest.mark.django_db

DETAILS, BLOCKS, EVENTS = TABLES[:3]
MONTH_S = 31 * 86_400


@pytest.fixture(autouse=True)
def _on_postgresql(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has no tables in parts; the PostgreSQL phase of `make check` runs it")
    # Longer than autovacuum, which may be at a table just then, goes on before it gives way to others: a second.
    monkeypatch.setattr(partitions, "LOCK_TIMEOUT_MS", 20_000)


@pytest.fixture
def me(db: None) -> Actor:
    return keys.local()


def split_all() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")  # a table with references to be checked is not changed
    for table in TABLES:
        partitions.split(table, ids.now_us())


def rows_by_part(table: PartitionedTable) -> dict[str, int]:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT tableoid::regclass::text, COUNT(*) FROM {table.name} GROUP BY 1")
        return {name.removeprefix(f"{table.name}_"): count for name, count in cursor.fetchall()}


def names(table: PartitionedTable) -> list[str]:
    return [part.name.removeprefix(f"{table.name}_") for part in partitions.parts(table)]


def schema(name: str) -> Iterator[tuple[str, ...]]:
    """The columns, indexes and references of a table, without the names of what belongs to it."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT attname, format_type(atttypid, atttypmod), attnotnull::text, attcollation::text FROM pg_attribute "
            "WHERE attrelid = %s::regclass AND attnum > 0 UNION ALL "
            "SELECT indisunique::text, indisprimary::text, amname, (SELECT string_agg(attname, ' ' ORDER BY attnum) "
            "FROM pg_attribute WHERE attrelid = indexrelid) FROM pg_index JOIN pg_class c ON c.oid = indexrelid "
            "JOIN pg_am a ON a.oid = relam WHERE indrelid = %s::regclass UNION ALL "
            "SELECT 'reference', '', '', pg_get_constraintdef(oid) FROM pg_constraint "
            "WHERE conrelid = %s::regclass AND contype = 'f' ORDER BY 1, 2, 3, 4",
            [name, name, name],
        )
        yield from cursor.fetchall()


def test_turns_are_read_and_found_and_deleted_as_before(client: Client, me: Actor, clock: Clock) -> None:
    before = make_turn(me, "say The heron is grey.")
    events = replay.load(before.turn)
    split_all()
    after = make_turn(me, "say The heron flew.")
    assert replay.load(before.turn) == events
    for turn in (before, after):
        assert "heron" in client.get(f"/turns/{turn.public_id}/").content.decode()
    found = client.get("/v1/logs/turns", {"q": "heron"}).json()["data"]
    assert [row["id"] for row in found] == [after.public_id, before.public_id]
    writer.write(lambda: delete_turns([before.turn]))
    assert [row["id"] for row in client.get("/v1/logs/turns", {"q": "heron"}).json()["data"]] == [after.public_id]
    for table in TABLES:
        assert set(rows_by_part(table)) <= {"first"}, table


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_the_table_looks_as_before_and_its_months_as_well(table: PartitionedTable, clock: Clock) -> None:
    before = list(schema(table.name))
    split_all()
    if table is BLOCKS:  # the key of the model is none of the ranges: an index like any other
        before.remove(("true", "true", "btree", "id"))
        before.append(("false", "false", "btree", "id"))
    assert sorted(schema(table.name)) == sorted(before)
    assert sorted(schema(f"{table.name}_2027_01")) == sorted(before)


def test_a_turn_lies_in_its_month_and_months_are_made_before_they_begin(me: Actor, clock: Clock) -> None:
    split_all()
    assert names(DETAILS) == ["first", "2026_12", "2027_01", "rest"]
    assert partitions.maintain(ids.now_us()) == ([], [])
    clock.pass_s(MONTH_S)
    made = make_turn(me)
    assert rows_by_part(DETAILS) == {"2026_12": len(replay.load(made.turn)[-1:])}
    assert partitions.maintain(ids.now_us()).made == [f"{table.name}_2027_02" for table in TABLES]
    assert names(DETAILS) == ["first", "2026_12", "2027_01", "2027_02", "rest"]
    assert partitions.maintain(ids.now_us()) == ([], [])


def test_rows_of_a_clock_that_is_ahead_move_to_their_month(me: Actor, clock: Clock) -> None:
    split_all()
    clock.pass_s(5 * MONTH_S)
    ahead = make_turn(me)
    events = replay.load(ahead.turn)
    clock.pass_s(-5 * MONTH_S)
    assert set(rows_by_part(DETAILS)) == {"rest"}
    clock.pass_s(4 * MONTH_S)
    partitions.maintain(ids.now_us())
    assert set(rows_by_part(DETAILS)) == {"2027_04"}
    assert replay.load(ahead.turn) == events


def test_a_month_whose_turns_are_gone_gives_its_space_back(me: Actor, clock: Clock) -> None:
    split_all()
    clock.pass_s(MONTH_S)
    kept = make_turn(me)
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO agents_eventpack SELECT %s + n, 0, decode(repeat(md5(n::text), 40), 'hex') "
            "FROM generate_series(1, 2000) AS n",
            [ids.new_key()],
        )
    clock.pass_s(MONTH_S)
    december = next(part for part in partitions.parts(EVENTS) if part.name.endswith("2026_12"))
    assert december.bytes > partitions.SMALL_BYTES
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM agents_eventpack WHERE turn_id <> %s", [kept.turn])
    assert december.name not in partitions.maintain(ids.now_us()).emptied
    writer.write(lambda: delete_turns([kept.turn]))
    assert december.name in partitions.maintain(ids.now_us()).emptied
    assert next(part.bytes for part in partitions.parts(EVENTS) if part.name == december.name) < december.bytes / 10
    clock.pass_s(-MONTH_S)
    late = make_turn(me)
    assert set(rows_by_part(DETAILS)) == {"2026_12"}
    assert replay.load(late.turn)


def test_a_split_that_was_broken_off_goes_on_where_it_was(me: Actor, clock: Clock) -> None:
    make_turn(me)
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        bound = ids.first_key(1_800_000_000_000_000)
        cursor.execute(
            f"ALTER TABLE {DETAILS.name} ADD CONSTRAINT {DETAILS.name}_first_range "
            f"CHECK ({DETAILS.column} < {bound}) NOT VALID"
        )
    assert partitions.split(DETAILS, ids.now_us()) == bound
    assert names(DETAILS)[0] == "first"


def test_a_split_that_was_never_ended_keeps_nobody_from_writing(me: Actor, clock: Clock) -> None:
    with connection.cursor() as cursor:
        bound = partitions.next_month(ids.now_us())
        cursor.execute(
            f"ALTER TABLE {EVENTS.name} ADD CONSTRAINT {EVENTS.name}_first_range "
            f"CHECK ({EVENTS.column} < {bound}) NOT VALID"
        )
    partitions.maintain(ids.now_us())
    clock.now_us = ids.key_time_us(bound) - partitions.WITHDRAWN_US // 2
    with pytest.raises(IntegrityError), transaction.atomic():
        replay.pack(bound, [], [])
    partitions.maintain(ids.now_us())
    replay.pack(bound, [], [])
    assert partitions.parts(EVENTS) == []
