"""Each time of an automation begins one turn, or says why none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agents.automations.runner import scheduler
from agents.automations.runner.delivery import deliver
from agents.automations.store import automations, runs
from agents.base import ids
from agents.base.access import Actor
from agents.base.models.people import ApiKey, User
from agents.base.store import keys
from agents.loop.service import Service
from agents.record.models.agents import Session
from agents.record.models.choices import BudgetPeriod, BudgetTarget
from agents.record.models.turns import Turn
from agents.record.store import agents, budgets, read_turns, sessions
from agents.record.store.budgets import Limits, NewBudget
from tests.automations.conftest import Ask, RunDue, periodic, runs_of, stored, target
from tests.conftest import START_US, Clock
from tests.support.builders import make_agent, make_session

QUARTER_S = 900
pytestmark = pytest.mark.usefixtures("serving")


def made(ask: Ask, **more: Any) -> str:
    answer = ask("post", "", periodic(**more))
    assert answer.status_code == 200, answer.content
    return str(answer.json()["id"])


def turns() -> list[Any]:
    return list(Turn.objects.unscoped("test").order_by("pk"))


def due_in(ask: Ask, automation: str, clock: Clock) -> None:
    """Let time pass until an automation is due."""
    at = ask("get", f"/{automation}").json()["next_run_at"]
    clock.now_us = at * 1_000_000


def test_a_time_that_comes_begins_a_session_and_its_turn(ask: Ask, clock: Clock, run_due: RunDue, owner: Actor) -> None:
    automation = made(ask, target=target(metadata={"of": "reports"}))
    run_due()
    assert runs_of(automation, ask) == []
    due_in(ask, automation, clock)
    at = clock.now_us
    run_due()
    [run] = runs_of(automation, ask)
    [turn] = turns()
    assert (run["status"], run["scheduled_at"], run["error"]) == ("completed", at // 1_000_000, None)
    assert run["turn_id"] == ids.part("turn", ids.Kind.TURN, turn.pk)
    assert run["session_id"] == ids.part("sess", ids.Kind.SESSION, turn.session_id)
    snapshot = run["source"]["automation"]
    assert (snapshot["id"], snapshot["next_run_at"]) == (automation, at // 1_000_000)
    assert "Good morning." in (read_turns.turn(owner, turn.pk).output_message or b"").decode()
    assert Session.objects.unscoped("test").get().metadata == {"of": "reports"}
    assert ask("get", f"/{automation}").json()["next_run_at"] == at // 1_000_000 + QUARTER_S
    run_due()
    assert len(turns()) == 1


def test_a_saved_agent_runs_as_it_is_then(ask: Ask, clock: Clock, run_due: RunDue, owner: Actor) -> None:
    agent = make_agent(owner, name="desk")
    automation = made(ask, target=target(agent_id=agent.public_id))
    agents.revise(owner, agent.key, agent.config.model_copy(update={"model": "scripted/demo"}))
    due_in(ask, automation, clock)
    run_due()
    [turn] = turns()
    assert turn.agent_id == agent.key
    assert read_turns.turn(owner, turn.pk).model == "scripted/demo"


def test_of_missed_times_one_is_made_up_for(ask: Ask, clock: Clock, run_due: RunDue) -> None:
    automation = made(ask, expression="* * * * *")
    due_in(ask, automation, clock)
    first = clock.now_us // 1_000_000
    clock.pass_s(86_400 + 30)
    run_due()
    [run] = runs_of(automation, ask)
    assert run["scheduled_at"] == first
    assert len(turns()) == 1
    assert ask("get", f"/{automation}").json()["next_run_at"] * 1_000_000 - clock.now_us == 30_000_000


def test_two_processes_that_look_at_once_make_one_run(ask: Ask, clock: Clock, run_due: RunDue) -> None:
    automation = made(ask)
    due_in(ask, automation, clock)
    [seen] = automations.due(clock.now_us, 10)
    assert runs.plan(seen, clock.now_us + 900_000_000, "{}")
    assert not runs.plan(seen, clock.now_us + 900_000_000, "{}")
    [wanted] = runs.due(clock.now_us, 10)
    assert len(runs.claim([wanted], "one", clock.now_us)) == 1
    assert runs.claim([wanted], "two", clock.now_us) == []
    run_due("two")
    assert turns() == []
    clock.pass_s(61)
    run_due("two")
    assert len(turns()) == 1


@pytest.mark.parametrize("goes_on", [False, True])
def test_a_run_that_was_begun_and_not_noted_is_found(
    goes_on: bool, ask: Ask, clock: Clock, run_due: RunDue, run_async: Callable[[Any], Any], owner: Actor
) -> None:
    session = make_session(owner)
    known = {"type": "existing_session", "session_id": ids.part("sess", ids.Kind.SESSION, session)}
    said = target() if not goes_on else {**known, "instructions": "!script\nsay Again."}
    automation = made(ask, target=said)
    due_in(ask, automation, clock)
    assert scheduler.plan() == 1
    [wanted] = runs.due(clock.now_us, 10)
    [claimed] = runs.claim([wanted], "one", clock.now_us)
    _, rows = stored()
    rows.update(attempts=7)  # what it notes is dropped: as if its process had died before
    run_async(deliver(claimed))
    [turn] = turns()
    assert runs_of(automation, ask)[0]["status"] == "queued"
    clock.pass_s(61)
    run_due("two")
    [run] = runs_of(automation, ask)
    assert (run["status"], run["turn_id"]) == ("completed", ids.part("turn", ids.Kind.TURN, turn.pk))
    assert len(turns()) == 1


def test_a_time_is_skipped_while_the_one_before_waits(ask: Ask, clock: Clock, run_due: RunDue) -> None:
    automation = made(ask)
    due_in(ask, automation, clock)
    scheduler.plan()
    due_in(ask, automation, clock)
    scheduler.plan()
    waiting, skipped = runs_of(automation, ask)
    assert (waiting["status"], skipped["status"], skipped["skip_reason"]) == ("queued", "skipped", "pending_delivery")
    run_due()
    assert [run["status"] for run in runs_of(automation, ask)] == ["completed", "skipped"]


def test_once_is_once(ask: Ask, clock: Clock, run_due: RunDue) -> None:
    at = START_US // 1_000_000 + 3600
    once = {"name": "Once", "type": "once", "run_at": at, "target": target()}
    automation = ask("post", "", once).json()["id"]
    clock.pass_s(3600)
    run_due()
    [run] = runs_of(automation, ask)
    assert (run["status"], run["scheduled_at"]) == ("completed", at)
    told = ask("get", f"/{automation}").json()
    assert (told["status"], told["run_at"], told["next_run_at"]) == ("completed", at, None)
    for path in ("/pause", "/resume"):
        assert ask("post", f"/{automation}{path}").status_code == 409
    later = ask("post", f"/{automation}", {"run_at": at + 7200})
    assert (later.status_code, later.json()["error"]["param"]) == (409, "run_at")


def test_a_run_by_hand_changes_no_times(ask: Ask, clock: Clock, run_due: RunDue) -> None:
    automation = made(ask)
    before = ask("get", f"/{automation}").json()
    run = ask("post", f"/{automation}/invocations").json()
    assert (run["status"], run["scheduled_at"], run["source"]) == ("queued", None, {"type": "manual"})
    assert (run["session_id"], run["turn_id"]) == (None, None)
    run_due()
    done = ask("get", f"/{automation}/invocations/{run['id']}").json()
    assert (done["status"], len(turns())) == ("completed", 1)
    assert ask("get", f"/{automation}").json() == before


def test_a_paused_one_does_not_run_and_goes_on_later(ask: Ask, clock: Clock, run_due: RunDue) -> None:
    automation = made(ask)
    paused = ask("post", f"/{automation}/pause").json()
    assert (paused["status"], paused["pause_reason"], paused["next_run_at"]) == ("paused", None, None)
    clock.pass_s(86_400)
    run_due()
    assert turns() == []
    assert ask("post", f"/{automation}", {"expression": "0 * * * *"}).json()["status"] == "paused"
    resumed = ask("post", f"/{automation}/resume").json()
    assert resumed["status"] == "active"
    assert 0 < resumed["next_run_at"] - clock.now_us // 1_000_000 <= 3600
    run_due()
    assert turns() == []


def test_something_is_said_in_a_session_each_time(ask: Ask, clock: Clock, run_due: RunDue, owner: Actor) -> None:
    session = make_session(owner)
    known = {"type": "existing_session", "session_id": ids.part("sess", ids.Kind.SESSION, session)}
    automation = made(ask, target={**known, "instructions": "!script\nsay Again."})
    assert [one["id"] for one in ask("get", f"?session_id={known['session_id']}").json()["data"]] == [automation]
    for _ in range(2):
        due_in(ask, automation, clock)
        run_due()
    assert [turn.session_id for turn in turns()] == [session, session]
    assert [run["session_id"] for run in runs_of(automation, ask)] == [known["session_id"]] * 2
    sessions.delete(owner, session)
    due_in(ask, automation, clock)
    run_due()
    last = runs_of(automation, ask)[-1]
    assert (last["status"], last["error"]["code"]) == ("failed", "session_not_found")
    told = ask("get", f"/{automation}").json()
    assert (told["status"], told["pause_reason"]) == ("paused", "target_session_failed")


def test_what_is_due_is_said_in_the_session_of_then(ask: Ask, clock: Clock, run_due: RunDue, owner: Actor) -> None:
    first, second = make_session(owner), make_session(owner)
    named = [ids.part("sess", ids.Kind.SESSION, key) for key in (first, second)]
    said = {"type": "existing_session", "instructions": "!script\nsay Again."}
    automation = made(ask, target={**said, "session_id": named[0]})
    due_in(ask, automation, clock)
    scheduler.plan()
    ask("post", f"/{automation}", {"target": {**said, "session_id": named[1]}})
    run_due()
    due_in(ask, automation, clock)
    run_due()
    assert [run["session_id"] for run in runs_of(automation, ask)] == named
    assert [turn.session_id for turn in turns()] == [first, second]


# ------------------------------------------------------------------------------------------- refusals


def outcome(ask: Ask, automation: str, clock: Clock, run_due: RunDue) -> tuple[str, str, str]:
    """The status of the next run, and why it is that."""
    due_in(ask, automation, clock)
    run_due()
    run = runs_of(automation, ask)[-1]
    error = run["error"] or {"code": "", "message": ""}
    return run["status"], error["code"], error["message"]


def nothing_was_begun() -> bool:
    return not turns() and not Session.objects.unscoped("test").filter(removed_at=None).exists()


def test_an_agent_that_is_gone_is_said(ask: Ask, clock: Clock, run_due: RunDue, owner: Actor) -> None:
    agent = make_agent(owner)
    automation = made(ask, target=target(agent_id=agent.public_id))
    agents.delete(owner, agent.key)
    status, _, message = outcome(ask, automation, clock, run_due)
    assert (status, "not found" in message) == ("failed", True)
    assert nothing_was_begun()
    assert ask("get", f"/{automation}").json()["status"] == "active"


def test_an_agent_that_is_disabled_is_said(ask: Ask, clock: Clock, run_due: RunDue, owner: Actor) -> None:
    agent = make_agent(owner)
    automation = made(ask, target=target(agent_id=agent.public_id))
    agents.set_disabled(owner, agent.key, True)
    status, code, _ = outcome(ask, automation, clock, run_due)
    assert (status, code) == ("failed", "agent_disabled")
    assert nothing_was_begun()


def test_a_budget_that_is_reached_is_said(ask: Ask, clock: Clock, run_due: RunDue, owner: Actor) -> None:
    automation = made(ask)
    limits = Limits(tokens=1)
    budgets.create(owner, NewBudget(BudgetTarget.USER, owner.user_id, BudgetPeriod.TOTAL, limits, name="small"))
    assert outcome(ask, automation, clock, run_due)[0] == "completed"
    status, code, message = outcome(ask, automation, clock, run_due)
    assert (status, code) == ("failed", "insufficient_quota")
    assert "budget" in message.lower()
    assert len(turns()) == 1


def test_a_key_that_is_revoked_runs_nothing_more(
    ask_as: Callable[[Actor], Ask], clock: Clock, run_due: RunDue, owner: Actor
) -> None:
    ask, other = ask_as(owner), ask_as(owner)
    automation = made(ask)
    [row] = stored()[0]
    keys.revoke(owner, ids.public(ids.Kind.KEY, row.actor_key))
    assert ApiKey.objects.count() == 2
    due_in(other, automation, clock)
    run_due()
    [run] = runs_of(automation, other)
    assert (run["status"], run["error"]["code"]) == ("failed", "owner_not_allowed")
    assert nothing_was_begun()


def test_what_has_no_room_waits_and_gives_up_after_an_hour(
    ask: Ask, clock: Clock, run_due: RunDue, serving: Service
) -> None:
    automation = made(ask)
    due_in(ask, automation, clock)
    serving.runner.draining = True
    run_due()
    [run] = runs_of(automation, ask)
    assert (run["status"], run["error"]) == ("queued", None)
    assert turns() == []
    clock.pass_s(5)
    run_due()
    assert runs_of(automation, ask)[0]["status"] == "queued"
    clock.pass_s(3600)
    run_due()
    first = runs_of(automation, ask)[0]
    assert (first["status"], first["error"]["message"]) == ("failed", "The server is shutting down.")
    assert nothing_was_begun()
    serving.runner.draining = False


def test_what_waited_for_room_begins(ask: Ask, clock: Clock, run_due: RunDue, serving: Service) -> None:
    automation = made(ask)
    due_in(ask, automation, clock)
    serving.runner.draining = True
    run_due()
    serving.runner.draining = False
    clock.pass_s(5)
    run_due()
    [run] = runs_of(automation, ask)
    assert (run["status"], run["error"], len(turns())) == ("completed", None, 1)


def test_of_a_deleted_automation_nothing_runs(ask: Ask, clock: Clock, run_due: RunDue) -> None:
    automation = made(ask)
    due_in(ask, automation, clock)
    scheduler.plan()
    assert ask("delete", f"/{automation}").json() == {
        "id": automation,
        "object": "agent.automation.deleted",
        "deleted": True,
    }
    run_due()
    assert turns() == []
    assert not any(rows.exists() for rows in stored())


def test_with_its_owner_an_automation_is_paused_or_runs_in_vain(
    ask: Ask, clock: Clock, run_due: RunDue, admin: Actor, ask_as: Callable[[Actor], Ask], owner: Actor
) -> None:
    automation, ask_admin = made(ask), ask_as(admin)
    rows = User.objects.filter(pk=owner.user_id or 0)
    for leave, status in ((lambda: rows.update(is_active=False), "active"), (rows.delete, "paused")):
        due_in(ask_admin, automation, clock)
        leave()
        keys.forget()
        run_due()
        run = runs_of(automation, ask_admin)[-1]
        assert (run["status"], run["error"]["code"]) == ("failed", "owner_not_allowed")
        assert ask_admin("get", f"/{automation}").json()["status"] == status


def test_the_oldest_runs_are_deleted(ask: Ask, clock: Clock, run_due: RunDue, monkeypatch: pytest.MonkeyPatch) -> None:
    automation = made(ask)
    for _ in range(3):
        due_in(ask, automation, clock)
        run_due()
    assert runs.expire(clock.now_us, 30) == 0
    monkeypatch.setattr(runs, "MAX_RUNS", 2)
    assert runs.expire(clock.now_us, 30) == 1
    clock.pass_s(31 * 86_400)
    assert runs.expire(clock.now_us, 30) == 2
    assert len(turns()) == 3
