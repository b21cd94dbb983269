"""Budgets: made, listed, changed and deleted. What is spent of them, `agents.record.store.spending` counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models import Exists, F, OuterRef, Q

from agents.base import ids
from agents.base.access import Action, Actor, require, require_admin
from agents.base.errors import InvalidRequest, NotFound
from agents.base.models.people import ApiKey, User
from agents.base.store import keyset, scopes
from agents.base.store.keyset import Cursor
from agents.base.store.writer import writer
from agents.base.timestamps import to_datetime, to_us
from agents.record.models.agents import Agent, Session
from agents.record.models.budgets import Budget
from agents.record.models.choices import BudgetPeriod, BudgetTarget
from agents.record.store import agents, sessions, spending
from agents.record.store.spending import BudgetState, Spending

MAX_BUDGETS = 100
"""Budgets of one user, agent, key or session: each inference looks at all of them."""
_COLUMNS = {
    BudgetTarget.USER: "user_id",
    BudgetTarget.API_KEY: "api_key_id",
    BudgetTarget.AGENT: "agent_id",
    BudgetTarget.SESSION: "session_id",
}


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a budget: billionths of a dollar, and tokens; None for no limit."""

    nano: int | None = None
    tokens: int | None = None


@dataclass(frozen=True, slots=True)
class NewBudget:
    """A budget to make. ``key`` is that of its target, None for the server."""

    target: BudgetTarget
    key: int | None
    period: BudgetPeriod
    limits: Limits
    window_us: int | None = None
    name: str = ""


@dataclass(frozen=True, slots=True)
class BudgetRecord:
    """A budget, what is spent of it, and whose it is: ``target_key`` with its ``target_name``. ``owner`` made it. Times
    are microseconds since 1970."""

    state: BudgetState
    target_key: int | None
    target_name: str
    owner: str
    may_change: bool
    created_at: int
    updated_at: int

    @property
    def public_id(self) -> str:
        return ids.openai(ids.Kind.BUDGET, self.state.key)

    def target_id(self, target: BudgetTarget) -> str | None:
        """Return the id of its target, if it is of this kind; users have their name."""
        if self.state.target != target or self.target_key is None:
            return None
        return self.target_name if target == BudgetTarget.USER else ids.public(_KINDS[target], self.target_key)


_KINDS = {
    BudgetTarget.API_KEY: ids.Kind.KEY,
    BudgetTarget.AGENT: ids.Kind.AGENT,
    BudgetTarget.SESSION: ids.Kind.SESSION,
}


# -------------------------------------------------------------------------------------- changes


def create(actor: Actor, new: NewBudget) -> BudgetRecord:
    """Make a budget. The server's, and those of others and of their keys, are for admins to make; one of an agent or a
    session for whoever may manage it. Raises NotAllowed, NotFound; InvalidRequest where there are too many."""
    require(actor, "manage")
    _check_target(actor, new.target, new.key)
    key = ids.new_key()
    column = _COLUMNS.get(new.target)
    target = {column: new.key} if column else {}

    def job() -> None:
        if _all().filter(target=new.target, **target).count() >= MAX_BUDGETS:
            raise InvalidRequest(f"There are {MAX_BUDGETS} budgets of it: no more.", code="too_many_budgets")
        _add(actor, key, new)

    writer.write(job)
    spending.forget()
    return _records(actor, [key])[0]


def _add(actor: Actor, key: int, new: NewBudget, *, is_spend_control: bool = False) -> None:
    """Store a budget, within the caller's transaction. One of a session in total counts what it has spent before."""
    column, now = _COLUMNS.get(new.target), to_datetime(ids.now_us())
    Budget(
        pk=key,
        owner_id=actor.user_id,
        scope_id=scopes.scope_for(actor),
        name=new.name,
        target=new.target,
        period=new.period,
        window_us=new.window_us,
        limit_nano=new.limits.nano,
        limit_tokens=new.limits.tokens,
        is_spend_control=is_spend_control,
        created_at=now,
        updated_at=now,
        **({column: new.key} if column else {}),
    ).save(force_insert=True)
    if new.target == BudgetTarget.SESSION and new.period == BudgetPeriod.TOTAL:
        sums = Session.objects.unscoped("checked by the caller").filter(pk=new.key)
        for cost_nano, read, written in sums.values_list("cost_nano", "input_tokens", "output_tokens"):
            spending.begin(key, Spending(cost_nano or 0, read + written))


def change(actor: Actor, public_id: str, *, name: str | None = None, limits: Limits | None = None) -> BudgetRecord:
    """Change a budget of the actor's, or anyone's for an admin. Raises NotFound."""
    now = to_datetime(ids.now_us())

    def job() -> int:
        row = _row(actor, public_id, "manage")
        row.name = row.name if name is None else name
        if limits is not None:
            row.limit_nano, row.limit_tokens = limits.nano, limits.tokens
        row.updated_at = now
        row.save(force_update=True)
        return int(row.pk)

    return _records(actor, [writer.write(job)])[0]


def delete(actor: Actor, public_id: str) -> None:
    """Delete a budget, with what was counted of it. Raises NotFound."""

    def job() -> None:
        spending.delete(_row(actor, public_id, "manage").pk)

    writer.write(job)
    spending.forget()


def _check_target(actor: Actor, target: BudgetTarget, key: int | None) -> None:
    match target:
        case BudgetTarget.AGENT:
            agents.get(actor, key or 0, "manage")
        case BudgetTarget.SESSION:
            sessions.get(actor, key or 0, action="manage")
        case BudgetTarget.USER if key == actor.user_id:
            pass
        case BudgetTarget.API_KEY if ApiKey.objects.filter(pk=key or 0, user_id=actor.user_id or 0).exists():
            pass
        case _:
            require_admin(actor)


def user_key(username: str) -> int:
    """Return the key of a user. Raises NotFound."""
    key = User.objects.filter(username=username).values_list("pk", flat=True).first()
    if key is None:
        raise NotFound(f"User '{username[:80]}' not found.")
    return int(key)


def api_key_key(public_id: str) -> int:
    """Return the key of an API key. Raises NotFound."""
    key = ids.parse(ids.Kind.KEY, public_id)
    if key is None or not ApiKey.objects.filter(pk=key).exists():
        raise NotFound(f"API key '{public_id[:80]}' not found.")
    return key


# --------------------------------------------------------------------------------------- reading


def get(actor: Actor, public_id: str, action: Action = "read") -> BudgetRecord:
    """Return a budget that the actor may see, or change. Raises NotFound."""
    return _records(actor, [_row(actor, public_id, action).pk])[0]


def page(actor: Actor, cursor: Cursor) -> tuple[list[BudgetRecord], bool]:
    """Return a page of the budgets that an actor may see, and whether more follow: one's own, those that limit oneself,
    one's keys, or agents and sessions that one may see; all for an admin. Raises InvalidRequest for an id that is none
    of a budget."""
    rows, has_more = keyset.page(_visible(actor), keyset.bounds(ids.Kind.BUDGET, cursor, "a budget"), "pk")
    return _records(actor, [key for (key,) in rows]), has_more


def of_target(actor: Actor, target: BudgetTarget, key: int) -> list[BudgetRecord]:
    """Return the budgets of an agent, a session, a user or a key that an actor may see, the oldest first."""
    rows = _visible(actor).filter(**{_COLUMNS[target]: key}).order_by("pk")
    return _records(actor, list(rows.values_list("pk", flat=True)[:MAX_BUDGETS]))


def _all() -> Any:
    return Budget.objects.unscoped("checked by the caller")


def _visible(actor: Actor) -> Any:
    require(actor, "read")
    if actor.is_admin:
        return _all()
    user = actor.user_id or 0
    seen_agents = Agent.objects.visible_to(actor).filter(pk=OuterRef("agent_id"))
    seen_sessions = Session.objects.visible_to(actor).filter(pk=OuterRef("session_id"))
    own = Q(owner_id=user) | Q(user_id=user) | Q(api_key__user_id=user)
    return _all().filter(own | Q(Exists(seen_agents)) | Q(Exists(seen_sessions)))


def _row(actor: Actor, public_id: str, action: Action) -> Budget:
    require(actor, action)
    key = ids.parse_openai(ids.Kind.BUDGET, public_id)
    rows = _visible(actor) if action == "read" else _all()
    if action != "read" and not actor.is_admin:
        rows = rows.filter(owner_id=actor.user_id or 0)
    row: Budget | None = rows.filter(pk=key).first() if key is not None else None
    if row is None:
        raise NotFound(f"Budget '{public_id[:80]}' not found.", code="budget_not_found")
    return row


def _records(actor: Actor, keys: list[int]) -> list[BudgetRecord]:
    states = spending.states_of(keys)
    names = {
        "owner_name": F("owner__username"),
        "user_name": F("user__username"),
        "api_key_name": F("api_key__name"),
        "session_name": F("session__name"),
        "agent_name": F("agent__name"),
    }
    rows = {row.pk: row for row in _all().filter(pk__in=keys).annotate(**names)}
    return [_record(actor, rows[key], states[key]) for key in keys if key in rows and key in states]


def _record(actor: Actor, row: Any, state: BudgetState) -> BudgetRecord:
    column = _COLUMNS.get(state.target)
    return BudgetRecord(
        state=state,
        target_key=getattr(row, column) if column else None,
        target_name=(getattr(row, f"{state.target.label}_name") or "") if column else "",
        owner=row.owner_name or "",
        may_change=actor.is_admin or (actor.user_id is not None and row.owner_id == actor.user_id),
        created_at=to_us(row.created_at),
        updated_at=to_us(row.updated_at),
    )


# ---------------------------------------------------------------- OpenAI's Agents API: one of a session


def set_spend_control(actor: Actor, session: int, limit_nano: int | None) -> None:
    """Set what a session may spend in total; None removes the limit, and what was spent stays counted. The first limit
    counts what the session has spent before. Raises what the access to the session raises."""
    sessions.get(actor, session, action="run")
    now = to_datetime(ids.now_us())

    def job() -> None:
        rows = _all().filter(session_id=session, is_spend_control=True)
        if rows.update(limit_nano=limit_nano, updated_at=now) or limit_nano is None:
            return
        new = NewBudget(BudgetTarget.SESSION, session, BudgetPeriod.TOTAL, Limits(limit_nano))
        _add(actor, ids.new_key(), new, is_spend_control=True)

    writer.write(job)
    spending.forget()


def spend_controls(session_keys: list[int]) -> dict[int, BudgetState]:
    """Return the limits of sessions that OpenAI's Agents API has set, by session."""
    rows = _all().filter(session_id__in=session_keys, is_spend_control=True).values_list("pk", "session_id")
    session_of = dict(rows) if spending.applies(spending.ANY) else {}
    return {session_of[key]: state for key, state in spending.states_of(list(session_of)).items()}
