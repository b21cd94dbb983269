"""Stores and reads feedback on sessions, turns and steps: ratings, named scores, comments. The rows they are on belong
to others; callers have checked that the actor may see them (`agents.record.store.targets`).

An author (the user who is logged in, with the name that an application gives) has one rating for a record and one score
of each name: a later one replaces the earlier. Comments add up.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q, QuerySet

from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import InvalidRequest, NotFound
from agents.base.models.terms import TermKind
from agents.base.store import terms
from agents.base.store.writer import writer
from agents.base.timestamps import to_us
from agents.base.tokenizer import index_text
from agents.feedback.models import Feedback, Rating
from agents.record.store import targets
from agents.record.store.targets import RecordTarget

RATINGS = {rating.label: rating.value for rating in Rating}
MAX_PER_AUTHOR = 200
"""Feedback entries of one author on one record."""


@dataclass(frozen=True, slots=True)
class FeedbackContent:
    """The content of a feedback entry. ``rating`` is ``up`` or ``down``; ``name`` and ``value`` are a score; ``author``
    is the name that an application gives for its end user."""

    rating: str | None = None
    name: str = ""
    value: float | None = None
    comment: str = ""
    author: str = ""


@dataclass(frozen=True, slots=True)
class FeedbackEntry:
    """A stored feedback entry, for one reader. ``created_at``, ``updated_at`` are in microseconds; ``by_reader`` says
    that the reader gave it under its own name, ``can_withdraw`` that it may withdraw it."""

    key: int
    target: RecordTarget
    content: FeedbackContent
    created_at: int
    updated_at: int
    by_reader: bool
    can_withdraw: bool

    @property
    def public_id(self) -> str:
        return ids.public(ids.Kind.FEEDBACK, self.key)


# ------------------------------------------------------------------------------------------- writing


def add(actor: Actor, target: RecordTarget, content: FeedbackContent) -> int:
    """Store one entry; returns its key. Raises as `submit`."""
    return submit(actor, target, [content])[0]


def submit(
    actor: Actor, target: RecordTarget, contents: Sequence[FeedbackContent], tags: Collection[str] = ()
) -> list[int]:
    """Store entries and tag the record, all or nothing; returns the keys of the entries. Raises NotFound for a record
    that was deleted meanwhile, InvalidRequest when the author has too many entries on it."""
    keys = [ids.new_key() for _ in contents]

    def job() -> list[int]:
        targets.lock(target)
        stored = [_store(actor, key, target, content) for key, content in zip(keys, contents, strict=True)]
        targets.tag(target, tags)
        targets.note_change(target)
        return stored

    return writer.write(job)


def _store(actor: Actor, key: int, target: RecordTarget, content: FeedbackContent) -> int:
    now, author = ids.now_us(), content.author or actor.name[:200]
    score_term = terms.intern(TermKind.SCORE, content.name)
    rows = list(_rows_of_author(actor, target, author).order_by("pk"))
    row = _row_to_update(rows, content, score_term)
    if row is None:
        if len(rows) >= MAX_PER_AUTHOR:
            raise InvalidRequest(
                f"{author} has said {MAX_PER_AUTHOR} things of this already.", code="too_much_feedback"
            )
        row = Feedback(pk=key, **_target_columns(target), author_id=actor.user_id, author_name=author, created_at=now)
    for other in rows:
        if other.pk != row.pk:
            _clear_replaced(other, content, score_term)
    if content.rating:
        row.rating = RATINGS[content.rating]
    if score_term is not None:
        row.name_id, row.value = score_term, content.value
    if content.comment:
        row.comment, row.words = content.comment, f" {index_text(content.comment)} "
    row.updated_at = now
    row.save()
    return int(row.pk)


def remove_rating(actor: Actor, target: RecordTarget) -> None:
    """Remove the actor's own rating; a comment that came with it stays."""

    def job() -> None:
        for row in _rows_of_author(actor, target, actor.name[:200]).exclude(rating=None):
            _clear_replaced(row, FeedbackContent(rating="up"), None)
        targets.note_change(target)

    writer.write(job)


def _rows_of_author(actor: Actor, target: RecordTarget, author: str) -> QuerySet[Feedback]:
    """The entries of an author on a record that were given here."""
    return Feedback.objects.filter(
        **_target_columns(target), author_id=actor.user_id, author_name=author, foreign_id=None
    )


def _target_columns(target: RecordTarget) -> dict[str, Any]:
    return {"session_id": target.session, "turn_id": target.turn, "step_id": target.step}


def _row_to_update(rows: Sequence[Feedback], content: FeedbackContent, score_term: int | None) -> Feedback | None:
    """The row that new content updates: that of the earlier rating, score or equal comment, unless the content has
    another comment."""
    for row in rows:
        is_match = (content.rating and row.rating is not None) or (score_term is not None and row.name_id == score_term)
        if content.comment:
            is_match = row.comment == content.comment or (bool(is_match) and not row.comment)
        if is_match:
            return row
    return None


def _clear_replaced(row: Feedback, content: FeedbackContent, score_term: int | None) -> None:
    """Clear an earlier rating or score that new content replaces; its comment stays."""
    clears_rating = bool(content.rating) and row.rating is not None
    clears_score = score_term is not None and row.name_id == score_term
    if not clears_rating and not clears_score:
        return
    row.rating = None if clears_rating else row.rating
    row.name_id, row.value = (None, None) if clears_score else (row.name_id, row.value)
    if row.rating is None and row.name_id is None and not row.comment:
        row.delete()
    else:
        row.save()


def withdraw(actor: Actor, public_id: str) -> RecordTarget:
    """Delete an entry: the actor's own, or anyone's for an admin. Returns its record. Raises NotFound."""
    key = ids.parse(ids.Kind.FEEDBACK, public_id)
    condition = Q() if actor.is_admin else Q(author_id=actor.user_id or 0)

    def job() -> RecordTarget:
        row = rows_with(condition & Q(pk=key or 0)).first()
        if row is None:
            raise NotFound(f"Feedback '{public_id[:80]}' not found.")
        target = RecordTarget(row.session_id, row.turn_id, row.step_id)
        if row.foreign_id is None:
            row.delete()
        else:
            Feedback.objects.filter(pk=row.pk).update(rating=None, name=None, value=None, comment="", words="")
        targets.note_change(target)
        return target

    return writer.write(job)


# ------------------------------------------------------------------------------------------- reading


def of_turn(actor: Actor, turn: int) -> list[FeedbackEntry]:
    """The feedback on a turn and its steps, oldest first."""
    return _entries(actor, Q(turn_id=turn))


def of_session(actor: Actor, session: int) -> list[FeedbackEntry]:
    """The feedback on a session itself, oldest first."""
    return _entries(actor, Q(session_id=session, turn=None))


def of_keys(actor: Actor, keys: Collection[int]) -> list[FeedbackEntry]:
    """The entries with these keys, in the order of the keys."""
    entries = {entry.key: entry for entry in _entries(actor, Q(pk__in=list(keys)))}
    return [entries[key] for key in dict.fromkeys(keys) if key in entries]


def of_turns(turns: Collection[int]) -> Mapping[int, list[FeedbackContent]]:
    """The feedback on these turns themselves, by turn."""
    by_turn: dict[int, list[FeedbackContent]] = {}
    for row in rows_with(Q(turn_id__in=list(turns), step=None)):
        by_turn.setdefault(row.turn_id, []).append(_content(row))
    return by_turn


def _entries(actor: Actor, condition: Q) -> list[FeedbackEntry]:
    return [entry_of(actor, row) for row in rows_with(condition)]


def entry_of(actor: Actor, row: Feedback) -> FeedbackEntry:
    """A stored entry as its reader sees it; the row is one of `rows_with`."""
    by_actor = actor.user_id is not None and row.author_id == actor.user_id
    return FeedbackEntry(
        row.pk,
        RecordTarget(row.session_id, row.turn_id, row.step_id),
        _content(row),
        to_us(row.created_at),
        to_us(row.updated_at),
        by_reader=by_actor and row.author_name == actor.name[:200],
        can_withdraw=by_actor or actor.is_admin,
    )


def rows_with(condition: Q) -> QuerySet[Feedback]:
    """The entries that fulfil a condition with the names of their scores, oldest first."""
    return Feedback.objects.filter(condition).exclude(_WITHDRAWN).select_related("name").order_by("pk")


_WITHDRAWN = Q(rating__isnull=True, name__isnull=True, comment="")


def is_withdrawn(row: Feedback) -> bool:
    """Whether nothing is left of a reported entry."""
    return row.rating is None and row.name_id is None and not row.comment


def _content(row: Feedback) -> FeedbackContent:
    rating = Rating(row.rating).label if row.rating is not None else None
    return FeedbackContent(rating, row.name.value if row.name else "", row.value, row.comment, row.author_name)
