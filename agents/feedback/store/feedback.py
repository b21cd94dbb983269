"""What people say of sessions, turns and steps: thumbs, named scores, comments. The rows they are about
belong to others; whoever calls has checked that the actor may see them (`agents.record.store.targets`).

An author (who is logged in, and whom an application names) has one thumb for a record and one score of
each name: a later one takes the place of the earlier. Comments add up.
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
from agents.record.models.turns import Turn
from agents.record.store import targets
from agents.record.store.targets import RecordTarget

RATINGS = {each.label: each.value for each in Rating}
MOST = 200
"""Judgements of one author about one record."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """``rating`` is ``up`` or ``down``; ``name`` and ``value`` are a score; ``author`` is whom an
    application names, where nobody is logged in."""

    rating: str | None = None
    name: str = ""
    value: float | None = None
    comment: str = ""
    author: str = ""


@dataclass(frozen=True, slots=True)
class Said:
    """A judgement as it is shown. ``created_at``, ``updated_at`` in microseconds; ``own`` is that the
    reader speaks there for itself, ``mine`` that it may take it back."""

    key: int
    about: RecordTarget
    judgement: Judgement
    created_at: int
    updated_at: int
    own: bool
    mine: bool

    @property
    def public_id(self) -> str:
        return ids.public(ids.Kind.FEEDBACK, self.key)


# ------------------------------------------------------------------------------------------- writing


def add(actor: Actor, about: RecordTarget, said: Judgement) -> int:
    """Store a judgement; returns its key. Raises as `judge`."""
    return judge(actor, about, [said])[0]


def judge(actor: Actor, about: RecordTarget, said: Sequence[Judgement], names: Collection[str] = ()) -> list[int]:
    """Store judgements and tag the record with ``names``, all or nothing; returns their keys. Raises
    NotFound for a record that was deleted meanwhile, InvalidRequest when the author has said too much."""
    keys = [ids.new_key() for _ in said]

    def job() -> list[int]:
        targets.lock(about)
        stored = [_put(actor, key, about, each) for key, each in zip(keys, said, strict=True)]
        targets.tag(about, names)
        targets.note_change(about)
        return stored

    return writer.write(job)


def _put(actor: Actor, key: int, about: RecordTarget, said: Judgement) -> int:
    now, author = ids.now_us(), said.author or actor.name[:200]
    name = terms.intern(TermKind.SCORE, said.name)
    rows = list(_earlier(actor, about, author).order_by("pk"))
    row = _same(rows, said, name)
    if row is None:
        if len(rows) >= MOST:
            raise InvalidRequest(f"{author} has said {MOST} things of this already.", code="too_much_feedback")
        row = Feedback(pk=key, **_place(about), author_id=actor.user_id, author_name=author, created_at=now)
    for other in rows:
        if other.pk != row.pk:
            _take_from(other, said, name)
    if said.rating:
        row.rating = RATINGS[said.rating]
    if name is not None:
        row.name_id, row.value = name, said.value
    if said.comment:
        row.comment, row.words = said.comment, f" {index_text(said.comment)} "
    row.updated_at = now
    row.save()
    return int(row.pk)


def unrate(actor: Actor, about: RecordTarget) -> None:
    """Take one's own thumb back; a comment that came with it stays."""

    def job() -> None:
        for row in _earlier(actor, about, actor.name[:200]).exclude(rating=None):
            _take_from(row, Judgement(rating="up"), None)
        targets.note_change(about)

    writer.write(job)


def _earlier(actor: Actor, about: RecordTarget, author: str) -> QuerySet[Feedback]:
    """What an author has said of a record."""
    return Feedback.objects.filter(**_place(about), author_id=actor.user_id, author_name=author)


def _place(about: RecordTarget) -> dict[str, Any]:
    return {"session_id": about.session, "turn_id": about.turn, "step_id": about.step}


def _same(rows: Sequence[Feedback], said: Judgement, name: int | None) -> Feedback | None:
    """The row that is to say it: that of the earlier thumb, score or like comment, unless this brings
    another comment along."""
    for row in rows:
        meant = (said.rating and row.rating is not None) or (name is not None and row.name_id == name)
        if said.comment:
            meant = row.comment == said.comment or (bool(meant) and not row.comment)
        if meant:
            return row
    return None


def _take_from(row: Feedback, said: Judgement, name: int | None) -> None:
    """An earlier thumb or score that no longer counts; its comment stays."""
    takes_thumb = bool(said.rating) and row.rating is not None
    takes_score = name is not None and row.name_id == name
    if not takes_thumb and not takes_score:
        return
    row.rating = None if takes_thumb else row.rating
    row.name_id, row.value = (None, None) if takes_score else (row.name_id, row.value)
    if row.rating is None and row.name_id is None and not row.comment:
        row.delete()
    else:
        row.save()


def withdraw(actor: Actor, public_id: str) -> RecordTarget:
    """Take a judgement back: one's own, or anyone's for an admin. Returns what it was about. Raises
    NotFound."""
    key = ids.parse(ids.Kind.FEEDBACK, public_id)
    mine = Q() if actor.is_admin else Q(author_id=actor.user_id or 0)

    def job() -> RecordTarget:
        row = Feedback.objects.filter(mine, pk=key or 0).first()
        if row is None:
            raise NotFound(f"Feedback '{public_id[:80]}' not found.")
        about = RecordTarget(row.session_id, row.turn_id, row.step_id)
        row.delete()
        targets.note_change(about)
        return about

    return writer.write(job)


# ------------------------------------------------------------------------------------------- reading


def of_turn(actor: Actor, turn: int) -> list[Said]:
    """What was said of a turn and its steps, oldest first."""
    return _found(actor, Q(turn_id=turn))


def of_session(actor: Actor, session: int) -> list[Said]:
    """What was said of a session itself, oldest first."""
    return _found(actor, Q(session_id=session, turn=None))


def of_keys(actor: Actor, keys: Collection[int]) -> list[Said]:
    """These judgements, in the order of their keys here."""
    found = {one.key: one for one in _found(actor, Q(pk__in=list(keys)))}
    return [found[key] for key in dict.fromkeys(keys) if key in found]


def page(actor: Actor, about: RecordTarget, *, after: int | None = None, limit: int = 100) -> tuple[list[Said], bool]:
    """What was said of a record and all that is below it, newest first, behind ``after``; and whether
    there is more."""
    condition = _below(actor, about)
    if after is not None:
        condition &= Q(pk__lt=after)
    rows = list(_rows(condition).order_by("-pk")[: limit + 1])
    return [_said(actor, row) for row in rows[:limit]], len(rows) > limit


def _below(actor: Actor, about: RecordTarget) -> Q:
    if about.step is not None:
        return Q(step_id=about.step)
    if about.turn is not None:
        return Q(turn_id=about.turn)
    seen = Turn.objects.visible_to(actor).filter(session_id=about.session)
    return Q(session_id=about.session) & (Q(turn=None) | Q(turn_id__in=seen.values("pk")))


def of_turns(turns: Collection[int]) -> Mapping[int, list[Judgement]]:
    """What was said of these turns themselves."""
    found: dict[int, list[Judgement]] = {}
    for row in _rows(Q(turn_id__in=list(turns), step=None)):
        found.setdefault(row.turn_id, []).append(_judgement(row))
    return found


def _found(actor: Actor, condition: Q) -> list[Said]:
    return [_said(actor, row) for row in _rows(condition)]


def _said(actor: Actor, row: Feedback) -> Said:
    by_actor = actor.user_id is not None and row.author_id == actor.user_id
    return Said(
        row.pk,
        RecordTarget(row.session_id, row.turn_id, row.step_id),
        _judgement(row),
        to_us(row.created_at),
        to_us(row.updated_at),
        own=by_actor and row.author_name == actor.name[:200],
        mine=by_actor or actor.is_admin,
    )


def _rows(condition: Q) -> QuerySet[Feedback]:
    return Feedback.objects.filter(condition).select_related("name").order_by("pk")


def _judgement(row: Feedback) -> Judgement:
    rating = Rating(row.rating).label if row.rating is not None else None
    return Judgement(rating, row.name.value if row.name else "", row.value, row.comment, row.author_name)


# ------------------------------------------------------------------------------------------- deletion


def drop_of_sessions(sessions: Sequence[int]) -> None:
    """Delete what was said of these sessions and all in them, within the caller's transaction."""
    Feedback.objects.filter(session_id__in=sessions)._raw_delete("default")


def drop_of_turns(turns: Sequence[int]) -> None:
    Feedback.objects.filter(turn_id__in=turns)._raw_delete("default")


def drop_of_steps(steps: Sequence[int]) -> None:
    Feedback.objects.filter(step_id__in=steps)._raw_delete("default")


def merge_steps(steps: Sequence[int]) -> None:
    """What was said of these steps is said of their turn from now on."""
    Feedback.objects.filter(step_id__in=steps).update(step=None)
