"""What a turn was forked from, and what was forked from it, in words."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from pydantic import ValidationError

from agents.base import ids
from agents.base.access import Actor
from agents.forks.schemas.forks import ForkChanges
from agents.record.store import forks
from agents.record.store.forks import ForkRecord
from agents.uikit.links import at

_MAX_MODEL_CHARS = 60
"""Characters of a model's name in a sentence."""


@dataclass(frozen=True, slots=True)
class RelatedTurn:
    """A turn on the other end: ``url`` is empty where it is gone, or not for this reader; ``step`` is the place
    of the step from 1, ``changes`` what was changed in words."""

    url: str
    compare_url: str
    step: int
    step_url: str
    changes: str
    model: str
    started_at: int


@dataclass(frozen=True, slots=True)
class Lineage:
    """``of`` is what the turn is a fork of, ``forks`` what was forked from it, newest first."""

    turn_id: str
    of: RelatedTurn | None
    forks: list[RelatedTurn]

    @property
    def forks_label(self) -> str:
        count = len(self.forks)
        return ngettext("%(count)d fork", "%(count)d forks", count) % {"count": count}


def lineage(actor: Actor, turn: int) -> Lineage:
    own = forks.of_turn(actor, turn)
    records = forks.from_turn(actor, turn)
    return Lineage(
        ids.public(ids.Kind.TURN, turn),
        _related(own, own.source, turn) if own else None,
        [_related(record, record.turn, turn) for record in records],
    )


def _related(record: ForkRecord, other: int | None, turn: int) -> RelatedTurn:
    """``other`` is the turn at the other end of a fork, seen from ``here``."""
    url = at(f"/turns/{ids.public(ids.Kind.TURN, other)}/") if other is not None else ""
    source = at(f"/turns/{ids.public(ids.Kind.TURN, record.source)}/") if record.source is not None else ""
    fork = ids.public(ids.Kind.TURN, record.turn)
    return RelatedTurn(
        url=url,
        compare_url=f"{source}compare/{fork}/" if source else "",
        step=record.step_number + 1,
        step_url=f"{source}#step-{record.step_number}" if source else "",
        changes=changes_text(record),
        model=record.model,
        started_at=record.started_at,
    )


def changes_text(record: ForkRecord) -> str:
    """``model changed to x, instructions changed, tools run anew``."""
    changes = _changes(record)
    parts = [
        _("model changed to %(model)s") % {"model": changes.model[:_MAX_MODEL_CHARS]} if changes.model else "",
        _("instructions changed") if changes.instructions is not None else "",
        _("sampling changed") if changes.sampling_params else "",
        _("question changed") if changes.input else "",
        _("result changed") if changes.tool_result is not None else "",
        "" if record.replays else _("tools run again"),
    ]
    return ", ".join(part for part in parts if part) or _("nothing changed")


def _changes(record: ForkRecord) -> ForkChanges:
    try:
        return ForkChanges.model_validate_json(record.changes)
    except ValidationError:
        return ForkChanges()
