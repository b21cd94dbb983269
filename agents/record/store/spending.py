"""What inferences spend of the budgets that limit them.

It is added in the transaction that stores the end of a step, and checked before each inference: of inferences that
run side by side each sees what was stored before it, so that a budget is overspent by those under way, and no more.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from django.db import connection

from agents.base import ids
from agents.base.store.cursors import direct_cursor
from agents.base.store.sql import Select, execute, execute_later
from agents.base.store.writer import writer
from agents.record.models.budgets import Budget
from agents.record.models.choices import BudgetPeriod, BudgetTarget
from agents.record.models.turns import Turn
from agents.record.schemas.content import Usage
from agents.record.store import costs

PARTS = 60
"""Parts of a window: what was spent is out of it when the part it belongs to is."""
MAX_REMEMBERED = 10_000
CACHE_TTL_S = 1.0
"""How long a process may take no notice of the first budget of a kind that another process has made."""


@dataclass(frozen=True, slots=True)
class Spender:
    """Whose budgets an inference has to keep to. ``turn`` is None where none is stored. The turn of a sub-agent keeps
    to those of the agent and the session at the top of its tree, too."""

    user: int | None = None
    api_key: int | None = None
    agent: int | None = None
    session: int | None = None
    turn: int | None = None
    top_agent: int | None = None
    top_session: int | None = None


ANY = Spender(user=0, api_key=0, agent=0, session=0)
"""A spender of whom nothing is known: every budget may be his."""


@dataclass(frozen=True, slots=True)
class Spending:
    """Billionths of a dollar, as far as prices are known, and tokens."""

    cost_nano: int = 0
    tokens: int = 0

    @classmethod
    def of(cls, usage: Usage, cost_nano: int | None) -> Spending:
        return cls(cost_nano or 0, usage.input_tokens + usage.output_tokens)

    def __bool__(self) -> bool:
        return bool(self.cost_nano or self.tokens)

    def __add__(self, more: Spending) -> Spending:
        return Spending(self.cost_nano + more.cost_nano, self.tokens + more.tokens)


@dataclass(frozen=True, slots=True)
class LimitState:
    """A limit of dollars (billionths), of tokens, or of both, and what is spent of it."""

    limit_nano: int | None
    limit_tokens: int | None
    spent: Spending

    @property
    def is_reached(self) -> bool:
        over_cost = self.limit_nano is not None and self.spent.cost_nano >= self.limit_nano
        return over_cost or (self.limit_tokens is not None and self.spent.tokens >= self.limit_tokens)


@dataclass(frozen=True, slots=True)
class BudgetState(LimitState):
    """A budget that applies to a spender, with what is spent of it."""

    key: int
    name: str
    target: BudgetTarget
    period: BudgetPeriod
    window_us: int | None


# -------------------------------------------------------------------------------- which there are

_EXISTS = "EXISTS (SELECT 1 FROM agents_budget WHERE target = %s)"
_TARGETS = f"SELECT {', '.join([_EXISTS] * len(BudgetTarget))}"
_cache: tuple[float, frozenset[BudgetTarget]] | None = None


def forget() -> None:
    """Empty the cache: budgets were made or deleted."""
    global _cache
    _cache = None


def applies(spender: Spender) -> bool:
    """Tell whether there may be a budget that limits this spender. This costs nothing where there are none."""
    global _cache
    cached = _cache
    if cached is None or time.monotonic() - cached[0] > CACHE_TTL_S:
        with direct_cursor() as cursor:
            cursor.execute(_TARGETS, BudgetTarget.values)
            row = cursor.fetchone()
        _cache = cached = (
            time.monotonic(),
            frozenset(kind for kind, exists in zip(BudgetTarget, row, strict=True) if exists),
        )
    targets = cached[1]
    return bool(targets) and any(target in targets for target, is_limited in _kinds(spender).items() if is_limited)


def is_idle() -> bool:
    """Tell whether this process knows, without looking, that there is no budget at all."""
    return _cache is not None and not _cache[1] and time.monotonic() - _cache[0] <= CACHE_TTL_S


def _kinds(spender: Spender) -> dict[BudgetTarget, bool]:
    """Return the kinds of budgets, each with whether one of it may limit this spender."""
    return {
        BudgetTarget.SERVER: True,
        BudgetTarget.USER: spender.user is not None,
        BudgetTarget.API_KEY: spender.api_key is not None,
        BudgetTarget.AGENT: spender.agent is not None or spender.top_agent is not None,
        BudgetTarget.SESSION: spender.session is not None or spender.top_session is not None,
    }


_OF_SPENDER = "(target = 0 OR user_id = %s OR api_key_id = %s OR agent_id IN (%s, %s) OR session_id IN (%s, %s))"
_COUNTED = Select(Budget, "id window_us", f"period <> %s AND {_OF_SPENDER}")


def _values(spender: Spender) -> tuple[int | None, ...]:
    agents, sessions = (spender.agent, spender.top_agent), (spender.session, spender.top_session)
    return spender.user, spender.api_key, *agents, *sessions


# --------------------------------------------------------------------------------------- adding

_ADD = (
    "INSERT INTO agents_budgetspend (budget_id, until, stripe, cost_nano, tokens) VALUES (%s, %s, %s, %s, %s) "
    "ON CONFLICT (budget_id, until, stripe) DO UPDATE SET cost_nano = agents_budgetspend.cost_nano + "
    "excluded.cost_nano, tokens = agents_budgetspend.tokens + excluded.tokens"
)
_TURN = (
    "SELECT turn.owner_id, turn.actor_key, turn.agent_id, turn.session_id, top.agent_id, top.session_id "
    "FROM agents_turn turn LEFT JOIN agents_agentcall answered ON answered.turn_id = turn.id "
    "LEFT JOIN agents_turn top ON top.id = answered.root_id WHERE turn.id = %s"
)
_DELETE_OLD = (
    "DELETE FROM agents_budgetspend WHERE id IN "
    "(SELECT id FROM agents_budgetspend WHERE budget_id = %s AND until > 0 AND until <= %s{locks})"
)
_latest_parts: dict[int, int] = {}
"""The end of the latest part that this process has added to, by budget with a window."""


def of_turn(turn: int) -> Spender:
    """Return whose budgets a stored turn has to keep to."""
    with direct_cursor() as cursor:
        cursor.execute(_TURN, [turn])
        row = cursor.fetchone()
    if row is None:
        return Spender()
    user, api_key, agent, session, top_agent, top_session = row
    return Spender(user, api_key, agent, session, turn, top_agent, top_session)


def called_by(parent: int, spender: Spender) -> Spender:
    """Return whose budgets a turn has to keep to that the turn ``parent`` is about to begin."""
    caller = of_turn(parent)
    top_session = caller.session if caller.top_session is None else caller.top_session
    top_agent = caller.agent if caller.top_session is None else caller.top_agent
    return replace(spender, top_agent=top_agent, top_session=top_session)


def add_of_turn(turn: int, spent: Spending) -> None:
    """Add what steps of a turn have spent, within the transaction that stores them."""
    if spent and applies(ANY) and applies(spender := of_turn(turn)):
        _add(spender, spent)


def add(spender: Spender, spent: Spending) -> None:
    """Add what an inference has spent that no turn is stored of."""
    if spent and applies(spender):
        writer.write(lambda: _add(spender, spent))


def begin(budget: int, spent: Spending) -> None:
    """Begin a budget without a window with what was spent before it was made, within the caller's transaction."""
    if spent:
        execute(_ADD, budget, 0, _stripe(), spent.cost_nano, spent.tokens)


def delete(budget: int) -> None:
    """Delete a budget with what was counted of it, within the caller's transaction."""
    execute("DELETE FROM agents_budgetspend WHERE budget_id = %s", budget)
    execute("DELETE FROM agents_budget WHERE id = %s", budget)


def _add(spender: Spender, spent: Spending) -> None:
    now = ids.now_us()
    for budget, window_us in _COUNTED.all(BudgetPeriod.TURN.value, *_values(spender)):
        until = 0
        if window_us is not None:
            length = window_us // PARTS
            until = (now // length + 1) * length
            _forget_old(budget, until, window_us)
        execute_later(_ADD, budget, until, _stripe(), spent.cost_nano, spent.tokens)


def _forget_old(budget: int, until: int, window_us: int) -> None:
    """Delete the parts of a budget that are out of its window, once for each new part."""
    if _latest_parts.get(budget) == until:
        return
    if len(_latest_parts) > MAX_REMEMBERED:
        _latest_parts.clear()
    _latest_parts[budget] = until
    # rows that another process deletes just now are left to it
    locks = " FOR UPDATE SKIP LOCKED" if connection.features.has_select_for_update_skip_locked else ""
    execute_later(_DELETE_OLD.replace("{locks}", locks), budget, until - window_us)


@cache
def _stripe() -> int:
    """Return a number of this process."""
    return secrets.randbits(46) << 16 | os.getpid() & 0xFFFF


# ------------------------------------------------------------------------------------- checking

_STATES = (
    "SELECT b.id, name, target, period, window_us, limit_nano, limit_tokens, "
    "COALESCE(SUM(spend.cost_nano), 0), COALESCE(SUM(spend.tokens), 0) "
    "FROM agents_budget b LEFT JOIN agents_budgetspend spend "
    "ON spend.budget_id = b.id AND spend.until >= COALESCE(%s - window_us, 0) "
    "WHERE {where} GROUP BY b.id ORDER BY target, b.id"
)
_SPENT_BY_TREE = (
    "WITH tree(root) AS (SELECT COALESCE((SELECT root_id FROM agents_agentcall WHERE turn_id = %s), %s)) "
    "SELECT COALESCE(SUM(cost_nano), 0), COALESCE(SUM(input_tokens + output_tokens), 0) FROM agents_turn WHERE id IN "
    "(SELECT root FROM tree UNION SELECT turn_id FROM agents_agentcall WHERE root_id = (SELECT root FROM tree))"
)
_SPENT_BY_TURN = Select(Turn, "cost_nano input_tokens output_tokens", "id = %s")


def states(spender: Spender, spent_by_turn: Spending | None = None) -> list[BudgetState]:
    """Return the budgets that limit this spender, those of the server first. ``spent_by_turn`` is what the turn has
    spent so far, where that is not stored."""
    if not applies(spender):
        return []
    if spent_by_turn is None and spender.turn is not None:
        row = _SPENT_BY_TURN.first(spender.turn)
        spent_by_turn = Spending(row[0] or 0, row[1] + row[2]) if row else None
    return _read_states(_OF_SPENDER, _values(spender), spent_by_turn or Spending())


def spent_by_tree(turn: int) -> Spending:
    """Return what a stored turn has spent so far, with all turns of the tree of sub-agents that it is in."""
    with direct_cursor() as cursor:
        cursor.execute(_SPENT_BY_TREE, [turn, turn])
        cost_nano, tokens = cursor.fetchone()
    return Spending(int(cost_nano), int(tokens))


def states_of(budgets: Sequence[int]) -> dict[int, BudgetState]:
    """Return budgets by their keys."""
    if not budgets:
        return {}
    marks = ", ".join(["%s"] * len(budgets))
    return {state.key: state for state in _read_states(f"b.id IN ({marks})", budgets, Spending())}


def _read_states(where: str, values: Sequence[int | None], spent_by_turn: Spending) -> list[BudgetState]:
    with direct_cursor() as cursor:
        cursor.execute(_STATES.replace("{where}", where), [ids.now_us(), *values])
        rows = cursor.fetchall()
    return [_state(row, spent_by_turn) for row in rows]


def _state(row: Sequence[Any], spent_by_turn: Spending) -> BudgetState:
    key, name, target, period, window_us, limit_nano, limit_tokens, cost_nano, tokens = row
    spent = spent_by_turn if period == BudgetPeriod.TURN else Spending(int(cost_nano), int(tokens))
    return BudgetState(
        limit_nano, limit_tokens, spent, key, name, BudgetTarget(target), BudgetPeriod(period), window_us
    )


def has_price(model: str, alias: str = "") -> bool:
    """Tell whether the cost of a model's tokens is known now."""
    return costs.cost(model, Usage(), ids.now_us(), alias)[0] is not None
