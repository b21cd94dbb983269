"""Plans which rows go with a deleted record, and which columns are cleared, by what the models declare.

Each reference to a record declares what becomes of its row (`agents.record.models.references`). From these
declarations a plan is made, once for each kind of deletion: prepared statements, each for many keys at once, children
before their parents. Django's own cascade would load every row.

Rows of the full-text tables go in the same way: a model names the one beside its table in ``search_table``, and the
rows of both have the same keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from django.apps import apps
from django.core.exceptions import ImproperlyConfigured
from django.db.models import CASCADE, DO_NOTHING, SET_NULL, CompositePrimaryKey, Model, Q, UniqueConstraint
from django.db.models.fields.related import ForeignKey

from agents.base.store.sql import Among, SelectAmong
from agents.record.models.agents import Session
from agents.record.models.references import DeletionRule, OnDelete, PlainReference
from agents.record.models.turns import Response, Step, Turn
from agents.record.store import search

Table = type[Model]
_Key = ForeignKey[Any, Any]
RECORDS: tuple[Table, ...] = (Session, Turn, Step, Response)
"""The records, whose deleted keys a plan returns."""
_NAMES = {f"{table._meta.model_name}_id": table for table in RECORDS}

DeletedKeys = dict[Table, list[int]]
"""The keys of deleted rows, by table: of all tables that others refer to."""


class UndeclaredReference(ImproperlyConfigured):
    """A table refers to a record and does not declare what becomes of its rows."""


# -------------------------------------------------------------------------------------- what is declared


@dataclass(frozen=True, eq=False)
class Reference:
    """A column of ``table`` that refers to rows of ``target``, with its rules as `DeletionRule` has them. ``within``
    are the fields of the path; the key of the record it leads to is the value of the last one."""

    table: Table
    field: _Key | PlainReference
    target: Table
    on_delete: OnDelete
    merged: OnDelete
    within: tuple[_Key, ...]

    @property
    def container(self) -> Table | None:
        """Return the record that contains both the row and what it refers to."""
        return self.within[-1].related_model if self.within else None

    @property
    def is_indexed(self) -> bool:
        column: Any = self.field  # the stubs know no `db_index`
        return column.unique or column.db_index or column.name in _first_of_indexes(self.table)

    def __str__(self) -> str:
        return f"{self.table.__name__}.{self.field.name}"


def _first_of_indexes(table: Table) -> Iterator[str]:
    """Yield the fields that an index of all rows, or of those with a value in the field, begins with."""
    if isinstance(table._meta.pk, CompositePrimaryKey):
        yield table._meta.pk_fields[0].name
    for index in table._meta.indexes:
        yield from _first(index.fields, index.condition)
    for constraint in table._meta.constraints:
        if isinstance(constraint, UniqueConstraint):
            yield from _first(constraint.fields, constraint.condition)


def _first(names: Sequence[str], condition: Q | None) -> Iterator[str]:
    if names and condition in (None, Q(**{f"{names[0]}__isnull": False})):
        yield names[0]


def _declared(tables: Iterable[Table]) -> Iterator[Reference]:
    """Yield the references of these tables. Raises UndeclaredReference for a number that looks like one."""
    for table in tables:
        for column in table._meta.local_concrete_fields:
            if isinstance(column, PlainReference):
                yield Reference(table, column, column.to, column.on_delete, column.on_delete, ())
            elif isinstance(column, ForeignKey):
                rule = _rule(column)
                path = _path(table, rule.within)
                yield Reference(table, column, column.related_model, rule.on_delete, rule.merged, path)
            elif column.name in _NAMES:
                message = f"{table.__name__}.{column.name} looks like the key of a record: make it a foreign key, or a"
                raise UndeclaredReference(f"{message} PlainReference.")


def _rule(column: _Key) -> DeletionRule:
    on_delete: Any = column.remote_field.on_delete
    return on_delete if isinstance(on_delete, DeletionRule) else DeletionRule(on_delete)


def _path(table: Table, within: str) -> tuple[_Key, ...]:
    """Return the fields of a path. Raises UndeclaredReference where one is no foreign key by which rows are deleted."""
    path = list[_Key]()
    for name in within.split("__") if within else ():
        column = next((column for column in table._meta.concrete_fields if column.name == name), None)
        if not isinstance(column, ForeignKey) or _rule(column) != CASCADE:
            message = f"{table.__name__} has no foreign key {name!r} with CASCADE, which within={within!r} names."
            raise UndeclaredReference(message)
        path.append(column)
        table = column.related_model
    return tuple(path)


def _check(reference: Reference) -> None:
    """Raise UndeclaredReference where a reference to a record, or to a row that goes with one, has no usable rule."""
    allowed = (CASCADE, SET_NULL, DO_NOTHING) if isinstance(reference.field, PlainReference) else (CASCADE, SET_NULL)
    target = reference.target.__name__
    if not {reference.on_delete, reference.merged}.issubset(allowed):
        raise UndeclaredReference(
            f"{reference} refers to {target}, which is deleted: its on_delete must be CASCADE, SET_NULL or a "
            "DeletionRule of these."
        )
    is_unchecked = reference.within and not getattr(reference.field, "db_constraint", False)
    if reference.on_delete != DO_NOTHING and not reference.is_indexed and not is_unchecked:
        raise UndeclaredReference(
            f"{reference} refers to {target}, which is deleted, and no index begins with it: add one, or declare "
            "db_constraint=False and a DeletionRule with the record that both are within."
        )


# -------------------------------------------------------------------------------------------- plans


@dataclass(frozen=True, slots=True)
class Plan:
    """The deletion of rows of one table with all that goes with them."""

    table: Table
    below: Sequence[tuple[SelectAmong, Plan]]
    """The tables that others refer to: their keys are read first."""
    statements: Sequence[Among]

    def delete(self, keys: Sequence[int]) -> DeletedKeys:
        """Delete the rows with these keys within the caller's transaction, children first."""
        deleted: DeletedKeys = {self.table: list(keys)}
        for select, plan in self.below:
            if children := [key for (key,) in select.all(keys)]:
                for table, more in plan.delete(children).items():
                    deleted.setdefault(table, []).extend(more)
        for statement in self.statements:
            statement.execute(keys)
        return deleted


@dataclass(frozen=True, slots=True)
class _Deletion:
    """A kind of deletion: the tables of the rows that go at once, those of the rows that go later, and whether
    the rows of the first table are merged into others."""

    now: frozenset[Table]
    later: frozenset[Table]
    merging: bool


@dataclass(frozen=True, slots=True)
class References:
    """The references of some tables, and the plans made of them."""

    tables: Iterable[Table]
    by_target: dict[Table, list[Reference]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        for reference in _declared(reversed(list(self.tables))):  # a table is defined after those that it refers to
            self.by_target.setdefault(reference.target, []).append(reference)
        for record in RECORDS:
            self._going_with(record)

    def plan(self, table: Table, *, part_of: Table | None = None, merging: bool = False) -> Plan:
        """Plan the deletion of rows of a table. ``part_of`` is the record that goes as a whole, in this job or in
        later ones, or is written anew: references within it may stay until then. ``merging`` says that rows that
        refer to the deleted ones follow their rule for that."""
        later = self._going_with(part_of) if part_of else frozenset[Table]()
        return self._plan(table, _Deletion(self._going_with(table), later, merging), ())

    def _going_with(self, table: Table) -> frozenset[Table]:
        """Return the tables whose rows go with those of a table, itself included."""
        going, waiting = set[Table](), [table]
        while waiting:
            target = waiting.pop()
            going.add(target)
            for reference in self.by_target.get(target, ()):
                _check(reference)
                if reference.on_delete == CASCADE and reference.table not in going:
                    waiting.append(reference.table)
        return frozenset(going)

    def _plan(self, table: Table, deletion: _Deletion, path: tuple[Table, ...]) -> Plan:
        below, statements = list[tuple[SelectAmong, Plan]](), list[Among]()
        for reference in self._followed(table, deletion):
            rule = reference.merged if deletion.merging else reference.on_delete
            if rule == SET_NULL:
                statements.append(_clear(reference))
            elif reference.table in (table, *path):
                raise UndeclaredReference(f"{reference} closes a circle of CASCADE: declare what it is within.")
            elif self._is_read(reference.table, deletion):
                below.append((_read(reference), self._plan(reference.table, deletion, (*path, table))))
            else:
                statements += _delete_referring(reference)
        return Plan(table, below, [*statements, *_delete_rows(table)])

    def _followed(self, table: Table, deletion: _Deletion) -> Iterator[Reference]:
        """Yield the references to a table that need a statement."""
        for reference in self.by_target.get(table, ()):
            container = reference.container
            waits = container in deletion.later and not reference.is_indexed
            if reference.on_delete != DO_NOTHING and container not in deletion.now and not waits:
                yield reference

    def _is_read(self, table: Table, deletion: _Deletion) -> bool:
        """Tell whether the keys of a table are needed."""
        return table in RECORDS or any(self._followed(table, deletion))


def _select(column: str, table: Table, condition: str) -> str:
    return f"SELECT {column} FROM {table._meta.db_table} WHERE {condition}"  # noqa: S608 - the names are those of the models, the keys are bound


def _delete(table: str, condition: str) -> Among:
    return Among(f"DELETE FROM {table} WHERE {condition}")  # noqa: S608 - the names are those of the models, the keys are bound


def _marks(column: str) -> str:
    return f"{column} IN ({{values}})"


def _key(table: Table) -> str:
    return str(table._meta.pk.column)


def _read(reference: Reference) -> SelectAmong:
    """Return the statement that reads the keys of the rows that refer to some keys."""
    if not reference.is_indexed:
        name = reference.table.__name__
        raise UndeclaredReference(f"No index begins with {reference}: add one, as other tables refer to {name}.")
    return SelectAmong(reference.table, reference.table._meta.pk.attname, reference.field.attname, order="1")


def _delete_rows(table: Table) -> Iterator[Among]:
    """Yield the statements that delete the rows with some keys."""
    if search_table := _search_table(table):
        yield _delete(search_table, _marks(search.key_column()))
    yield _delete(table._meta.db_table, _marks(_key(table)))


def _delete_referring(reference: Reference) -> Iterator[Among]:
    """Yield the statements that delete the rows that refer to some keys."""
    table, rows = reference.table, _referring(reference)
    if search_table := _search_table(table):
        yield _delete(search_table, f"{search.key_column()} IN ({_select(_key(table), table, rows)})")
    yield _delete(table._meta.db_table, rows)


def _clear(reference: Reference) -> Among:
    column = reference.field.column
    return Among(f"UPDATE {reference.table._meta.db_table} SET {column} = NULL WHERE {_referring(reference)}")  # noqa: S608 - the names are those of the models, the keys are bound


def _referring(reference: Reference) -> str:
    """Return the SQL condition of the rows that refer to some keys: by the column's index, else among the rows of the
    record that contains both."""
    rows = _marks(str(reference.field.column))
    if reference.is_indexed:
        return rows
    first, *others = reference.within
    container = _select(first.column, reference.target, _marks(_key(reference.target)))
    for step in others:
        container = _select(step.column, step.model, f"{_key(step.model)} IN ({container})")
    for step in reversed(others):
        container = _select(_key(step.model), step.model, f"{step.column} IN ({container})")
    return f"{first.column} IN ({container}) AND {rows}"


def _search_table(table: Table) -> str:
    return getattr(table, "search_table", "")


def read_models() -> References:
    """Read the declarations of all tables. Raises UndeclaredReference."""
    apps.check_models_ready()
    return References(apps.get_models(include_auto_created=True))


_references = cache(read_models)


@cache
def plan(table: Table, *, part_of: Table | None = None, merging: bool = False) -> Plan:
    """Return the plan for a kind of deletion (`References.plan`), over all tables of the app."""
    return _references().plan(table, part_of=part_of, merging=merging)
