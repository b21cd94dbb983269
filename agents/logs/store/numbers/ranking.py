"""Return the keys of the rows that a query accepts, and of those with the largest amounts."""

from __future__ import annotations

import numpy as np

from agents.base.access import Actor
from agents.logs.store.numbers.columns import NULL, Array
from agents.logs.store.numbers.scan import open_scan
from agents.logs.store.numbers.snapshot import Deadline
from agents.query.tree import Query

AMOUNTS = {"duration": "duration_us", "cost": "cost_nano"}


def largest(actor: Actor, query: Query, amount: str, limit: int, deadline: Deadline) -> list[int]:
    """Return keys, the largest amount first; rows without an amount are left out."""
    scan = open_scan(actor, query, deadline)
    key, column = f"{scan.table}.id", f"{scan.table}.{AMOUNTS[amount]}"
    keys, amounts = [np.array([], dtype=np.int64)], [np.array([], dtype=np.int64)]
    for matched in scan.over({key, column}):
        rows = matched.rows()
        if rows is not None:
            top = _largest(matched.ints(column, rows), matched.ints(key, rows), limit)
            amounts.append(top[0])
            keys.append(top[1])
    _, chosen = _largest(np.concatenate(amounts), np.concatenate(keys), limit)
    return [int(row_key) for row_key in chosen]


def keys(actor: Actor, query: Query, deadline: Deadline) -> list[int]:
    """Return the keys of all rows, ascending."""
    scan = open_scan(actor, query, deadline)
    column, batches = f"{scan.table}.id", [np.array([], dtype=np.int64)]
    for matched in scan.over({column}):
        rows = matched.rows()
        if rows is not None:
            batches.append(matched.ints(column, rows))
    return [int(key) for key in np.sort(np.concatenate(batches))]


def _largest(amounts: Array, keys: Array, limit: int) -> tuple[Array, Array]:
    """Return the largest amounts, descending, with their keys."""
    present = amounts != NULL
    amounts, keys = amounts[present], keys[present]
    order = np.lexsort((keys, amounts))[::-1][:limit]
    return amounts[order], keys[order]
