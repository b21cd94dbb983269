"""Operations of migrations on tables that others write meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.db import models, transaction
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.backends.ddl_references import Statement
from django.db.backends.utils import CursorWrapper
from django.db.migrations.operations import AddIndex
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState


class AddIndexBesideWriters(AddIndex):
    """Adds an index to a table that others write: PostgreSQL builds it concurrently, in a migration with
    ``atomic = False``, and part by part where the table has parts (`agents.record.store.partitions`). What a build left
    that was broken off is dropped first."""

    atomic = False

    def database_forwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        if schema_editor.connection.vendor != "postgresql":
            super().database_forwards(app_label, schema_editor, from_state, to_state)
            return
        model = to_state.apps.get_model(app_label, self.model_name)
        # here, as it loads the driver, which SQLite does without
        from django.contrib.postgres.operations import AddIndexConcurrently

        # outside a transaction it waits for those that were there before it as long as they take, and holds up nobody
        if parts := _parts(schema_editor, model):
            self._build_by_part(schema_editor, model, parts)
            return
        schema_editor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {schema_editor.quote_name(self.index.name)}")
        build = AddIndexConcurrently(self.model_name, self.index)
        build.database_forwards(app_label, schema_editor, from_state, to_state)

    def _build_by_part(
        self, schema_editor: BaseDatabaseSchemaEditor, model: type[models.Model], parts: list[str]
    ) -> None:
        """Build the index of each part; that of the whole is whole with the last of them. One that a part has from a
        build that was broken off is built again."""
        quote = schema_editor.quote_name
        whole = quote(self.index.name)
        schema_editor.execute(f"DROP INDEX IF EXISTS {whole}")
        schema_editor.execute(_sql(self.index, model, schema_editor, table=f"ONLY {quote(model._meta.db_table)}"))
        for part in parts:
            name = quote(f"{part}_{self.index.name}"[:63])
            schema_editor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
            schema_editor.execute(
                _sql(self.index, model, schema_editor, table=quote(part), name=f"CONCURRENTLY {name}")
            )
            schema_editor.execute(f"ALTER INDEX {whole} ATTACH PARTITION {name}")

    def describe(self) -> str:
        return f"{super().describe()} beside writers"


class FillBesideWriters(Operation):
    """Fills in a column that the rows of before lack, in a migration with ``atomic = False``: ``fill`` is called with a
    cursor and the key behind which to go on, 0 first, and returns the last key it has come to, None after all. Each
    call has a transaction of its own, so that it must be short; one that was broken off begins again."""

    reversible = True
    reduces_to_sql = False

    def __init__(self, fill: Callable[[CursorWrapper, int], int | None]) -> None:
        self.fill = fill

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        """The models stay as they are."""

    def database_forwards(self, app_label: str, schema_editor: Any, *_states: ProjectState) -> None:
        connection = schema_editor.connection
        last: int | None = 0
        while last is not None:
            with transaction.atomic(connection.alias), connection.cursor() as cursor:
                last = self.fill(cursor, last)

    def database_backwards(self, app_label: str, schema_editor: Any, *_states: ProjectState) -> None:
        """What was filled in goes with its column."""

    def describe(self) -> str:
        return "Fill in rows beside writers"


def _parts(schema_editor: BaseDatabaseSchemaEditor, model: type[models.Model]) -> list[str]:
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(
            "SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid "
            "WHERE i.inhparent = to_regclass(%s) ORDER BY c.relname",
            [model._meta.db_table],
        )
        return [name for (name,) in cursor.fetchall()]


def _sql(
    index: models.Index, model: type[models.Model], schema_editor: BaseDatabaseSchemaEditor, **parts: str
) -> Statement:
    """Return the statement that makes the index with another ``name``, on another ``table``."""
    statement = index.create_sql(model, schema_editor)
    assert isinstance(statement, Statement)
    return Statement(statement.template, **{**statement.parts, **parts})
