"""Translate a query into masks over columns.

A condition on plain columns is evaluated in memory, from the same `Q` that the lists filter with, so that
both agree. Any other part of a query (words, tags, metadata, sessions) is executed once in the
database, which returns the sorted keys of the rows that fulfil it.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
from django.db.models import Q

from agents.base.access import Actor, readable_scopes
from agents.logs.store.conditions import value_matches
from agents.logs.store.numbers.layouts import CHILDREN, LAYOUTS, Table
from agents.logs.store.numbers.lookups import Lookups, NotColumns, sorted_keys
from agents.logs.store.numbers.masks import AllOf, AnyOf, ByKeys, ColumnCheck, Complement, FromTurn, Mask, TurnsWith
from agents.logs.store.query import condition
from agents.query import fields, tree
from agents.query.tree import Query
from agents.record.models.choices import RESPONSE_STATUSES, Api


class MaskPlan:
    """The masks of an actor's query over one table."""

    def __init__(self, actor: Actor, query: Query, table: Table) -> None:
        self._actor = actor
        self.seen = visibility_mask(actor, table)
        self.conditions = [(node, self._mask(node, table)) for node in tree.conjuncts(query.tree)]
        """The conditions that must all hold, each with its mask."""

    def _mask(self, node: tree.Node, table: Table) -> Mask:
        """Return the mask of a node over rows of a table."""
        match node:
            case tree.And():
                return AllOf(table, [self._mask(inner, table) for inner in node.nodes])
            case tree.Or():
                return AnyOf([self._mask(inner, table) for inner in node.nodes])
            case tree.Not():
                return Complement(self._mask(node.node, table))
            case tree.LevelScope():
                return self._scope(node, table)
            case tree.FieldTerm():
                return self._leaf(node, table, node.field)
            case tree.FreeText():
                return self._leaf(node, table, fields.FREE_TEXT)
            case _:
                return self._from_database(self._condition(node, table), table)

    def _scope(self, node: tree.LevelScope, table: Table) -> Mask:
        level, quantifier = node.level, node.quantifier
        if quantifier in ("any", "all", "no") and level in (table, "turn"):
            own = self._mask(node.node, "turn" if level == "turn" else table)
            own = own if level == table else FromTurn(table, own)
            return Complement(own) if quantifier == "no" else own
        if quantifier in ("any", "all", "no") and table == "turn" and level in CHILDREN:
            below = self._mask(node.node, level)
            mask = TurnsWith(level, Complement(below) if quantifier == "all" else below)
            return mask if quantifier == "any" else Complement(mask)
        return self._from_database(self._condition(node, table), table)

    def _leaf(self, node: tree.FieldTerm | tree.FreeText, table: Table, field: str) -> Mask:
        """Return the mask of a term; one on another table is evaluated there, if that table has columns."""
        if table == "response" and isinstance(node, tree.FieldTerm) and node.field == "status":
            return _response_status(node)
        condition = self._condition(node, table)
        with suppress(NotColumns):
            return Lookups(table).mask(condition)
        level = fields.level_of(fields.FIELDS[field], table)
        if table == "turn" and level in CHILDREN:
            return TurnsWith(level, self._mask(node, level))
        if table != "turn" and level == "turn":
            return FromTurn(table, self._mask(node, "turn"))
        return self._from_database(condition, table)

    def _condition(self, node: tree.Node, table: Table) -> Q:
        return condition(Query(text="", tree=node, level=table), self._actor)

    def _from_database(self, condition: Q, table: Table) -> Mask:
        """Return a mask with the help of the database: for single subqueries where they can be split off, else for
        the condition as one."""
        with suppress(NotColumns):
            return Lookups(table, asks=True).mask(condition)
        model: Any = LAYOUTS[table].model
        rows = model.objects.unscoped("masked by who may see").filter(condition)
        return ByKeys(table, sorted_keys(rows.values_list("pk", flat=True)))


def _response_status(node: tree.FieldTerm) -> Mask:
    numbers = [number for number, label in RESPONSE_STATUSES if value_matches(node.value, label)]
    is_negated = node.op == "!="
    return ColumnCheck("response.outcome", lambda values: np.isin(values, numbers, invert=is_negated))


# -------------------------------------------------------------------------------------- who may see


def visibility_mask(actor: Actor, table: Table) -> Mask:
    """Return the rule of ``visible_to`` for reading as a mask; of responses only those of OpenAI's API."""
    if "read" not in actor.actions:
        return ByKeys(table, np.array([], dtype=np.int64))
    responses = FromTurn(table, Lookups("turn").mask(Q(api=Api.RESPONSES)))
    listed: list[Mask] = [responses] if table == "response" else []
    if actor.is_admin:
        return AllOf(table, listed)
    visible = Q(scope_id__in=readable_scopes(actor))
    if actor.user_id is not None:
        visible |= Q(owner_id=actor.user_id)
    mask = Lookups("turn").mask(visible)
    return mask if table == "turn" else AllOf(table, [FromTurn(table, mask), *listed])
