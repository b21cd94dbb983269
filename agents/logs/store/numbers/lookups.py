"""A `Q` over the columns of a table as a mask: what SQL would say of each row.

Comparisons are false where there is no value, as in a filter of Django's, which guards what it
negates. What is not a plain comparison of columns of ours is refused with `NotColumns`.
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
from agents.logs.store.numbers.masks import (
    Both,
    Check,
    Compared,
    Either,
    Holding,
    Inherited,
    Keyed,
    Mask,
    Other,
    Summed,
)
from agents.logs.store.numbers.table import LAYOUTS, REASONS, Table
from agents.record.models.tags import TurnTag


class NotColumns(Exception):
    """This condition looks at more than columns."""


def keys_of(rows: RawSQL | QuerySet[Any, Any]) -> Array:
    """The numbers of a query with one column, ascending."""
    if isinstance(rows, RawSQL):
        with connection.cursor() as cursor:
            cursor.execute(rows.sql, rows.params)
            found: Any = [row[0] for row in cursor.fetchall()]
    else:
        found = [row[0] for row in rows.values_list(*rows.query.values_select or ("pk",))]
    return np.unique(np.array(found, dtype=np.int64))


class Lookups:
    """Conditions on the rows of a table. With ``asks`` the database is asked for subqueries; else they
    are refused."""

    def __init__(self, table: Table, *, asks: bool = False) -> None:
        self._table = table
        self._asks = asks

    def mask(self, condition: Q) -> Mask:
        """The mask of a condition. Raises NotColumns."""
        if condition.connector not in (Q.AND, Q.OR):
            raise NotColumns
        parts = [self._child(child) for child in condition.children]
        mask: Mask = Either(parts) if condition.connector == Q.OR and parts else Both(self._table, parts)
        return Other(mask) if condition.negated else mask

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

    def _exists(self, found: Exists) -> Mask:
        """Where there is a row of another table that belongs to this one: the tags of a turn are a
        column; other tables are searched, where that is allowed, for those their rows belong to."""
        column, rows = _belonging(found)
        tests = rows.query.where.children
        if self._table == "turn" and rows.model is TurnTag and len(tests) == 1:
            return Holding("turn.terms", _named(tests[0]))
        if not self._asks:
            raise NotColumns
        return Keyed(self._table, keys_of(rows.values_list(column)))

    def _lookup(self, name: str, value: Any) -> Mask:
        column, operator = _column(name, self._table)
        if isinstance(value, RawSQL | QuerySet):
            if not self._asks or operator != "in":
                raise NotColumns
            value = keys_of(value)
            if column == f"{self._table}.id":
                return Keyed(self._table, value)
        if column.endswith(".stop_reason"):
            value = _reasons(value)
        own = Compared(column, *_check(operator, value))
        return own if column.startswith(f"{self._table}.") else Inherited(self._table, own)

    def _expression(self, lookup: Lookup[Any]) -> Mask:
        operator = str(lookup.lookup_name)
        bound = lookup.rhs.value if isinstance(lookup.rhs, Value) else lookup.rhs
        if operator not in _OPERATORS:
            raise NotColumns
        names = _terms(lookup.lhs, self._table)
        check, low, high = _check(operator, bound)
        return Compared(names[0], check, low, high) if len(names) == 1 else Summed(names, check)


_OPERATORS = {"gt", "gte", "lt", "lte", "exact"}


def _belonging(found: Exists) -> tuple[str, QuerySet[Any, Any]]:
    """The column that says to which row those of a subquery belong, and the subquery without that.
    Raises NotColumns where it does not say so by one column."""
    query = found.query.clone()
    links = [each for each in query.where.children if isinstance(getattr(each, "rhs", None), ResolvedOuterRef)]
    if len(links) != 1 or query.where.connector != AND or query.where.negated or query.low_mark:
        raise NotColumns
    link: Any = links[0]
    if link.lookup_name != "exact" or link.rhs.name != "pk" or not isinstance(link.lhs, Col):
        raise NotColumns
    query.where.children.remove(link)
    query.clear_ordering(force=True)
    query.clear_limits()
    return link.lhs.target.attname, QuerySet(query.model, query=query)


def _named(test: Any) -> Array:
    """The terms that a test of a tag's term names."""
    if not isinstance(test, Lookup) or not isinstance(test.lhs, Col) or test.lhs.target.attname != "term_id":
        raise NotColumns
    if test.lookup_name == "in" and isinstance(test.rhs, sql.Query):
        return keys_of(QuerySet(test.rhs.model, query=test.rhs.clone()))
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
    for known in (field, f"{field}_id"):
        if known in LAYOUTS[owner]:
            return f"{owner}.{known}", operator or "exact"
    raise NotColumns


def _reasons(value: Any) -> Any:
    """The numbers of reasons why turns stop, of those that have one."""
    known = {reason: place for place, reason in enumerate(REASONS)}
    try:
        return [known[one] for one in value] if isinstance(value, list | tuple | set | frozenset) else known[value]
    except KeyError:
        raise NotColumns from None


def _check(operator: str, value: Any) -> tuple[Check, float, float]:
    """The check of a lookup, and the least and the most that pass it."""
    if operator == "isnull":
        return (_equal(NULL), -math.inf, math.inf) if value else (_unequal(NULL), -math.inf, math.inf)
    if operator == "in":
        wanted = value if isinstance(value, np.ndarray) else np.array(sorted(_numbers(value)), dtype=np.int64)
        ends = (int(wanted[0]), int(wanted[-1])) if len(wanted) else (math.inf, -math.inf)
        return _among(wanted), *ends
    if operator == "exact" and value is None:
        return _equal(NULL), -math.inf, math.inf
    number = _number(value)
    match operator:
        case "exact":
            return (_equal(number) if number == int(number) else _never), number, number
        case "gt" | "gte":
            least = math.floor(number) + 1 if operator == "gt" else math.ceil(number)
            return _from(least), least, math.inf
        case "lt" | "lte":
            most = math.ceil(number) - 1 if operator == "lt" else math.floor(number)
            return _upto(most), -math.inf, most
    raise NotColumns


def _numbers(value: Any) -> list[int]:
    if not isinstance(value, list | tuple | set | frozenset):
        raise NotColumns
    return [int(_number(one)) for one in value if one is not None]


def _number(value: Any) -> int | float:
    if isinstance(value, datetime):
        return to_us(value)
    if isinstance(value, int | float):
        return value
    raise NotColumns


_LARGEST = (1 << 63) - 1


def _never(numbers: Array) -> Array:
    return np.zeros(len(numbers), dtype=bool)


def _equal(number: float) -> Check:
    return lambda numbers: np.asarray(numbers == int(number))


def _unequal(number: int) -> Check:
    return lambda numbers: np.asarray(numbers != number)


def _from(least: int) -> Check:
    if least > _LARGEST:
        return _never
    bound = max(least, NULL + 1)
    return lambda numbers: np.asarray(numbers >= bound)


def _upto(most: int) -> Check:
    bound = min(most, _LARGEST)
    return lambda numbers: (numbers <= bound) & (numbers != NULL)


def _among(wanted: Array) -> Check:
    return lambda numbers: np.isin(numbers, wanted)


def _terms(expression: Any, table: Table) -> tuple[str, ...]:
    """The columns a sum is made of."""
    if isinstance(expression, F):
        column, operator = _column(str(expression.name), table)  # type: ignore[attr-defined]  # the stubs of F lack its name
        if operator != "exact" or not column.startswith(f"{table}."):
            raise NotColumns
        return (column,)
    if isinstance(expression, CombinedExpression) and expression.connector == "+":
        return _terms(expression.lhs, table) + _terms(expression.rhs, table)
    raise NotColumns
