"""The form of an agent: what it shows, what it saves, what it refuses, and two people at once."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from agents.base import ids
from agents.base.access import Actor
from agents.base.models.people import User
from agents.base.store import keys
from agents.record.schemas.agents import AgentConfig
from agents.record.store import agents, sessions, turns
from agents.record.store.agents import AgentRecord
from tests.support.builders import make_agent, make_session
from tests.support.http_endpoint import Reply, Request, answering, json_reply
from tests.support.inprocess import idle_service
from tests.support.pages.markup import elements, unsafe, words

pytestmark = pytest.mark.django_db

SCHEMA = '{"type": "object", "properties": {"order": {"type": "integer"}}}'
RICH: dict[str, Any] = {
    "name": "support",
    "toolgroups": ["demo", {"name": "gone::group/look", "args": {"depth": 2}}],
    "client_tools": [{"name": "approve", "description": "Ask", "strict": True, "input_schema": {"type": "object"}}],
    "input_shields": ["gone-shield"],
    "sampling_params": {"strategy": {"type": "top_p", "temperature": 0.7, "top_p": 0.9}, "stop": ["END"]},
    "tool_config": {"tool_choice": "auto", "system_message_behavior": "replace"},
    "openai": {"metadata": {"team": "blue"}, "effort": "low"},
    "max_infer_iters": 7,
}


@pytest.fixture
def me(db: None) -> Actor:
    return keys.local()


def path(record: AgentRecord) -> str:
    return f"/agents/{record.public_id}/edit/"


def sent(html: str) -> dict[str, Any]:
    """What a browser sends of the editor's form as it stands."""
    fields: dict[str, Any] = {}
    for each in elements(html, "input"):
        if each.get("name") and (each.get("type") != "checkbox" or "checked" in each):
            fields.setdefault(each["name"], []).append(each.get("value", ""))
    for area in html.split("<textarea")[1:]:
        name = area.split('name="')[1].split('"')[0]
        fields.setdefault(name, []).append(area.split(">", 1)[1].split("</textarea>")[0].removeprefix("\n"))
    for select in html.split("<select")[1:]:
        name, options = select.split('name="')[1].split('"')[0], select.split("</select>")[0]
        fields[name] = [option["value"] for option in elements(options, "option") if "selected" in option]
    return {name: [value.replace("&#34;", '"') for value in values] for name, values in fields.items()}


def opened(client: Client, address: str) -> dict[str, Any]:
    answer = client.get(address)
    text = answer.content.decode()
    assert (answer.status_code, unsafe(text)) == (200, [])
    return sent(text)


def test_a_form_that_is_saved_as_it_was_changes_nothing(client: Client, me: Actor) -> None:
    with idle_service():
        record = make_agent(me, **RICH)
        answer = client.post(path(record), opened(client, path(record)))
        assert answer["Location"] == f"/agents/{record.public_id}/"
    now = agents.get(me, record.key)
    assert (now.config, now.revision_number) == (record.config, 1)


def test_it_saves_a_revision_and_keeps_what_it_does_not_show(client: Client, me: Actor) -> None:
    with idle_service():
        record = make_agent(me, **RICH)
        form = opened(client, path(record))
        form |= {"instructions": ["Be long.\r\nAlways."], "temperature": ["0.2"], "tool_schema": [SCHEMA]}
        answer = client.post(path(record), form)
        assert answer["Location"] == f"/agents/{record.public_id}/revisions/"
    now = agents.get(me, record.key)
    assert (now.revision_number, now.config.instructions) == (2, "Be long.\nAlways.")
    assert now.config.client_tools[0].strict is True
    assert now.config.client_tools[0].input_schema == {
        "type": "object",
        "properties": {"order": {"type": "integer"}},
    }
    for name in ("toolgroups", "input_shields", "tool_config", "openai", "max_infer_iters"):
        assert getattr(now.config, name) == getattr(record.config, name), name
    assert now.config.sampling_params.stop == ["END"]


def test_tools_are_taken_one_by_one_or_as_a_group_and_removed(client: Client, me: Actor) -> None:
    with idle_service():
        record = make_agent(me, **RICH)
        form = opened(client, path(record))
        form |= {"toolgroups": ["demo", "gone::group", "gone::group/look"], "tool_remove": ["0"]}
        refused = client.post(path(record), form)  # the group as a whole is new, and nobody knows it
        assert (refused.status_code, "gone::group" in words(refused.content.decode())) == (400, True)
        form["toolgroups"] = ["demo"]
        assert client.post(path(record), form).status_code == 302
    now = agents.get(me, record.key).config
    assert (now.toolgroups, now.client_tools) == (["demo"], [])


def test_a_tool_is_added_without_saving(client: Client, me: Actor) -> None:
    with idle_service():
        record = make_agent(me)
        answer = client.post(path(record), {**opened(client, path(record)), "action": "add-tool"})
        assert agents.get(me, record.key).revision_number == 1
        form = sent(answer.content.decode())
        assert form["tool_name"] == [""]
        form |= {"tool_name": ["look_up"], "tool_schema": [SCHEMA]}
        assert client.post(path(record), form).status_code == 302
    assert [tool.name for tool in agents.get(me, record.key).config.client_tools] == ["look_up"]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"name": "n" * 10_000}, "At most 300 characters; it has 10000."),
        ({"other_model": "\u202em<b>" * 100}, "At most 300 characters; it has 500."),
        ({"model": " "}, "Choose a model."),
        ({"temperature": "hot"}, "A number is needed, like 0.7."),
        ({"temperature": "nan"}, "finite"),
        ({"temperature": "-1"}, "greater than 0"),
        ({"strategy": "top_k"}, "Say among how many tokens to choose."),
        ({"strategy": "magic"}, "magic"),
        ({"max_tokens": "9" * 5000}, "A whole number is needed."),
        ({"max_infer_iters": "1001"}, "less than or equal to 1000"),
        ({"tool_schema": "{"}, "This is no JSON"),
        ({"tool_schema": "[" * 100_000}, "This is no JSON"),
        ({"tool_schema": "[]"}, "A JSON Schema is an object"),
        ({"tool_schema": '{"type": "wrong"}'}, "This is no JSON Schema"),
        ({"response_schema": '{"type": 5}'}, "This is no JSON Schema"),
        ({"tool_name": ""}, "A name of 1 to 200 characters is needed."),
        ({"toolgroups": "nobody::knows"}, "nobody::knows"),
        ({"output_shields": "nobody-knows"}, "nobody-knows"),
        ({"tool_choice": "nothing"}, "there is no tool 'nothing'"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_what_is_wrong_is_said_and_nothing_lost(client: Client, me: Actor, changed: dict[str, str], said: str) -> None:
    with idle_service():
        record = make_agent(me, **RICH)
        form = {**opened(client, path(record)), "instructions": "what I <b>wrote</b>", "strategy": "top_p", **changed}
        answer = client.post(path(record), form)
    text = answer.content.decode()
    assert (answer.status_code, unsafe(text)) == (400, [])
    assert said in words(text)
    assert "what I &lt;b&gt;wrote&lt;/b&gt;</textarea>" in text
    assert agents.get(me, record.key).revision_number == 1


def test_the_second_of_two_people_is_told_and_may_save_on_top(client: Client, me: Actor) -> None:
    record = make_agent(me, name="support")
    mine = {**opened(client, path(record)), "instructions": "Mine."}
    agents.revise(me, record.key, record.config.model_copy(update={"instructions": "Theirs.", "max_infer_iters": 3}))
    answer = client.post(path(record), mine)
    text = answer.content.decode()
    assert (answer.status_code, unsafe(text)) == (409, [])
    assert "Someone else has saved this agent meanwhile" in words(text)
    assert "Theirs." in words(text)
    assert agents.get(me, record.key).config.instructions == "Theirs."
    again = sent(text)
    assert (again["instructions"], again["revision"]) == (["Mine."], ["2"])
    assert client.post(path(record), again).status_code == 302
    assert agents.get(me, record.key).revision_number == 3
    assert [each.config.instructions for each in agents.revisions(me, record.key)] == ["Mine.", "Theirs.", "Be brief."]


def test_an_earlier_revision_comes_back_as_a_new_one(client: Client, me: Actor) -> None:
    record = make_agent(me, **RICH)
    agents.revise(me, record.key, record.config.model_copy(update={"openai": None, "name": "other"}))
    address = f"/agents/{record.public_id}/revisions/"
    links = [link["href"] for link in elements(client.get(address).content.decode(), "a")]
    link = next(link for link in links if "?from=" in link)
    assert client.post(path(record), opened(client, link)).status_code == 302
    now = agents.get(me, record.key)
    assert (now.revision_number, now.config) == (3, record.config)
    assert client.get(f"{path(record)}?from=99").status_code == 404


def test_a_copy_is_opened_filled_in(client: Client, me: Actor) -> None:
    record = make_agent(me, **RICH)
    form = opened(client, f"/agents/new/?from={record.public_id}")
    assert form["name"] == ["Copy of support"]
    made = client.post("/agents/new/", form)
    assert made.status_code == 302
    copy = agents.get(me, agents.key_of(made["Location"].split("/")[2]))
    assert copy.key != record.key
    assert copy.config == record.config.model_copy(update={"name": "Copy of support"})


def test_only_who_may_change_it_sees_the_form(client: Client, make_user: Any) -> None:
    record, stranger = make_agent(make_user("owner")), make_user("stranger")
    client.force_login(User.objects.get(pk=stranger.user_id or 0))
    for address in (path(record), f"/agents/new/?from={record.public_id}"):
        assert client.get(address).status_code == 404
    assert client.post(path(record), {"name": "x"}).status_code == 404


@pytest.mark.parametrize("name", ["n", "n" * 300, "שלום עולם", "</textarea><script>alert(1)</script>\u202e"])
def test_names_are_shown_as_they_are(client: Client, me: Actor, name: str) -> None:
    record = make_agent(me, name=name, instructions=name, client_tools=[{"name": name[:200], "description": name}])
    opened(client, path(record))


# -------------------------------------------------------------------------------------------- the draft

JSON = {"accept": "application/json"}


def configs_of(turn_id: str) -> AgentConfig:
    config = agents.config_of_turn(turns.key_of(turn_id))
    assert config is not None
    return config


def test_a_draft_is_tried_without_being_saved(client: Client, me: Actor, inline_turns: None) -> None:
    record = make_agent(me, model="scripted/demo")
    form = opened(client, path(record)) | {"action": "try", "text": "Hello?", "instructions": "Be long."}
    told = client.post(path(record), form, headers=JSON).json()
    assert configs_of(told["turn_id"]).instructions == "Be long."
    assert agents.get(me, record.key).config == record.config
    assert [revision.number for revision in agents.revisions(me, record.key)] == [1]

    form |= {"session": told["session_id"], "text": "And now?", "instructions": "Be kind."}
    again = client.post(path(record), form, headers=JSON).json()
    assert again["session_id"] == told["session_id"]
    assert configs_of(again["turn_id"]).instructions == "Be kind."
    # who says more on the page of the session goes on with the draft, too
    client.post(f"/sessions/{told['session_id']}/say/", {"text": "More."})
    newest = sessions.get(me, sessions.key_of(told["session_id"])).last_turn or 0
    assert agents.config_of_turn(newest) == configs_of(again["turn_id"])


def test_the_draft_of_a_new_agent_is_tried_before_there_is_one(client: Client, me: Actor, inline_turns: None) -> None:
    form = opened(client, "/agents/new/") | {"action": "try", "text": "Hello?", "name": "first"}
    page = client.post("/agents/new/", form).content.decode()  # as a browser without scripts does
    links = [link["href"] for link in elements(page, "a")]
    turn_id = next(link for link in links if link.startswith("/turns/")).split("/")[2]
    assert configs_of(turn_id).name == "first"
    assert agents.listing(me) == ([], False)

    again = sent(page)
    assert (again["name"], again["text"]) == (["first"], [""])
    told = client.post("/agents/new/", {**again, "action": "try", "text": "Again."}, headers=JSON).json()
    assert [told["session_id"]] == again["session"]
    assert client.post("/agents/new/", {**again, "action": "save"}).status_code == 302
    assert [each.name for each in agents.listing(me)[0]] == ["first"]


def test_a_draft_with_a_mistake_is_not_tried(client: Client, me: Actor, inline_turns: None) -> None:
    form = opened(client, "/agents/new/") | {"action": "try", "text": "What I <b>say</b>", "temperature": "hot"}
    form["strategy"] = "top_p"
    answer = client.post("/agents/new/", form)
    page = answer.content.decode()
    assert (answer.status_code, unsafe(page)) == (400, [])
    assert "What I &lt;b&gt;say&lt;/b&gt;</textarea>" in page
    assert "A number is needed" in words(page)
    refused = client.post("/agents/new/", form, headers=JSON)
    assert (refused.status_code, refused.json()["error"]["param"]) == (400, "temperature")
    empty = client.post("/agents/new/", form | {"text": " ", "temperature": "1"})
    assert (empty.status_code, "Say something first." in words(empty.content.decode())) == (400, True)
    assert sessions.listing(me) == ([], False)


def test_the_session_of_another_agent_is_not_changed_by_a_draft(client: Client, me: Actor, inline_turns: None) -> None:
    record, other = make_agent(me), make_agent(me)
    session = make_session(me, other)
    session_id = ids.public(ids.Kind.SESSION, session)
    form = opened(client, path(record)) | {"action": "try", "text": "Hello?", "session": session_id}
    told = client.post(path(record), form, headers=JSON).json()
    assert told["session_id"] != session_id
    assert sessions.get(me, session).revision is None


def test_models_of_endpoints_are_offered(client: Client, me: Actor, settings: Any) -> None:
    def answer(request: Request) -> Reply:
        return json_reply({"object": "list", "data": [{"id": "new-model"}]})

    with answering(answer) as base_url:
        settings.MODEL_ENDPOINTS = {"lab": {"base_url": base_url}}
        with idle_service():
            record = make_agent(me, model="lab/gone")
            page = client.get(path(record)).content.decode()
    models = [option["value"] for option in elements(page, "option")]
    assert {"lab/new-model", "lab/gone", "scripted/demo"} <= set(models)
    assert "Its endpoint does not offer lab/gone right now" in words(page)


def test_an_endpoint_that_is_away_takes_no_form_away(client: Client, me: Actor, settings: Any) -> None:
    settings.MODEL_ENDPOINTS = {"lab": {"base_url": "http://127.0.0.1:9/v1"}}
    with idle_service():
        record = make_agent(me, model="lab/gone")
        page = client.get(path(record)).content.decode()
    assert "lab/gone" in [option["value"] for option in elements(page, "option")]
    assert "does not offer" not in words(page)
