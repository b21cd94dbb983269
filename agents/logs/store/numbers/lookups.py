"""Translate a `Q` over the columns of a table into a mask, with the result SQL would have for each row.

Comparisons are false where there is no value, as in a filter of Django's, which guards what it
negates. Anything but a plain comparison of sealed columns is refused with `NotColumns`.
"""

from __future__ import annotations

import math
from datetime import datetime
from typing import Any

import numpy as np
from django.db import connection
from django.db.models import Exists, F, Q, QuerySet, Value, sql
from django.db.models.expressions import Col, CombinedExpression, RawSQL, ResolvedOuterRef
from django.db.models.lookups import Lookup
from django.db.models.sql.where import AND

from agents.base.timestamps import to_us
from agents.logs.store.numbers.columns import NULL, Array
from agents.logs.store.numbers.layouts import LAYOUTS, Table
from agents.logs.store.numbers.masks import (
    AllOf,
    AnyOf,
    ByKeys,
    Check,
    ColumnCheck,
    Complement,
    FromTurn,
    Mask,
    MultivaluedCheck,
    SumCheck,
)
from agents.logs.store.numbers.table import REASONS
from agents.record.models.tags import TurnTag


class NotColumns(Exception):
    """The condition needs more than columns."""


def sorted_keys(rows: RawSQL | QuerySet[Any, Any]) -> Array:
    """Return the distinct numbers of a query with one column, ascending."""
    if isinstance(rows, RawSQL):
        with connection.cursor() as cursor:
            cursor.execute(rows.sql, rows.params)
            keys: Any = [row[0] for row in cursor.fetchall()]
    else:
        keys = [row[0] for row in rows.values_list(*rows.query.values_select or ("pk",))]
    return np.unique(np.array(keys, dtype=np.int64))


class Lookups:
    """Translates conditions on the rows of a table. With ``asks`` subqueries are executed in the database; else
    they are refused."""

    def __init__(self, table: Table, *, asks: bool = False) -> None:
        self._table = table
        self._asks = asks

    def mask(self, condition: Q) -> Mask:
        """Return the mask of a condition. Raises NotColumns."""
        if condition.connector not in (Q.AND, Q.OR):
            raise NotColumns
        parts = [self._child(child) for child in condition.children]
        mask: Mask = AnyOf(parts) if condition.connector == Q.OR and parts else AllOf(self._table, parts)
        return Complement(mask) if condition.negated else mask

    def _child(self, child: Any) -> Mask:
        match child:
            case Q():
                return self.mask(child)
            case (str() as name, value):
                return self._lookup(name, value)
            case Lookup():
                return self._expression(child)
            case Exists():
                return self._exists(child)
            case _:
                raise NotColumns

    def _exists(self, subquery: Exists) -> Mask:
        """Translate the existence of a row in another table: the tags of a turn are a column; other tables are
        queried, where that is allowed, for the keys of the rows they refer to."""
        column, rows = _split_link(subquery)
        tests = rows.query.where.children
        if self._table == "turn" and rows.model is TurnTag and len(tests) == 1:
            return MultivaluedCheck("turn.terms", _term_keys(tests[0]))
        if not self._asks:
            raise NotColumns
        return ByKeys(self._table, sorted_keys(rows.values_list(column)))

    def _lookup(self, name: str, value: Any) -> Mask:
        column, operator = _column(name, self._table)
        if isinstance(value, RawSQL | QuerySet):
            if not self._asks or operator != "in":
                raise NotColumns
            value = sorted_keys(value)
            if column == f"{self._table}.id":
                return ByKeys(self._table, value)
        if column.endswith(".stop_reason"):
            value = _reasons(value)
        own = ColumnCheck(column, *_check(operator, value))
        return own if column.startswith(f"{self._table}.") else FromTurn(self._table, own)

    def _expression(self, lookup: Lookup[Any]) -> Mask:
        operator = str(lookup.lookup_name)
        bound = lookup.rhs.value if isinstance(lookup.rhs, Value) else lookup.rhs
        if operator not in _OPERATORS:
            raise NotColumns
        names = _summands(lookup.lhs, self._table)
        check, low, high = _check(operator, bound)
        return ColumnCheck(names[0], check, low, high) if len(names) == 1 else SumCheck(names, check)


_OPERATORS = {"gt", "gte", "lt", "lte", "exact"}


def _split_link(subquery: Exists) -> tuple[str, QuerySet[Any, Any]]:
    """Split a subquery into the column that links its rows to the outer rows, and the subquery without the
    link. Raises NotColumns where the link is not one column."""
    query = subquery.query.clone()
    links = [child for child in query.where.children if isinstance(getattr(child, "rhs", None), ResolvedOuterRef)]
    if len(links) != 1 or query.where.connector != AND or query.where.negated or query.low_mark:
        raise NotColumns
    link: Any = links[0]
    if link.lookup_name != "exact" or link.rhs.name != "pk" or not isinstance(link.lhs, Col):
        raise NotColumns
    query.where.children.remove(link)
    query.clear_ordering(force=True)
    query.clear_limits()
    return link.lhs.target.attname, QuerySet(query.model, query=query)


def _term_keys(test: Any) -> Array:
    """Return the keys of the interned terms in a test of a tag's term."""
    if not isinstance(test, Lookup) or not isinstance(test.lhs, Col) or test.lhs.target.attname != "term_id":
        raise NotColumns
    if test.lookup_name == "in" and isinstance(test.rhs, sql.Query):
        return sorted_keys(QuerySet(test.rhs.model, query=test.rhs.clone()))
    if test.lookup_name not in ("in", "exact"):
        raise NotColumns
    return np.array(_numbers(test.rhs if test.lookup_name == "in" else [test.rhs]), dtype=np.int64)


def _column(name: str, table: Table) -> tuple[str, str]:
    """``turn__agent_id__in`` of a step → ``turn.agent_id``, ``in``."""
    owner: Table = table
    if table != "turn" and name.startswith("turn__"):
        owner, name = "turn", name.removeprefix("turn__")
    field, _, operator = name.partition("__")
    field = "id" if field == "pk" else field
    for candidate in (field, f"{field}_id"):
        if candidate in LAYOUTS[owner]:
            return f"{owner}.{candidate}", operator or "exact"
    raise NotColumns


def _reasons(value: Any) -> Any:
    """Return the numbers of stop reasons. Raises NotColumns for one without a number."""
    numbers = {reason: index for index, reason in enumerate(REASONS)}
    try:
        return (
            [numbers[item] for item in value] if isinstance(value, list | tuple | set | frozenset) else numbers[value]
        )
    except KeyError:
        raise NotColumns from None


def _check(operator: str, value: Any) -> tuple[Check, float, float]:
    """Return the check of a lookup, and the minimum and maximum that can pass it."""
    if operator == "isnull":
        return (_equal(NULL), -math.inf, math.inf) if value else (_unequal(NULL), -math.inf, math.inf)
    if operator == "in":
        values = value if isinstance(value, np.ndarray) else np.array(sorted(_numbers(value)), dtype=np.int64)
        ends = (int(values[0]), int(values[-1])) if len(values) else (math.inf, -math.inf)
        return _one_of(values), *ends
    if operator == "exact" and value is None:
        return _equal(NULL), -math.inf, math.inf
    number = _number(value)
    match operator:
        case "exact":
            return (_equal(number) if number == int(number) else _no_rows), number, number
        case "gt" | "gte":
            minimum = math.floor(number) + 1 if operator == "gt" else math.ceil(number)
            return _at_least(minimum), minimum, math.inf
        case "lt" | "lte":
            maximum = math.ceil(number) - 1 if operator == "lt" else math.floor(number)
            return _at_most(maximum), -math.inf, maximum
    raise NotColumns


def _numbers(value: Any) -> list[int]:
    if not isinstance(value, list | tuple | set | frozenset):
        raise NotColumns
    return [int(_number(item)) for item in value if item is not None]


def _number(value: Any) -> int | float:
    if isinstance(value, datetime):
        return to_us(value)
    if isinstance(value, int | float):
        return value
    raise NotColumns


_MAX_INT64 = (1 << 63) - 1


def _no_rows(numbers: Array) -> Array:
    return np.zeros(len(numbers), dtype=bool)


def _equal(number: float) -> Check:
    return lambda numbers: np.asarray(numbers == int(number))


def _unequal(number: int) -> Check:
    return lambda numbers: np.asarray(numbers != number)


def _at_least(minimum: int) -> Check:
    if minimum > _MAX_INT64:
        return _no_rows
    bound = max(minimum, NULL + 1)
    return lambda numbers: np.asarray(numbers >= bound)


def _at_most(maximum: int) -> Check:
    bound = min(maximum, _MAX_INT64)
    return lambda numbers: (numbers <= bound) & (numbers != NULL)


def _one_of(values: Array) -> Check:
    return lambda numbers: np.isin(numbers, values)


def _summands(expression: Any, table: Table) -> tuple[str, ...]:
    """Return the columns that a sum adds."""
    if isinstance(expression, F):
        column, operator = _column(str(expression.name), table)  # type: ignore[attr-defined]  # the stubs of F lack its name
        if operator != "exact" or not column.startswith(f"{table}."):
            raise NotColumns
        return (column,)
    if isinstance(expression, CombinedExpression) and expression.connector == "+":
        return _summands(expression.lhs, table) + _summands(expression.rhs, table)
    raise NotColumns
