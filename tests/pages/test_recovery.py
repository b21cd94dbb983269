"""What a turn's page says of a process that was lost, and how a person decides there about a call in doubt."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

import pytest
from django.test import Client

from agents.base import ids
from agents.base.access import Actor
from agents.base.models.people import User
from agents.base.store import keys
from agents.base.store.processes import process_name
from agents.base.store.writer import writer
from agents.record.schemas.events import MADE, RULE, InferenceDetail, StepDecided, StepEnded, StepRepeated, StepStarted
from agents.record.store import closing, decisions, read_turns, recovery
from agents.record.store.closing import TurnEnding
from agents.record.store.decisions import Decision
from agents.server.socket import fragments
from tests.access.matrix import make_user
from tests.conftest import Clock
from tests.loop.play import events
from tests.support.builders import Recorded, make_turn
from tests.support.doubtful_turns import CHARGE, make_doubtful, taken_over
from tests.support.pages.markup import elements, unsafe, words
from tests.support.pages.turn_page import cards, get

pytestmark = pytest.mark.django_db


@pytest.fixture
def me(db: None, clock: Clock) -> Actor:
    return keys.local()


def cut_attempt(actor: Actor, clock: Clock) -> Recorded:
    """A turn whose first inference was cut, and which another process goes on with."""
    made = make_turn(actor, "say Half an answer.", upto=3)
    [started] = [event for event in events(made.entries[:3]) if isinstance(event, StepStarted)]
    clock.pass_s(3)
    [detail] = [event.detail for event in events(made.entries) if isinstance(event, StepEnded)]
    assert isinstance(detail, InferenceDetail)
    ended = StepEnded(
        seq=0,
        at=0,
        step=started.step,
        step_type="inference",
        name=started.name,
        status="interrupted",
        started_at=started.at,
        detail=detail,
    )
    again = started.model_copy(update={"step": ids.new_key(), "number": 1})
    taken_over(made, ended, again)
    return made


# ---------------------------------------------------------------------------------------- takeovers


def test_a_line_says_where_it_was_taken_over(client: Client, me: Actor, clock: Clock) -> None:
    page = get(client, cut_attempt(me, clock))
    line = f"Taken over after 3.0 s by {process_name()}: the process that ran it was lost"
    assert line in words(page)
    order = re.findall(r'data-step="[^"]+" data-number="([^"]+)"', page)
    assert order == ["0", "0.5", "1"]
    assert "cut attempt: its process was lost, and the model was asked again" in words(page)
    assert [card["data-outcome"] for card in cards(page)] == ["interrupted", "in_progress"]


def test_each_attempt_has_its_line(client: Client, me: Actor, clock: Clock) -> None:
    made = cut_attempt(me, clock)
    taken_over(made)
    assert "attempt 2: the process that ran it was lost" in words(get(client, made))


def test_a_turn_that_kept_its_process_says_nothing(client: Client, me: Actor) -> None:
    page = get(client, make_turn(me))
    assert "Taken over" not in page
    assert "leg-head" not in page


def test_a_long_turn_has_the_line_on_one_page(client: Client, me: Actor, clock: Clock) -> None:
    script = "\nthen\n".join(['call lookup {"n": 1}'] * 110) + "\nthen\nsay Done."
    whole = make_turn(me, script, max_infer_iters=200, upto=-1)
    taken_over(whole)
    pages = [get(client, whole, f"?from={start}") for start in (0, 200)]
    assert ["Taken over" in page for page in pages] == [False, True]


def test_a_follower_gets_the_line_and_the_mark(me: Actor, clock: Clock) -> None:
    made = cut_attempt(me, clock)
    told = recovery.recovery_events(made.turn)
    raw = [{"type": "turn.taken_over", "seq": told[0].seq}]
    line, facts = fragments.turn_events(me, made.turn, raw)
    assert (line["type"], line["number"]) == ("step.takeover", 0.5)
    assert "Taken over after 3.0 s" in words(line["html"])
    assert facts["type"] == "turn.taken_over"


# ---------------------------------------------------------------------------------------- decisions


def fields(page: str) -> list[tuple[str, str]]:
    return [
        (each["name"], each["value"]) for each in elements(page, "input") if each.get("name", "").startswith("outcome:")
    ]


def test_a_call_in_doubt_has_a_banner_and_a_form(client: Client, me: Actor) -> None:
    doubtful = make_doubtful(me)
    page = get(client, doubtful.url)
    [step] = doubtful.step_ids
    assert fields(page) == [(f"outcome:{step}", value) for value in ("done", "not_done", "result")]
    assert "Waits for a decision" in words(page)
    assert f'href="{doubtful.url}#step-1"' in page
    assert "waits for a decision: its process was lost" in words(page)
    forms = {form.get("id"): form for form in elements(page, "form")}
    assert "data-can-run" in page
    assert forms["decide"]["action"] == f"{doubtful.url}decide/"
    assert len([button for button in elements(page, "button") if button.get("form") == "decide"]) == 1
    assert unsafe(page) == []
    timeline = words(get(client, doubtful.url, "?view=timeline"))
    assert "Tool charge from 4 ms, waiting" in timeline
    assert "running" not in timeline


def test_who_may_only_read_sees_that_it_waits_and_decides_nothing(client: Client) -> None:
    doubtful = make_doubtful(make_user("rita", teams=["red"]))
    reader = make_user("reader", teams=["red"], roles=["reader"])
    client.force_login(User.objects.get(username=reader.name))
    page = get(client, doubtful.url)
    assert "Waits for a decision" in words(page)
    assert "data-can-run" not in page  # without it the fields of a call, which all readers get alike, are not shown
    assert {"decide", "answer"}.isdisjoint({form.get("id") for form in elements(page, "form")})
    assert "/cancel/" not in page
    posted = client.post(f"{doubtful.url}decide/", {f"outcome:{doubtful.step_ids[0]}": "done"})
    assert posted.status_code == 403
    assert "Waits for a decision" in words(get(client, doubtful.url))


@pytest.mark.parametrize(
    ("outcome", "told"),
    [
        ("done", "Decided: it was made"),
        ("not_done", "Decided: it was not made"),
        ("result", "Decided: here is its result"),
    ],
)
def test_a_decision_is_recorded_and_shown(client: Client, me: Actor, outcome: str, told: str) -> None:
    doubtful = make_doubtful(me)
    [step] = doubtful.step_ids
    posted = {f"outcome:{step}": outcome, f"result:{step}": "It was\r\nthe seventh."}
    answer = client.post(f"{doubtful.url}decide/", posted)
    assert (answer.status_code, answer["location"]) == (302, doubtful.url)
    [decided] = [event for event in recovery.recovery_events(doubtful.made.turn) if isinstance(event, StepDecided)]
    content = {"done": MADE, "not_done": None, "result": "It was\nthe seventh."}[outcome]
    assert (decided.outcome, decided.result and decided.result.content) == (outcome, content)
    page = get(client, doubtful.url)
    assert told in words(page)
    assert me.name in words(page)
    assert fields(page) == []
    assert "Waits for a decision" not in words(page)


def test_a_call_that_was_made_again_says_so(client: Client, me: Actor) -> None:
    doubtful = make_doubtful(me)
    [step] = doubtful.steps
    decisions.decide(me, doubtful.made.turn, [Decision(step, "not_done")])
    taken_over(doubtful.made, StepRepeated(seq=0, at=0, step=step))
    read = words(get(client, doubtful.url))
    assert "Called again after its process was lost" in read
    assert f"Continues after the decision, on {process_name()}" in read


def test_a_rule_that_decided_is_told(client: Client, me: Actor) -> None:
    doubtful = make_doubtful(me)
    decided = StepDecided(seq=0, at=0, step=doubtful.steps[0], outcome="not_done", by=RULE)
    decisions.decide(me, doubtful.made.turn, [Decision(doubtful.steps[0], "done")])
    taken_over(doubtful.made, decided)
    assert "Decided: it was not made by the rule of its tool ," in words(get(client, doubtful.url))


def test_all_calls_in_doubt_are_decided_with_one_form(client: Client, me: Actor) -> None:
    doubtful = make_doubtful(me, f"{CHARGE}\n{CHARGE}\nthen\nsay Done.")
    page = get(client, doubtful.url)
    assert len(fields(page)) == 6
    assert len([button for button in elements(page, "button") if button.get("form") == "decide"]) == 1
    first, second = doubtful.step_ids
    client.post(f"{doubtful.url}decide/", {f"outcome:{first}": "done", f"outcome:{second}": "not_done"})
    assert fields(get(client, doubtful.url)) == []


@pytest.mark.parametrize(
    "posted", [{}, {"outcome:x": "done"}, {"outcome:": "done"}, {"outcome:{step}": "perhaps"}, {"outcome:{step}": ""}]
)
def test_a_form_that_says_nothing_decides_nothing(client: Client, me: Actor, posted: dict[str, str]) -> None:
    doubtful = make_doubtful(me)
    form = {name.format(step=doubtful.step_ids[0]): value for name, value in posted.items()}
    assert client.post(f"{doubtful.url}decide/", form).status_code == 400
    assert len(fields(get(client, doubtful.url))) == 3


def test_who_decides_late_is_told(client: Client, me: Actor) -> None:
    doubtful = make_doubtful(me)
    form = {f"outcome:{doubtful.step_ids[0]}": "done"}
    assert client.post(f"{doubtful.url}decide/", form).status_code == 302
    assert client.post(f"{doubtful.url}decide/", form).status_code == 409


def test_a_follower_gets_the_form_and_the_banner(me: Actor) -> None:
    doubtful = make_doubtful(me)
    [step] = doubtful.step_ids
    raw: list[dict[str, Any]] = [{"type": "step.in_doubt", "step": step, "seq": 9}]
    [card] = fragments.turn_events(me, doubtful.made.turn, raw)
    assert len(fields(card["html"])) == 3
    decisions.decide(me, doubtful.made.turn, [Decision(doubtful.steps[0], "done")])
    [card] = fragments.turn_events(me, doubtful.made.turn, [{**raw[0], "type": "step.decided"}])
    assert fields(card["html"]) == []
    assert "Decided: it was made" in words(card["html"])


def test_a_turn_that_was_cancelled_asks_for_no_decision(client: Client, me: Actor) -> None:
    doubtful = make_doubtful(me)
    end = TurnEnding("cancelled", "enough")
    assert writer.write(partial(closing.close_turn, doubtful.made.turn, end, statuses=closing.RUNNING))
    page = get(client, doubtful.url)
    assert read_turns.head(me, doubtful.made.turn).status == "cancelled"
    assert fields(page) == []
    assert "Waits for a decision" not in words(page)
