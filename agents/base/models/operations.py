"""Operations of migrations on tables that others write meanwhile."""

from __future__ import annotations

from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.operations import AddIndex
from django.db.migrations.state import ProjectState

from agents.base.lock_waits import waiting_for_locks


class AddIndexBesideWriters(AddIndex):
    """Adds an index to a table that others write: PostgreSQL builds it concurrently, in a migration with
    ``atomic = False``. What a build left that was broken off is dropped first."""

    atomic = False

    def database_forwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        if schema_editor.connection.vendor != "postgresql":
            super().database_forwards(app_label, schema_editor, from_state, to_state)
            return
        # here, as it loads the driver, which SQLite does without
        from django.contrib.postgres.operations import AddIndexConcurrently

        # it waits for the transactions that were there before it, and holds up nobody meanwhile
        with waiting_for_locks(schema_editor.connection, 0):
            schema_editor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {schema_editor.quote_name(self.index.name)}")
            build = AddIndexConcurrently(self.model_name, self.index)
            build.database_forwards(app_label, schema_editor, from_state, to_state)

    def describe(self) -> str:
        return f"{super().describe()} beside writers"
