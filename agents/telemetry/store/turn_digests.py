"""Hashes of stored turns, by which an import tells those that it changed. Its statements are prepared: they run several
times for each turn that is imported again."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import Any

import msgspec

from agents.base.store.sql import Select
from agents.record.models.turns import Step, StepDetail, Turn, TurnBody
from agents.record.store.feedback_hooks import hooks
from agents.telemetry.store.external.owners import Owner

_NOT_REPORTED = ("number", "parent_id", "lease_owner")
"""Columns of a turn that others of its session or the server change."""


def _columns(model: type[Any], without: Iterable[str] = ()) -> str:
    return " ".join(field.attname for field in model._meta.concrete_fields if field.attname not in without)


# the turns of a trace have its id, or its id with a colon and the id of a span
_TURNS_OF_TRACE = Select(
    Turn, "foreign_id id", "owner_id = %s AND scope_id = %s AND foreign_id >= %s AND foreign_id < %s"
)
_OF_TURN = (
    Select(Turn, _columns(Turn, _NOT_REPORTED), "id = %s"),
    Select(TurnBody, _columns(TurnBody), "turn_id = %s"),
    Select(Step, _columns(Step), "turn_id = %s ORDER BY number"),
    Select(
        StepDetail,
        _columns(StepDetail),
        "step_id IN (SELECT id FROM agents_step WHERE turn_id = %s) ORDER BY step_id",
    ),
)


def turns_of_trace(owner: Owner, trace: str) -> dict[str, int]:
    """The keys of the stored turns of a trace, by their external ids."""
    return dict(_TURNS_OF_TRACE.all(owner.user, owner.scope, trace, f"{trace};"))


def digests_of_trace(owner: Owner, trace: str) -> dict[str, bytes]:
    """A hash of each stored turn of a trace, by its external id."""
    return {name: _digest(key) for name, key in turns_of_trace(owner, trace).items()}


def _digest(turn: int) -> bytes:
    """A hash of all stored columns of a turn and its steps, and of its feedback."""
    digest = blake2b(digest_size=16)
    for rows in (*(select.all(turn) for select in _OF_TURN), map(msgspec.structs.astuple, hooks.of_turn(turn))):
        for row in rows:
            digest.update(repr([bytes(value) if isinstance(value, memoryview) else value for value in row]).encode())
    return digest.digest()
