"""In a copy of the project: rows of the added table are written below a turn, and go with it."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import Any

import pytest

from agents.base.access import Actor
from agents.base.store.writer import writer
from agents.record.store import deletion
from tests.support.builders import make_turn

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("whole_session", [False, True])
def test_its_rows_go_with_the_turn(admin: Actor, *, whole_session: bool) -> None:
    notes: Any = import_module("agents.record.store.notes")
    kept, gone = make_turn(admin), make_turn(admin)
    for made in (kept, gone):
        writer.write(partial(notes.add, made.turn, "look again"))
    if whole_session:
        writer.write(lambda: deletion.delete_sessions([gone.session]))
    else:
        writer.write(lambda: deletion.delete_turns([gone.turn]))
    assert list(notes.TurnNote.objects.values_list("turn_id", "text")) == [(kept.turn, "look again")]
