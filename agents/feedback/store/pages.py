"""Pages of feedback: that on a record and all that is below it, or that on all turns that a query accepts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.db.models import Q, QuerySet

from agents.base.access import Actor
from agents.feedback.models import Feedback
from agents.feedback.store.feedback import FeedbackEntry, entry_of, rows_with
from agents.logs.store import listing
from agents.logs.store.numbers.snapshot import reading
from agents.query.tree import Query
from agents.record.models.turns import Turn
from agents.record.store.targets import RecordTarget

WINDOWS = (500, 4_000, 30_000)
"""Entries whose turns are looked up at a time; as many as the last of these from then on."""


@dataclass(frozen=True, slots=True)
class PageStart:
    """The key of the entry behind which a page begins, None for the first page, and its direction and size."""

    after: int | None = None
    limit: int = 100
    oldest_first: bool = False

    def apply(self, rows: QuerySet[Feedback], after: int | None) -> QuerySet[Feedback]:
        rows = rows.order_by("pk" if self.oldest_first else "-pk")
        return rows if after is None else rows.filter(**{"pk__gt" if self.oldest_first else "pk__lt": after})


FeedbackPage = tuple[list[FeedbackEntry], bool]
"""The entries of a page, and whether there are more."""


def of_target(actor: Actor, target: RecordTarget, start: PageStart) -> FeedbackPage:
    """A page of the feedback on a record and all that is below it. The caller has checked that the actor may see it."""
    return _page(actor, start.apply(rows_with(_within(actor, target)), start.after), start.limit)


def of_query(actor: Actor, query: Query, start: PageStart) -> FeedbackPage:
    """A page of the feedback on the turns that a query accepts, and on their steps, of those the actor may see. Raises
    Unavailable when it takes too long."""
    with reading(listing.BUDGET_S):
        keys = _accepted_keys(actor, query, start)
        return _page(actor, start.apply(rows_with(Q(pk__in=keys)), None), start.limit)


def _page(actor: Actor, rows: QuerySet[Feedback], limit: int) -> FeedbackPage:
    matching = list(rows[: limit + 1])
    return [entry_of(actor, row) for row in matching[:limit]], len(matching) > limit


def _within(actor: Actor, target: RecordTarget) -> Q:
    if target.step is not None:
        return Q(step_id=target.step)
    if target.turn is not None:
        return Q(turn_id=target.turn)
    visible = Turn.objects.visible_to(actor).filter(session_id=target.session)
    return Q(session_id=target.session) & (Q(turn=None) | Q(turn_id__in=visible.values("pk")))


def _accepted_keys(actor: Actor, query: Query, start: PageStart) -> list[int]:
    """The keys of the entries of a page and of the one behind it."""
    keys: list[int] = []
    for window in _windows(start):
        accepted = listing.accepted(actor, query, sorted({turn for _, turn in window}))
        keys += [key for key, turn in window if turn in accepted]
        if len(keys) > start.limit:
            break
    return keys[: start.limit + 1]


def _windows(start: PageStart) -> Iterator[list[tuple[int, int]]]:
    """The keys of entries and of their turns, a window at a time. Few turns have feedback, so that the query is asked
    of these, rather than of all turns first."""
    rows = rows_with(Q(turn__isnull=False))
    after, sizes = start.after, iter(WINDOWS)
    size = WINDOWS[0]
    while True:
        size = next(sizes, size)
        window = list(start.apply(rows, after).values_list("pk", "turn_id")[:size])
        if window:
            yield window
        if len(window) < size:
            return
        after = window[-1][0]
