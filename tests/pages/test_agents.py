"""The pages of agents: the list, one agent, making one, trying one."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from agents.base import ids
from agents.base.access import Actor
from agents.base.store import keys
from agents.pages import agents as pages
from agents.record.store import agents, sessions
from tests.loop.play import LOOKUP
from tests.support.builders import make_agent, make_session, make_turn
from tests.support.pages.markup import elements, unsafe, words

pytestmark = pytest.mark.django_db

HOSTILE = "</script><img src=x onerror=alert(1)>\"'&\u202e"
APPROVE = {
    "name": "approve",
    "description": "Ask a colleague",
    "input_schema": {"type": "object", "properties": {"order": {"type": "integer"}, "note": {}}, "required": ["order"]},
}


@pytest.fixture
def me(db: None) -> Actor:
    return keys.local()


def get(client: Client, path: str) -> str:
    answer = client.get(path)
    assert answer.status_code == 200
    text: str = answer.content.decode()
    assert unsafe(text) == []
    return text


# ---------------------------------------------------------------------------------------------- list


def test_it_lists_agents_newest_first(client: Client, me: Actor) -> None:
    old = make_agent(me, name="support", toolgroups=[], client_tools=[APPROVE])
    make_agent(me, name="coder", model="scripted/demo")
    make_session(me, old)
    make_session(me, old)
    read = words(get(client, "/agents/"))
    assert read.index("coder scripted/demo –") < read.index("support scripted/fast approve 2 1")


def test_an_agent_without_a_name_is_called_by_its_model(client: Client, me: Actor) -> None:
    make_agent(me)
    names = [each for each in elements(get(client, "/agents/"), "th") if each.get("scope") == "row"]
    assert len(names) == 1
    assert words(get(client, "/agents/")).count("scripted/fast") >= 2


def test_it_says_which_are_disabled_and_how_often_they_changed(client: Client, me: Actor) -> None:
    record = make_agent(me, name="support")
    agents.revise(me, record.key, record.config.model_copy(update={"instructions": "Be long."}))
    agents.set_disabled(me, record.key, True)
    assert "support scripted/fast – 0 2" in words(get(client, "/agents/"))
    assert "disabled" in words(get(client, "/agents/"))


def test_it_pages(client: Client, me: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "PAGE_SIZE", 2)
    for name in ("a1", "a2", "a3"):
        make_agent(me, name=name)
    first = get(client, "/agents/")
    older = [link["href"] for link in elements(first, "a") if link.get("rel") == "next"]
    second = get(client, f"/agents/{older[0]}")
    assert ("a3" in words(first), "a1" in words(first), "a1" in words(second)) == (True, False, True)
    assert [link["href"] for link in elements(second, "a") if link.get("rel") == "prev"] == ["?start=0"]


@pytest.mark.parametrize("start", ["nonsense", "-1", "99999999999999999999", "1e3"])
def test_a_place_that_is_none_is_the_first_page(client: Client, me: Actor, start: str) -> None:
    make_agent(me, name="support")
    assert "support" in words(get(client, f"/agents/?start={start}"))


def test_an_empty_list_teaches_how_to_begin(client: Client, me: Actor) -> None:
    page = get(client, "/agents/")
    assert "No agents here yet" in words(page)
    assert "curl -sS http://testserver/v1/agents" in words(page)
    assert "/agents/new/" in [link["href"] for link in elements(page, "a")]


def test_behind_the_last_agent_there_is_the_way_back(client: Client, me: Actor) -> None:
    make_agent(me)
    page = get(client, "/agents/?start=50")
    assert "There are no more agents." in words(page)
    assert [link["href"] for link in elements(page, "a") if link.get("rel") == "prev"] == ["?start=0"]


# -------------------------------------------------------------------------------------------- making


def test_the_list_leads_to_the_form(client: Client, me: Actor) -> None:
    make_agent(me)
    assert "/agents/new/" in [link["href"] for link in elements(get(client, "/agents/"), "a")]
    assert "Create agent" in words(get(client, "/agents/new/"))


def test_it_makes_an_agent(client: Client, me: Actor) -> None:
    answer = client.post("/agents/new/", {"name": "first", "model": "demo", "instructions": "Be brief."})
    (record,), _ = agents.listing(me)
    assert answer["Location"] == f"/agents/{record.public_id}/"
    assert (record.name, record.model, record.config.instructions) == ("first", "demo", "Be brief.")


@pytest.mark.parametrize("given", [{}, {"model": " "}, {"model": "x" * 301}, {"model": "demo", "name": "n" * 301}])
def test_it_refuses_an_agent_that_cannot_be(client: Client, me: Actor, given: dict[str, str]) -> None:
    assert client.post("/agents/new/", given).status_code == 400
    assert agents.listing(me) == ([], False)


# --------------------------------------------------------------------------------------------- detail


def test_it_shows_the_configuration_readably_and_as_json(client: Client, me: Actor) -> None:
    record = make_agent(
        me,
        name="support",
        instructions="Help the customers.",
        client_tools=[APPROVE, LOOKUP.model_dump()],
        input_shields=["demo_guard"],
        sampling_params={"strategy": {"type": "top_p", "temperature": 0.7, "top_p": 0.9}, "max_tokens": 512},
    )
    read = words(get(client, f"/agents/{record.public_id}/"))
    for part in (
        "Help the customers.",
        "approve ( order: integer, note?: any )",
        "lookup ( query: string )",
        "input demo_guard",
        "top p, temperature 0.7, top_p 0.9; at most 512 tokens",
        '"max_tokens" : 512',
        record.public_id,
    ):
        assert part in read


def test_it_says_what_becomes_of_turns_without_their_process(client: Client, me: Actor) -> None:
    told = {
        resumes: words(client.get(f"/agents/{make_agent(me, resume_runs=resumes).public_id}/").content.decode())
        for resumes in (None, True, False)
    }
    assert ["turns go on" in told[each] for each in (None, True, False)] == [False, True, False]
    assert ["turns end as interrupted" in told[each] for each in (None, True, False)] == [False, False, True]


def test_it_lists_its_sessions_newest_first(client: Client, me: Actor) -> None:
    record = make_agent(me, name="support")
    for name in ("old", "new"):
        make_turn(me, agent=record, session=make_session(me, record, name))
    page = get(client, f"/agents/{record.public_id}/")
    found, _ = sessions.listing(me, agent=record.key)
    links = [link["href"] for link in elements(page, "a") if link.get("href", "").startswith("/sessions/")]
    assert links == [f"/sessions/{one.public_id}/" for one in found]
    assert [one.name for one in found] == ["new", "old"]


def test_it_offers_to_try_the_agent(client: Client, me: Actor) -> None:
    record = make_agent(me)
    actions = [form.get("action") for form in elements(get(client, f"/agents/{record.public_id}/"), "form")]
    assert f"/agents/{record.public_id}/try/" in actions


def test_a_disabled_agent_is_not_tried(client: Client, me: Actor) -> None:
    record = make_agent(me)
    agents.set_disabled(me, record.key, True)
    page = get(client, f"/agents/{record.public_id}/")
    assert "takes no new turns" in words(page)
    assert [form for form in elements(page, "form") if form.get("action", "").endswith("/try/")] == []


def test_nothing_hostile_becomes_markup(client: Client, me: Actor) -> None:
    tool = {"name": HOSTILE, "description": HOSTILE, "parameters": [{"name": HOSTILE, "parameter_type": HOSTILE}]}
    schema = {"name": f"{HOSTILE}2", "input_schema": {"properties": {HOSTILE: {"type": HOSTILE}}, "required": None}}
    record = make_agent(
        me,
        name=HOSTILE,
        model=f"scripted/{HOSTILE}",
        instructions=HOSTILE,
        client_tools=[tool, schema, {"name": "odd", "input_schema": {"properties": [1]}}],
        toolgroups=[HOSTILE],
        input_shields=[HOSTILE],
    )
    make_session(me, record, HOSTILE)
    for path in ("/agents/", f"/agents/{record.public_id}/"):
        get(client, path)


# ---------------------------------------------------------------------------------------------- trying


def test_it_says_nothing_for_an_empty_message(client: Client, me: Actor) -> None:
    record = make_agent(me)
    answer = client.post(f"/agents/{record.public_id}/try/", {"text": " "}, headers={"accept": "application/json"})
    assert (answer.status_code, answer.json()["error"]["message"]) == (400, "Say something first.")
    assert sessions.listing(me) == ([], False)


@pytest.mark.parametrize("path", ["/agents/new/", "/agents/{}/try/"])
def test_it_takes_no_form_from_elsewhere(me: Actor, path: str) -> None:
    record = make_agent(me)
    assert Client(enforce_csrf_checks=True).post(path.format(record.public_id)).status_code == 403


def test_another_users_agent_is_not_found(client: Client, make_user: Any) -> None:
    from agents.base.models.people import User

    record, stranger = make_agent(make_user("owner")), make_user("stranger")
    client.force_login(User.objects.get(pk=stranger.user_id or 0))
    assert client.get(f"/agents/{record.public_id}/").status_code == 404
    assert client.post(f"/agents/{record.public_id}/try/", {"text": "hi"}).status_code == 404
    assert record.public_id not in get(client, "/agents/")


@pytest.mark.parametrize("agent_id", ["nonsense", ids.public(ids.Kind.TURN, 1)], ids=["no id", "of a turn"])
def test_an_unknown_agent_is_not_found(client: Client, me: Actor, agent_id: str) -> None:
    assert client.get(f"/agents/{agent_id}/").status_code == 404
