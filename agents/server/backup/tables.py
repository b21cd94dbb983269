"""The tables of a database at the state of its migrations, whichever version of the program that is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import msgspec
from django.apps.registry import Apps
from django.db import connection, models
from django.db.migrations.loader import MigrationLoader

from agents.record.store import search

ColumnKind = Literal["integer", "real", "text", "boolean", "bytes", "json", "timestamp"]

_KINDS: tuple[tuple[type[models.Field[Any, Any]], ColumnKind], ...] = (
    (models.BooleanField, "boolean"),
    (models.IntegerField, "integer"),
    (models.FloatField, "real"),
    (models.BinaryField, "bytes"),
    (models.JSONField, "json"),
    (models.DateTimeField, "timestamp"),
    (models.CharField, "text"),
    (models.TextField, "text"),
)


class TableColumn(msgspec.Struct, frozen=True):
    """A column and what its values are."""

    name: str
    kind: ColumnKind


class BackupTable(msgspec.Struct, frozen=True):
    """A table, the columns of its key, and its columns in the order of a row's values. ``is_index`` tells whether it
    is an index of words: full text on SQLite, a table with vectors on PostgreSQL; its first column is its key."""

    name: str
    keys: tuple[str, ...]
    columns: tuple[TableColumn, ...]
    is_index: bool = False

    def names(self) -> list[str]:
        """Return the names of the columns in this database."""
        names = [column.name for column in self.columns]
        return [search.key_column(), *names[1:]] if self.is_index else names

    def select(self) -> str:
        """Return the statement that reads all rows in the order of their keys, texts as SQLite sorts them."""
        # with their table: SQLite takes an unknown name in quotes for a text
        columns = {
            column.name: f'"{self.name}"."{name}"' for column, name in zip(self.columns, self.names(), strict=True)
        }
        texts = {column.name for column in self.columns if column.kind == "text"}
        collation = ' COLLATE "C"' if connection.vendor == "postgresql" else ""
        order = ", ".join(f"{columns[key]}{collation if key in texts else ''}" for key in self.keys)
        return f'SELECT {", ".join(columns.values())} FROM "{self.name}" ORDER BY {order}'  # noqa: S608 - names of ours


def applied_migrations() -> dict[str, list[str]]:
    """Return the migrations that this database has seen, by app."""
    by_app: dict[str, list[str]] = {}
    for app, name in sorted(MigrationLoader(connection).applied_migrations):
        by_app.setdefault(app, []).append(name)
    return by_app


def known_migrations() -> set[tuple[str, str]]:
    """Return the migrations that this version of the program has."""
    return set(MigrationLoader(None).disk_migrations)


def apps_at(migrations: dict[str, list[str]]) -> Apps:
    """Return the models as they were after these migrations."""
    return MigrationLoader(None).project_state(last_of(migrations)).apps


def last_of(migrations: dict[str, list[str]]) -> list[tuple[str, str]]:
    """Return the migrations among these that no other one of their app follows."""
    nodes = MigrationLoader(None).graph.node_map
    return [
        (app, name)
        for app, names in migrations.items()
        for name in names
        if not any(child.key in {(app, other) for other in names} for child in nodes[app, name].children)
    ]


def models_of(apps: Apps) -> Iterator[type[models.Model]]:
    """Yield the models that have a table of their own, those between two others among them."""
    for model in apps.get_models(include_auto_created=True):
        if model._meta.managed and not model._meta.proxy:
            yield model


def tables_at(migrations: dict[str, list[str]]) -> list[BackupTable]:
    """Return the tables after these migrations, by name, then the indexes of words whose texts are stored."""
    of_models = sorted((_of_model(model) for model in models_of(apps_at(migrations))), key=lambda table: table.name)
    return [*of_models, _index("agents_turn_search", search.TURN), _index("agents_step_search", search.STEP)]


def _of_model(model: type[models.Model]) -> BackupTable:
    options = model._meta
    columns = tuple(TableColumn(str(field.column), _kind(field)) for field in options.concrete_fields)
    return BackupTable(options.db_table, tuple(str(field.column) for field in options.pk_fields), columns)


def _kind(field: Any) -> ColumnKind:
    while isinstance(field, models.ForeignKey):
        field = field.target_field
    for type_, kind in _KINDS:
        if isinstance(field, type_):
            return kind
    raise TypeError(f"{field}: a backup does not know columns of this type")


def _index(name: str, parts: tuple[str, ...]) -> BackupTable:
    columns = TableColumn("id", "integer"), *(TableColumn(part, "text") for part in parts)
    return BackupTable(name, ("id",), columns, is_index=True)
