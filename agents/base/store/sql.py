"""Prepared SQL for the hot path, built once from the models' own columns.

Django builds each query anew, which costs ten times what SQLite needs to run it; a turn's record is
some twenty statements. Values are passed as the columns hold them, timestamps as microseconds; only NUL
characters are made `storable` here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

from django.db import connection, models

from agents.base.access import Action, Actor
from agents.base.models.fields import storable
from agents.base.models.scoped import Removable, visible_where
from agents.base.store.cursors import database, direct_cursor, insert_later, write_later, write_many_later

Row = Sequence[Any]


def columns(model: type[models.Model], names: str) -> list[str]:
    """Return the columns of these fields (attribute names, separated by blanks)."""
    by_name = {field.attname: str(field.column) for field in model._meta.concrete_fields}
    return [by_name[name] for name in names.split()]


def _has_text(model: type[models.Model], names: str) -> bool:
    """Tell whether one of these fields may hold text."""
    attributes = set(names.split())
    fields = [field for field in model._meta.concrete_fields if field.attname in attributes]
    return not all(isinstance(field, _WITHOUT_TEXT) for field in fields)


_WITHOUT_TEXT = (models.IntegerField, models.BooleanField, models.BinaryField, models.ForeignKey)
"""Fields of numbers and bytes; foreign keys hold numbers, too."""


def _storable(row: Row) -> Row:
    # checked here first: a call for each value of each row would cost more than everything else
    return [storable(value) if isinstance(value, str) and "\0" in value else value for value in row]


class Insert:
    """``INSERT`` of these fields. With ``once``, an existing row is left as it is; with ``replace`` (a key
    column), its other columns are overwritten, all but those of ``keep``."""

    def __init__(
        self, model: type[models.Model], names: str, *, once: bool = False, replace: str = "", keep: str = ""
    ) -> None:
        cols = columns(model, names)
        marks = ", ".join(["%s"] * len(cols))
        tail = " ON CONFLICT DO NOTHING" if once else ""
        self._key = names.split().index(replace) if replace else 0
        if replace:
            [key], constant = columns(model, replace), columns(model, f"{replace} {keep}")
            changes = ", ".join(f"{col} = excluded.{col}" for col in cols if col not in constant)
            tail = f" ON CONFLICT ({key}) DO UPDATE SET {changes}"
        self._parts = f"INSERT INTO {model._meta.db_table} ({', '.join(cols)})", f"({marks})", tail
        self._has_text = _has_text(model, names)
        self.text = "{} VALUES {}{}".format(*self._parts)

    def execute(self, *row: Any) -> int:
        """Insert a row; returns 0 where it exists and is left as it is."""
        with direct_cursor() as cursor:
            cursor.execute(self.text, _storable(row))
            return int(cursor.rowcount)

    def later(self, *row: Any) -> None:
        """Insert a row; nobody asks whether it exists already."""
        write_later(self.text, _storable(row))

    def execute_many(self, rows: Iterable[Row]) -> None:
        insert_many(*self._parts, rows, has_text=self._has_text, key=self._key)


class Select:
    """``SELECT`` of these fields; ``where`` is SQL with marks. ``locks`` locks the rows to the end of the transaction;
    SQLite needs no clause for that: its transactions write one after the other."""

    def __init__(self, model: type[models.Model], names: str, where: str, *, locks: bool = False) -> None:
        self._text = f"SELECT {', '.join(columns(model, names))} FROM {model._meta.db_table} WHERE {where}"  # noqa: S608 - names of ours
        self._locks = locks

    @property
    def text(self) -> str:
        locks = self._locks and database().features.has_select_for_update
        return f"{self._text} FOR UPDATE" if locks else self._text

    def all(self, *values: Any) -> list[tuple[Any, ...]]:
        with direct_cursor() as cursor:
            cursor.execute(self.text, values)
            return list(cursor.fetchall())

    def first(self, *values: Any) -> tuple[Any, ...] | None:
        with direct_cursor() as cursor:
            cursor.execute(self.text, values)
            row: tuple[Any, ...] | None = cursor.fetchone()
            return row


class Compiled:
    """A query that is always the same, as Django compiles it: once, for what is looked at again and again. Its values
    are numbers, which need no conversion."""

    def __init__(self, build: Callable[[], models.QuerySet[Any, Any]]) -> None:
        self._build = build

    @cached_property
    def _statement(self) -> tuple[str, tuple[Any, ...]]:
        text, values = self._build().query.sql_with_params()
        return text, tuple(values)

    def all(self) -> list[tuple[Any, ...]]:
        with direct_cursor() as cursor:
            cursor.execute(*self._statement)
            return list(cursor.fetchall())


MAX_VALUES = 500
"""Most values of one ``IN (…)``."""


class SelectAmong:
    """``SELECT`` of these fields for many values of one field, in several statements; ``where`` is more SQL with
    marks, ``order`` sorts the rows of each statement."""

    def __init__(self, model: type[models.Model], names: str, field: str, where: str = "TRUE", order: str = "") -> None:
        [column] = columns(model, field)
        table, self._order = model._meta.db_table, f" ORDER BY {order}" if order else ""
        self._head = f"SELECT {', '.join(columns(model, names))} FROM {table} WHERE {where} AND {column} IN "  # noqa: S608 - names of ours

    def all(self, among: Sequence[Any], *values: Any) -> Iterator[tuple[Any, ...]]:
        """Yield the rows; ``values`` are the parameters of ``where``."""
        for start in range(0, len(among), MAX_VALUES):
            chunk = among[start : start + MAX_VALUES]
            with direct_cursor() as cursor:
                cursor.execute(f"{self._head}({', '.join(['%s'] * len(chunk))}){self._order}", [*values, *chunk])
                rows = cursor.fetchall()
            yield from rows


class Among:
    """A statement about many values, such as keys, in chunks: ``{values}`` in its text, in one place or several, is
    where they are listed."""

    def __init__(self, text: str) -> None:
        self._parts = text.split("{values}")

    def execute(self, among: Sequence[Any]) -> None:
        for _ in self._run(among):
            pass

    def all(self, among: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
        """Yield the rows that a ``SELECT`` finds."""
        for cursor in self._run(among):
            yield from cursor.fetchall()

    def _run(self, among: Sequence[Any]) -> Iterator[Any]:
        for start in range(0, len(among), MAX_VALUES):
            chunk = among[start : start + MAX_VALUES]
            with direct_cursor() as cursor:
                cursor.execute(", ".join(["%s"] * len(chunk)).join(self._parts), [*chunk] * (len(self._parts) - 1))
                yield cursor


class VisibleRow:
    """``SELECT`` of one row of a guarded table by its key, if the actor may see it; or by another field, of several
    rows the oldest that the actor may see. ``also`` are more columns, each as SQL."""

    def __init__(self, model: type[models.Model], names: str, *, by: str = "id", also: Sequence[str] = ()) -> None:
        not_removed = "removed_at IS NULL AND " if issubclass(model, Removable) else ""
        [key] = columns(model, by)
        selected = ", ".join([*columns(model, names), *also])
        self._head = f"SELECT {selected} FROM {model._meta.db_table} WHERE {key} = %s AND {not_removed}"  # noqa: S608 - names of ours
        self._tail = "" if by == "id" else " ORDER BY id LIMIT 1"

    def get(self, actor: Actor, key: Any, action: Action = "read") -> tuple[Any, ...] | None:
        where, values = visible_where(actor, action)
        with direct_cursor() as cursor:
            cursor.execute(f"{self._head}{where}{self._tail}", [key, *values])
            row: tuple[Any, ...] | None = cursor.fetchone()
            return row


class UpdateByKey:
    """``UPDATE`` of these fields of rows that are named by their keys."""

    def __init__(self, model: type[models.Model], names: str, key: str = "id") -> None:
        changes = ", ".join(f"{column} = %s" for column in columns(model, names))
        self._text = f"UPDATE {model._meta.db_table} SET {changes} WHERE {key} = %s"  # noqa: S608 - names of ours

    def execute_many(self, rows: Iterable[Row]) -> None:
        """Write rows: the values, then the key."""
        execute_many(self._text, rows)


class Update:
    """``UPDATE`` of one row: collects changes and writes them by one statement. An *expression* is SQL over the
    row's own columns, with marks."""

    def __init__(self, model: type[models.Model]) -> None:
        self._table = model._meta.db_table
        self._parts: dict[str, tuple[str, list[Any]]] = {}
        self._sums: dict[str, tuple[str, int]] = {}

    def set(self, **values: Any) -> None:
        for column, value in values.items():
            self._parts[column] = "%s", [storable(value)]

    def add(self, column: str, amount: int) -> None:
        """Add to a number."""
        if amount:
            self._add(column, column, amount)

    def add_to_unknown(self, column: str, amount: int) -> None:
        """Add to a number that may be unknown: null counts as nothing."""
        self._add(column, f"COALESCE({column}, 0)", amount)

    def _add(self, column: str, start: str, amount: int) -> None:
        start, so_far = self._sums.get(column, (start, 0))
        self._sums[column] = start, so_far + amount
        self._parts[column] = f"{start} + %s", [so_far + amount]

    def set_expression(self, column: str, expression: str, *values: Any) -> None:
        self._parts[column] = expression, list(values)

    def __bool__(self) -> bool:
        return bool(self._parts)

    def write(self, key_column: str, key: int, and_where: str = "", *params: Any) -> int:
        """Write the changes to the row with this key; returns how many rows were changed."""
        if not self._parts:
            return 0
        return execute(*self._statement(key_column, key, and_where, *params))

    def write_later(self, key_column: str, key: int, and_where: str = "", *params: Any) -> None:
        """Write the changes to the row with this key, if it is there."""
        if self._parts:
            execute_later(*self._statement(key_column, key, and_where, *params))

    def _statement(self, key_column: str, key: int, and_where: str, *params: Any) -> list[Any]:
        """Return the text, and its values."""
        changes = ", ".join(f"{column} = {text}" for column, (text, _) in self._parts.items())
        values = [value for _, bound in self._parts.values() for value in bound]
        text = f"UPDATE {self._table} SET {changes} WHERE {key_column} = %s {and_where}"  # noqa: S608 - names of ours
        return [text, *values, key, *params]


def insert_many(head: str, marks: str, tail: str, rows: Iterable[Row], *, has_text: bool = True, key: int = 0) -> None:
    """Insert rows: ``head`` is the statement before its VALUES, ``marks`` are those of a row in parentheses,
    ``tail`` is its ON CONFLICT clause, ``has_text`` tells whether a row may hold text, ``key`` is the place of what
    conflicts. A few rows are sent with the next statement of the transaction on PostgreSQL."""
    encoded = [_storable(row) for row in rows] if has_text else list(rows)
    if not encoded:
        return
    if database().vendor == "sqlite":
        insert_later(head, marks, tail, encoded)
    elif not tail and len(encoded) >= MIN_COPY_ROWS:
        with direct_cursor() as cursor:
            _copy(cursor, head, encoded)
    else:
        for distinct in _distinct(encoded, key) if "DO UPDATE" in tail else [encoded]:
            insert_later(head, marks, tail, distinct)


def _distinct(rows: Sequence[Row], key: int) -> Iterator[list[Row]]:
    """Yield the rows in portions, in each of which no key comes twice."""
    portion: dict[Any, Row] = {}
    for row in rows:
        if row[key] in portion:
            yield list(portion.values())
            portion = {}
        portion[row[key]] = row
    yield list(portion.values())


MIN_COPY_ROWS = 500
"""Rows from which PostgreSQL's COPY is used: it costs a fraction of statements."""


def _copy(cursor: Any, head: str, rows: Sequence[Row]) -> None:
    table = head.removeprefix("INSERT INTO ")
    with connection.wrap_database_errors, cursor.copy(f"COPY {table} FROM STDIN") as copy:
        for row in rows:
            copy.write_row(row)


def execute_many(text: str, rows: Iterable[Row]) -> None:
    """Run a statement once for each row of values; on PostgreSQL with the next one of the transaction."""
    encoded = [_storable(row) for row in rows]
    if encoded:
        write_many_later(text, encoded)


def execute(text: str, *values: Any) -> int:
    """Run a statement; returns how many rows were changed."""
    with direct_cursor() as cursor:
        cursor.execute(text, values)
        return int(cursor.rowcount)


def execute_returning(text: str, *values: Any) -> tuple[Any, ...] | None:
    """Run a statement about one row that returns columns of it; None where there was no such row."""
    with direct_cursor() as cursor:
        cursor.execute(text, values)
        row: tuple[Any, ...] | None = cursor.fetchone()
        return row


def execute_later(text: str, *values: Any) -> None:
    """Run a statement, and do not ask how many rows it changed."""
    write_later(text, values)
