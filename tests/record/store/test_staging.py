"""A response that brings very many items: they are written some at a time, and seen all at once."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from django.db import OperationalError, connection

from agents.base.access import Actor
from agents.base.timestamps import to_datetime
from agents.logs.store import listing
from agents.record.models.agents import Session
from agents.record.models.turns import Item, Turn
from agents.record.schemas.content import UserMessage
from agents.record.store import history, items, removal, sessions, staging
from agents.responses.store import responses
from tests.conftest import Clock
from tests.support.builders import make_response

pytestmark = pytest.mark.django_db
MANY = 23


@pytest.fixture(autouse=True)
def _few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staging, "ITEMS_PER_JOB", 5)


def asked() -> list[UserMessage]:
    return [UserMessage(content=f"say word{number}.") for number in range(MANY)]


def watching(look: Callable[[], Any], seen: list[Any]) -> Callable[..., Any]:
    """Looks before each transaction, and each part of one, is begun."""

    def execute(go: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        if sql.startswith("SAVEPOINT"):
            seen.append(look())
        return go(sql, params, many, context)

    return execute


def test_they_are_written_some_at_a_time_and_seen_all_at_once(admin: Actor) -> None:
    seen: list[tuple[int, int, int]] = []

    def look() -> tuple[int, int, int]:
        shown, turns = len(sessions.listing(admin)[0]), Turn.all_objects.count()
        return int(Item.all_objects.count()), shown, int(turns)

    with connection.execute_wrapper(watching(look, seen)):
        made = make_response(admin, input_messages=asked())
    written = [count for count, *_ in seen if count <= MANY]
    assert max(after - before for before, after in pairwise(written)) == 5
    assert {(shown, turns) for count, shown, turns in seen if 0 < count < MANY} == {(0, 0)}
    assert seen[-1][1:] == (1, 1)
    record = responses.get(admin, made.public_id)
    assert record.input_items == MANY
    said = [item.body for item in items.input_of(record).walk()]
    assert [f"word{number}." in body.decode() for number, body in enumerate(said)] == [True] * MANY
    assert len(history.before(made.session)) == MANY + 1


def broken_off(actor: Actor, words: str) -> None:
    def away(go: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        if sql.startswith(words):
            raise OperationalError("away")
        return go(sql, params, many, context)

    with connection.execute_wrapper(away), pytest.raises(OperationalError):
        make_response(actor, input_messages=asked())


def nothing_is_seen(actor: Actor) -> bool:
    return not sessions.listing(actor)[0] and not listing.visible("turn", actor).exists()


def test_what_broke_off_before_the_turn_is_taken_away(admin: Actor) -> None:
    broken_off(admin, "INSERT INTO agents_turn ")
    assert Item.all_objects.count() == MANY
    assert nothing_is_seen(admin)
    assert removal.continue_removals() == 1
    assert not Item.all_objects.exists()
    assert not Session.all_objects.exists()


def test_so_is_what_a_process_left_but_not_what_is_still_written(admin: Actor, clock: Clock) -> None:
    """One that ends says nothing any more: not even that nothing came of it."""
    broken_off(admin, "UPDATE agents_session SET removed_at = NULL")
    left = Session.all_objects
    left.update(removed_at=to_datetime(clock() + staging.MAX_WAIT_US))
    assert removal.continue_removals() == 0
    assert Item.all_objects.count() == MANY
    assert nothing_is_seen(admin)
    clock.pass_s(staging.MAX_WAIT_US / 1_000_000)
    assert removal.continue_removals() == 1
    assert not left.exists()
