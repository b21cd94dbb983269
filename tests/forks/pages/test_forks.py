"""Forking on pages: from a step's card to the form to the new turn, and the links both ways."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from agents.base import ids
from agents.base.store import keys
from agents.record.store import forks
from tests.forks.runner.forking import CLIENT_TOOL, Stage, key_of, listening_service
from tests.support.builders import make_agent, make_session, make_turn
from tests.support.inprocess import open_database
from tests.support.pages.markup import elements
from tests.support.pages.openai_requests import respond
from tests.support.pages.script_payloads import PAYLOADS

ORDER = 'call lookup_order {"order": 8841}'


@pytest.fixture
def stage(django_db_setup: None, django_db_blocker: Any) -> Iterator[Stage]:
    with open_database(django_db_blocker), listening_service() as (service, model):
        yield Stage(keys.local(), service, model)


@pytest.fixture
def turn(stage: Stage) -> str:
    agent = make_agent(stage.actor, toolgroups=["builtin::demo"])
    key = stage.say(agent, make_session(stage.actor, agent), ORDER, "then", "say Shipped.")
    return ids.public(ids.Kind.TURN, key)


def page(url: str, status: int = 200) -> str:
    answer = Client().get(url)
    assert answer.status_code == status
    return answer.content.decode()


def form_of(text: str) -> dict[str, str]:
    """The fields of the form as they are filled in."""
    fields = {one["name"]: one.get("value", "") for one in elements(text, "input") if one.get("type") != "radio"}
    for name, value in re.findall(r'<textarea[^>]*name="(\w+)"[^>]*>\n?(.*?)</textarea>', text, re.S):
        fields[name] = html.unescape(value)
    strategy = re.search(r"<option selected>(\w+)</option>", text)
    return {**fields, "strategy": strategy[1] if strategy else "", "tools": "recorded"}


FORK_BUTTON = r'class="button[^"]*" href="([^"]+)">Fork</a>'


def fork(turn: str, step: int, **changed: str) -> Any:
    url = f"/turns/{turn}/fork/?step={step}"
    return Client().post(url, {**form_of(page(url)), **changed})


def test_each_step_leads_to_its_fork(turn: str) -> None:
    links = [one["href"] for one in elements(page(f"/turns/{turn}/"), "a") if one.get("class") == "step-fork"]
    assert len(links) == 3
    for link in links:
        assert "Fork from step" in page(link)


def test_the_head_of_a_turn_leads_to_its_fork(turn: str, stage: Stage) -> None:
    for path in (f"/turns/{turn}/", f"/turns/{turn}/peek/"):
        [link] = re.findall(FORK_BUTTON, page(path))
        assert "Fork from step 1" in page(link)
    running = make_turn(stage.actor, "say Hello.", upto=2)
    assert re.findall(FORK_BUTTON, page(f"/turns/{running.public_id}/")) == []


def test_rows_say_which_turns_are_forks(turn: str) -> None:
    assert "fork ·" not in page("/logs/")
    fork(turn, 2)
    assert page("/logs/").count("fork ·") == 1


def test_nothing_changed_is_nothing_changed(turn: str, stage: Stage) -> None:
    answer = fork(turn, 2)
    assert answer.status_code == 302
    made = key_of(answer["Location"].split("/")[2])
    record = forks.of_turn(stage.actor, made)
    assert record is not None
    assert record.changes == "{}"
    assert stage.turn(made).status == "completed"


def test_what_is_changed_is_said_on_both_pages(turn: str, stage: Stage) -> None:
    answer = fork(
        turn, 2, model="scripted/demo", instructions="Be rude.", tool_result="stolen", max_tokens="50", tools="live"
    )
    made = page(answer["Location"])
    words = "model changed to scripted/demo, instructions changed, sampling changed, result changed, tools run again"
    assert words in made
    assert "at step 2" in made
    assert "reused" in made
    assert "changed result" in made
    assert "stolen" in made
    source = page(f"/turns/{turn}/")
    assert words in source
    assert answer["Location"] in source
    compare = next(one["href"] for one in elements(made, "a") if "/compare/" in one.get("href", ""))
    assert "the original" in page(compare)


def test_the_question_is_changed_from_the_first_step_only(turn: str, stage: Stage) -> None:
    assert 'name="input"' not in page(f"/turns/{turn}/fork/?step=2")
    made = key_of(fork(turn, 1, input="!script\nsay Another.")["Location"].split("/")[2])
    assert b"Another." in (stage.turn(made).output_message or b"")


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"temperature": "hot", "strategy": "top_p"}, "is no number"),
        ({"model": ""}, "model"),
        ({"max_tokens": "-5"}, "max_tokens"),
        ({"strategy": "nucleus"}, "strategy"),
        ({"tools": "maybe"}, "tools"),
        ({"top_k": "0", "strategy": "top_k"}, "top_k"),
    ],
)
def test_what_is_wrong_is_said_beside_what_was_entered(changed: dict[str, str], words: str, turn: str) -> None:
    answer = fork(turn, 2, instructions="Kept as entered.", **changed)
    text = answer.content.decode()
    assert answer.status_code == 400
    assert 'role="alert"' in text
    assert words in text
    assert "Kept as entered." in text


@pytest.mark.parametrize("step", ["99", "no-id", "00000000-0000-4000-8000-000000000000", "-1", "1e3"])
def test_a_step_that_is_not_there(step: str, turn: str) -> None:
    page(f"/turns/{turn}/fork/?step={step}", 404)


def test_a_running_turn_is_not_forked(stage: Stage) -> None:
    made = make_turn(stage.actor, "say Hello.", upto=2)
    page(f"/turns/{made.public_id}/fork/?step=1", 409)


def test_a_waiting_turn_is_forked_with_its_answer(stage: Stage) -> None:
    agent = make_agent(stage.actor, client_tools=[CLIENT_TOOL])
    key = stage.say(agent, make_session(stage.actor, agent), "call ask {}", "then", "say Thanks.")
    answer = fork(ids.public(ids.Kind.TURN, key), 2, tool_result="yes")
    assert stage.turn(key_of(answer["Location"].split("/")[2])).status == "completed"


def test_a_response_is_forked_too(stage: Stage) -> None:
    _, turn = respond(stage.actor, "say Hello.", instructions="Be brief.")
    answer = fork(turn, 1, instructions="Be rude.", temperature="0.5")
    assert answer.status_code == 302
    text = page(answer["Location"])
    assert "instructions changed, sampling changed" in text
    assert stage.turn(key_of(answer["Location"].split("/")[2])).status == "completed"


def test_hostile_texts_stay_text(stage: Stage) -> None:
    text = "\n".join(PAYLOADS)
    agent = make_agent(stage.actor, instructions=text, client_tools=[CLIENT_TOOL])
    key = stage.say(agent, make_session(stage.actor, agent), "call ask {}", "then", "say Thanks.")
    turn = ids.public(ids.Kind.TURN, key)
    answer = Client().post(
        f"/turns/{turn}/fork/?step=2", {"model": "scripted/fast", "instructions": text, "tool_result": text}
    )
    assert answer.status_code == 302
    shown = (
        page(f"/turns/{turn}/fork/?step=2")
        + page(answer["Location"])
        + page(f"/turns/{turn}/compare/{answer['Location'].split('/')[2]}/")
    )
    assert "<script>alert" not in shown
    assert "<img src=x" not in shown
