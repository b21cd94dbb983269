"""A query as masks over columns.

A condition on plain columns is worked out here, from the very `Q` the lists filter with, so that
both say the same. Any other part of a query (words, tags, metadata, sessions) is asked once from the
database, as the sorted keys of the rows it holds for.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
from django.db.models import Q

from agents.base.access import Actor, readable_scopes
from agents.logs.store.numbers.lookups import Lookups, NotColumns, keys_of
from agents.logs.store.numbers.masks import Both, Either, Inherited, Keyed, Mask, Other, Some
from agents.logs.store.numbers.table import CHILDREN, LAYOUTS, Table
from agents.logs.store.query import condition
from agents.query import fields, tree
from agents.query.tree import Query
from agents.record.models.choices import Api


class Plan:
    """What an actor asks, as masks over one table."""

    def __init__(self, actor: Actor, query: Query, table: Table) -> None:
        self._actor = actor
        self.seen = visible(actor, table)
        self.conditions = [(node, self._mask(node, table)) for node in tree.conjuncts(query.tree)]
        """The conditions that must all hold, each with its mask."""

    def _mask(self, node: tree.Node, table: Table) -> Mask:
        """The mask of a node over rows of a table."""
        match node:
            case tree.And():
                return Both(table, [self._mask(inner, table) for inner in node.nodes])
            case tree.Or():
                return Either([self._mask(inner, table) for inner in node.nodes])
            case tree.Not():
                return Other(self._mask(node.node, table))
            case tree.LevelScope():
                return self._scope(node, table)
            case tree.FieldTerm():
                return self._leaf(node, table, node.field)
            case tree.FreeText():
                return self._leaf(node, table, fields.FREE_TEXT)
            case _:
                return self._asked(self._condition(node, table), table)

    def _scope(self, node: tree.LevelScope, table: Table) -> Mask:
        level, quantifier = node.level, node.quantifier
        if quantifier in ("any", "all", "no") and level in (table, "turn"):
            own = self._mask(node.node, "turn" if level == "turn" else table)
            own = own if level == table else Inherited(table, own)
            return Other(own) if quantifier == "no" else own
        if quantifier in ("any", "all", "no") and table == "turn" and level in CHILDREN:
            below = self._mask(node.node, level)
            found = Some(level, Other(below) if quantifier == "all" else below)
            return found if quantifier == "any" else Other(found)
        return self._asked(self._condition(node, table), table)

    def _leaf(self, node: tree.FieldTerm | tree.FreeText, table: Table, field: str) -> Mask:
        """What rows of another table say is looked up there, if it has columns here."""
        found = self._condition(node, table)
        with suppress(NotColumns):
            return Lookups(table).mask(found)
        level = fields.level_of(fields.FIELDS[field], table)
        if table == "turn" and level in CHILDREN:
            return Some(level, self._mask(node, level))
        if table != "turn" and level == "turn":
            return Inherited(table, self._mask(node, "turn"))
        return self._asked(found, table)

    def _condition(self, node: tree.Node, table: Table) -> Q:
        return condition(Query(text="", tree=node, level=table), self._actor)

    def _asked(self, found: Q, table: Table) -> Mask:
        """With the help of the database: for its smallest parts where they can be told apart."""
        with suppress(NotColumns):
            return Lookups(table, asks=True).mask(found)
        model: Any = LAYOUTS[table].model
        rows = model.objects.unscoped("masked by who may see").filter(found)
        return Keyed(table, keys_of(rows.values_list("pk", flat=True)))


# -------------------------------------------------------------------------------------- who may see


def visible(actor: Actor, table: Table) -> Mask:
    """The rule of ``visible_to`` for reading, as a mask; of legs those that are responses."""
    if "read" not in actor.actions:
        return Keyed(table, np.array([], dtype=np.int64))
    responses = Inherited(table, Lookups("turn").mask(Q(api=Api.RESPONSES)))
    listed: list[Mask] = [responses] if table == "response" else []
    if actor.is_admin:
        return Both(table, listed)
    seen = Q(scope_id__in=readable_scopes(actor))
    if actor.user_id is not None:
        seen |= Q(owner_id=actor.user_id)
    mask = Lookups("turn").mask(seen)
    return mask if table == "turn" else Both(table, [Inherited(table, mask), *listed])
