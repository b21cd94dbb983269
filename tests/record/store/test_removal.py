"""What holds much goes some at a time: nobody sees it from the first job on, and what broke off is taken up again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import pytest
from django.db import OperationalError, connection

from agents.base.access import Actor
from agents.base.errors import Conflict, InvalidRequest, NotFound
from agents.base.store import changes
from agents.logs.store import bulk
from agents.record.models.agents import Agent, AgentRevision, Session
from agents.record.models.choices import TurnStatus
from agents.record.models.turns import Item, Response, Step, Turn, TurnBody
from agents.record.store import agents, removal, sessions
from agents.record.store.agents import AgentRecord
from agents.record.store.history import NewItem
from agents.responses.store import conversations, responses
from tests.support.builders import make_agent, make_response, make_session, make_turn

pytestmark = pytest.mark.django_db
TURNS = 7
CALLS = "".join('call calculator {"expression": "1+1"}\n' for _ in range(24))


@pytest.fixture(autouse=True)
def _few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(removal, "ROWS_PER_JOB", 20)
    monkeypatch.setattr(removal, "MAX_KEYS_PER_JOB", 2)
    monkeypatch.setattr(removal, "STEPS_PER_JOB", 2)


@pytest.fixture
def agent(admin: Actor) -> AgentRecord:
    return make_agent(admin)


def long(actor: Actor, agent: AgentRecord) -> int:
    session = make_session(actor, agent)
    for _ in range(TURNS):
        make_turn(actor, "say One.", agent=agent, session=session)
    return session


def count(model: Any) -> int:
    return int(model.all_objects.count())


def nothing_left() -> bool:
    return not any(count(model) for model in (Session, Turn, TurnBody, Step, Item, Response))


@contextmanager
def watched(look: Callable[[], Any]) -> Iterator[list[Any]]:
    """What is seen after each commit, and what was before."""
    seen = [look()]
    end = changes.listen(lambda _: seen.append(look()))
    yield seen
    end()


@contextmanager
def items_at_once() -> Iterator[list[int]]:
    """How many items each statement deletes: these are told to no listener."""
    seen: list[int] = []

    def execute(go: Callable[..., Any], text: str, params: Any, many: bool, context: Any) -> Any:
        result = go(text, params, many, context)
        if text.startswith('DELETE FROM "agents_item"'):
            seen.append(context["cursor"].rowcount)
        return result

    with connection.execute_wrapper(execute):
        yield seen


@contextmanager
def away_at(sql: str, times: int = 2) -> Iterator[None]:
    """The store is away for such a statement, that often after others of its kind went well."""
    asked = iter(range(1_000))

    def execute(go: Callable[..., Any], text: str, params: Any, many: bool, context: Any) -> Any:
        if text.startswith(sql) and next(asked) == times:
            raise OperationalError("away")
        return go(text, params, many, context)

    with connection.execute_wrapper(execute), pytest.raises(OperationalError):
        yield


def is_there(read: Callable[[], Any]) -> bool:
    try:
        read()
    except NotFound:
        return False
    return True


def test_a_session_of_many_turns_is_not_seen_from_the_first_job_on(admin: Actor, agent: AgentRecord) -> None:
    session = long(admin, agent)

    def look() -> tuple[bool, bool, int]:
        listed = sessions.listing(admin)[0]
        return is_there(lambda: sessions.get(admin, session)), bool(listed), count(Turn)

    with watched(look) as seen:
        sessions.delete(admin, session)
    assert seen[0] == (True, True, TURNS)
    assert {(there, listed) for there, listed, _ in seen[1:]} == {(False, False)}
    left = [turns for *_, turns in seen]
    assert max(before - after for before, after in pairwise(left)) <= 2
    assert nothing_left()


def test_what_refers_to_another_goes_before_it(admin: Actor, agent: AgentRecord) -> None:
    session = long(admin, agent)

    def dangling() -> int:
        rows = Response.all_objects.exclude(previous=None)
        return int(rows.exclude(previous_id__in=Response.all_objects.values("pk")).count())

    with watched(dangling) as seen:
        sessions.delete(admin, session)
    assert set(seen) == {0}


def test_a_turn_of_many_steps_goes_some_at_a_time(admin: Actor, agent: AgentRecord) -> None:
    script = "".join('call calculator {"expression": "1+1"}\n' for _ in range(12))
    made = make_turn(admin, f"{script}say Done.", agent=agent)
    with watched(lambda: count(Step)) as seen, items_at_once() as items:
        sessions.delete(admin, made.session)
    assert max(before - after for before, after in pairwise(seen)) <= 2
    assert 0 < max(items) <= 8
    assert nothing_left()


def test_a_turn_of_many_steps_goes_some_at_a_time_without_its_session(admin: Actor, agent: AgentRecord) -> None:
    session = make_session(admin, agent)
    kept = make_turn(admin, "say One.", agent=agent, session=session)
    turn = make_turn(admin, f"{CALLS}say Two.", agent=agent, session=session)
    with watched(lambda: count(Step)) as steps:
        done = bulk.delete(admin, "turn", [turn.turn, kept.turn])
    assert (done.done, done.running) == (2, 0)
    assert max(before - after for before, after in pairwise(steps)) <= removal.STEPS_PER_JOB + 1
    assert not any(count(model) for model in (Turn, TurnBody, Step, Item))


def test_a_turn_that_runs_keeps_its_steps(admin: Actor, agent: AgentRecord) -> None:
    turn = make_turn(admin, f"{CALLS}say Two.", agent=agent)
    Turn.all_objects.filter(pk=turn.turn).update(status=TurnStatus.IN_PROGRESS)
    steps = count(Step)
    assert steps > removal.ROWS_PER_JOB
    done = bulk.delete(admin, "turn", [turn.turn])
    assert (done.done, done.running, count(Step)) == (0, 1, steps)


def test_so_do_items_put_in_by_hand(admin: Actor) -> None:
    given = [NewItem(number, b"{}") for number in range(1, 40)]
    key = conversations.create(admin, given, {})
    with items_at_once() as items:
        assert bulk.delete(admin, "session", [key]) == bulk.BulkResult(done=1)
    assert 0 < max(items) <= 8
    assert nothing_left()


def test_so_does_a_response_that_brought_many(admin: Actor) -> None:
    made = make_response(admin, "".join('call calculator {"expression": "1+1"}\n' for _ in range(12)) + "say Done.")
    with watched(lambda: count(Step)) as seen:
        responses.delete(admin, made.public_id)
    assert max(before - after for before, after in pairwise(seen)) <= 2
    assert nothing_left()


def test_nothing_begins_in_a_session_that_is_on_its_way_out(admin: Actor, agent: AgentRecord) -> None:
    session = long(admin, agent)
    conversation = conversations.of_key(admin, session)
    with away_at("DELETE FROM agents_turn_search"):
        sessions.delete(admin, session)
    assert 0 < count(Turn) < TURNS
    turns = count(Turn)
    with pytest.raises(InvalidRequest, match="deleted just now"):
        make_turn(admin, "say One.", agent=agent, session=session)
    with pytest.raises(NotFound):
        conversations.add(conversation, [NewItem(1, b"{}")])
    assert count(Turn) == turns
    assert not is_there(lambda: sessions.get(admin, session))
    assert removal.continue_removals() == 1
    assert nothing_left()
    assert removal.continue_removals() == 0


def test_one_with_a_turn_that_runs_is_left_whole(admin: Actor, agent: AgentRecord) -> None:
    session = long(admin, agent)
    before = count(Step)
    Turn.all_objects.filter(number=3).update(status=TurnStatus.IN_PROGRESS)
    assert bulk.delete(admin, "session", [session]) == bulk.BulkResult(running=1)
    deletions: tuple[Callable[[], object], ...] = (
        lambda: sessions.delete(admin, session),
        lambda: agents.delete(admin, agent.key),
    )
    for delete in deletions:
        with pytest.raises(Conflict):
            delete()
    assert (count(Turn), count(Step)) == (TURNS, before)
    assert is_there(lambda: sessions.get(admin, session))
    assert is_there(lambda: agents.get(admin, agent.key))


# -------------------------------------------------------------------------------------------- an agent


def test_an_agent_is_not_seen_from_the_first_job_on(admin: Actor, agent: AgentRecord) -> None:
    for _ in range(5):
        make_turn(admin, "say One.", agent=agent)
    long(admin, agent)

    def look() -> tuple[bool, int, int]:
        return is_there(lambda: agents.get(admin, agent.key)), count(Session), count(Turn)

    with watched(look) as seen:
        agents.delete(admin, agent.key)
    assert seen[0] == (True, 6, 5 + TURNS)
    assert {there for there, *_ in seen[1:]} == {False}
    for before, after in pairwise(seen):
        assert before[1] - after[1] <= 2
        assert before[2] - after[2] <= 2
    assert nothing_left()
    assert not Agent.all_objects.exists()
    assert not AgentRevision.objects.exists()


def test_so_does_a_session_that_was_made_meanwhile(admin: Actor, agent: AgentRecord) -> None:
    make_turn(admin, "say One.", agent=agent)
    late = [None]

    def meanwhile(_: object) -> None:
        if late:
            late.pop()
            make_session(admin, agent)

    end = changes.listen(meanwhile)
    agents.delete(admin, agent.key)
    end()
    assert not late
    assert nothing_left()


def test_what_is_left_of_an_agent_goes_later(admin: Actor, agent: AgentRecord) -> None:
    for _ in range(5):
        make_turn(admin, "say One.", agent=agent)
    with away_at("DELETE FROM agents_turn_search", 1):
        agents.delete(admin, agent.key)
    assert 0 < count(Session) < 5
    assert not is_there(lambda: agents.get(admin, agent.key))
    assert removal.continue_removals() == 1
    assert nothing_left()
    assert not Agent.all_objects.exists()


def test_a_turn_that_began_at_the_last_moment_keeps_its_agent(admin: Actor, agent: AgentRecord) -> None:
    for _ in range(4):
        last = make_turn(admin, "say One.", agent=agent)
    late = [last.turn]

    def meanwhile(_: object) -> None:
        if late:
            Turn.all_objects.filter(pk=late.pop()).update(status=TurnStatus.IN_PROGRESS)

    end = changes.listen(meanwhile)
    with pytest.raises(Conflict):
        agents.delete(admin, agent.key)
    end()
    assert is_there(lambda: agents.get(admin, agent.key))
    assert is_there(lambda: sessions.get(admin, last.session))
    Turn.all_objects.update(status=TurnStatus.CANCELLED)
    agents.delete(admin, agent.key)
    assert nothing_left()
