"""Targets of feedback and tags: sessions, turns and steps, found by public id if the actor may see them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Literal

from agents.base import ids
from agents.base.access import Action, Actor
from agents.base.errors import NotFound
from agents.base.models.changes import ChangeKind
from agents.base.store import changes
from agents.base.store.writer import writer
from agents.record.models.agents import Session
from agents.record.models.tags import SessionTag, StepTag, TurnTag
from agents.record.models.turns import Response, Step, Turn
from agents.record.store import tags
from agents.record.store.tags import tags_of

TargetKind = Literal["session", "turn", "step", "response"]


@dataclass(frozen=True, slots=True)
class RecordTarget:
    """A step of a turn, a turn of a session, or a session, by their keys."""

    session: int
    turn: int | None = None
    step: int | None = None

    @property
    def key(self) -> int:
        return self.step or self.turn or self.session


def find(actor: Actor, kind: TargetKind, public_id: str, action: Action = "read") -> RecordTarget:
    """Find a target by its public id; a response stands for its turn. Raises NotFound, also for what the actor may
    not see."""
    match kind:
        case "session":
            keys = _row(Session, ids.parse(ids.Kind.SESSION, public_id), actor, action, "pk")
        case "turn":
            keys = _row(Turn, ids.parse(ids.Kind.TURN, public_id), actor, action, "session_id", "pk")
        case "step":
            keys = _row(Step, ids.parse(ids.Kind.STEP, public_id), actor, action, "turn__session_id", "turn_id", "pk")
        case "response":
            key = ids.parse_openai(ids.Kind.RESPONSE, public_id)
            keys = _row(Response, key, actor, action, "turn__session_id", "turn_id")
    if keys is None:
        raise NotFound(f"{kind.capitalize()} '{public_id[:80]}' not found.")
    return RecordTarget(*keys)


def _row(model: Any, key: int | None, actor: Actor, action: Action, *columns: str) -> tuple[int, ...] | None:
    if key is None:
        return None
    keys: tuple[int, ...] | None = model.objects.visible_to(actor, action).filter(pk=key).values_list(*columns).first()
    return keys


def lock(target: RecordTarget) -> None:
    """Lock the record until the transaction ends. Raises NotFound for one that was deleted meanwhile."""
    model: Any = Turn if target.turn is not None else Session
    rows = model.objects.unscoped("checked before").filter(pk=target.turn or target.session)
    if not rows.select_for_update().values_list("pk", flat=True):
        raise NotFound("What this is about was deleted meanwhile.")


def note_change(target: RecordTarget) -> None:
    """Note, within a transaction, that feedback or tags of a record changed."""
    changes.note(ChangeKind.SESSION, target.session)
    if target.turn is not None:
        changes.note(ChangeKind.TURN, target.turn)
    if target.step is not None:
        changes.note(ChangeKind.STEP, target.step)


def tags_of_target(target: RecordTarget) -> list[str]:
    """Return the tags of the record itself, in order."""
    if target.step is not None:
        tags_by_key = tags_of(StepTag, "step_id", [target.step])
    elif target.turn is not None:
        tags_by_key = tags_of(TurnTag, "turn_id", [target.turn])
    else:
        tags_by_key = tags_of(SessionTag, "session_id", [target.session])
    return tags_by_key.get(target.key, [])


def step_numbers(steps: Collection[int]) -> dict[int, int]:
    """Return the numbers of these steps in their turns, from 0."""
    rows = Step.objects.unscoped("their turn was seen").filter(pk__in=list(steps))
    return dict(rows.values_list("pk", "number")) if steps else {}


def tag(target: RecordTarget, names: Collection[str]) -> None:
    """Tag a record, within the caller's transaction."""
    if names:
        tags.add(names, **_keys(target))


def change_tags(target: RecordTarget, *, add: Collection[str] = (), remove: Collection[str] = ()) -> list[str]:
    """Add and remove tags of a record; returns those it then has. Raises NotFound for one that was deleted
    meanwhile."""

    def job() -> None:
        lock(target)
        tag(target, add)
        tags.remove(remove, **_keys(target))
        note_change(target)

    writer.write(job)
    return tags_of_target(target)


def _keys(target: RecordTarget) -> dict[str, list[int]]:
    if target.step is not None:
        return {"steps": [target.step]}
    return {"turns": [target.turn]} if target.turn is not None else {"sessions": [target.session]}
