"""Derive columns from those that are stored."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from agents.logs.store.numbers.columns import NULL, Array, Coded, Column, Ragged, coded
from agents.logs.store.numbers.table import REASONS
from agents.record.models.choices import INCOMPLETE, TRUNCATING, TurnStatus

Columns = Mapping[str, Column]


@dataclass(frozen=True, slots=True)
class DerivedColumn:
    """A column, and the ``sources`` it is derived from."""

    sources: frozenset[str]
    derive: Callable[[Columns], Coded]


def with_sources(names: Iterable[str]) -> set[str]:
    """Return the stored columns that these are, or are derived from."""
    return {source for name in names for source in (DERIVED[name].sources if name in DERIVED else (name,))}


def _ints(columns: Columns, name: str) -> Array:
    column = columns[name]
    assert not isinstance(column, Ragged)
    return column.ints


def _response_outcome(columns: Columns) -> Coded:
    """The statuses of responses, in which the last one of a turn that a limit ended is incomplete."""
    status, turns, keys = (_ints(columns, f"response.{name}") for name in ("status", "turn", "id"))
    newest = np.zeros(len(_ints(columns, "turn.status")), dtype=np.int64)
    np.maximum.at(newest, turns, keys)
    is_cut = _ints(columns, "turn.status") == TurnStatus.COMPLETED
    is_cut &= np.isin(_ints(columns, "turn.stop_reason"), [REASONS.index(reason) for reason in TRUNCATING])
    is_incomplete = is_cut[turns] & (keys == newest[turns]) & (status == TurnStatus.COMPLETED)
    return coded(np.where(is_incomplete, INCOMPLETE, status))


def _step_agent(columns: Columns) -> Coded:
    """The agents of steps: their own, where it is another one than their turn's."""
    turn_agents, own = columns["turn.agent_id"], columns["step.agent_id"]
    assert isinstance(turn_agents, Coded)
    assert isinstance(own, Coded)
    inherited = turn_agents.take(_ints(columns, "step.turn"))
    if (own.values == NULL).all():  # as in most chunks
        return inherited
    return coded(np.where(own.ints == NULL, inherited.ints, own.ints))


DERIVED: Mapping[str, DerivedColumn] = {
    "response.outcome": DerivedColumn(
        frozenset({"response.status", "response.turn", "response.id", "turn.status", "turn.stop_reason"}),
        _response_outcome,
    ),
    "step.agent": DerivedColumn(frozenset({"step.agent_id", "step.turn", "turn.agent_id"}), _step_agent),
}
"""By name."""
