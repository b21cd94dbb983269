"""What can be judged and tagged: a session, a turn, a step, found by a public id if the actor may see it."""

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


def find(actor: Actor, what: TargetKind, public_id: str, action: Action = "read") -> RecordTarget:
    """Raises NotFound, also for what the actor may not see. A response stands for its turn."""
    match what:
        case "session":
            found = _row(Session, ids.parse(ids.Kind.SESSION, public_id), actor, action, "pk")
        case "turn":
            found = _row(Turn, ids.parse(ids.Kind.TURN, public_id), actor, action, "session_id", "pk")
        case "step":
            found = _row(Step, ids.parse(ids.Kind.STEP, public_id), actor, action, "turn__session_id", "turn_id", "pk")
        case "response":
            key = ids.parse_openai(ids.Kind.RESPONSE, public_id)
            found = _row(Response, key, actor, action, "turn__session_id", "turn_id")
    if found is None:
        raise NotFound(f"{what.capitalize()} '{public_id[:80]}' not found.")
    return RecordTarget(*found)


def _row(model: Any, key: int | None, actor: Actor, action: Action, *columns: str) -> tuple[int, ...] | None:
    if key is None:
        return None
    found: tuple[int, ...] | None = model.objects.visible_to(actor, action).filter(pk=key).values_list(*columns).first()
    return found


def lock(about: RecordTarget) -> None:
    """Keep others from writing about the record until the transaction ends. Raises NotFound for one that
    was deleted meanwhile."""
    model: Any = Turn if about.turn is not None else Session
    rows = model.objects.unscoped("checked before").filter(pk=about.turn or about.session)
    if not rows.select_for_update().values_list("pk", flat=True):
        raise NotFound("What this is about was deleted meanwhile.")


def note_change(about: RecordTarget) -> None:
    """Note, within a transaction, that something was said of a record."""
    changes.note(ChangeKind.SESSION, about.session)
    if about.turn is not None:
        changes.note(ChangeKind.TURN, about.turn)
    if about.step is not None:
        changes.note(ChangeKind.STEP, about.step)


def tags_of_target(about: RecordTarget) -> list[str]:
    """The tags of the record itself, in order."""
    if about.step is not None:
        found = tags_of(StepTag, "step_id", [about.step])
    elif about.turn is not None:
        found = tags_of(TurnTag, "turn_id", [about.turn])
    else:
        found = tags_of(SessionTag, "session_id", [about.session])
    return found.get(about.key, [])


def step_numbers(steps: Collection[int]) -> dict[int, int]:
    """Which place these steps have in their turns, from 0."""
    rows = Step.objects.unscoped("their turn was seen").filter(pk__in=list(steps))
    return dict(rows.values_list("pk", "number")) if steps else {}


def tag(about: RecordTarget, names: Collection[str]) -> None:
    """Tag a record, within the caller's transaction."""
    if names:
        tags.add(names, **_keys(about))


def change_tags(about: RecordTarget, *, add: Collection[str] = (), remove: Collection[str] = ()) -> list[str]:
    """Tag a record, and take tags away; returns those it then has. Raises NotFound for one that was
    deleted meanwhile."""

    def job() -> None:
        lock(about)
        tag(about, add)
        tags.remove(remove, **_keys(about))
        note_change(about)

    writer.write(job)
    return tags_of_target(about)


def _keys(about: RecordTarget) -> dict[str, list[int]]:
    if about.step is not None:
        return {"steps": [about.step]}
    return {"turns": [about.turn]} if about.turn is not None else {"sessions": [about.session]}
