"""Migrations run while processes of the version before serve the same database: what they may do to its tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from django.db import migrations, models
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations.base import Operation

from agents.base.models.operations import AddIndexBesideWriters, FillBesideWriters

LAST_BEFORE_THE_RULES = "0022"
"""Migrations up to this one were made for a server that was stopped meanwhile."""
SMALL = {"import", "vectordocument", "process"}
"""Tables of some thousands of rows at most, which are written anew in no time; all others may have many millions."""
_ADDED_COLUMN = re.compile(r"ALTER TABLE \w+ ADD COLUMN \w+ [\w()]+( NULL| NOT NULL DEFAULT (''|\d+|false|true))")


def problems(operations: Iterable[Operation], *, atomic: bool = True) -> Iterator[str]:
    """Tell what in a migration a server of the version before would not survive, or would have to wait for."""
    for operation in operations:
        match operation:
            case migrations.SeparateDatabaseAndState():
                yield from problems(operation.database_operations, atomic=atomic)
            case migrations.AddField(model_name=table, field=field):
                yield from _of_column(table, field)
            case AddIndexBesideWriters() | FillBesideWriters():
                if atomic:
                    yield f"{operation.describe()}: needs atomic = False"
            case migrations.AddIndex(model_name=table) | migrations.AddConstraint(model_name=table):
                if table not in SMALL:
                    yield f"{table}: nobody could write it meanwhile: AddIndexBesideWriters"
            case _:
                if not _only_adds(operation):
                    yield f"{operation.describe()}: processes of before would lose what they use, or wait for it"


def _of_column(table: str, field: models.Field[Any, Any]) -> Iterator[str]:
    if table in SMALL:
        if not field.null and not field.has_db_default():
            yield f"{table}: processes of before leave out the column: it needs null or db_default"
    elif not field.null:
        yield f"{table}: SQLite would write it anew for this column: null, or as SQL with a default"


def _only_adds(operation: Operation) -> bool:
    if isinstance(operation, migrations.RunSQL):
        return isinstance(operation.sql, str) and _ADDED_COLUMN.fullmatch(operation.sql) is not None
    return isinstance(operation, migrations.CreateModel)


MIGRATIONS = {
    name: migration
    for (app, name), migration in sorted(MigrationLoader(None).disk_migrations.items())
    if app == "agents" and name[:4] > LAST_BEFORE_THE_RULES
}


@pytest.mark.parametrize("name", MIGRATIONS)
def test_a_server_of_the_version_before_survives_it(name: str) -> None:
    migration = MIGRATIONS[name]
    assert list(problems(migration.operations, atomic=migration.atomic)) == []


INDEX = models.Index(fields=["started_at"], name="some_index")
REFUSED: dict[str, Operation] = {
    "a column without a default": migrations.AddField("turn", "colour", models.TextField(default="")),
    "one that processes of before leave out": migrations.AddField("import", "colour", models.TextField(default="")),
    "an index that locks": migrations.AddIndex("step", INDEX),
    "an index beside writers in a transaction": AddIndexBesideWriters("step", INDEX),
    "rows filled in beside writers in a transaction": FillBesideWriters(lambda *_: None),
    "a constraint": migrations.AddConstraint("step", models.UniqueConstraint(fields=["turn"], name="one")),
    "another type": migrations.AlterField("turn", "status", models.BigIntegerField()),
    "a column that goes": migrations.RemoveField("turn", "status"),
    "another name": migrations.RenameField("turn", "status", "state"),
    "a table that goes": migrations.DeleteModel("turn"),
    "rows one by one": migrations.RunPython(migrations.RunPython.noop),
    "all rows at once": migrations.RunSQL("UPDATE agents_turn SET status = 1"),
    "a column without a default as SQL": migrations.RunSQL("ALTER TABLE agents_turn ADD COLUMN colour text NOT NULL"),
    "any of these among others": migrations.SeparateDatabaseAndState(
        [migrations.RemoveField("turn", "status")], [migrations.CreateModel("thing", [])]
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_would_hold_up_others_is_refused(what: str) -> None:
    assert list(problems([REFUSED[what]]))


def test_what_others_do_not_notice_is_allowed() -> None:
    allowed = [
        migrations.CreateModel("thing", [("id", models.BigAutoField(primary_key=True))]),
        migrations.AddField("turn", "colour", models.TextField(null=True)),
        migrations.AddField("import", "colour", models.TextField(db_default="")),
        migrations.AddIndex("import", INDEX),
        migrations.RunSQL("ALTER TABLE agents_turn ADD COLUMN colour text NOT NULL DEFAULT ''"),
        migrations.SeparateDatabaseAndState([], [migrations.RemoveField("turn", "status")]),
    ]
    assert list(problems(allowed)) == []
    beside = [AddIndexBesideWriters("step", INDEX), FillBesideWriters(lambda *_: None)]
    assert list(problems(beside, atomic=False)) == []
