"""Feedback, budgets and saved views."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypedDict, Unpack
from urllib.parse import quote

from turnlog.client import objects
from turnlog.client.logs import Listing
from turnlog.client.transport import Resource, S, Steps, ask, call, tell


class Record(TypedDict, total=False):
    """What feedback is about: exactly one of these."""

    turn_id: str
    session_id: str
    step_id: str
    response_id: str


class FeedbackLog(Resource[S]):
    @call
    def add(
        self,
        *,
        rating: str | None = None,
        score: Mapping[str, float] | None = None,
        comment: str = "",
        user: str = "",
        tags: Sequence[str] = (),
        **record: Unpack[Record],
    ) -> Steps[objects.FeedbackAdded]:
        """Rate (``up``, ``down``), score by names (``{"helpful": 0.9}``), comment or tag one record; ``user`` is the
        end user who does."""
        scores = [{"name": name, "value": value} for name, value in (score or {}).items()]
        body = {**record, "rating": rating, "score": scores, "comment": comment, "user": user, "tags": list(tags)}
        return ask(objects.FeedbackAdded, "POST", "feedback", json=body)

    def list(self, query: str | None = None, **record: Unpack[Record]) -> Listing[S, objects.Feedback]:
        """All feedback on one record, or on the turns that a query accepts; newest first."""
        pages = objects.Page[objects.Feedback]
        return Listing(self._sender, lambda after: ask(pages, "GET", "feedback", q=query, after=after, **record))

    @call
    def delete(self, feedback_id: str) -> Steps[None]:
        return tell("DELETE", f"feedback/{quote(feedback_id, safe='')}")


class Target(TypedDict, total=False):
    """Whose inferences a budget limits: one of these, or none for the whole server."""

    user: str
    api_key_id: str
    agent_id: str
    session_id: str


class Limits(TypedDict, total=False):
    """A limit of None is removed."""

    name: str
    usd: float | None
    tokens: int | None


class Budgets(Resource[S]):
    @call
    def create(
        self,
        *,
        name: str = "",
        usd: float | None = None,
        tokens: int | None = None,
        period: str = "total",
        window_seconds: int | None = None,
        **target: Unpack[Target],
    ) -> Steps[objects.Budget]:
        """Limit US dollars, tokens or both, in ``total``, for each ``turn`` or over a ``window``."""
        body = {"name": name, "usd": usd, "tokens": tokens, "period": period, **target}
        return ask(objects.Budget, "POST", "budgets", json={**body, "window_seconds": window_seconds})

    def list(self) -> Listing[S, objects.Budget]:
        pages = objects.Page[objects.Budget]
        return Listing(self._sender, lambda after: ask(pages, "GET", "budgets", after=after))

    @call
    def get(self, budget_id: str) -> Steps[objects.Budget]:
        return ask(objects.Budget, "GET", f"budgets/{quote(budget_id, safe='')}")

    @call
    def update(self, budget_id: str, **limits: Unpack[Limits]) -> Steps[objects.Budget]:
        return ask(objects.Budget, "POST", f"budgets/{quote(budget_id, safe='')}", json=limits)

    @call
    def delete(self, budget_id: str) -> Steps[None]:
        return tell("DELETE", f"budgets/{quote(budget_id, safe='')}")


class ViewChanges(TypedDict, total=False):
    name: str
    q: str
    level: str
    columns: Sequence[str]
    shared: bool


class SavedViews(Resource[S]):
    @call
    def create(
        self, name: str, q: str = "", *, level: str = "turn", columns: Sequence[str] = (), shared: bool = False
    ) -> Steps[objects.View]:
        body = {"name": name, "q": q, "level": level, "columns": list(columns), "shared": shared}
        return ask(objects.View, "POST", "logs/views", json=body)

    @call
    def list(self) -> Steps[Sequence[objects.View]]:
        """The built-in ones, then those that this key sees."""
        return (yield from ask(objects.Views, "GET", "logs/views")).items

    @call
    def get(self, view_id: str) -> Steps[objects.View]:
        return ask(objects.View, "GET", f"logs/views/{quote(view_id, safe='')}")

    @call
    def update(self, view_id: str, **changes: Unpack[ViewChanges]) -> Steps[objects.View]:
        return ask(objects.View, "PATCH", f"logs/views/{quote(view_id, safe='')}", json=changes)

    @call
    def delete(self, view_id: str) -> Steps[None]:
        return tell("DELETE", f"logs/views/{quote(view_id, safe='')}")
