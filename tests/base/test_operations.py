"""Operations of migrations on tables that others use meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection, models
from django.db.migrations import CreateModel
from django.db.migrations.state import ProjectState

from agents.base.models.operations import AddIndexBesideWriters, FillBesideWriters

pytestmark = pytest.mark.django_db(transaction=True)

INDEX = models.Index(fields=["colour"], name="leaf_colour", condition=~models.Q(colour=""))


@pytest.fixture
def leaves(db: None) -> Iterator[ProjectState]:
    """A table, in two parts where the database has such."""
    state = ProjectState()
    fields: list[tuple[str, models.Field[Any, Any]]] = [
        ("id", models.BigIntegerField(primary_key=True)),
        ("colour", models.TextField()),
    ]
    CreateModel("Leaf", fields, options={"db_table": "leaf"}).state_forwards("trees", state)
    with connection.cursor() as cursor:
        columns = "CREATE TABLE leaf (id bigint PRIMARY KEY, colour text NOT NULL)"
        if connection.vendor == "postgresql":
            cursor.execute(f"{columns} PARTITION BY RANGE (id)")
            cursor.execute("CREATE TABLE leaf_first PARTITION OF leaf FOR VALUES FROM (MINVALUE) TO (10)")
            cursor.execute("CREATE TABLE leaf_rest PARTITION OF leaf DEFAULT")
        else:
            cursor.execute(columns)
    yield state
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE leaf")


def add_index(before: ProjectState) -> None:
    operation, after = AddIndexBesideWriters("leaf", INDEX), before.clone()
    operation.state_forwards("trees", after)
    with connection.schema_editor(atomic=False) as editor:
        operation.database_forwards("trees", editor, before, after)


def indexes() -> dict[str, bool]:
    """The indexes of colours, and whether they are whole."""
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("SELECT name, 1 FROM sqlite_master WHERE type = 'index' AND sql LIKE '%colour%'")
        else:
            cursor.execute(
                "SELECT c.relname, i.indisvalid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid "
                "WHERE pg_get_indexdef(c.oid) LIKE '%(colour)%'"
            )
        return dict(cursor.fetchall())


PARTS = {"leaf_colour": True, "leaf_first_leaf_colour": True, "leaf_rest_leaf_colour": True}


def test_an_index_is_built_part_by_part(leaves: ProjectState) -> None:
    add_index(leaves)
    assert indexes() == (PARTS if connection.vendor == "postgresql" else {"leaf_colour": True})


def test_a_build_that_was_broken_off_is_done_again(leaves: ProjectState) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("SQLite builds an index within the migration's transaction")
    with connection.cursor() as cursor:
        cursor.execute("CREATE INDEX leaf_first_leaf_colour ON leaf_first (id)")
        cursor.execute("CREATE INDEX leaf_colour ON ONLY leaf (colour)")
    add_index(leaves)
    assert indexes() == PARTS


def test_rows_are_filled_in_a_few_at_a_time() -> None:
    behind: list[int] = []

    def fill(cursor: Any, after: int) -> int | None:
        assert connection.in_atomic_block
        behind.append(after)
        return after + 10 if after < 20 else None

    with connection.schema_editor(atomic=False) as editor:
        FillBesideWriters(fill).database_forwards("trees", editor, ProjectState(), ProjectState())
    assert behind == [0, 10, 20]
    assert not connection.in_atomic_block
