"""The rows that a query accepts, and those of them with the largest amounts."""

from __future__ import annotations

import numpy as np

from agents.base.access import Actor
from agents.logs.store.numbers.columns import NULL, Array
from agents.logs.store.numbers.scan import scan_of
from agents.logs.store.numbers.snapshot import Deadline
from agents.query.tree import Query

AMOUNTS = {"duration": "duration_us", "cost": "cost_nano"}


def largest(actor: Actor, query: Query, amount: str, limit: int, deadline: Deadline) -> list[int]:
    """Keys, the largest amount first; rows without one are left out."""
    scan = scan_of(actor, query, deadline)
    key, column = f"{scan.table}.id", f"{scan.table}.{AMOUNTS[amount]}"
    keys, amounts = [np.array([], dtype=np.int64)], [np.array([], dtype=np.int64)]
    for sifted in scan.over({key, column}):
        rows = sifted.rows()
        if rows is not None:
            found = _first(sifted.ints(column, rows), sifted.ints(key, rows), limit)
            amounts.append(found[0])
            keys.append(found[1])
    _, chosen = _first(np.concatenate(amounts), np.concatenate(keys), limit)
    return [int(each) for each in chosen]


def keys(actor: Actor, query: Query, deadline: Deadline) -> list[int]:
    """The keys of all rows, in their order."""
    scan = scan_of(actor, query, deadline)
    column, found = f"{scan.table}.id", [np.array([], dtype=np.int64)]
    for sifted in scan.over({column}):
        rows = sifted.rows()
        if rows is not None:
            found.append(sifted.ints(column, rows))
    return [int(key) for key in np.sort(np.concatenate(found))]


def _first(amounts: Array, keys: Array, limit: int) -> tuple[Array, Array]:
    """The largest of them, in their order."""
    present = amounts != NULL
    amounts, keys = amounts[present], keys[present]
    order = np.lexsort((keys, amounts))[::-1][:limit]
    return amounts[order], keys[order]
